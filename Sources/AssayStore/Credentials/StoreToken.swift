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
    /// Seconds before its signature at which a token says that it was issued. Apple refuses one of
    /// the future, and a machine's clock is often some seconds fast.
    static let backdating: Int64 = 60
    static let audience = "appstoreconnect-v1"

    /// The claims of a token that is signed at a time in seconds since 1970.
    init(issuerId: String, bundleId: String, signedAt now: Int64) {
        self.issuerId = issuerId
        self.bundleId = bundleId
        issuedAt = now - Self.backdating
    }

    var signedAt: Int64 { issuedAt + Self.backdating }
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
    /// When it was signed by this machine's clock. It says that it was issued before.
    let madeAt: Int64
    let expiresAt: Int64

    init(_ claims: StoreClaims, signedWith key: StoreKey) throws(StoreError) {
        text = try key.token(claims: claims.json)
        madeAt = claims.signedAt
        expiresAt = claims.expiresAt
    }

    /// Seconds before its end at which a token is replaced: a request has to arrive with it.
    private static let renewal: Int64 = 60

    /// Whether the token serves at a time in seconds since 1970. A clock that was set back would
    /// make it one of the future.
    func serves(at now: Int64) -> Bool { madeAt <= now && now < expiresAt - Self.renewal }
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
            let claims = StoreClaims(issuerId: key.issuerId, bundleId: bundleId, signedAt: now)
            let fresh = try StoreToken(claims, signedWith: key)
            token = fresh
            return fresh
        }
    }

    /// Forgets a token that the App Store refused: the clock may have been wrong when it was made.
    func discard(_ token: StoreToken) {
        current.withLock { current in
            if current?.madeAt == token.madeAt { current = nil }
        }
    }
}
