import Assay
import AssayBytes
import AssayMint
import AssayModels

/// Minted pushes of Google Play's notifications, and what verifies them.
enum PushFixture {
    static let minter = Fixture.made { try StoreMinter() }
    static let keys = Fixture.made { try PushKeys(minter.jwks) }
    static let claims = PushClaims(
        audience: "https://example.com/push",
        serviceAccount: "push@example.iam.gserviceaccount.com", issued: Fixture.now)

    static var policy: Policy {
        var policy = Policy(bundleId: Fixture.bundle)
        policy.googlePush = PushPolicy(
            keys: keys, audiences: [claims.audience], serviceAccounts: [claims.serviceAccount])
        return policy
    }

    static func text(_ octets: [UInt8]) -> String { String(decoding: octets, as: UTF8.self) }

    static func base64(_ text: String) -> String {
        PushFixture.text(Base64.encode(Array(text.utf8).span))
    }

    /// The notification inside the message.
    static func data(about subject: GoogleNotificationSubject = .subscription) -> [UInt8] {
        Samples.googleNotification(
            index: 1, bundleId: Fixture.bundle, productId: "gold", signedDate: Fixture.now,
            about: subject)
    }

    static func body(_ data: [UInt8] = data()) -> [UInt8] {
        Samples.pushBody(index: 1, data: data, signedDate: Fixture.now)
    }

    static func token(_ claims: [UInt8] = claims.json) -> [UInt8] {
        Fixture.made { try minter.token(claims) }
    }

    static func evidence(_ data: [UInt8] = data()) -> [UInt8] {
        Fixture.made { try minter.push(body(data), claims) }
    }

    static func verify(
        _ evidence: [UInt8], policy: Policy = policy, expecting expectations: Expectations = .none,
        at now: Timestamp = Fixture.now
    ) -> Verification {
        StoreFixture.verifier.verify(
            evidence.span, as: .googleNotification, policy: policy, expecting: expectations,
            at: now)
    }

    /// HMAC with SHA-256 (RFC 2104).
    static func hmac(_ secret: [UInt8], _ text: [UInt8]) -> [UInt8] {
        var key = secret.count > 64 ? SHA256.digest(secret.span).octets.span.array : secret
        key += [UInt8](repeating: 0, count: 64 - key.count)
        let inner = SHA256.digest((key.map { $0 ^ 0x36 } + text).span).octets.span.array
        return SHA256.digest((key.map { $0 ^ 0x5C } + inner).span).octets.span.array
    }
}
