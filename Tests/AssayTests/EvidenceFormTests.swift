import Assay
import AssayBytes
import AssayMint
import AssayModels
import Foundation
import TestSupport
import Testing

/// The names of forms, and that every entry point of the core gives the same.
@Suite("Forms of evidence", .timeLimit(.minutes(2)))
struct EvidenceFormTests {
    private typealias Minted = MintedReceipts

    static let samples = Fixture.made {
        FormSamples(
            transaction: Fixture.token(),
            notification: Fixture.token(Fixture.payload(.notification)),
            realtimeRequest: Fixture.token(Fixture.payload(.realtimeRequest)),
            receipt: try HostileReceipts.minter().sign(Minted.sample().payload),
            transactionReceipt: Array(
                "{\"signature\" = \"AA==\";\"purchase-info\" = \"AA==\";}".utf8))
    }
    static let cases = FormCase.all(samples)

    static func base64(_ bytes: [UInt8]) -> [UInt8] { Base64.encode(bytes.span) }

    static let kinds: [EvidenceKind] = [
        .transaction, .renewalInfo, .appTransaction, .notification, .realtimeRequest, .appReceipt,
        .transactionReceipt, .serverAnswer, .notificationV1,
    ]

    @Test("each form is named, and its neighbour is not")
    func names() {
        #expect(Self.cases.count >= 80)
        for item in Self.cases {
            let form = EvidenceForm.detect(item.bytes.span)
            #expect(form.name.rawValue == item.form, "\(item.name): \(form)")
            #expect(form.text.contains(item.says), "\(item.name): \(form.text)")
            let neighbour = EvidenceForm.detect(item.neighbour.span)
            #expect(
                neighbour.name != form.name || !neighbour.text.contains(item.says),
                "the neighbour of \(item.name): \(neighbour)")
        }
        let named = Set(Self.cases.map(\.form)).union(Self.good.map(\.form))
        for name in EvidenceForm.Name.allCases {
            #expect(named.contains(name.rawValue), "no case of \(name)")
        }
    }

    /// Evidence, which another kind is asked for.
    static let good: [(form: String, bytes: [UInt8], says: String)] = [
        ("jws", samples.transaction, "payload of transaction: use the kind transaction"),
        ("appReceipt", samples.receipt, "an app receipt (DER"),
        ("appReceipt", base64(samples.receipt), "an app receipt (base64"),
        ("transactionReceipt", samples.transactionReceipt, "a transaction receipt of iOS 3 to 6"),
        (
            "transactionReceipt", base64(samples.transactionReceipt),
            "a transaction receipt of iOS"
        ),
        ("postBody", samples.body(samples.notification), "use the kind notification"),
        ("postBody", samples.body(samples.realtimeRequest), "use the kind realtime-request"),
        ("serverAnswer", Array("{\"signedTransactions\":[]}".utf8), "use the kind server-answer"),
        (
            "notificationV1",
            Array("{\"notification_type\":\"A\",\"unified_receipt\":{}}".utf8),
            "use the kind notification-v1"
        ),
    ]

    @Test("evidence of another kind is named with its kind")
    func otherKinds() {
        for (form, bytes, says) in Self.good {
            let found = EvidenceForm.detect(bytes.span)
            #expect(found.name.rawValue == form && found.text.contains(says), "\(found)")
            for kind in Self.kinds where !found.fits(kind) {
                let answer = Fixture.verify(bytes, as: kind)
                #expect(
                    answer.verdict == .malformed || answer.verdict == .wrongKind,
                    "\(form) as \(kind.name): \(answer.verdict.name)")
                #expect(answer.detail.contains(says), "\(form) as \(kind.name): \(answer.detail)")
            }
        }
    }

    @Test("the same cause at every kind, by detection, in chunks, in inspect and in explain")
    func entryPoints() throws {
        let verifier = Fixture.verifier
        for item in Self.cases {
            let isJSON = item.bytes.first == UInt8(ascii: "{")
            for kind in Self.kinds {
                // Apple's lookup of an unknown order has a status and nothing that is signed.
                if item.form == "receiptAnswer", kind == .serverAnswer { continue }
                let answer = Fixture.verify(item.bytes, as: kind)
                #expect(answer.verdict != .valid && answer.evidence == nil, "\(item.name)")
                // These kinds are JSON, and say which member is missing.
                if isJSON, item.form == "json", kind == .serverAnswer || kind == .notificationV1 {
                    continue
                }
                #expect(
                    answer.detail.contains(item.says),
                    "\(item.name) as \(kind.name): \(answer.verdict.name) \(answer.detail)")
                let explanation = Explanation(
                    item.bytes.span, as: kind, trust: verifier.trust, policy: Fixture.policy,
                    at: Fixture.now)
                #expect(explanation.verification.detail == answer.detail, "\(item.name)")
            }
            let detected = Self.detected(item.bytes, verifier, Fixture.policy, Fixture.now)
            #expect(detected.detail.contains(item.says), "\(item.name): \(detected.detail)")
            #expect(detected.verdict != .valid)
            let problems = Inspection(item.bytes.span).problems
            #expect(
                problems.contains { $0.contains(item.says) }, "\(item.name): \(problems)")
            Self.expectChunks(item)
        }
    }

    /// The verification of evidence whose kind is not named.
    static func detected(
        _ bytes: [UInt8], _ verifier: Verifier, _ policy: Policy, _ now: Timestamp
    ) -> Verification {
        var batch = [verifier.prepareDetectingKind(bytes.span, policy: policy, at: now)]
        verifier.verifySignatures(&batch)
        return batch[0].verification
    }

    /// The answer does not depend on the chunks in which a receipt arrives.
    private static func expectChunks(_ item: FormCase) {
        let whole = Fixture.verify(item.bytes, as: .appReceipt)
        for size in [1, 7, 4096] {
            var stream = AppReceiptStream(Fixture.verifier, policy: Fixture.policy)
            for start in stride(from: 0, to: item.bytes.count, by: size) {
                let end = min(start + size, item.bytes.count)
                stream.receive(item.bytes.span.extracting(start..<end))
            }
            #expect(stream.finish(at: Fixture.now) == whole, "\(item.name) in chunks of \(size)")
        }
    }

    @Test("what verify accepts, inspect has no problem with")
    func noProblem() throws {
        let receipt = Self.base64(Self.samples.receipt)
        for evidence in [
            Self.samples.transaction, Self.samples.transaction + [10], Self.samples.notification,
            Self.samples.receipt, receipt,
            receipt + [13, 10], receipt + [32], Self.samples.body(Self.samples.notification),
            Self.samples.body(Self.samples.realtimeRequest),
        ] {
            #expect(Inspection(evidence.span).problems == [])
        }
    }

    @Test("text that another program made of evidence is not opened")
    func isNotOpened() {
        for item in Self.cases where item.form != "severalTokens" {
            #expect(Fixture.verify(item.bytes).unwrapped == nil, "\(item.name)")
        }
    }

    @Test("the work is bounded, whatever the text")
    func bounded() {
        let long = FormLimits.headBytes
        let texts: [String] = [
            String(repeating: "{", count: long * 4), String(repeating: "[", count: long * 4),
            String(repeating: "{\"a\":", count: long), String(repeating: "\"", count: long * 2),
            "{" + String(repeating: "\\", count: long * 2),
            "ey" + String(repeating: ".", count: long),
            "MI" + String(repeating: " ", count: long * 2),
            "<" + String(repeating: "0", count: long),
            "{" + (0..<long / 8).map { "\"\($0)\":1" }.joined(separator: ",") + "}",
            String(repeating: "ZXlK", count: long), String(repeating: "9", count: long),
            String(repeating: ",eyJ", count: long / 4),
        ]
        for text in texts {
            let bytes = Array(text.utf8)
            let form = EvidenceForm.detect(bytes.span)
            #expect(form.text.utf8.count < 600, "\(form)")
            // What follows the first bytes changes nothing.
            guard bytes.count > long else { continue }
            #expect(EvidenceForm.detect((bytes + [65, 66]).span).name == form.name)
        }
    }

    @Test("a text is quoted without what a terminal could take for a command")
    func printable() {
        for text in ["{\"\u{1B}[2J\":1}", "\u{1B}[2J", "{\"a\u{202E}b\":1}"] {
            let form = EvidenceForm.detect(Array(text.utf8).span)
            #expect(!form.text.unicodeScalars.contains { $0.value < 32 || $0.value == 0x202E })
        }
    }
}

extension FormSamples {
    /// A body of the App Store with a token.
    fileprivate func body(_ token: [UInt8]) -> [UInt8] {
        Array("{\"signedPayload\":\"\(Fixture.text(token))\"}".utf8)
    }
}
