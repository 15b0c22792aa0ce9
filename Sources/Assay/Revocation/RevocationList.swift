import AssayBytes
import AssayModels

/// A complete CRL of one issuer (RFC 5280, section 5.1). Parsed but unverified.
///
/// It owns its bytes. The entries stay there: a list is searched for few certificates, once each.
package struct RevocationList: Sendable {
    package let der: [UInt8]
    /// tbsCertList including its header: the bytes that the issuer signed.
    let signedData: Range<Int>
    let signatureAlgorithm: SignatureAlgorithm
    let signature: Range<Int>
    /// The issuer's Name, with its header.
    let issuer: Range<Int>
    package let thisUpdate: Timestamp
    package let nextUpdate: Timestamp?
    /// The content octets of revokedCertificates; nil if there are none.
    private let entries: Range<Int>?
    package let entryCount: Int
    /// keyIdentifier of authorityKeyIdentifier; nil when absent.
    let authorityKey: Range<Int>?

    /// Parses exactly one list, without trailing bytes.
    package init(_ bytes: Span<UInt8>) throws(RevocationError) {
        guard bytes.count <= Limits.revocationListBytes else {
            throw .tooLarge(bytes: bytes.count, limit: Limits.revocationListBytes)
        }
        let parsed: Parsed
        do throws(DERError) {
            parsed = try Parsed(bytes)
        } catch {
            throw .malformed(error.description)
        }
        if let scope = parsed.scope { throw .unsupported(scope) }
        if let oid = parsed.unknownCritical { throw .criticalExtension(oid) }
        if case .contradictory = parsed.algorithm {
            throw .malformed("its two signature algorithms differ")
        }
        der = bytes.array
        signedData = parsed.signedData
        signatureAlgorithm = parsed.algorithm
        signature = parsed.signature
        issuer = parsed.issuer
        thisUpdate = Timestamp(seconds: parsed.thisUpdate)
        nextUpdate = parsed.nextUpdate.map { Timestamp(seconds: $0) }
        entries = parsed.entries
        entryCount = parsed.entryCount
        authorityKey = parsed.authorityKey
        guard status(.good).hasOrderedDates else {
            throw .malformed("nextUpdate is before thisUpdate")
        }
    }

    /// The status of a certificate of this list's issuer.
    func status(of certificate: Certificate) -> RevocationStatus {
        guard let entries else { return status(.good) }
        let serial = certificate.der.span.extracting(certificate.serialNumber)
        var reader = DERReader(der.span, range: entries)
        while !reader.isAtEnd {
            // `init` has read all of them.
            guard let entry = try? RevocationListEntry(&reader) else { break }
            if der.span.extracting(entry.serialNumber).equals(serial.array) {
                return status(.revoked(at: Timestamp(seconds: entry.time), entry.reason))
            }
        }
        return status(.good)
    }

    private func status(_ state: RevocationStatus.State) -> RevocationStatus {
        RevocationStatus(state: state, thisUpdate: thisUpdate, nextUpdate: nextUpdate)
    }

    /// Whether the list can be that of this issuer, by its name and its key's identifier. Apple's
    /// intermediates share one name.
    func isNamed(after issuer: Certificate) -> Bool {
        guard der[self.issuer] == issuer.der[issuer.subject] else { return false }
        guard let authorityKey, let identifier = issuer.extensions.subjectKeyIdentifier else {
            return true
        }
        return der.span.extracting(authorityKey).equals(identifier)
    }
}

/// One entry of revokedCertificates.
private struct RevocationListEntry {
    let serialNumber: Range<Int>
    /// The revocation, or the earlier date since which the key is suspected.
    private(set) var time: Int64
    var reason = CertificateRevocationReason.unspecified
    var unknownCritical: String?

    init(_ list: inout DERReader) throws(DERError) {
        var entry = try list.readInside(.sequence)
        serialNumber = try entry.readIntegerOctets().content
        time = try entry.readTime()
        if !entry.isAtEnd {
            for field in try entry.readExtensions() {
                let identifier = entry.bytes.extracting(field.identifier)
                if identifier.equals(OID.reasonCode) {
                    var value = DERReader(entry.bytes, range: field.value)
                    reason = try value.readRevocationReason()
                    try value.atEnd()
                } else if identifier.equals(OID.invalidityDate) {
                    time = min(time, try entry.invalidityDate(field))
                } else if field.isCritical {
                    // certificateIssuer: the entry is another issuer's.
                    unknownCritical = OID.dotted(identifier)
                }
            }
        }
        try entry.atEnd()
    }
}

/// The fields of a list, before the checks that are not about DER.
private struct Parsed {
    let signedData: Range<Int>
    let algorithm: SignatureAlgorithm
    let signature: Range<Int>
    let issuer: Range<Int>
    let thisUpdate: Int64
    var nextUpdate: Int64?
    var entries: Range<Int>?
    var entryCount = 0
    var authorityKey: Range<Int>?
    var unknownCritical: String?
    /// What the list is, if it does not have all revoked certificates of its issuer.
    var scope: String?

    init(_ bytes: Span<UInt8>) throws(DERError) {
        var outer = DERReader(bytes)
        var list = try outer.readInside(.sequence)
        try outer.atEnd()
        let signed = try list.read(.sequence)
        let outerAlgorithm = try list.read(.sequence)
        signature = try list.readBitStringOctets()
        try list.atEnd()
        signedData = signed.whole

        var reader = list.inside(signed)
        // Version 2 is the only one that is written; a list without extensions can be version 1.
        var isVersion2 = false
        if reader.nextTag == .integer {
            let start = reader.position
            guard try reader.readInteger() == 1 else { throw .integerOutOfRange(at: start) }
            isVersion2 = true
        }
        let innerAlgorithm = try reader.read(.sequence)
        algorithm = try SignatureAlgorithm(
            list.inside(outerAlgorithm),
            agrees: bytes.extracting(innerAlgorithm.whole).equals(
                bytes.array(outerAlgorithm.whole)))
        issuer = try reader.read(.sequence).whole
        thisUpdate = try reader.readTime()
        if reader.nextTag == .utcTime || reader.nextTag == .generalizedTime {
            nextUpdate = try reader.readTime()
        }
        if let element = try reader.readOptional(.sequence) {
            entries = element.content
            var entries = reader.inside(element)
            while !entries.isAtEnd {
                let entry = try RevocationListEntry(&entries)
                if let critical = entry.unknownCritical { unknownCritical = critical }
                entryCount += 1
            }
        }
        if reader.nextTag == .context(0) {
            guard isVersion2 else { throw .contradictoryVersion(at: reader.position) }
            try readExtensions(&reader)
        }
        try reader.atEnd()
    }

    /// Reads crlExtensions. Two of them, which not every authority makes critical, say that the
    /// list is not complete. Another critical one has an unknown effect.
    private mutating func readExtensions(_ reader: inout DERReader) throws(DERError) {
        var explicit = try reader.readInside(.context(0))
        for field in try explicit.readExtensions() {
            let identifier = reader.bytes.extracting(field.identifier)
            if identifier.equals(OID.deltaCRLIndicator) {
                scope = "a delta CRL"
            } else if identifier.equals(OID.issuingDistributionPoint) {
                var value = DERReader(reader.bytes, range: field.value)
                scope = try Self.scope(&value) ?? scope
            } else if field.isCritical {
                unknownCritical = OID.dotted(identifier)
            } else if identifier.equals(OID.authorityKeyIdentifier) {
                var value = DERReader(reader.bytes, range: field.value)
                var fields = try value.readInside(.sequence)
                try value.atEnd()
                authorityKey = try fields.readOptional(.contextPrimitive(0))?.content
            }
        }
        try explicit.atEnd()
    }

    /// Reads issuingDistributionPoint (RFC 5280, section 5.2.5). Any field of it, but for those
    /// that are false, leaves certificates out.
    private static func scope(_ value: inout DERReader) throws(DERError) -> String? {
        var fields = try value.readInside(.sequence)
        try value.atEnd()
        var scope: String?
        while !fields.isAtEnd {
            let isPoint = fields.nextTag == .context(0)
            let known = scopes.first { $0.0 == fields.nextTag }
            guard let tag = isPoint ? Tag.context(0) : known?.0 else {
                throw .trailingBytes(at: fields.position)
            }
            let element = try fields.read(tag)
            if isPoint {
                scope = scope ?? "a CRL of one distribution point"
            } else if fields.bytes.extracting(element.content).array != [0] {
                scope = known?.1
            }
        }
        return scope
    }

    private static let scopes: [(Tag, String)] = [
        (.contextPrimitive(1), "a CRL of end entities alone"),
        (.contextPrimitive(2), "a CRL of authorities alone"),
        (.contextPrimitive(3), "a CRL of some reasons alone"),
        (.contextPrimitive(4), "an indirect CRL"),
        (.contextPrimitive(5), "a CRL of attribute certificates alone"),
    ]
}
