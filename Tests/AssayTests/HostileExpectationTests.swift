@testable import Assay
import AssayBytes
import AssayMint
import AssayModels
import Testing

/// Lines 43 and 44 of the catalogue of hostile input: the caller's expectations, and kinds.
@Suite struct HostileExpectationTests {
    private static let kinds: [EvidenceKind] = [
        .transaction, .renewalInfo, .appTransaction, .notification, .realtimeRequest,
    ]

    @Test("line 43: expectations of the caller")
    func expectations() throws {
        let payload = try JSONDocument.parse(Fixture.payload()).decode(
            JWSTransactionDecodedPayload.self)
        let account = try #require(payload.appAccountToken)
        let (id, product) = (try #require(payload.transactionId), try #require(payload.productId))
        let cases: [(String, Verdict, Expectations)] = [
            ("none", .valid, .none),
            ("product", .valid, .init(productIds: [product])),
            ("one of two products", .valid, .init(productIds: ["x", product])),
            ("other product", .mismatch, .init(productIds: [product.uppercased()])),
            ("longer product", .mismatch, .init(productIds: [product + "\0"])),
            ("account", .valid, .init(appAccountToken: account)),
            ("account in capitals", .valid, .init(appAccountToken: account.uppercased())),
            (
                "other account", .mismatch,
                .init(appAccountToken: "7e3fb20b-4cdb-47cc-936d-99d65f608138")
            ),
            ("empty account", .mismatch, .init(appAccountToken: "")),
            ("transaction", .valid, .init(transactionId: id)),
            ("other transaction", .mismatch, .init(transactionId: id + "0")),
            (
                "original transaction", .mismatch,
                .init(transactionId: payload.originalTransactionId ?? "")
            ),
            ("bundle", .valid, .init(bundleId: Fixture.bundle)),
            ("other bundle", .wrongBundle, .init(bundleId: "com.example.other")),
            ("environment", .valid, .init(environments: [.production, .sandbox])),
            ("other environment", .wrongEnvironment, .init(environments: [.sandbox])),
            ("wider environment", .valid, .init(environments: [.xcode, .production])),
            ("device", .mismatch, .init(deviceIdentifier: [UInt8](repeating: 0, count: 16))),
            ("device verification", .mismatch, .init(deviceVerificationId: account)),
            ("age", .valid, .init(notOlderThan: Fixture.now)),
            (
                "age, a millisecond later", .mismatch,
                .init(notOlderThan: Timestamp(milliseconds: Fixture.now.milliseconds + 1))
            ),
            ("app", .valid, .init(appAppleId: 1)),
        ]
        for (name, verdict, expectations) in cases {
            let answer = Fixture.verify(Fixture.token(), expecting: expectations)
            Fixture.expect(answer, verdict, comment: name)
        }
        // Canonically equivalent text has other bytes.
        for (text, verdict) in [("\u{E9}", Verdict.valid), ("e\u{301}", .mismatch)] {
            let members: [(String, Expectations)] = [
                ("productId", .init(productIds: ["x", text])),
                ("transactionId", .init(transactionId: text)),
            ]
            for (member, expectations) in members {
                let token = Fixture.token(Fixture.payload(changing: [member: "\"\u{E9}\""]))
                let answer = Fixture.verify(token, expecting: expectations)
                Fixture.expect(answer, verdict, comment: member)
            }
        }
        // An expectation about an absent field does not match.
        for (member, expectations) in [
            ("productId", Expectations(productIds: [product])),
            ("appAccountToken", .init(appAccountToken: account)),
        ] {
            for json in [nil, "null", "\"\""] as [String?] {
                let token = Fixture.token(Fixture.payload(changing: [member: json]))
                let answer = Fixture.verify(token, expecting: expectations)
                Fixture.expect(answer, .mismatch, comment: member)
            }
        }
        // A caller can narrow the policy but not widen it.
        let sandbox = Fixture.token(Fixture.payload(environment: .sandbox))
        let asking = Expectations(environments: [.sandbox])
        Fixture.expect(Fixture.verify(sandbox, expecting: asking), .wrongEnvironment)
    }

    @Test(
        "line 43: the caller's app id is also checked in the sandbox, if the evidence carries one")
    func sandboxedApp() {
        for (id, verdict) in [("1234567890", Verdict.valid), ("999", .wrongApp), ("0", .valid)] {
            let token = Fixture.token(
                Fixture.payload(
                    .appTransaction, environment: .sandbox, changing: ["appAppleId": id]))
            let answer = Fixture.verify(
                token, as: .appTransaction, policy: Policy(bundleId: nil, environments: [.sandbox]),
                expecting: .init(appAppleId: 1_234_567_890))
            Fixture.expect(answer, verdict, comment: "app \(id) in the sandbox")
        }
    }

    @Test("an account token that evidence cannot carry says so")
    func accountTokenOfReceipts() throws {
        let expectations = Expectations(appAccountToken: "7e3fb20b-4cdb-47cc-936d-99d65f608138")
        for kind in EvidenceKind.allCases {
            let claims = EvidenceClaims(kind: kind, environment: .production)
            let refusal = #expect(throws: Refusal.self) {
                try claims.check(expectations, effectiveDate: Fixture.time(1))
            }
            let isReceipt = [.appReceipt, .transactionReceipt, .notificationV1].contains(kind)
            #expect(refusal?.verdict == .mismatch)
            #expect(refusal?.detail.contains("receipts carry none") == isReceipt, "\(kind)")
        }
    }

    @Test("line 43: expectations of each kind", arguments: kinds)
    func expectationsByKind(kind: EvidenceKind) {
        let token = Fixture.token(Fixture.payload(kind))
        let product = Fixture.bundle + ".premium.monthly"
        let hasProduct = [.transaction, .renewalInfo, .realtimeRequest].contains(kind)
        let hasBundle = [.transaction, .appTransaction, .notification].contains(kind)
        let hasApp = [.notification, .appTransaction, .realtimeRequest].contains(kind)
        let cases: [(String, Verdict, Expectations)] = [
            ("none", .valid, .none),
            ("product", hasProduct ? .valid : .mismatch, .init(productIds: [product])),
            ("other product", .mismatch, .init(productIds: ["x"])),
            ("other transaction", .mismatch, .init(transactionId: "1")),
            ("other account", .mismatch, .init(appAccountToken: "1")),
            ("other device", .mismatch, .init(deviceVerificationId: "1")),
            ("bundle", .valid, .init(bundleId: Fixture.bundle)),
            ("other bundle", hasBundle ? .wrongBundle : .valid, .init(bundleId: "x")),
            ("app", .valid, .init(appAppleId: Fixture.app)),
            ("other app", hasApp ? .wrongApp : .valid, .init(appAppleId: 1)),
            ("other environment", .wrongEnvironment, .init(environments: [.sandbox])),
            ("too old", .mismatch, .init(notOlderThan: Fixture.time(1))),
            // The policy is checked before the expectations, in a fixed order.
            (
                "bundle, then environment", hasBundle ? .wrongBundle : .wrongEnvironment,
                .init(bundleId: "x", environments: [.sandbox], productIds: ["x"])
            ),
            (
                "app, then environment", hasApp ? .wrongApp : .wrongEnvironment,
                .init(appAppleId: 1, environments: [.sandbox], productIds: ["x"])
            ),
        ]
        for (name, verdict, expectations) in cases {
            let answer = Fixture.verify(token, as: kind, expecting: expectations)
            Fixture.expect(answer, verdict, comment: name)
        }
    }

    @Test("line 44: each kind passed as each other kind", arguments: kinds, kinds)
    func kindConfusion(evidence: EvidenceKind, asked: EvidenceKind) {
        let token = Fixture.token(Fixture.payload(evidence))
        let answer = Fixture.verify(token, as: asked)
        Fixture.expect(answer, evidence == asked ? .valid : .wrongKind)
        #expect(answer.kind == asked)
        #expect(Verifier.likelyKind(of: token.span) == evidence)
    }

    @Test("line 44: payloads of two kinds, of none, and minimal ones")
    func kindShapes() {
        let minimal = """
            {"environment":"Production","bundleId":"com.example.app",\
            "signedDate":\(Fixture.now.milliseconds)}
            """
        let shapes: [(EvidenceKind, String, Verdict)] = [
            (.transaction, minimal, .valid), (.renewalInfo, minimal, .valid),
            (.appTransaction, minimal, .wrongKind), (.notification, minimal, .wrongKind),
            (.realtimeRequest, minimal, .wrongKind), (.transaction, "{}", .wrongBundle),
        ]
        for (kind, json, verdict) in shapes {
            let token = Fixture.token(Array(json.utf8))
            Fixture.expect(Fixture.verify(token, as: kind), verdict, comment: "\(kind) \(json)")
        }
        // One member that belongs to another kind makes the kind wrong.
        for (kind, member) in [
            (EvidenceKind.transaction, "autoRenewStatus"), (.transaction, "notificationType"),
            (.transaction, "receiptType"), (.transaction, "requestIdentifier"),
            (.renewalInfo, "transactionId"), (.renewalInfo, "purchaseDate"),
            (.renewalInfo, "notificationUUID"), (.transaction, "data"),
        ] {
            let json = Fixture.change(Array(minimal.utf8), [member: "\"1\""])
            Fixture.expect(
                Fixture.verify(Fixture.token(json), as: kind), .wrongKind, comment: member)
        }
        let both = Fixture.payload(
            changing: ["notificationType": "\"TEST\"", "notificationUUID": "\"1\""])
        for kind in [EvidenceKind.transaction, .notification] {
            Fixture.expect(Fixture.verify(Fixture.token(both), as: kind), .wrongKind)
        }
    }

    @Test("line 44: the receipt kinds refuse a JWS")
    func receiptKinds() {
        for kind in [EvidenceKind.appReceipt, .transactionReceipt] {
            Fixture.expect(
                Fixture.verify(Fixture.token(), as: kind), .wrongKind, .malformed,
                comment: "\(kind)")
        }
    }
}
