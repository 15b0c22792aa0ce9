import Assay
import AssayMint
import AssayModels
import Testing

/// Line 42 of the catalogue of hostile input: notifications and their nested tokens.
@Suite struct HostileNotificationTests {
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

    @Test("line 42: one invalid nested item refuses the whole notification")
    func nested() {
        let members: [(EvidenceKind, String, String)] = [
            (.transaction, "data", "signedTransactionInfo"),
            (.renewalInfo, "data", "signedRenewalInfo"),
            (.appTransaction, "appData", "signedAppTransactionInfo"),
        ]
        for (kind, holder, member) in members {
            func outer(_ nested: [UInt8]) -> [UInt8] {
                notification([member: Fixture.quoted(nested)], member: holder)
            }
            let payload = Fixture.payload(kind)
            expect(outer(Fixture.token(payload)), .valid, comment: member)
            let bundle = Fixture.payload(kind, bundle: "com.example.other")
            let cases: [(String, Verdict, [UInt8])] = [
                ("flipped", .invalidSignature, Fixture.token(payload, signature: { $0[5] ^= 4 })),
                ("forged chain", .untrustedChain, Fixture.token(payload, Fixture.foreignCA.chain)),
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

    @Test("line 42: all nested evidence is returned verified")
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

        // The token in a POST body, in several JSON spellings.
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
        // Only notifications have a POST body.
        let body = #"{"signedPayload":"\#(Fixture.text(Fixture.token()))"}"#
        Fixture.expect(Fixture.verify(Array(body.utf8)), .malformed)
    }

    @Test("line 42: bundle, app and environment come from the first object that is present")
    func holders() {
        func holder(_ bundle: String, _ environment: String = "Production") -> String {
            """
            {"bundleId":"\(bundle)","appAppleId":\(Fixture.app),"environment":"\(environment)"}
            """
        }
        let (good, bad) = (holder(Fixture.bundle), holder("com.example.other"))
        let sandbox = holder(Fixture.bundle, "Sandbox")
        let members = ["data", "summary", "externalPurchaseToken", "appData"]
        for (index, first) in members.enumerated() {
            for second in members[(index + 1)...] {
                func token(_ one: String, _ other: String) -> [UInt8] {
                    // The first holder is the first in the documented order, not in the text.
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

    @Test("line 43: expectations apply to a notification's nested evidence")
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

    @Test("line 73: a nested app transaction is of the notification's app")
    func nestedApp() {
        let (app, other) = ("\(Fixture.app)", "987654321")
        let everywhere = Policy(
            bundleId: Fixture.bundle, appAppleId: Fixture.app,
            environments: [.production, .sandbox])
        let open = Policy(bundleId: Fixture.bundle)
        let here = Expectations(appAppleId: Fixture.app)
        let cases:
            [(
                StoreEnvironment, Policy, Expectations, outer: String?, nested: String?, Verdict
            )] = [
                (.production, Fixture.policy, .none, app, app, .valid),
                (.production, Fixture.policy, .none, app, other, .wrongApp),
                (.production, Fixture.policy, .none, app, "0", .wrongApp),
                (.production, Fixture.policy, .none, app, nil, .wrongApp),
                (.production, everywhere, .none, app, other, .wrongApp),
                // Without a configured app, the nested app id must still match the
                // notification's.
                (.production, open, .none, app, app, .valid),
                (.production, open, .none, app, other, .wrongApp),
                (.production, open, .none, other, app, .wrongApp),
                (.production, open, .none, nil, other, .valid),
                (.production, open, here, app, other, .wrongApp),
                // In the sandbox Apple omits the app id or writes 0.
                (.sandbox, everywhere, .none, nil, nil, .valid),
                (.sandbox, everywhere, .none, nil, "0", .valid),
                (.sandbox, everywhere, .none, "0", app, .valid),
                (.sandbox, everywhere, .none, app, "0", .valid),
                (.sandbox, everywhere, .none, app, nil, .valid),
                (.sandbox, everywhere, .none, app, app, .valid),
                (.sandbox, everywhere, .none, app, other, .wrongApp),
                (.sandbox, everywhere, .none, nil, other, .valid),
                (.sandbox, everywhere, here, nil, app, .valid),
                (.sandbox, everywhere, here, nil, other, .wrongApp),
            ]
        for (index, (environment, policy, expectations, outer, nested, verdict))
            in cases.enumerated()
        {
            let payload = Fixture.payload(
                .appTransaction, environment: environment, changing: ["appAppleId": nested])
            let token = notification(
                [
                    "environment": "\"\(environment.rawValue)\"", "appAppleId": outer,
                    "signedAppTransactionInfo": Fixture.quoted(Fixture.token(payload)),
                ], member: "appData")
            Fixture.expect(
                Fixture.verify(token, as: .notification, policy: policy, expecting: expectations),
                verdict, comment: "case \(index)")
        }
    }
}
