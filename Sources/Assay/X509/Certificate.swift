import AssayBytes

/// An X.509 certificate (RFC 5280, section 4.1). Parsed but unverified.
///
/// It owns its bytes. Fields that are compared or hashed as bytes are ranges into them.
package struct Certificate: Sendable {
    package let der: [UInt8]
    /// tbsCertificate including its header: the bytes that the issuer signed.
    package let tbsCertificate: Range<Int>
    package let version: Int
    /// The content octets of serialNumber.
    package let serialNumber: Range<Int>
    package let signatureAlgorithm: SignatureAlgorithm
    package let issuer: Range<Int>
    package let subject: Range<Int>
    /// Seconds since 1970, both inclusive (section 4.1.2.5).
    package let notBefore: Int64
    package let notAfter: Int64
    package let publicKey: SubjectPublicKey
    package let extensions: CertificateExtensions
    /// signatureValue.
    package let signature: Range<Int>
    let keptKey = KeptRSAKey()

    package func contains(_ seconds: Int64) -> Bool { (notBefore...notAfter).contains(seconds) }

    func hasBytes(of other: Certificate) -> Bool { der.span.equals(other.der) }

    /// Whether the subject of `other` is the issuer of this certificate.
    func isIssued(inNameOf other: Certificate) -> Bool {
        der.span.extracting(issuer).equals(other.der.span.extracting(other.subject))
    }

    /// The serial number in lower-case hexadecimal, without leading zeros.
    package var serialText: String {
        let text = hexadecimal(der.span.extracting(serialNumber)).drop { $0 == "0" }
        return text.isEmpty ? "0" : String(text)
    }
}

extension Certificate {
    /// Parses exactly one certificate, without trailing bytes.
    package init(der: [UInt8]) throws(CertificateError) {
        do throws(DERError) {
            try self.init(parsing: der)
        } catch {
            throw .encoding(error)
        }
        guard extensions.duplicate == nil else {
            throw .duplicateExtension(extensions.duplicate ?? "")
        }
        let serial = der[serialNumber]
        // Section 4.1.2.2: positive, at most 20 octets (a 21st is the sign).
        guard let first = serial.first, first & 0x80 == 0,
            serial.count <= 20 || serial.count == 21 && first == 0,
            serial.contains(where: { $0 != 0 })
        else { throw .invalidSerialNumber }
        guard notBefore <= notAfter else { throw .invalidValidity }
    }

    private init(parsing der: [UInt8]) throws(DERError) {
        var outer = DERReader(der.span)
        var certificate = try outer.readInside(.sequence)
        try outer.atEnd()

        let tbs = try certificate.read(.sequence)
        let outerAlgorithm = try certificate.read(.sequence)
        signature = try certificate.readBitStringOctets()
        try certificate.atEnd()

        var reader = certificate.inside(tbs)
        version = try Self.readVersion(&reader)
        serialNumber = try reader.readIntegerOctets().content
        let innerAlgorithm = try reader.read(.sequence)
        issuer = try reader.read(.sequence).whole
        var validity = try reader.readInside(.sequence)
        notBefore = try validity.readTime()
        notAfter = try validity.readTime()
        try validity.atEnd()
        subject = try reader.read(.sequence).whole
        publicKey = try SubjectPublicKey(from: &reader)
        // issuerUniqueID and subjectUniqueID [1], [2] are rejected as unexpected tags. Section
        // 4.1.2.8 forbids conforming CAs to generate them.
        extensions = try CertificateExtensions(from: &reader)
        try reader.atEnd()

        signatureAlgorithm = try SignatureAlgorithm(
            certificate.inside(outerAlgorithm),
            agrees: der[innerAlgorithm.whole] == der[outerAlgorithm.whole])
        tbsCertificate = tbs.whole
        self.der = der
    }

    /// Reads `[0] EXPLICIT INTEGER DEFAULT v1` and returns 1, 2 or 3.
    private static func readVersion(_ reader: inout DERReader) throws(DERError) -> Int {
        guard let element = try reader.readOptional(.context(0)) else { return 1 }
        var explicit = reader.inside(element)
        let value = try explicit.readInteger()
        try explicit.atEnd()
        switch value {
        case 1, 2: return Int(value) + 1
        case 0: throw .defaultEncoded(at: element.start)
        default: throw .integerOutOfRange(at: element.content.lowerBound)
        }
    }
}

/// The reason that bytes are not a usable certificate.
package enum CertificateError: Error, Equatable, Sendable {
    case encoding(DERError)
    /// PEM text with content other than base64 (RFC 7468, section 3).
    case notBase64
    /// An extension that occurs twice (RFC 5280, section 4.2).
    case duplicateExtension(String)
    /// A serial number that is zero, negative or longer than 20 octets (section 4.1.2.2).
    case invalidSerialNumber
    /// notAfter is before notBefore.
    case invalidValidity
}

extension CertificateError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .encoding(let error): error.description
        case .notBase64: "the text between BEGIN and END is not base64"
        case .duplicateExtension(let oid): "extension \(oid) occurs twice"
        case .invalidSerialNumber: "the serial number is not positive or exceeds 20 octets"
        case .invalidValidity: "notAfter is before notBefore"
        }
    }
}

/// The signature algorithm of a certificate or message.
package enum SignatureAlgorithm: Equatable, Sendable {
    case ecdsaWithSHA256
    case ecdsaWithSHA384
    case sha1WithRSAEncryption
    case sha256WithRSAEncryption
    /// Any other algorithm, or one of these with wrong parameters, in dotted decimal.
    case other(String)
    /// tbsCertificate.signature differs from signatureAlgorithm (RFC 5280, section 4.1.1.2).
    case contradictory

    /// Reads the content of an AlgorithmIdentifier.
    ///
    /// - Parameter agrees: whether the signed and the outer AlgorithmIdentifier are the same
    ///   bytes.
    init(_ reader: DERReader, agrees: Bool) throws(DERError) {
        let identifier = try AlgorithmIdentifier(reader)
        guard agrees else {
            self = .contradictory
            return
        }
        // RFC 5758, section 3.2: parameters absent for ECDSA. RFC 4055, section 5: NULL for RSA.
        let octets = reader.bytes.array(identifier.algorithm.content)
        switch (octets, identifier.parameters) {
        case (OID.ecdsaWithSHA256, .absent): self = .ecdsaWithSHA256
        case (OID.ecdsaWithSHA384, .absent): self = .ecdsaWithSHA384
        case (OID.sha1WithRSAEncryption, .null): self = .sha1WithRSAEncryption
        case (OID.sha256WithRSAEncryption, .null): self = .sha256WithRSAEncryption
        default: self = .other(OID.dotted(octets.span))
        }
    }
}
