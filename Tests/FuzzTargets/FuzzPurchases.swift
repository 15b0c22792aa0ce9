import Assay
import AssayBytes
import AssayMint
import AssayModels

/// Purchases of other stores: no text is VALID that was not signed, in any wrapper.
extension FuzzTarget {
    /// The JSON around a purchase, in which `@0` to `@3` stand for texts and signatures that
    /// match, as parts of JSON strings.
    static func purchase(_ authority: FuzzAuthority) -> FuzzTarget {
        let signed = PurchaseSet()
        return FuzzTarget("Purchase", seeds: purchaseSeeds, words: purchaseWords) { bytes in
            let evidence = FuzzTarget.filled(bytes, signed.parts)
            for kind in [EvidenceKind.googlePurchase, .huaweiPurchase] {
                func verify() -> Verification {
                    authority.verifier.verify(
                        evidence.span, as: kind, policy: signed.policy, at: FuzzAuthority.now)
                }
                let answer = verify()
                precondition(verify() == answer, "the same bytes, another answer")
                precondition((answer.evidence != nil) == (answer.verdict == .valid))
                precondition(!answer.detail.isEmpty && answer.detail.utf8.count < 1000)
                precondition((answer.state != nil) == (answer.dedupKey != nil))
                for (_, json) in answer.evidence?.payloadJSON ?? [] {
                    precondition(signed.texts.contains(json), "valid, and never signed")
                }
            }
            _ = Verifier.likelyKind(of: evidence.span)
        }
    }

    private static let purchaseSeeds: [[UInt8]] = [
        #"{"data":"@0","signature":"@1"}"#, #"{"signature":"@3","data":"@2"}"#,
        #"{"Store":"GooglePlay","Payload":{"json":"@0","signature":"@1"}}"#,
        #"{"Store":"GooglePlay","Payload":"{\"json\":\"{}\",\"signature\":\"\"}"}"#,
        #"{"transaction":{"receipt":"@0","signature":"@1"}}"#,
        #"{"verificationData":{"localVerificationData":"@0"},"signature":"@1"}"#,
        #"{"inAppPurchaseData":"@2","inAppDataSignature":"@3","#
            + #""signatureAlgorithm":"SHA256WithRSA"}"#,
        #"{"originalJson":"@0","signature":"@3"}"#,
    ].map { Array($0.utf8) }

    private static let purchaseWords = [
        #""data":"@0""#, #""signature":"@1""#, #""json":"@2""#, #""Payload":"#, #""Store":"#,
        #""receipt":"#, #""transaction":{"#, #""purchase":{"#, #""dataAndroid":"@0""#,
        #""signatureAndroid":"@1""#, #""signatureAlgorithm":"SHA256WithRSA/PSS""#, #"\u0040"#,
    ]
}

/// Two signed texts and their signatures, ready for a JSON string.
private struct PurchaseSet {
    let texts: [[UInt8]]
    let parts: [[UInt8]]
    let policy: Policy

    init() {
        do {
            let minter = try StoreMinter()
            let google = Samples.googlePurchase(
                index: 1, bundleId: "com.example.app", productId: "gold",
                environment: .production, signedDate: FuzzAuthority.now)
            let huawei = Samples.huaweiPurchase(
                index: 1, bundleId: "com.example.app", productId: "gold",
                environment: .production, signedDate: FuzzAuthority.now)
            texts = [google, huawei]
            parts = [
                Self.escaped(google), try minter.signature(of: google, .google),
                Self.escaped(huawei), try minter.signature(of: huawei, .huawei),
            ]
            var policy = Policy(bundleId: nil)
            policy.google.keys = [try PurchaseKey(minter.publicKey)]
            policy.huawei.keys = policy.google.keys
            self.policy = policy
        } catch {
            preconditionFailure("no purchases: \(error)")
        }
    }

    /// The text as the content of a JSON string.
    private static func escaped(_ text: [UInt8]) -> [UInt8] {
        var writer = JSONWriter()
        writer.value(String(decoding: text, as: UTF8.self))
        return Array(writer.text.dropFirst().dropLast())
    }
}
