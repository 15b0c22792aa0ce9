import Assay
import AssayBytes
import AssayMint
import AssayModels
import Foundation
import TestSupport
import Testing

/// What a client sent is named at every size: the limit that counts is that of what it is.
@Suite("Forms of evidence at every size", .timeLimit(.minutes(3)))
struct LargeFormTests {
    private typealias Minted = MintedReceipts

    /// Octets of receipts. The forms of the last one have more than 5 MB, above every limit but
    /// that of receipts.
    private static let sizes = [700, 100_000, 4_000_000]

    private static func receipt(_ bytes: Int) throws -> [UInt8] {
        try HostileReceipts.minter().sign(Minted.sample(.bytes(bytes)).payload)
    }

    /// These kinds are JSON, and say which member is missing. Apple's lookup of an unknown order
    /// has a status and nothing that is signed.
    private static func saysMember(_ kind: EvidenceKind, _ item: FormCase) -> Bool {
        switch kind {
        case .serverAnswer: item.form == "json" || item.form == "receiptAnswer"
        case .notificationV1, .googlePurchase, .huaweiPurchase, .googleNotification,
            .huaweiNotification:
            item.form == "json"
        default: false
        }
    }

    @Test("the same cause at every kind, by detection, in explain and in inspect", arguments: sizes)
    func everyKind(size: Int) throws {
        let isLarge = size > 1 << 20
        let kinds: [EvidenceKind] = isLarge ? [.transaction, .appReceipt] : EvidenceKind.allCases
        let cases = FormCase.ofReceipt(try Self.receipt(size))
        #expect(cases.count > 30)
        for item in cases {
            for kind in kinds where !Self.saysMember(kind, item) {
                // Without a root of HarmonyOS nothing of it is read.
                if kind.store == .harmony { continue }
                let answer = Fixture.verify(item.bytes, as: kind)
                #expect(answer.verdict != .valid)
                #expect(
                    answer.detail.contains(item.says),
                    "\(item.name) of \(size) as \(kind.name): \(answer.detail)")
            }
            let explanation = Explanation(
                item.bytes.span, as: nil, trust: Fixture.verifier.trust, policy: Fixture.policy,
                at: Fixture.now)
            let detail = explanation.verification.detail
            #expect(detail.contains(item.says), "\(item.name) of \(size): \(detail)")
            let problems = explanation.inspection.problems
            #expect(
                problems.contains { $0.contains(item.says) },
                "\(item.name) of \(size): \(problems)")
        }
    }

    @Test("evidence above its limit is named by its first bytes, however it arrives")
    func oversized() throws {
        for item in FormCase.ofReceipt(try Self.receipt(400_000)) {
            for kind in EvidenceKind.allCases.map(Optional.some) + [nil] {
                let limit = kind?.byteLimit ?? 64 << 10
                guard item.bytes.count > limit, kind != .appReceipt else { continue }
                if let kind, Self.saysMember(kind, item) || kind.store == .harmony { continue }
                var details: Set<String> = []
                for size in [item.bytes.count, 60_000, 1_000] {
                    let answer = Self.refused(item.bytes, as: kind, limit, each: size)
                    #expect(answer.verdict == .malformed || answer.verdict == .wrongKind)
                    #expect(answer.kind == kind)
                    details.insert(answer.detail)
                }
                #expect(details.count == 1)
                #expect(
                    details.first?.contains(item.says) == true,
                    "\(item.name) as \(kind?.name ?? "auto"): \(details)")
            }
        }
    }

    /// The refusal of evidence that arrives in parts of a size.
    private static func refused(
        _ bytes: [UInt8], as kind: EvidenceKind?, _ limit: Int, each size: Int
    ) -> Verification {
        var evidence = OversizedEvidence(as: kind, limit: limit)
        for start in stride(from: 0, to: bytes.count, by: size) {
            evidence.receive(bytes.span.extracting(start..<min(start + size, bytes.count)))
        }
        #expect(evidence.isNamed && evidence.heldBytes <= 2 * FormLimits.headBytes)
        return Fixture.verifier.refuse(evidence, policy: Fixture.policy, at: Fixture.now)
            .verification
    }

    @Test("the limit is that of the named kind, or of what the evidence is")
    func limits() throws {
        let base64 = Data(try Self.receipt(80_000)).base64EncodedString()
        let spaces = String(repeating: " ", count: 2 << 20)
        func text(_ text: String) -> [UInt8] { Array(text.utf8) }
        let long = Fixture.token() + [UInt8](repeating: 65, count: 70_000)
        let answer = text("{\"signedTransactions\":[\(spaces)]}")
        let wrapper = "{\"Store\":\"AppleAppStore\",\"Payload\":\"\(base64)\""
        let cases: [([UInt8], EvidenceKind?, String)] = [
            (
                long, .transaction,
                "the transaction has \(long.count) bytes; the limit of the kind transaction is "
                    + "65536"
            ),
            (long, nil, "a JWS of \(long.count) bytes; the limit of a JWS is 65536"),
            (long, .googleNotification, "a JWS of \(long.count) bytes"),
            (
                answer, .transaction,
                "(\"signedTransactions\") has \(answer.count) bytes; the limit of the kind "
                    + "server-answer is 1048576"
            ),
            (answer, .serverAnswer, "the server-answer has \(answer.count) bytes; the limit"),
            (
                answer, nil,
                "has \(answer.count) bytes; the limit of the kind server-answer is 1048576"
            ),
            (
                text(base64), .transaction,
                "an app receipt (base64 that begins with MI): use the kind app-receipt"
            ),
            (
                text(wrapper + "}"), .transaction,
                "Unity's wrapper around an app receipt (\"Payload\"): use the kind app-receipt"
            ),
            (
                text(wrapper + spaces + "}"), nil,
                "Unity's wrapper around an app receipt (\"Payload\"), with "
                    + "\(wrapper.utf8.count + spaces.utf8.count + 1) bytes: send the value of "
                    + "\"Payload\" alone"
            ),
            (
                text("{\"transaction\":{\"appStoreReceipt\":\"\(base64)\"}}"), .renewalInfo,
                "a purchase object of cordova-plugin-purchase around an app receipt"
            ),
        ]
        for (bytes, kind, says) in cases {
            let limit = kind?.byteLimit ?? 64 << 10
            let answer = Self.refused(bytes, as: kind, limit, each: 50_000)
            #expect(answer.detail.contains(says), "\(answer.detail)")
        }
        // The reader of receipts says the same of a wrapper that it can't hold.
        let whole = Fixture.verify(text(wrapper + spaces + "}"), as: .appReceipt)
        #expect(whole.detail.contains("send the value of \"Payload\" alone"), "\(whole.detail)")
        var stream = AppReceiptStream(Fixture.verifier, policy: Fixture.policy)
        let bytes = text(wrapper + spaces + "}")
        for start in stride(from: 0, to: bytes.count, by: 30_000) {
            stream.receive(bytes.span.extracting(start..<min(start + 30_000, bytes.count)))
        }
        #expect(stream.heldBytes < 400_000)
        #expect(stream.finish(at: Fixture.now) == whole)
    }

    @Test("JSON that can't be read is named before the kind to use, at every size")
    func faults() {
        let token = Fixture.text(Fixture.token(Fixture.payload(.notification)))
        let receipt = "{\"latest_receipt\":\"MII\"}"
        for padding in ["", String(repeating: " ", count: 100_000)] {
            let cases: [(body: (String) -> String, own: EvidenceKind)] = [
                ({ "{\"unified_receipt\":\(receipt)\(padding)\($0)}" }, .notificationV1),
                ({ "{\"signedPayload\":\"\(token)\"\(padding)\($0)}" }, .notification),
                ({ "{\"signedTransactions\":[]\(padding)\($0)}" }, .serverAnswer),
            ]
            for (body, own) in cases {
                let (faulty, valid) = (Array(body(",").utf8), Array(body("").utf8))
                for kind in [own, .transaction, .appReceipt, .transactionReceipt] {
                    let detail = Fixture.verify(faulty, as: kind).detail
                    #expect(detail.contains("not valid JSON"), "\(kind.name): \(detail)")
                    #expect(!detail.contains("use the kind"), "\(kind.name): \(detail)")
                    let other = Fixture.verify(valid, as: kind).detail
                    #expect(!other.contains("not valid JSON"), "\(kind.name): \(other)")
                }
                let detected = EvidenceFormTests.detected(
                    faulty, Fixture.verifier, Fixture.policy, Fixture.now)
                #expect(detected.detail.contains("not valid JSON"), "\(detected.detail)")
            }
        }
    }

    @Test("the estimate of a kind")
    func estimates() {
        func kind(_ text: String, _ count: Int = 0) -> EvidenceKind {
            let padding = [UInt8](repeating: 65, count: count)
            return Verifier.estimatedKind(of: (Array(text.utf8) + padding).span)
        }
        #expect(kind("MII") == .appReceipt && kind("MI", 1 << 20) == .appReceipt)
        #expect(kind("") == .transaction && kind("e") == .transaction && kind("a") == .transaction)
        #expect(kind("{") == .notification && kind("{", 300_000) == .serverAnswer)
        #expect(kind("ey", 70_000) == .transaction && kind("\"", 60_000) == .transaction)
        #expect(kind("\"", 70_000) == .appReceipt)
    }

    @Test("the path in place of the kind")
    func paths() {
        for (text, path) in [
            ("a JWS: use the kind transaction", "a JWS: post it to /v1/verify?kind=transaction"),
            ("a: use the kind of its payload", "a: post it to /v1/verify?kind=auto"),
            (
                "inside Unity's wrapper: a: use the kind app-receipt; b",
                "inside Unity's wrapper: a: post it to /v1/verify?kind=app-receipt; b"
            ),
            ("no kind", "no kind"),
        ] {
            #expect(EvidenceForm.namingPath(text) == path)
        }
    }
}
