import Assay
import AssayBytes
import AssayMint
import AssayModels
import Testing

/// Notifications of other stores that this version does not know, and those of Huawei on Android.
@Suite struct NewNotificationTests {
    typealias Push = PushFixture
    typealias Store = StoreFixture

    @Test("what Google adds later is VALID under the name of its member, and warned of")
    func unknownNotifications() {
        let cases: [(String, about: String?, remark: String?)] = [
            (
                #""subscriptionNotification":{"notificationType":4}"#, "subscriptionNotification",
                nil
            ),
            (
                #""subscriptionNotification":{"notificationType":99}"#, "subscriptionNotification",
                "does not know its notificationType, 99"
            ),
            (
                #""oneTimeProductNotification":{"notificationType":3}"#,
                "oneTimeProductNotification", "3"
            ),
            (#""newNotification":{"a":1}"#, "newNotification", "\"newNotification\""),
            (#""x":{},"newNotification":{}"#, "newNotification", "\"newNotification\""),
            (#""rental":{"a":1}"#, "rental", "\"rental\""), (#""a":1"#, nil, "does not know"),
            (
                #""pendingRefundReviewNotification":{"pendingRefundToken":"t","orderId":"GPA.1"}"#,
                "pendingRefundReviewNotification", "answer with orders.reviewrefund by 1970-01-02"
            ),
        ]
        for (member, about, remark) in cases {
            let data = #"{"packageName":"\#(Fixture.bundle)","eventTimeMillis":"7","# + member + "}"
            let text = #"{"message":{"data":"\#(Push.base64(data))","messageId":"7"}}"#
            let answer = Push.verify(StoreMinter.push(Array(text.utf8), token: Push.token()))
            #expect(answer.verdict == .valid, "\(member): \(answer.detail)")
            #expect(answer.detail.contains(remark ?? "ask Google's API what changed"), "\(member)")
            #expect(answer.detail.hasSuffix("what changed") == (remark == nil), "\(member)")
            guard case .googleNotification(let found) = answer.evidence else { continue }
            #expect(found.payload.about?.rawValue == about, "\(member)")
            let day: Int64 = 24 * 3600 * 1000
            let isPending = found.payload.about == .pendingRefundReview
            #expect(found.payload.respondBy?.milliseconds == (isPending ? day + 7 : nil))
            #expect(found.payload.pendingRefundToken == (isPending ? "t" : nil))
        }
    }

    // MARK: Huawei

    private static func text(
        order: [UInt8] = Store.huawei(), signature: [UInt8]? = nil,
        changing changes: KeyValuePairs<String, String?> = [:]
    ) -> [UInt8] {
        let made = Fixture.made { try Store.minter.signature(of: order, .huawei) }
        return Fixture.change(
            Samples.huaweiNotification(
                order: order, signature: signature ?? made, productId: "gold",
                environment: .production), changes)
    }

    private static func body(_ text: [UInt8]) -> [UInt8] {
        Fixture.made { try Store.minter.huaweiNotification(text) }
    }

    private static func verify(
        _ body: [UInt8], expecting expectations: Expectations = .none
    ) -> Verification {
        let answer = Store.verify(body, as: .huaweiNotification, expecting: expectations)
        ExplanationAgreement.expect(
            body, as: .huaweiNotification, trust: .apple, policy: Store.policy,
            expecting: expectations, at: Fixture.now, explains: answer)
        return answer
    }

    @Test("a notification of Huawei is VALID when both signatures hold, and has the order")
    func huawei() throws {
        let answer = Self.verify(Self.body(Self.text()))
        #expect(answer.verdict == .valid, "\(answer.detail)")
        #expect(answer.state == .purchased && answer.environment == .production)
        #expect(
            answer.dedupKey
                == Store.verify(Store.sign(Store.huawei(), .huawei), as: .huaweiPurchase).dedupKey)
        guard case .huaweiNotification(let found) = answer.evidence else {
            Issue.record("no notification")
            return
        }
        #expect(found.payload.notificationType == 0)
        #expect(found.payload.latestReceiptInfo?.productId == "gold")
        let likely = Verifier.likelyKind(of: Self.body(Self.text()).span)
        #expect(likely == .huaweiNotification)
        let wrong = Store.verify(Self.body(Self.text()), as: .huaweiPurchase)
        #expect(wrong.verdict == .malformed && wrong.detail.contains("huawei-notification"))
    }

    @Test("a notification of Huawei: what is unknown is VALID, and what is forged is refused")
    func huaweiNeighbours() throws {
        let other = Fixture.made { try StoreMinter() }
        let foreign = try other.signature(of: Store.huawei(), .huawei)
        let purchase = Store.huawei()
        let elsewhere = Store.huawei(changing: ["packageName": #""com.example.other""#])
        let cases: [(String, [UInt8], Verdict)] = [
            ("unknown type", Self.body(Self.text(changing: ["notificationType": "99"])), .valid),
            (
                "no order",
                Self.body(
                    Self.text(changing: [
                        "latestReceiptInfo": nil, "latestReceiptInfoSignature": nil,
                    ])), .valid
            ),
            ("a member more", Self.body(Self.text(changing: ["new": "{}"])), .valid),
            (
                "an unknown environment",
                Self.body(Self.text(changing: ["environment": #""BETA""#])), .wrongEnvironment
            ),
            ("of another app", Self.body(Self.text(order: elsewhere)), .wrongBundle),
            (
                "the order signed by another", Self.body(Self.text(signature: foreign)),
                .invalidSignature
            ),
            (
                "the order without its signature",
                Self.body(Self.text(changing: ["latestReceiptInfoSignature": nil])), .malformed
            ),
            (
                "signed by another", try other.huaweiNotification(Self.text()), .invalidSignature
            ),
            ("a purchase in its place", Self.body(purchase), .wrongKind),
            (
                "of an order, which nobody signs",
                Array(
                    #"{"eventType":"ORDER","orderNotification":{"purchaseToken":"t"}}"#.utf8),
                .malformed
            ),
            ("empty", Array("{}".utf8), .malformed), ("none", [], .malformed),
        ]
        for (name, body, verdict) in cases {
            let answer = Self.verify(body)
            #expect(answer.verdict == verdict, "\(name): \(answer.detail)")
            #expect((answer.evidence != nil) == (verdict == .valid), "\(name)")
        }
        let changed = String(decoding: Self.body(Self.text()), as: UTF8.self)
            .replacingAll(#"\"autoRenewStatus\":1"#, #"\"autoRenewStatus\":0"#)
        #expect(Self.verify(Array(changed.utf8)).verdict == .invalidSignature)
        // The text of a notification is no purchase, though the key signed it.
        let crossed = Store.sign(Self.text(), .huawei)
        #expect(Store.verify(crossed, as: .huaweiPurchase).verdict == .wrongKind)
    }
}
