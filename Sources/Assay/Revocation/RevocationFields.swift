import AssayBytes

// Fields that OCSP responses, CRLs and the certificates in them share.

/// One extension: its identifier and its value, as ranges.
struct ExtensionField {
    let identifier: Range<Int>
    let isCritical: Bool
    /// The content of the extnValue OCTET STRING.
    let value: Range<Int>
}

extension DERReader {
    /// Reads Extensions (RFC 5280, section 4.1).
    mutating func readExtensions() throws(DERError) -> [ExtensionField] {
        var list = try readInside(.sequence)
        var fields: [ExtensionField] = []
        while !list.isAtEnd {
            let start = list.position
            guard fields.count < Limits.certificateExtensions else {
                throw .tooManyElements(limit: Limits.certificateExtensions, at: start)
            }
            var field = try list.readInside(.sequence)
            let identifier = try field.read(.objectIdentifier).content
            var isCritical = false
            if field.nextTag == .boolean {
                let start = field.position
                guard try field.readBoolean() else { throw .defaultEncoded(at: start) }
                isCritical = true
            }
            let value = try field.read(.octetString).content
            try field.atEnd()
            let octets = bytes.array(identifier)
            guard !fields.contains(where: { bytes.extracting($0.identifier).equals(octets) }) else {
                throw .duplicate(at: start)
            }
            fields.append(
                ExtensionField(identifier: identifier, isCritical: isCritical, value: value))
        }
        return fields
    }

    /// Reads an ENUMERATED of one octet.
    mutating func readEnumerated() throws(DERError) -> Int {
        let element = try read(.enumerated)
        guard element.content.count == 1, bytes[element.content.lowerBound] < 0x80 else {
            throw .integerOutOfRange(at: element.start)
        }
        return Int(bytes[element.content.lowerBound])
    }

    /// Reads a CRLReason (RFC 5280, section 5.3.1).
    mutating func readRevocationReason() throws(DERError) -> CertificateRevocationReason {
        let start = position
        let value = try readEnumerated()
        guard let reason = CertificateRevocationReason(rawValue: UInt8(value)) else {
            throw .integerOutOfRange(at: start)
        }
        return reason
    }

    /// The value of an invalidityDate (RFC 5280, section 5.3.2), in seconds since 1970.
    func invalidityDate(_ field: ExtensionField) throws(DERError) -> Int64 {
        var value = DERReader(bytes, range: field.value)
        let date = try value.readGeneralizedTime()
        try value.atEnd()
        return date
    }

    /// Reads a GeneralizedTime and returns seconds since 1970.
    mutating func readGeneralizedTime() throws(DERError) -> Int64 {
        if nextTag != .generalizedTime { _ = try read(.generalizedTime) }
        return try readTime()
    }
}

extension Tag {
    static let enumerated = Tag(rawValue: 0x0A)
}

extension Certificate {
    /// The octets of subjectPublicKey: the point, or the DER of the RSA key.
    var keyOctets: Range<Int> {
        var reader = DERReader(der.span, range: publicKey.range)
        guard var fields = try? reader.readInside(.sequence),
            (try? fields.read(.sequence)) != nil, let octets = try? fields.readBitStringOctets()
        else { preconditionFailure("`Certificate.init` has read these bytes") }
        return octets
    }

    /// All extensions of the certificate, in their order.
    var extensionFields: [ExtensionField] {
        var reader = DERReader(
            der.span, range: publicKey.range.upperBound..<tbsCertificate.upperBound)
        guard var explicit = try? reader.readInside(.context(3)),
            let fields = try? explicit.readExtensions()
        else { return [] }
        return fields
    }

    func extensionField(_ identifier: [UInt8]) -> ExtensionField? {
        extensionFields.first { der.span.extracting($0.identifier).equals(identifier) }
    }

    /// Whether the extended key usage names signing of OCSP responses (RFC 6960, section
    /// 4.2.2.2).
    var signsOCSPResponses: Bool {
        guard let field = extensionField(OID.extendedKeyUsage) else { return false }
        var value = DERReader(der.span, range: field.value)
        guard var purposes = try? value.readInside(.sequence) else { return false }
        while let purpose = try? purposes.read(.objectIdentifier) {
            if purposes.matches(purpose, OID.ocspSigning) { return true }
        }
        return false
    }

    /// The responder that the certificate names for its status (RFC 5280, section 4.2.2.1); nil
    /// if it names none.
    package var ocspLocation: String? {
        guard let field = extensionField(OID.authorityInfoAccess) else { return nil }
        var value = DERReader(der.span, range: field.value)
        guard var list = try? value.readInside(.sequence) else { return nil }
        while var description = try? list.readInside(.sequence) {
            guard let method = try? description.read(.objectIdentifier),
                let location = try? description.readElement()
            else { return nil }
            if location.tag == .contextPrimitive(6), description.matches(method, OID.ocsp) {
                return text(location.content)
            }
        }
        return nil
    }

    /// The first location of the CRL that covers the certificate (RFC 5280, section 4.2.1.13);
    /// nil if it names none.
    package var crlLocation: String? {
        guard let field = extensionField(OID.crlDistributionPoints) else { return nil }
        var value = DERReader(der.span, range: field.value)
        guard var points = try? value.readInside(.sequence),
            var point = try? points.readInside(.sequence),
            var name = try? point.readInside(.context(0)),
            var full = try? name.readInside(.context(0))
        else { return nil }
        while let location = try? full.readElement() {
            if location.tag == .contextPrimitive(6) { return text(location.content) }
        }
        return nil
    }

    private func text(_ location: Range<Int>) -> String? {
        let octets = der.span.extracting(location)
        guard octets.count <= Limits.revocationLocationBytes, octets.isASCII else { return nil }
        return String(decoding: der[location], as: UTF8.self)
    }
}
