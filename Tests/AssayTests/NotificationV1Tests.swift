@testable import Assay
import AssayBytes
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Version 1 notifications: a receipt among unsigned members.
@Suite struct NotificationV1Tests {
    private static let bundle = MintedReceipts.bundleId

    private static func receipt() throws -> String {
        let der = try ReceiptMinter(MintedReceipts.ca.get().chain)
            .sign(MintedReceipts.sample().payload)
        return String(decoding: ReceiptMinter.base64(der), as: UTF8.self)
    }

    private static func body(_ receipt: String, _ members: String = "") -> [UInt8] {
        let before = members.isEmpty ? "" : members + ","
        return Array(
            """
            {\(before)"unified_receipt":{"status":0,"environment":"Sandbox","latest_receipt":\
            "\(receipt)","latest_receipt_info":[{"product_id":"forged"}]}}
            """.utf8)
    }

    private static func verify(
        _ body: [UInt8], policy: Policy = MintedReceipts.policy,
        expecting expectations: Expectations = .none, inApp: InAppSelection = .all
    ) throws -> Verification {
        try MintedReceipts.verifier().verify(
            body.span, as: .notificationV1, policy: policy, expecting: expectations,
            inApp: inApp, at: MintedReceipts.now)
    }

    /// The answer is that of the receipt alone, with the unsigned members beside it.
    @Test func theReceiptDecides() throws {
        let receipt = try Self.receipt()
        let alone = try MintedReceipts.verifier().verify(
            Array(receipt.utf8).span, as: .appReceipt, policy: MintedReceipts.policy,
            at: MintedReceipts.now)
        let members = """
            "notification_type":"DID_RENEW","environment":"Sandbox","bid":"\(Self.bundle)",\
            "bvrs":"12","auto_renew_product_id":"p","auto_renew_status":true,"password":"secret"
            """
        let verification = try Self.verify(Self.body(receipt, members))
        Fixture.expect(verification, .valid)
        #expect(verification.kind == .notificationV1)
        #expect(verification.environment == alone.environment)
        #expect(verification.dedupKey == nil && alone.evidenceKey != nil)
        #expect(verification.evidenceKey == alone.evidenceKey)
        #expect(verification.certificate == alone.certificate)
        guard case .notificationV1(let notification) = verification.evidence,
            case .appReceipt(let single) = alone.evidence
        else {
            Issue.record("no notification")
            return
        }
        #expect(notification.receipt == single && !single.inApp.isEmpty)
        var expected = UnsignedNotificationV1()
        expected.notificationType = "DID_RENEW"
        expected.environment = "Sandbox"
        expected.bundleId = Self.bundle
        expected.bundleVersion = "12"
        expected.autoRenewProductId = "p"
        expected.autoRenewStatus = "true"
        #expect(notification.unsigned == expected && notification.warnings.isEmpty)
        let json = try #require(verification.evidence?.payloadJSON)
        #expect(json.map(\.name) == ["payload", "unsigned"])
        let text = json.map { Fixture.text($0.json) }.joined()
        #expect(!text.contains("secret") && !text.contains("forged"))
    }

    @Test func unsignedMembersOnlyWarn() throws {
        let receipt = try Self.receipt()
        let cases: [(String, [String])] = [
            (#""bid":"com.example.other""#, ["bid"]), (#""environment":"PROD""#, ["environment"]),
            (#""environment":"sandbox""#, []), (#""environment":"Later""#, []),
            (#""bid":1,"environment":{},"bvrs":[null],"notification_type":null"#, ["bid"]),
            (#""bid":"x","environment":"Production""#, ["bid", "environment"]),
        ]
        for (members, disagreeing) in cases {
            let verification = try Self.verify(Self.body(receipt, members))
            Fixture.expect(verification, .valid, comment: members)
            guard case .notificationV1(let notification) = verification.evidence else { continue }
            #expect(notification.warnings.map(\.member) == disagreeing, "\(members)")
            #expect(verification.environment == .sandbox)
        }
    }

    @Test func refusals() throws {
        let receipt = try Self.receipt()
        let foreign = ReceiptMinter(try ReceiptCA.make(at: MintedReceipts.now).chain)
        let forged = ReceiptMinter.base64(
            try foreign.sign(MintedReceipts.sample().payload))
        let wrapped = #"{\"Store\":\"AppleAppStore\",\"Payload\":\"\#(receipt)\"}"#
        let cases: [([UInt8], Verdict)] = [
            (Self.body(Fixture.text(forged)), .untrustedChain),
            (Self.body(String(receipt.dropLast(8))), .malformed),
            (Self.body("MII="), .malformed), (Self.body(""), .malformed),
            (Self.body(wrapped), .malformed), (Self.body("ey.a.b"), .malformed),
            (Array(receipt.utf8), .malformed), ([], .malformed), (Array("{}".utf8), .malformed),
            (Array("[]".utf8), .malformed), (Array("{".utf8), .malformed),
            (Array(#"{"unified_receipt":"\#(receipt)"}"#.utf8), .malformed),
            (Array(#"{"latest_receipt":"\#(receipt)"}"#.utf8), .malformed),
            (Array(#"{"unified_receipt":{"latest_receipt":1}}"#.utf8), .malformed),
            (Self.body(receipt, #""bid":"a","bid":"b""#), .malformed),
            (Self.body(receipt) + [0x21], .malformed),
            (Array(#"{"signedPayload":"a.b.c"}"#.utf8), .wrongKind),
        ]
        for (index, (body, verdict)) in cases.enumerated() {
            Fixture.expect(try Self.verify(body), verdict, comment: "case \(index)")
        }
        let detail = try Self.verify(Self.body(Fixture.text(forged))).detail
        #expect(detail.hasPrefix("unified_receipt.latest_receipt: "))
    }

    @Test func policyAndExpectations() throws {
        let body = Self.body(try Self.receipt(), #""bid":"com.example.other""#)
        let other = Policy(bundleId: "com.example.other", environments: [.sandbox])
        Fixture.expect(try Self.verify(body, policy: other), .wrongBundle)
        let production = Policy(bundleId: Self.bundle)
        Fixture.expect(try Self.verify(body, policy: production), .wrongEnvironment)
        Fixture.expect(
            try Self.verify(body, expecting: Expectations(productIds: ["none"])), .mismatch)
        Fixture.expect(
            try Self.verify(body, expecting: Expectations(deviceIdentifier: [1])), .mismatch)
        let none = try Self.verify(body, inApp: .none)
        guard case .notificationV1(let notification) = none.evidence else {
            Issue.record("no notification")
            return
        }
        #expect(notification.receipt.inApp.isEmpty)
    }

    @Test func sizeLimit() throws {
        let body = Self.body(try Self.receipt())
        for (extra, verdict) in [(0, Verdict.valid), (1, .malformed)] {
            let spaces = Limits.notificationV1Bytes - body.count + extra
            let padded = body + [UInt8](repeating: UInt8(ascii: " "), count: spaces)
            Fixture.expect(try Self.verify(padded), verdict)
        }
    }

    @Test func kindIsDetected() throws {
        let body = Self.body(try Self.receipt(), #""notification_type":"DID_RENEW""#)
        #expect(Verifier.likelyKind(of: body.span) == .notificationV1)
        for text in [#"{"unified_receipt":{}}"#, #"{"unified_receipt":1}"#] {
            #expect(Verifier.likelyKind(of: Array(text.utf8).span) == nil)
        }
    }

    /// An unknown chain of the receipt defers the notification.
    @Test func unknownChainsDefer() throws {
        let body = Self.body(try Self.receipt())
        let verifier = try MintedReceipts.verifier()
        func ending() -> PreparedVerification {
            verifier.prepare(
                body.span, as: .notificationV1, policy: MintedReceipts.policy,
                at: MintedReceipts.now, unknownChains: .deferred)
        }
        #expect(ending().unknownChain != nil)
        Fixture.expect(
            verifier.verify(
                body.span, as: .notificationV1, policy: MintedReceipts.policy,
                at: MintedReceipts.now), .valid)
        #expect(ending().unknownChain == nil)
    }

    /// Genuine receipts of Apple's in bodies of version 1.
    @Test(.enabled(if: Vectors.has("sk1/unified")))
    func applesReceipts() throws {
        let verifier = Verifier(trust: .apple)
        let policy = Policy(bundleId: nil, environments: [.production, .sandbox])
        var valid = 0
        let files = Vectors.files(in: "sk1/unified", suffix: ".der")
        for file in files {
            let der = try #require(Vectors.bytes("sk1/unified/\(file)"))
            let base64 = Base64.encode(der.span)
            let now = MintedReceipts.now
            let alone = verifier.verify(base64.span, as: .appReceipt, policy: policy, at: now)
            let body = Self.body(Fixture.text(base64))
            let answer = verifier.verify(body.span, as: .notificationV1, policy: policy, at: now)
            #expect(answer.verdict == alone.verdict && answer.evidenceKey == alone.evidenceKey)
            if answer.verdict == .valid { valid += 1 }
        }
        #expect(valid > 0)
        try Vectors.report("version 1 notifications of Apple's receipts", files.count)
    }
}
