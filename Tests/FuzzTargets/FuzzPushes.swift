import Assay
import AssayBytes
import AssayMint
import AssayModels

/// Pushes of Google Play's notifications: no token is good that was not signed, and of no message
/// comes more than it says.
extension FuzzTarget {
    /// The JSON of a push, in which `@0` stands for a token, `@1` for another issuer's, `@2` to
    /// `@4` for the segments of the first, and `@5` for a body as part of a JSON string.
    static func push(_ authority: FuzzAuthority) -> FuzzTarget {
        let pushes = PushSet()
        return FuzzTarget("Push", seeds: pushSeeds, words: pushWords) { bytes in
            let evidence = FuzzTarget.filled(bytes, pushes.parts)
            func verify() -> Verification {
                authority.verifier.verify(
                    evidence.span, as: .googleNotification, policy: pushes.policy,
                    at: FuzzAuthority.now)
            }
            let answer = verify()
            precondition(verify() == answer, "the same bytes, another answer")
            precondition((answer.evidence != nil) == (answer.verdict == .valid))
            precondition(!answer.detail.isEmpty && answer.detail.utf8.count < 1000)
            if answer.dedupKey != nil {
                precondition(pushes.isGood(evidence), "accepted, and never signed")
            }
            if case .googleNotification(let notification) = answer.evidence {
                precondition(notification.payload.packageName != nil)
                precondition(notification.payload.messageId?.isEmpty == false)
                precondition(notification.payload.about != nil)
            }
            _ = Verifier.likelyKind(of: evidence.span)
        }
    }

    /// A JWK Set: what is taken of it has a name, and an error changes nothing.
    static let pushKeys = FuzzTarget("PushKeys", seeds: keySeeds, words: keyWords) { bytes in
        let keys = PushKeys()
        let text = bytes.array(0..<bytes.count)
        do throws(PushKeysError) {
            try keys.replace(text)
            precondition(!keys.names.isEmpty && keys.names.allSatisfy { !$0.isEmpty })
            let names = keys.names
            _ = try? keys.replace([])
            precondition(keys.names == names)
        } catch {
            precondition(keys.names.isEmpty && !error.description.isEmpty)
        }
    }

    private static let pushSeeds: [[UInt8]] = [
        #"{"authorization":"Bearer @0","body":"@5"}"#, #"{"body":"@5","authorization":"@0"}"#,
        #"{"authorization":"Bearer @1","body":"@5"}"#,
        #"{"authorization":"Bearer @2.@3.@4","body":"@5"}"#,
        #"{"Authorization":"Bearer @0","body":{"message":{"data":"e30=","messageId":"1"}}}"#,
        #"{"authorization":"Bearer eyJhbGciOiJub25lIn0.@3.","body":"@5"}"#,
    ].map { Array($0.utf8) }

    private static let pushWords = [
        #""authorization":"#, #""body":"#, "Bearer ", "@0", "@2.@3.@4", #""message":{"#,
        #""data":"#, #""messageId":"#, #""subscription":"#, "eyJhbGciOiJIUzI1NiJ9", #"\u0040"#,
    ]

    private static let keySeeds: [[UInt8]] = {
        let jwks = (try? StoreMinter())?.jwks ?? []
        return [jwks, Array(#"{"keys":[]}"#.utf8), Array(#"{"keys":[{"kid":"a"}]}"#.utf8)]
    }()

    private static let keyWords = [
        #""keys":["#, #""kid":"#, #""kty":"RSA""#, #""alg":"RS256""#, #""use":"sig""#, #""n":"#,
        #""e":"AQAB""#, #""d":"#, #""k":"#,
    ]
}

/// A signed token, and what verifies it.
private struct PushSet {
    private let token: [UInt8]
    let parts: [[UInt8]]
    let policy: Policy

    init() {
        do {
            let (minter, other) = (try StoreMinter(), try StoreMinter())
            let claims = PushClaims(
                audience: "a", serviceAccount: "b", issued: FuzzAuthority.now)
            token = try minter.token(claims.json)
            let data = Samples.googleNotification(
                index: 1, bundleId: "com.example.app", productId: "gold",
                signedDate: FuzzAuthority.now)
            let body = Samples.pushBody(index: 1, data: data, signedDate: FuzzAuthority.now)
            var writer = JSONWriter()
            writer.value(String(decoding: body, as: UTF8.self))
            parts =
                [token, try other.token(claims.json)]
                + token.split(separator: UInt8(ascii: ".")).map { Array($0) }
                + [Array(writer.text.dropFirst().dropLast())]
            policy = {
                var policy = Policy(bundleId: nil)
                policy.googlePush = PushPolicy(
                    keys: try? PushKeys(minter.jwks), audiences: ["a"], serviceAccounts: ["b"])
                return policy
            }()
        } catch {
            preconditionFailure("no pushes: \(error)")
        }
    }

    /// Whether the evidence has the signed token, which has one form only.
    func isGood(_ evidence: [UInt8]) -> Bool {
        let root = (try? JSONDocument.parse(evidence))?.root
        let header = (root?["authorization"] ?? root?["Authorization"])?.bytes ?? []
        return header.suffix(token.count).elementsEqual(token)
    }
}
