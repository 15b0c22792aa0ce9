import AssayBytes
import AssayModels

/// The single signer of a receipt (RFC 5652, section 5.3). Parsed but unverified.
struct SignerInfo: Sendable {
    let identifier: Identifier
    /// The attributes that are signed in place of the content, with the content's digest; nil if
    /// the signature is over the content itself.
    let signedAttributes: SignedAttributes?
    let signature: [UInt8]

    /// SignerIdentifier.
    enum Identifier: Equatable, Sendable {
        /// The encoded issuer name, and the content octets of the serial number.
        case issuerAndSerialNumber(issuer: [UInt8], serialNumber: [UInt8])
        case subjectKeyIdentifier([UInt8])

        /// The SignerInfo version for this kind of identifier.
        var version: UInt8 {
            switch self {
            case .issuerAndSerialNumber: 1
            case .subjectKeyIdentifier: 3
            }
        }
    }

    init(der: [UInt8]) throws(Refusal) {
        do throws(DERError) {
            try self.init(parsing: der)
        } catch {
            throw Refusal(.malformed, "the signer is not valid DER: " + error.description)
        }
    }

    private init(parsing der: [UInt8]) throws(DERError) {
        var outer = DERReader(der.span)
        var reader = try outer.readInside(.sequence)
        try outer.atEnd()
        let version = try reader.read(.integer)
        identifier = try Self.readIdentifier(&reader)
        guard reader.matches(version, [identifier.version]) else {
            throw .contradictoryVersion(at: version.start)
        }
        digest = try AlgorithmField(from: &reader)
        let attributes = try reader.readOptional(.context(0))
        algorithm = try AlgorithmField(from: &reader)
        signature = der.span.array(try reader.read(.octetString).content)
        // unsignedAttrs prove nothing and are ignored.
        _ = try reader.readOptional(.context(1))
        try reader.atEnd()
        signedAttributes = try attributes.map { (element) throws(DERError) in
            try SignedAttributes(der, element)
        }
    }

    private let digest: AlgorithmField
    private let algorithm: AlgorithmField

    /// An AlgorithmIdentifier; plain if its parameters are absent or NULL.
    private struct AlgorithmField: Sendable {
        let identifier: [UInt8]
        let isPlain: Bool

        init(from reader: inout DERReader) throws(DERError) {
            let fields = try reader.readInside(.sequence)
            let found = try AlgorithmIdentifier(fields)
            identifier = fields.bytes.array(found.algorithm.content)
            isPlain = found.parameters.isAbsentOrNull
        }
    }

    /// The object identifiers of digest and signature, for explanations.
    var algorithmText: String {
        OID.dotted(digest.identifier.span) + " and " + OID.dotted(algorithm.identifier.span)
    }

    /// Checks that the digest is SHA-1 or SHA-256, the signature RSA PKCS #1 v1.5, and that the
    /// two match. Returns the digest algorithm.
    func checkedAlgorithm() throws(Refusal) -> DigestAlgorithm {
        let found: (digest: DigestAlgorithm, withRSA: [UInt8])? =
            switch digest.identifier {
            case OID.sha1: (.sha1, OID.sha1WithRSAEncryption)
            case OID.sha256: (.sha256, OID.sha256WithRSAEncryption)
            default: nil
            }
        guard let found, digest.isPlain else {
            let name = OID.dotted(digest.identifier.span)
            throw Refusal(.unsupportedAlgorithm, "the signer's digest algorithm is \(name)")
        }
        guard algorithm.isPlain,
            [OID.rsaEncryption, found.withRSA].contains(algorithm.identifier)
        else {
            let name = OID.dotted(algorithm.identifier.span)
            throw Refusal(
                .unsupportedAlgorithm,
                "the signature algorithm is \(name), with the digest \(found.digest.name)")
        }
        return found.digest
    }

    private static func readIdentifier(_ reader: inout DERReader) throws(DERError) -> Identifier {
        if let key = try reader.readOptional(.contextPrimitive(0)) {
            return .subjectKeyIdentifier(reader.bytes.array(key.content))
        }
        var fields = try reader.readInside(.sequence)
        let issuer = try fields.read(.sequence)
        let serial = try fields.readIntegerOctets()
        try fields.atEnd()
        return .issuerAndSerialNumber(
            issuer: fields.bytes.array(issuer.whole),
            serialNumber: fields.bytes.array(serial.content))
    }

    /// Whether the certificate is the signer's.
    func isSigner(_ certificate: Certificate) -> Bool {
        switch identifier {
        case .issuerAndSerialNumber(let issuer, let serialNumber):
            certificate.der.span.extracting(certificate.issuer).equals(issuer)
                && certificate.der.span.extracting(certificate.serialNumber).equals(serialNumber)
        case .subjectKeyIdentifier(let identifier):
            certificate.extensions.subjectKeyIdentifier == identifier
        }
    }
}

/// The signedAttrs: signed in place of the content and bound to it by its digest (RFC 5652,
/// section 5.4).
///
/// Section 5.3 requires DER for them, whatever the encoding of the rest. So the signed octets,
/// the DER of the SET OF attributes, are the received octets with another tag. Attributes in
/// another order are refused.
struct SignedAttributes: Sendable {
    /// The attributes with the tag SET instead of [0], as section 5.4 requires for hashing.
    let signedOctets: [UInt8]
    /// Values of contentType and messageDigest, in the order found.
    private var contentTypes: [[UInt8]] = []
    private var messageDigests: [[UInt8]] = []

    fileprivate init(_ der: [UInt8], _ element: DERElement) throws(DERError) {
        signedOctets = [Tag.set.rawValue] + der[element.whole].dropFirst()
        var reader = DERReader(der.span, range: element.content)
        try reader.checkSetOrder()
        while !reader.isAtEnd {
            var attribute = try reader.readInside(.sequence)
            let type = try attribute.read(.objectIdentifier)
            var values = try attribute.readInside(.set)
            try attribute.atEnd()
            try values.checkSetOrder()
            while !values.isAtEnd {
                let value = try values.readElement()
                let octets = values.bytes.array(value.content)
                if values.matches(type, OID.contentType) {
                    contentTypes.append(value.tag == .objectIdentifier ? octets : [])
                } else if values.matches(type, OID.messageDigest) {
                    messageDigests.append(value.tag == .octetString ? octets : [])
                }
            }
        }
    }

    /// Checks that both attributes occur exactly once and match the content (sections 11.1 and
    /// 11.2).
    func check(contentDigest: [UInt8]) throws(Refusal) {
        guard contentTypes == [OID.data] else {
            throw Refusal(
                .invalidSignature,
                "the signed attributes do not name the content type id-data "
                    + "exactly once")
        }
        guard messageDigests.count == 1 else {
            throw Refusal(
                .invalidSignature, "the signed attributes do not have exactly one message digest")
        }
        guard messageDigests[0] == contentDigest else {
            throw Refusal(
                .invalidSignature, "the signed message digest does not match the content")
        }
    }
}
