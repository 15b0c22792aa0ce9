import AssayBytes
import AssayModels

/// An OCSP response (RFC 6960, section 4.2.1) of the type that all responders use. Parsed but
/// unverified.
///
/// It owns its bytes. Fields that are compared or hashed as bytes are ranges into them.
package struct OCSPResponse: Sendable {
    package let der: [UInt8]
    /// tbsResponseData including its header: the bytes that the responder signed.
    let signedData: Range<Int>
    let signatureAlgorithm: SignatureAlgorithm
    let signature: Range<Int>
    let responder: Responder
    /// Seconds since 1970.
    package let producedAt: Int64
    /// The statuses, one for each certificate that was asked for.
    package let singles: [Single]
    /// Certificates for the check of the signature; not yet parsed.
    let certificates: [Range<Int>]

    /// ResponderID.
    enum Responder: Equatable {
        /// A Name, with its header.
        case name(Range<Int>)
        /// SHA-1 of the octets of the responder's public key.
        case key(Range<Int>)
    }

    /// The status of one certificate.
    package struct Single: Sendable {
        let hash: CertificateHash?
        let issuerNameHash: Range<Int>
        let issuerKeyHash: Range<Int>
        /// The content octets of serialNumber.
        let serialNumber: Range<Int>
        package let status: RevocationStatus
    }

    /// The hash in a CertID that names the issuer. It selects and proves nothing, so SHA-1 will do.
    enum CertificateHash {
        case sha1, sha256

        func digest(_ bytes: Span<UInt8>) -> [UInt8] {
            switch self {
            case .sha1: SHA1.digest(bytes).octets.span.array
            case .sha256: SHA256.digest(bytes).octets.span.array
            }
        }
    }

    /// Parses exactly one response, without trailing bytes.
    package init(_ bytes: Span<UInt8>) throws(RevocationError) {
        guard bytes.count <= Limits.ocspResponseBytes else {
            throw .tooLarge(bytes: bytes.count, limit: Limits.ocspResponseBytes)
        }
        let parsed: Parsed
        do throws(DERError) {
            parsed = try Parsed(bytes)
        } catch {
            throw .malformed(error.description)
        }
        if parsed.status != 0 { throw .refusedByResponder(parsed.status) }
        if let oid = parsed.unsupportedType { throw .unsupported("a response of type \(oid)") }
        if let oid = parsed.unknownCritical { throw .criticalExtension(oid) }
        guard let fields = parsed.fields else { throw .malformed("it has no response bytes") }
        guard fields.singles.allSatisfy({ $0.status.hasOrderedDates }) else {
            throw .malformed("nextUpdate is before thisUpdate")
        }
        der = bytes.array
        signedData = fields.signedData
        signatureAlgorithm = fields.signatureAlgorithm
        signature = fields.signature
        responder = fields.responder
        producedAt = fields.producedAt
        singles = fields.singles
        certificates = fields.certificates
    }

    /// The status of a certificate under its issuer; nil if the response is not about it.
    func single(of certificate: Certificate, under issuer: Certificate) -> Single? {
        singles.first { single in
            guard let hash = single.hash,
                der[single.serialNumber] == certificate.der[certificate.serialNumber]
            else { return false }
            let issuerBytes = issuer.der.span
            let name = hash.digest(issuerBytes.extracting(issuer.subject))
            let key = hash.digest(issuerBytes.extracting(issuer.keyOctets))
            return der.span.extracting(single.issuerNameHash).equals(name)
                && der.span.extracting(single.issuerKeyHash).equals(key)
        }
    }
}

extension RevocationStatus {
    var hasOrderedDates: Bool { nextUpdate.map { $0 >= thisUpdate } ?? true }
}

/// The fields of a response, before the checks that are not about DER.
private struct Parsed {
    var status = 0
    var unsupportedType: String?
    var unknownCritical: String?
    var fields: Fields?

    struct Fields {
        let signedData: Range<Int>
        let signatureAlgorithm: SignatureAlgorithm
        let signature: Range<Int>
        let responder: OCSPResponse.Responder
        let producedAt: Int64
        let singles: [OCSPResponse.Single]
        let certificates: [Range<Int>]
    }

    init(_ bytes: Span<UInt8>) throws(DERError) {
        var outer = DERReader(bytes)
        var response = try outer.readInside(.sequence)
        try outer.atEnd()
        status = try response.readEnumerated()
        guard let explicit = try response.readOptional(.context(0)) else {
            try response.atEnd()
            return
        }
        try response.atEnd()
        var inside = response.inside(explicit)
        var typed = try inside.readInside(.sequence)
        try inside.atEnd()
        let type = try typed.read(.objectIdentifier)
        let content = try typed.read(.octetString)
        try typed.atEnd()
        guard typed.matches(type, OID.basicOCSPResponse) else {
            unsupportedType = OID.dotted(bytes.extracting(type.content))
            return
        }
        var basic = DERReader(bytes, range: content.content)
        try readBasic(&basic)
    }

    /// Reads a BasicOCSPResponse.
    private mutating func readBasic(_ outer: inout DERReader) throws(DERError) {
        var basic = try outer.readInside(.sequence)
        try outer.atEnd()
        let data = try basic.read(.sequence)
        let algorithm = try SignatureAlgorithm(basic.readInside(.sequence), agrees: true)
        let signature = try basic.readBitStringOctets()
        var certificates: [Range<Int>] = []
        if basic.nextTag == .context(0) {
            var explicit = try basic.readInside(.context(0))
            var list = try explicit.readInside(.sequence)
            try explicit.atEnd()
            while !list.isAtEnd {
                guard certificates.count < Limits.ocspCertificates else {
                    throw .tooManyElements(limit: Limits.ocspCertificates, at: list.position)
                }
                certificates.append(try list.read(.sequence).whole)
            }
        }
        try basic.atEnd()

        var reader = basic.inside(data)
        // `version [0] DEFAULT v1`: there is no other version.
        if reader.nextTag == .context(0) { throw .defaultEncoded(at: reader.position) }
        let responder = try Self.readResponder(&reader)
        let producedAt = try reader.readGeneralizedTime()
        var list = try reader.readInside(.sequence)
        var singles: [OCSPResponse.Single] = []
        while !list.isAtEnd {
            guard singles.count < Limits.ocspSingleResponses else {
                throw .tooManyElements(limit: Limits.ocspSingleResponses, at: list.position)
            }
            singles.append(try readSingle(&list))
        }
        try readExtensions(.context(1), &reader)
        try reader.atEnd()
        fields = Fields(
            signedData: data.whole, signatureAlgorithm: algorithm, signature: signature,
            responder: responder, producedAt: producedAt, singles: singles,
            certificates: certificates)
    }

    private static func readResponder(
        _ reader: inout DERReader
    ) throws(DERError) -> OCSPResponse.Responder {
        if reader.nextTag == .context(1) {
            var explicit = try reader.readInside(.context(1))
            let name = try explicit.read(.sequence).whole
            try explicit.atEnd()
            return .name(name)
        }
        var explicit = try reader.readInside(.context(2))
        let key = try explicit.read(.octetString).content
        try explicit.atEnd()
        return .key(key)
    }

    private mutating func readSingle(
        _ list: inout DERReader
    ) throws(DERError) -> OCSPResponse.Single {
        var single = try list.readInside(.sequence)
        var id = try single.readInside(.sequence)
        let algorithm = try AlgorithmIdentifier(id.readInside(.sequence))
        var hash: OCSPResponse.CertificateHash?
        if algorithm.parameters.isAbsentOrNull {
            if id.matches(algorithm.algorithm, OID.sha1) { hash = .sha1 }
            if id.matches(algorithm.algorithm, OID.sha256) { hash = .sha256 }
        }
        let nameHash = try id.read(.octetString).content
        let keyHash = try id.read(.octetString).content
        let serial = try id.readIntegerOctets().content
        try id.atEnd()

        let state = try Self.readState(&single)
        let thisUpdate = try single.readGeneralizedTime()
        var nextUpdate: Int64?
        if single.nextTag == .context(0) {
            var explicit = try single.readInside(.context(0))
            nextUpdate = try explicit.readGeneralizedTime()
            try explicit.atEnd()
        }
        let invalid = try readExtensions(.context(1), &single, ofStatus: true)
        try single.atEnd()
        let status = RevocationStatus(
            state: state.since(invalid), thisUpdate: Timestamp(seconds: thisUpdate),
            nextUpdate: nextUpdate.map { Timestamp(seconds: $0) })
        return OCSPResponse.Single(
            hash: hash, issuerNameHash: nameHash, issuerKeyHash: keyHash, serialNumber: serial,
            status: status)
    }

    /// Reads CertStatus.
    private static func readState(
        _ single: inout DERReader
    ) throws(DERError) -> RevocationStatus.State {
        if single.nextTag == .context(1) {
            var revoked = try single.readInside(.context(1))
            let time = try revoked.readGeneralizedTime()
            var reason = CertificateRevocationReason.unspecified
            if revoked.nextTag == .context(0) {
                var explicit = try revoked.readInside(.context(0))
                reason = try explicit.readRevocationReason()
                try explicit.atEnd()
            }
            try revoked.atEnd()
            return .revoked(at: Timestamp(seconds: time), reason)
        }
        let isGood = single.nextTag == .contextPrimitive(0)
        let element = try single.read(isGood ? .contextPrimitive(0) : .contextPrimitive(2))
        // IMPLICIT NULL.
        guard element.content.isEmpty else { throw .trailingBytes(at: element.content.lowerBound) }
        return isGood ? .good : .unknown
    }

    /// Reads extensions under a tag. Of an entry of a CRL, a status can have the date since which
    /// the key is suspected (RFC 6960, section 4.4.5). No other has an effect, so a critical one
    /// refuses.
    ///
    /// - Returns: the invalidityDate of a status.
    @discardableResult
    private mutating func readExtensions(
        _ tag: Tag, _ reader: inout DERReader, ofStatus: Bool = false
    ) throws(DERError) -> Int64? {
        guard reader.nextTag == tag else { return nil }
        var explicit = try reader.readInside(tag)
        var invalid: Int64?
        for field in try explicit.readExtensions() {
            let identifier = reader.bytes.extracting(field.identifier)
            if ofStatus, identifier.equals(OID.invalidityDate) {
                invalid = try reader.invalidityDate(field)
            } else if field.isCritical {
                unknownCritical = OID.dotted(identifier)
            }
        }
        try explicit.atEnd()
        return invalid
    }
}

extension RevocationStatus.State {
    /// The same, revoked since an earlier date.
    fileprivate func since(_ date: Int64?) -> Self {
        guard let date, case .revoked(let time, let reason) = self else { return self }
        return .revoked(at: min(time, Timestamp(seconds: date)), reason)
    }
}

extension Timestamp {
    init(seconds: Int64) { self.init(milliseconds: seconds * 1000) }
}
