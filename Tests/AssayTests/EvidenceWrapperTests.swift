import Assay
import AssayBytes
import AssayMint
import AssayModels
import Foundation
import TestSupport
import Testing

/// Wrappers of game engines and purchase libraries, around each kind of evidence.
@Suite("Wrappers around evidence", .timeLimit(.minutes(1)))
struct EvidenceWrapperTests {
    private typealias Minted = MintedReceipts

    private static func verify(_ text: String, as kind: EvidenceKind) throws -> Verification {
        let bytes = Array(text.utf8)
        let isReceipt = kind == .appReceipt
        let verifier = isReceipt ? try Minted.verifier() : Fixture.verifier
        let policy = isReceipt ? Minted.policy : Fixture.policy
        let now = isReceipt ? Minted.now : Fixture.now
        let answer = verifier.verify(bytes.span, as: kind, policy: policy, at: now)
        if answer.verdict == .valid {
            let detected = EvidenceFormTests.detected(bytes, verifier, policy, now)
            #expect(detected == answer, "\(text.prefix(60))")
        }
        guard isReceipt else { return answer }
        var stream = AppReceiptStream(verifier, policy: policy)
        for byte in bytes { stream.receive([byte].span) }
        #expect(stream.finish(at: now) == answer)
        return answer
    }

    /// The wrappers of an item, each with the name that the verification has.
    private static func wrappers(_ item: String) -> [(name: String, text: String)] {
        let escaped = item.replacingOccurrences(of: "/", with: "\\/")
        return [
            ("Unity", #"{"Store":"AppleAppStore","TransactionID":"1","Payload":"\#(item)"}"#),
            ("Unity", #"{"Payload":"\#(escaped)","TransactionID":"1","Store":"AppleAppStore"}"#),
            ("Unity", #"{"Payload":{"jwsRepresentation":"\#(item)"},"Store":"MacAppStore"}"#),
            (
                "Unity",
                #"{"Store":"AppleAppStore","Payload":"{\"transactionReceipt\":\"\#(item)\"}"}"#
            ),
            ("React Native", #"{"id":"1","purchaseToken":"\#(item)","platform":"ios"}"#),
            ("React Native", #"{"productId":"a","transactionReceipt":"\#(item)"}"#),
            (
                "React Native",
                #"{"jwsRepresentationIOS":"\#(item)","purchaseToken":"\#(item)"}"#
            ),
            ("Cordova", #"{"id":"a","type":"ios-appstore","appStoreReceipt":"\#(item)"}"#),
            (
                "Cordova",
                #"{"id":"a","transaction":{"type":"ios-appstore","appStoreReceipt":"\#(item)"}}"#
            ),
            (
                "Flutter",
                #"{"verificationData":{"serverVerificationData":"\#(item)","source":"app_store"}}"#
            ),
            ("Flutter", #"{"serverVerificationData":"\#(item)","localVerificationData":"{}"}"#),
        ]
    }

    @Test("a wrapper is opened at every kind, and named")
    func opened() throws {
        let receipt = EvidenceFormTests.base64(EvidenceFormTests.samples.receipt)
        let items: [(EvidenceKind, [UInt8])] = [
            (.transaction, Fixture.token()),
            (.renewalInfo, Fixture.token(Fixture.payload(.renewalInfo))),
            (.appTransaction, Fixture.token(Fixture.payload(.appTransaction))),
            (.notification, Fixture.token(Fixture.payload(.notification))), (.appReceipt, receipt),
        ]
        for (kind, item) in items {
            for (name, text) in Self.wrappers(Fixture.text(item)) {
                let answer = try Self.verify(text, as: kind)
                #expect(answer.verdict == .valid, "\(name) \(kind.name): \(answer.detail)")
                #expect(answer.unwrapped == name && answer.kind == kind)
                #expect(Inspection(Array(text.utf8).span).problems == [], "\(name) \(kind.name)")
                let report = Fixture.text(VerificationReport(answer).json)
                #expect(report.contains("\"unwrapped\":\"\(name)\""))
            }
            let alone = try Self.verify(Fixture.text(item), as: kind)
            #expect(alone.verdict == .valid && alone.unwrapped == nil)
        }
    }

    @Test("Unity's wrapper around a transaction receipt")
    func transactionReceipt() throws {
        let receipt = Array("{\"signature\" = \"AA==\";\"purchase-info\" = \"AA==\";}".utf8)
        let alone = Fixture.verify(receipt, as: .transactionReceipt)
        let text = Fixture.text(receipt).replacingOccurrences(of: "\"", with: "\\\"")
        for payload in [text, Fixture.text(Base64.encode(receipt.span))] {
            let wrapped = #"{"Store":"AppleAppStore","Payload":"\#(payload)"}"#
            let answer = try Self.verify(wrapped, as: .transactionReceipt)
            #expect(answer.unwrapped == "Unity")
            #expect(answer.detail == alone.detail && answer.verdict == alone.verdict)
            #expect(Verifier.likelyKind(of: Array(wrapped.utf8).span) == .transactionReceipt)
        }
    }

    @Test("the JWS takes precedence over a receipt")
    func precedence() throws {
        let token = Fixture.text(Fixture.token())
        let receipt = Fixture.text(EvidenceFormTests.base64(EvidenceFormTests.samples.receipt))
        for text in [
            #"{"transactionReceipt":"\#(receipt)","purchaseToken":"\#(token)"}"#,
            #"{"jwsRepresentation":"\#(token)","appStoreReceipt":"\#(receipt)"}"#,
        ] {
            #expect(try Self.verify(text, as: .transaction).verdict == .valid)
            #expect(Verifier.likelyKind(of: Array(text.utf8).span) == .transaction)
        }
    }

    @Test("a refusal of what is inside names the wrapper")
    func refused() throws {
        let token = Fixture.text(Fixture.token())
        let receipt = Fixture.text(EvidenceFormTests.base64(EvidenceFormTests.samples.receipt))
        let cases: [(item: String, kind: EvidenceKind, Verdict, says: String)] = [
            (receipt, .transaction, .malformed, "an app receipt (base64"),
            (token, .appReceipt, .wrongKind, "use the kind transaction"),
            (token, .transactionReceipt, .wrongKind, "use the kind transaction"),
            (String(token.dropLast()), .transaction, .malformed, "85 of 86 characters"),
            (String(receipt.dropLast(400)), .appReceipt, .malformed, "cut off"),
        ]
        for (item, kind, verdict, says) in cases {
            let text = #"{"Store":"AppleAppStore","Payload":"\#(item)"}"#
            let answer = try Self.verify(text, as: kind)
            #expect(answer.verdict == verdict && answer.unwrapped == "Unity", "\(says)")
            #expect(answer.detail.contains(says), "\(answer.detail)")
        }
        var changed = Fixture.token()
        changed[changed.count - 5] = changed[changed.count - 5] == 65 ? 66 : 65
        let text = #"{"purchaseToken":"\#(Fixture.text(changed))"}"#
        let answer = try Self.verify(text, as: .transaction)
        #expect(answer.verdict == .invalidSignature && answer.unwrapped == "React Native")
    }

    @Test("a wrapper is opened once, and only what is unambiguous")
    func notOpened() throws {
        let token = Fixture.text(Fixture.token())
        let inner = #"{\"Store\":\"AppleAppStore\",\"Payload\":\"\#(token)\"}"#
        for text in [
            #"{"Store":"AppleAppStore","Payload":"\#(inner)"}"#,
            #"{"purchaseToken":"\#(token)","jwsRepresentation":"\#(token)A"}"#,
            #"{"Store":"GooglePlay","Payload":"{}"}"#, #"{"token":"\#(token)"}"#,
            #"{"Payload":"\#(token)"}"#, #"{"purchaseToken":"\#(token)""#,
            #"{"purchaseToken":"\#(token)"}x"#, #"[{"purchaseToken":"\#(token)"}]"#,
            #"{"a":{"purchaseToken":"\#(token)"}}"#,
        ] {
            for kind in [EvidenceKind.transaction, .appReceipt, .transactionReceipt] {
                let answer = try Self.verify(text, as: kind)
                #expect(answer.verdict != .valid && answer.unwrapped == nil, "\(text.prefix(50))")
            }
        }
    }

    @Test("a POST body is opened for notifications and retention requests alike")
    func postBodies() throws {
        let kinds: [EvidenceKind] = [.notification, .realtimeRequest]
        for kind in kinds {
            let token = Fixture.text(Fixture.token(Fixture.payload(kind)))
            for body in [
                #"{"signedPayload":"\#(token)"}"#,
                #"{"version":"2.0","signedPayload":"\#(token)"}"#,
            ] {
                let answer = try Self.verify(body, as: kind)
                #expect(answer.verdict == .valid && answer.unwrapped == nil, "\(answer.detail)")
                #expect(Verifier.likelyKind(of: Array(body.utf8).span) == kind)
                for other in kinds where other != kind {
                    let answer = try Self.verify(body, as: other)
                    #expect(answer.verdict == .wrongKind, "\(answer.detail)")
                    #expect(answer.detail.contains("not of a"), "\(answer.detail)")
                }
                let refused = try Self.verify(body, as: .transaction)
                #expect(refused.verdict == .malformed)
                #expect(refused.detail.contains("use the kind \(kind.name)"), "\(refused.detail)")
            }
            let cut = try Self.verify(#"{"signedPayload":"\#(token.dropLast())"}"#, as: kind)
            #expect(cut.detail.contains("85 of 86 characters"), "\(cut.detail)")
        }
    }

    /// Whole parts of shared/cases, if they are there.
    @Test(
        "the inputs of public reports", .enabled(if: Vectors.has(cases: "tokens", suffix: ".jws")))
    func reports() throws {
        func file(_ name: String) throws -> [UInt8] {
            try #require(Vectors.bytes("../cases/" + name))
        }
        let tokens = Verifier(
            trust: try TrustStore.empty.pinning(file("tokens/root.der"), development: false))
        let policy = Policy(
            bundleId: "com.example.game", environments: [.production, .sandbox, .xcode])
        let now = Timestamp(milliseconds: 1_795_700_000_000)
        for (name, kind, says) in [
            ("bearer.jws", EvidenceKind.transaction, "Bearer"),
            ("cut-by-one.jws", .transaction, "85"),
            ("decoded.json", .transaction, "a decoded transaction"),
            ("numeric-id.txt", .transaction, "16 digits"),
            ("wrapped-76.jws", .transaction, "a line break at offset 76"),
            ("xcode.jws", .transaction, "pin its certificate"),
        ] {
            let bytes = try file("tokens/" + name)
            let answer = tokens.verify(bytes.span, as: kind, policy: policy, at: now)
            #expect(answer.detail.contains(says), "\(name): \(answer.detail)")
            #expect(Inspection(bytes.span).problems.contains { $0.contains(says) }, "\(name)")
        }
        for name in ["retention.jws", "retention-body.json"] {
            let bytes = try file("tokens/" + name)
            let answer = tokens.verify(
                bytes.span, as: .realtimeRequest, policy: policy, at: now)
            #expect(answer.verdict == .valid, "\(name): \(answer.detail)")
        }
        let pinned = Verifier(
            trust: try TrustStore.empty.pinning(file("tokens/xcode.cer"), development: true))
        let token = try file("tokens/xcode.jws")
        let xcode = pinned.verify(token.span, as: .transaction, policy: policy, at: now)
        #expect(xcode.verdict == .valid, "\(xcode.detail)")
        let receipts = Verifier(
            trust: try TrustStore.empty.pinning(file("receipts/root.pem"), development: false))
        for (name, says) in [
            ("enc-double.b64", "base64 of base64"), ("enc-hex.txt", "hexadecimal"),
            ("enc-inapp-set.der", "a DER SET"), ("enc-nsdata-ios13.txt", "NSData"),
            ("enc-pem.pem", "PEM"), ("enc-percent.b64", "a percent sign"),
            ("enc-quoted.b64", "a quotation mark"),
            ("enc-space-for-plus.b64", "turned + into spaces"), ("enc-urlsafe.b64", "base64url"),
        ] {
            let bytes = try file("receipts/" + name)
            for kind in EvidenceFormTests.kinds {
                let answer = receipts.verify(bytes.span, as: kind, policy: policy, at: now)
                #expect(answer.detail.contains(says), "\(name) \(kind.name): \(answer.detail)")
            }
            #expect(Inspection(bytes.span).problems.contains { $0.contains(says) }, "\(name)")
        }
        let wrapped = try file("receipts/enc-unity.json")
        let unity = receipts.verify(wrapped.span, as: .appReceipt, policy: policy, at: now)
        #expect(unity.verdict == .valid && unity.unwrapped == "Unity", "\(unity.detail)")
    }
}
