import Assay
import AssayMint
import AssayModels
import Testing

/// Lines 40 to 44 of the catalogue of hostile input: policy, expectations, and what is nested.
@Suite struct HostilePolicyTests {
    private static let kinds: [EvidenceKind] = [
        .transaction, .renewalInfo, .appTransaction, .notification, .realtimeRequest,
    ]

    @Test("line 40: environments under a policy of Production alone")
    func environments() {
        let texts: [(String?, Verdict)] = [
            ("\"Production\"", .valid), (#""\u0050roduction""#, .valid),
            ("\"Sandbox\"", .wrongEnvironment), ("\"Xcode\"", .wrongEnvironment),
            ("\"LocalTesting\"", .wrongEnvironment), (nil, .wrongEnvironment),
            ("null", .wrongEnvironment), ("\"\"", .wrongEnvironment),
            ("\"production\"", .wrongEnvironment), ("\"Production \"", .wrongEnvironment),
            (#""Production\u0000""#, .wrongEnvironment), ("\"PRODUCTION\"", .wrongEnvironment),
            ("\"Рroduction\"", .wrongEnvironment), ("\"Unspecified\"", .wrongEnvironment),
            ("[\"Production\"]", .malformed), ("0", .malformed),
        ]
        for (json, verdict) in texts {
            let token = Fixture.token(Fixture.payload(changing: ["environment": json]))
            Fixture.expect(Fixture.verify(token), verdict, comment: json ?? "absent")
            let app = Fixture.token(
                Fixture.payload(.appTransaction, changing: ["receiptType": json]))
            // Without its receiptType it is no app transaction.
            Fixture.expect(
                Fixture.verify(app, as: .appTransaction), json == nil ? .wrongKind : verdict,
                comment: json ?? "absent")
        }
    }

    @Test("line 40: what names no environment is Unspecified, allowed by that name alone")
    func unspecified() {
        let token = Fixture.token(Fixture.payload(changing: ["environment": nil]))
        for environment in StoreEnvironment.known {
            let policy = Policy(bundleId: Fixture.bundle, environments: [environment])
            let verdict: Verdict = environment == .unspecified ? .valid : .wrongEnvironment
            Fixture.expect(Fixture.verify(token, policy: policy), verdict)
        }
    }

    @Test("line 40: no environment skips the signature", arguments: StoreEnvironment.known)
    func neverUnsigned(environment: StoreEnvironment) throws {
        let xcode = try SigningChain.storeKitTesting(at: Fixture.now)
        let other = try SigningChain.storeKitTesting(at: Fixture.now)
        let verifiers = [
            Fixture.verifier,
            Verifier(trust: Fixture.trust(xcode.certificates[0], development: true)),
        ]
        let policy = Policy(bundleId: Fixture.bundle, environments: Set(StoreEnvironment.known))
        let payload = Fixture.payload(environment: environment)
        let tokens = [
            Fixture.token(payload, other), Fixture.token(payload, xcode, signature: { $0[9] ^= 1 }),
            Fixture.token(payload, signature: { $0[40] ^= 1 }),
            Fixture.token(payload, header: { $0.alg = "none" }, signature: { $0 = [] }),
            Fixture.token(payload, header: { $0.x5c = nil }),
            Fixture.token(
                payload, SigningChain(certificates: xcode.certificates, key: other.key)),
        ]
        for verifier in verifiers {
            for token in tokens {
                let answer = Fixture.verify(token, policy: policy, by: verifier)
                #expect(answer.verdict != .valid && answer.evidence == nil)
            }
        }
    }

    @Test("line 40: Xcode and LocalTesting pass with their certificate pinned, and only they")
    func pinnedLeaf() throws {
        let xcode = try SigningChain.storeKitTesting(at: Fixture.now)
        let policy = Policy(bundleId: Fixture.bundle, environments: Set(StoreEnvironment.known))
        for development in [true, false] {
            let trust = Fixture.trust(xcode.certificates[0], development: development)
            let pinned = Verifier(trust: trust)
            for environment in StoreEnvironment.known {
                let token = Fixture.token(
                    Fixture.payload(
                        changing: ["environment": "\"\(environment.rawValue)\""]), xcode)
                let passes = environment == .xcode || environment == .localTesting
                Fixture.expect(
                    Fixture.verify(token, policy: policy, by: pinned),
                    passes ? .valid : .wrongEnvironment, comment: environment.rawValue)
                // Not pinned, or not allowed by the policy.
                Fixture.expect(Fixture.verify(token, policy: policy), .invalidChain)
                Fixture.expect(
                    Fixture.verify(token, by: pinned),
                    .wrongEnvironment, comment: environment.rawValue)
            }
            // Dates hold as always.
            let old = Fixture.token(
                Fixture.payload(environment: .xcode, signed: Fixture.time(-2 * 86_400)), xcode)
            Fixture.expect(
                Fixture.verify(old, policy: policy, by: pinned), .certificateExpired)
        }
        // Another certificate of the same name, of the same key even, is not that certificate.
        let again = try SigningChain.storeKitTesting(validity: Fixture.validity) { _ in }
        let pinned = Verifier(trust: Fixture.trust(xcode.certificates[0], development: true))
        let token = Fixture.token(Fixture.payload(environment: .xcode), again)
        Fixture.expect(Fixture.verify(token, policy: policy, by: pinned), .invalidChain)
        // Three of them are a chain of three, which has rules of its own.
        var thrice = xcode
        thrice.certificates = [[UInt8]](repeating: xcode.certificates[0], count: 3)
        let long = Fixture.token(Fixture.payload(environment: .xcode), thrice)
        Fixture.expect(Fixture.verify(long, policy: policy, by: pinned), .invalidChain)
    }

    @Test("line 40: a development root never validates Production", arguments: kinds)
    func developmentRoot(kind: EvidenceKind) {
        let trust = Fixture.trust(Fixture.ca.rootCertificate, development: true)
        let verifier = Verifier(trust: trust)
        let policy = Policy(
            bundleId: Fixture.bundle, appAppleId: Fixture.app,
            environments: Set(StoreEnvironment.known))
        for environment in StoreEnvironment.known where environment != .unspecified {
            let token = Fixture.token(Fixture.payload(kind, environment: environment))
            let answer = Fixture.verify(token, as: kind, policy: policy, by: verifier)
            Fixture.expect(
                answer, environment == .production ? .untrustedChain : .valid,
                comment: environment.rawValue)
        }
    }

    @Test("line 41: bundle identifiers that look alike")
    func bundles() {
        let texts: [(String?, Verdict)] = [
            ("com.example.app", .valid), (#"com.example.\u0061pp"#, .valid),
            ("com.example.App", .wrongBundle), ("com.example.аpp", .wrongBundle),
            (#"com.example.app\u0000"#, .wrongBundle), ("com.example.app ", .wrongBundle),
            ("com.example.ap", .wrongBundle), ("com.example.app.clip", .wrongBundle),
            ("", .wrongBundle), ("com.example.other", .wrongBundle), (nil, .wrongBundle),
            (#"com.example.app\u200b"#, .wrongBundle), ("com.example.a\u{301}pp", .wrongBundle),
        ]
        for (text, verdict) in texts {
            for kind in [EvidenceKind.transaction, .appTransaction] {
                let token = Fixture.token(
                    Fixture.payload(kind, changing: ["bundleId": text.map { "\"\($0)\"" }]))
                Fixture.expect(
                    Fixture.verify(token, as: kind), verdict, comment: "\(kind) \(text ?? "-")")
            }
        }
        // Composed and decomposed are the same to a String and are not the same bytes.
        let composed = Policy(bundleId: "com.example.\u{E9}", environments: [.production])
        for (text, verdict) in [("\u{E9}", Verdict.valid), ("e\u{301}", .wrongBundle)] {
            let token = Fixture.token(
                Fixture.payload(changing: ["bundleId": "\"com.example.\(text)\""]))
            Fixture.expect(Fixture.verify(token, policy: composed), verdict)
        }
        // Without a bundle in the policy it is reported, not checked.
        let open = Policy(bundleId: nil, environments: [.production])
        let token = Fixture.token(Fixture.payload(bundle: "com.example.other"))
        let answer = Fixture.verify(token, policy: open)
        Fixture.expect(answer, .valid)
        #expect(answer.dedupKey?.contains("com.example.other") == true)
    }

    @Test("line 41: the app's id, demanded of what carries one in Production")
    func appIds() {
        let app = String(Fixture.app)
        let cases: [(EvidenceKind, StoreEnvironment, String?, Verdict)] = [
            (.appTransaction, .production, app, .valid),
            (.appTransaction, .production, "1", .wrongApp),
            (.appTransaction, .production, "0", .wrongApp),
            (.appTransaction, .production, nil, .wrongApp),
            (.appTransaction, .production, "null", .wrongApp),
            (.appTransaction, .production, "-\(app)", .wrongApp),
            (.appTransaction, .production, "\"\(app)\"", .malformed),
            (.appTransaction, .production, "\(app).5", .malformed),
            (.appTransaction, .sandbox, nil, .valid), (.appTransaction, .sandbox, "0", .valid),
            (.realtimeRequest, .production, "1", .wrongApp),
            (.realtimeRequest, .production, app, .valid),
            (.realtimeRequest, .production, nil, .malformed),
            // It has no place for one.
            (.transaction, .production, "1", .valid), (.transaction, .production, nil, .valid),
        ]
        let policy = Policy(
            bundleId: Fixture.bundle, appAppleId: Fixture.app,
            environments: [.production, .sandbox])
        for (kind, environment, json, verdict) in cases {
            let payload = Fixture.payload(
                kind, environment: environment, changing: ["appAppleId": json])
            Fixture.expect(
                Fixture.verify(Fixture.token(payload), as: kind, policy: policy), verdict,
                comment: "\(kind) \(environment) \(json ?? "-")")
        }
        var open = policy
        open.appAppleId = nil
        let other = Fixture.token(Fixture.payload(.appTransaction, changing: ["appAppleId": "1"]))
        Fixture.expect(Fixture.verify(other, as: .appTransaction, policy: open), .valid)
    }

    // MARK: Notifications

    private func notification(
        _ data: KeyValuePairs<String, String?> = [:], member: String = "data",
        _ changes: KeyValuePairs<String, String?> = [:]
    ) -> [UInt8] {
        let base = """
            {"bundleId":"\(Fixture.bundle)","appAppleId":\(Fixture.app),"environment":"Production"}
            """
        let inner = Fixture.text(Fixture.change(Array(base.utf8), data))
        let outer = Fixture.payload(.notification, changing: ["data": nil, member: inner])
        return Fixture.token(Fixture.change(outer, changes))
    }

    private func expect(
        _ token: [UInt8], _ verdict: Verdict, comment: String = "",
        at location: SourceLocation = #_sourceLocation
    ) {
        Fixture.expect(
            Fixture.verify(token, as: .notification), verdict, comment: comment, at: location)
    }

    @Test("line 42: nested evidence, one that does not hold refusing the whole")
    func nested() {
        let places: [(EvidenceKind, String, String)] = [
            (.transaction, "data", "signedTransactionInfo"),
            (.renewalInfo, "data", "signedRenewalInfo"),
            (.appTransaction, "appData", "signedAppTransactionInfo"),
        ]
        for (kind, holder, member) in places {
            func outer(_ nested: [UInt8]) -> [UInt8] {
                notification([member: Fixture.quoted(nested)], member: holder)
            }
            let payload = Fixture.payload(kind)
            expect(outer(Fixture.token(payload)), .valid, comment: member)
            let bundle = Fixture.payload(kind, bundle: "com.example.other")
            let cases: [(String, Verdict, [UInt8])] = [
                ("flipped", .invalidSignature, Fixture.token(payload, signature: { $0[5] ^= 4 })),
                ("forged chain", .untrustedChain, Fixture.token(payload, Fixture.stranger.chain)),
                (
                    "none", .unsupportedAlgorithm,
                    Fixture.token(payload, header: { $0.alg = "none" })
                ),
                ("unsigned", .malformed, payload), ("empty", .malformed, []),
                (
                    "future", .invalidDate,
                    Fixture.token(
                        Fixture.payload(kind, signed: Fixture.time(301)))
                ),
                (
                    "sandbox", .wrongEnvironment,
                    Fixture.token(
                        Fixture.payload(kind, environment: .sandbox))
                ),
                ("itself a notification", .wrongKind, notification()),
                ("other app", kind == .renewalInfo ? .valid : .wrongBundle, Fixture.token(bundle)),
                (
                    "other kind", .wrongKind,
                    Fixture.token(
                        Fixture.payload(kind == .transaction ? .renewalInfo : .transaction))
                ),
            ]
            for (name, verdict, nested) in cases {
                expect(outer(nested), verdict, comment: "\(member) \(name)")
            }
            for json in ["1", "{}", "[]", "true"] {
                expect(notification([member: json], member: holder), .malformed, comment: json)
            }
            expect(notification([member: "null"], member: holder), .valid)
        }
    }

    @Test("line 42: all that is nested comes back verified")
    func nestedPayloads() throws {
        let transaction = Fixture.payload(.transaction, index: 5)
        let renewal = Fixture.payload(.renewalInfo, index: 5)
        let app = Fixture.payload(.appTransaction, index: 5)
        let appData = """
            {"bundleId":"\(Fixture.bundle)","signedAppTransactionInfo":\
            \(Fixture.quoted(Fixture.token(app)))}
            """
        let token = notification(
            [
                "signedTransactionInfo": Fixture.quoted(Fixture.token(transaction)),
                "signedRenewalInfo": Fixture.quoted(Fixture.token(renewal)),
            ], ["appData": appData])
        let answer = Fixture.verify(token, as: .notification)
        Fixture.expect(answer, .valid)
        guard case .notification(let notification) = answer.evidence else {
            Issue.record("no notification")
            return
        }
        #expect(notification.transaction?.json == transaction)
        #expect(notification.renewalInfo?.json == renewal)
        #expect(notification.appTransaction?.json == app)

        // As a POST body, however its JSON is written.
        let text = Fixture.text(token)
        let escaped = text.replacing("e", with: #"\u0065"#)
        for body in [
            #"{"signedPayload":"\#(text)"}"#, #"{ "a" : [1], "signedPayload" : "\#(text)" } "#,
            #"{"signed\u0050ayload":"\#(escaped)"}"#,
        ] {
            #expect(Fixture.verify(Array(body.utf8), as: .notification) == answer)
        }
        for body in [
            #"{"signedPayload":"\#(text)","signedPayload":"\#(text)"}"#, "{}",
            #"{"signedPayload":1}"#, #"{"signedPayload":["\#(text)"]}"#, #"{"signedPayload":""}"#,
            #"{"signedpayload":"\#(text)"}"#, #"{"signedPayload":"\#(text)"}x"#,
            #"{"signedPayload":"\#(text) "}"#, #"[{"signedPayload":"\#(text)"}]"#, "{",
            #"{"signedPayload":"{\"signedPayload\":\"\#(text)\"}"}"#,
        ] {
            expect(Array(body.utf8), .malformed, comment: String(body.prefix(30)))
        }
        // Another kind of evidence has no POST body.
        let body = #"{"signedPayload":"\#(Fixture.text(Fixture.token()))"}"#
        Fixture.expect(Fixture.verify(Array(body.utf8)), .malformed)
    }

    @Test("line 42: bundle, app and environment from the first holder that is present")
    func holders() {
        func holder(_ bundle: String, _ environment: String = "Production") -> String {
            #"{"bundleId":"\#(bundle)","appAppleId":\#(Fixture.app),"environment":"\#(environment)"}"#
        }
        let (good, bad) = (holder(Fixture.bundle), holder("com.example.other"))
        let sandbox = holder(Fixture.bundle, "Sandbox")
        let members = ["data", "summary", "externalPurchaseToken", "appData"]
        for (index, first) in members.enumerated() {
            for second in members[(index + 1)...] {
                func token(_ one: String, _ other: String) -> [UInt8] {
                    // The first is that of the documented order, not of the text.
                    let outer = Fixture.payload(
                        .notification, changing: ["data": nil, second: other, first: one])
                    return Fixture.token(outer)
                }
                expect(token(good, bad), .valid, comment: "\(first) \(second)")
                expect(token(bad, good), .wrongBundle, comment: "\(first) \(second)")
                guard first != "externalPurchaseToken" else { continue }
                expect(token(sandbox, good), .wrongEnvironment, comment: "\(first) \(second)")
            }
        }
        let token = Fixture.payload(.notification, changing: ["data": nil])
        expect(Fixture.token(token), .wrongBundle, comment: "none of them")
        expect(Fixture.token(Fixture.change(token, ["data": "null", "summary": good])), .valid)
        expect(Fixture.token(Fixture.change(token, ["data": "{}", "summary": good])), .wrongBundle)
        expect(Fixture.token(Fixture.change(token, ["data": "[]"])), .malformed)
    }

    @Test("line 42: the environment of an external purchase token")
    func externalPurchaseToken() {
        let cases: [(String?, Verdict)] = [
            ("b2158121-7af9-49d4-9561-1f588205523e", .valid), (nil, .valid),
            ("SANDBOX_b2158121-7af9-49d4-9561-1f588205523e", .wrongEnvironment),
            ("SANDBOX", .wrongEnvironment), ("sandbox_1", .valid), (" SANDBOX_1", .valid),
        ]
        for (id, verdict) in cases {
            let token = notification(
                ["environment": nil, "externalPurchaseId": id.map { "\"\($0)\"" }],
                member: "externalPurchaseToken")
            expect(token, verdict, comment: id ?? "absent")
        }
    }

    @Test("line 43: what the caller expects")
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
                .init(transactionId: payload.originalTransactionId)
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
        // A field that the payload does not carry matches no expectation.
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
        // A caller narrows and never widens.
        let sandbox = Fixture.token(Fixture.payload(environment: .sandbox))
        let asking = Expectations(environments: [.sandbox])
        Fixture.expect(Fixture.verify(sandbox, expecting: asking), .wrongEnvironment)
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
            // Policy comes before expectations, and its parts in their order.
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

    @Test("line 43: a notification is expected to tell of what is nested in it")
    func nestedExpectations() throws {
        let nested = Fixture.token(Fixture.payload())
        let token = notification(["signedTransactionInfo": Fixture.quoted(nested)])
        let product = Fixture.bundle + ".premium.monthly"
        for (products, verdict) in [([product], Verdict.valid), (["x"], .mismatch)] {
            let answer = Fixture.verify(
                token, as: .notification, expecting: Expectations(productIds: products))
            Fixture.expect(answer, verdict)
        }
    }

    @Test("line 44: each kind passed for each other", arguments: kinds, kinds)
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
        // Belongs to another kind, if only by one member.
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

    @Test("line 44: receipts' kinds refuse a JWS")
    func receiptKinds() {
        for kind in [EvidenceKind.appReceipt, .transactionReceipt] {
            Fixture.expect(
                Fixture.verify(Fixture.token(), as: kind), .wrongKind, .malformed,
                comment: "\(kind)")
        }
    }
}
