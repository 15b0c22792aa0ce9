import Assay
import AssayBytes
package import AssayKeys

/// Signs payloads into compact JWS in the App Store's form.
///
/// Encodes and hashes the header once, so that a token costs little more than its signature.
/// Thread-safe.
public struct Minter: Sendable {
    private let key: SigningKey
    /// The header in base64url, and the full stop after it.
    private let headerSegment: [UInt8]
    /// The SHA-256 state after that full stop: certificates are four fifths of a token.
    private let headerHash: SHA256

    private static let stop = UInt8(ascii: ".")

    /// Creates a minter for the chain.
    public init(_ chain: SigningChain) {
        self.init(key: chain.key, header: MintedJWSHeader(certificates: chain.certificates))
    }

    package init(key: SigningKey, header: MintedJWSHeader) {
        self.key = key
        let segment = Base64URL.encode(header.json.span) + [Minter.stop]
        var hash = SHA256()
        hash.update(segment.span)
        headerSegment = segment
        headerHash = hash
    }

    /// Creates a minter for the chain with a header that `change` makes invalid.
    package init(_ chain: SigningChain, changing change: (inout MintedJWSHeader) -> Void) {
        var header = MintedJWSHeader(certificates: chain.certificates)
        change(&header)
        self.init(key: chain.key, header: header)
    }

    /// Signs a payload into a token. The payload need not be JSON.
    public func sign(_ payload: [UInt8]) throws(MintError) -> [UInt8] {
        try sign(payload) { _ in }
    }

    /// Signs a payload into a token with a signature that `change` makes invalid: 64 octets for
    /// ES256.
    package func sign(
        _ payload: [UInt8], changingSignature change: (inout [UInt8]) -> Void
    ) throws(MintError) -> [UInt8] {
        let payloadSegment = Base64URL.encode(payload.span)
        var hash = headerHash
        hash.update(payloadSegment.span)
        let digest = hash.finish()
        var signature = try minting { () throws(SigningKeyError) in
            try key.signRaw(digest: digest.octets.span)
        }
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
