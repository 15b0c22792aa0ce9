package import Assay

/// Signs payloads into compact JWS of the App Store's form.
///
/// The header's segment is made once, so that a token costs little more than its signature. Shared
/// freely between threads.
public struct Minter: Sendable {
    private let key: SigningKey
    /// Base64url of the header, and the full stop behind it.
    private let headerSegment: [UInt8]
    /// SHA-256 so far, behind that full stop: certificates are four fifths of a token.
    private let headerHash: SHA256

    private static let stop = UInt8(ascii: ".")

    public init(_ chain: SigningChain) {
        self.init(key: chain.key, header: JWSHeader(certificates: chain.certificates))
    }

    package init(key: SigningKey, header: JWSHeader) {
        self.key = key
        let segment = Base64URL.encode(header.json.span) + [Minter.stop]
        var hash = SHA256()
        hash.update(segment.span)
        headerSegment = segment
        headerHash = hash
    }

    /// The same chain and key behind a header that `change` made wrong.
    package init(_ chain: SigningChain, changing change: (inout JWSHeader) -> Void) {
        var header = JWSHeader(certificates: chain.certificates)
        change(&header)
        self.init(key: chain.key, header: header)
    }

    /// The token of a payload, which needs not be JSON.
    public func sign(_ payload: [UInt8]) throws(MintError) -> [UInt8] {
        try sign(payload) { _ in }
    }

    /// The same, with a signature that `change` made wrong: 64 octets for ES256.
    package func sign(
        _ payload: [UInt8], changingSignature change: (inout [UInt8]) -> Void
    ) throws(MintError) -> [UInt8] {
        let payloadSegment = Base64URL.encode(payload.span)
        var hash = headerHash
        hash.update(payloadSegment.span)
        let digest = hash.finish()
        var signature = try minting { () throws(SigningKeyError) in try key.signRaw(digest) }
        change(&signature)
        let signatureSegment = Base64URL.encode(signature.span)
        var token: [UInt8] = []
        token.reserveCapacity(
            headerSegment.count + payloadSegment.count + 1 + signatureSegment.count)
        token += headerSegment
        token += payloadSegment
        token.append(Minter.stop)
        token += signatureSegment
        return token
    }
}
