import AssayBytes
import AssayIO

/// The claims of a token that authorizes requests (a JWT of RFC 7519).
struct StoreClaims: Equatable, Sendable {
    let issuerId: String
    let bundleId: String
    /// Seconds since 1970.
    let issuedAt: Int64

    /// Apple accepts 60 minutes. A third of it limits what a stolen token is good for.
    static let lifetime: Int64 = 20 * 60
    static let audience = "appstoreconnect-v1"

    var expiresAt: Int64 { issuedAt + Self.lifetime }

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { claims in
            claims.member("iss", issuerId)
            claims.member("iat", issuedAt)
            claims.member("exp", expiresAt)
            claims.member("aud", Self.audience)
            claims.member("bid", bundleId)
        }
        return writer.text
    }

    static func header(keyId: String) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { header in
            header.member("alg", "ES256")
            header.member("kid", keyId)
            header.member("typ", "JWT")
        }
        return writer.text
    }
}

/// A token in the form of an Authorization header. A secret for as long as it is valid.
struct StoreToken: Sendable {
    let text: String
    let issuedAt: Int64
    let expiresAt: Int64

    init(_ claims: StoreClaims, signedWith key: StoreKey) throws(StoreError) {
        var text = Base64URL.encode(StoreClaims.header(keyId: key.keyId).span)
        text.append(UInt8(ascii: "."))
        text += Base64URL.encode(claims.json.span)
        let signature = try key.sign(text)
        text.append(UInt8(ascii: "."))
        text += Base64URL.encode(signature.span)
        self.text = String(decoding: text, as: UTF8.self)
        issuedAt = claims.issuedAt
        expiresAt = claims.expiresAt
    }

    /// Seconds before its end at which a token is replaced: a request has to arrive with it.
    private static let renewal: Int64 = 60

    /// Whether the token serves at a time in seconds since 1970. A clock that was set back would
    /// make it one of the future.
    func serves(at now: Int64) -> Bool { issuedAt <= now && now < expiresAt - Self.renewal }
}

extension StoreToken: CustomStringConvertible, CustomReflectable {
    var description: String { "StoreToken(expires \(expiresAt))" }
    var customMirror: Mirror { Mirror(self, children: ["expiresAt": expiresAt]) }
}

/// Makes tokens for one app and key, each used until a minute before its end.
final class StoreTokenSource: Sendable {
    private let key: StoreKey
    private let bundleId: String
    private let current = Locked<StoreToken?>(nil)

    init(_ key: StoreKey, bundleId: String) {
        self.key = key
        self.bundleId = bundleId
    }

    /// Returns the token for a request at a time in seconds since 1970.
    func token(at now: Int64) throws(StoreError) -> StoreToken {
        try current.withLock { token throws(StoreError) in
            if let token, token.serves(at: now) { return token }
            let claims = StoreClaims(issuerId: key.issuerId, bundleId: bundleId, issuedAt: now)
            let fresh = try StoreToken(claims, signedWith: key)
            token = fresh
            return fresh
        }
    }

    /// Forgets a token that the App Store refused: the clock may have been wrong when it was made.
    func discard(_ token: StoreToken) {
        current.withLock { current in
            if current?.issuedAt == token.issuedAt { current = nil }
        }
    }
}
