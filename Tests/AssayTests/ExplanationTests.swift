import Assay
import AssayBytes
import AssayMint
import AssayModels
import TestSupport
import Testing

/// What explanations show. That they agree with the verifier is tested with all hostile evidence,
/// by `ExplanationAgreement`.
@Suite struct ExplanationTests {
    private static func explain(
        _ evidence: [UInt8], as kind: EvidenceKind? = .transaction,
        trust: TrustStore = Fixture.verifier.trust, policy: Policy = Fixture.policy,
        expecting expectations: Expectations = .none
    ) -> Explanation {
        Explanation(
            evidence.span, as: kind, trust: trust, policy: policy, expecting: expectations,
            at: Fixture.now)
    }

    @Test("the failed check, with what was found and what is accepted")
    func failures() {
        let token = Fixture.token()
        let damaged = Fixture.token(signature: { $0[9] ^= 1 })
        let expired = Fixture.token(Fixture.payload(signed: Fixture.time(-900 * 86_400)))
        let early = Fixture.token(Fixture.payload(signed: Fixture.time(3_600)))
        let hs256 = Fixture.token(header: { $0.alg = "HS256" })
        let other = Policy(bundleId: "com.example.other")
        let sandbox = Policy(bundleId: nil, environments: [.sandbox])
        let wrongProduct = Expectations(productIds: ["none"])
        let foreign = Fixture.trust(Fixture.foreignCA.rootCertificate)
        let cases: [(String, Explanation, Check, found: String?, expected: String?)] = [
            ("empty", Self.explain([]), .segments, "0 characters", nil),
            ("JSON", Self.explain(Array("{}".utf8)), .form, "2 bytes", "transaction"),
            ("algorithm", Self.explain(hs256), .algorithm, "\"HS256\"", "ES256"),
            ("expired", Self.explain(expired), .validity, nil, nil),
            ("future", Self.explain(early), .signingDate, nil, nil),
            ("signature", Self.explain(damaged), .signature, nil, "P-256"),
            ("root", Self.explain(token, trust: foreign), .rootSignature, nil, nil),
            ("kind", Self.explain(token, as: .renewalInfo), .kind, "transaction", "renewal-info"),
            (
                "bundle", Self.explain(token, policy: other), .bundle, "\"com.example.app\"",
                "\"com.example.other\""
            ),
            (
                "environment", Self.explain(token, policy: sandbox), .environment, "Production",
                "Sandbox"
            ),
            (
                "product", Self.explain(token, expecting: wrongProduct), .product, nil, "\"none\""
            ),
        ]
        for (name, explanation, check, found, expected) in cases {
            let step = explanation.failed?.step
            #expect(step?.check == check, "\(name): \(explanation.verification.detail)")
            if let found { #expect(step?.found == found, "\(name)") }
            if let expected { #expect(step?.expected == expected, "\(name)") }
            #expect(explanation.contents.allSatisfy { !$0.isVerified }, "\(name)")
            let outcomes = explanation.sections[0].checks.map(\.outcome)
            #expect(outcomes.count { $0 == .failed } == 1, "\(name)")
            #expect(outcomes.last == .notReached || check == .product, "\(name)")
        }
    }

    @Test("VALID: every check passed, the payload is verified, the root is named")
    func valid() throws {
        let explanation = Self.explain(Fixture.token(), as: nil)
        #expect(explanation.isVerified && explanation.failed == nil)
        #expect(explanation.sections.map(\.member) == [""])
        let checks = explanation.sections[0].checks
        #expect(checks.count > 25 && checks.allSatisfy { $0.outcome == .passed })
        #expect(explanation.trust.hasPrefix("trusted root: Assay Development Root CA"))
        #expect(explanation.certificates.count == 3)
        let content = try #require(explanation.contents.first)
        #expect(explanation.contents.count == 1 && content.isVerified)
        let fields = try #require(content.fields)
        let signed = try #require(fields.shown.first { $0.name == "signedDate" })
        #expect(signed.value == "1767225600000")
        #expect(signed.meaning == "1 January 2026, 00:00:00 UTC, now")
        #expect(fields.shown.first { $0.name == "bundleId" }?.value == Fixture.bundle)
    }

    @Test("a check that was made before is made again: nothing of an explanation is cached")
    func repeated() {
        let token = Fixture.token()
        let notification = Samples.notification(
            index: 1, bundleId: Fixture.bundle, appAppleId: Fixture.app,
            environment: .production, signedDate: Fixture.now,
            signedTransactionInfo: Fixture.text(token), signedRenewalInfo: nil)
        let explanation = Self.explain(Fixture.token(notification), as: .notification)
        #expect(explanation.isVerified, "\(explanation.verification.detail)")
        #expect(explanation.sections.map(\.member) == ["", "data.signedTransactionInfo"])
        for section in explanation.sections {
            #expect(section.checks.contains { $0.check == .rootSignature })
        }
        #expect(explanation.contents.map(\.title) == ["payload", "transaction"])
    }

    @Test("a nested token that is refused is named, and its check is the failed one")
    func nested() {
        let token = Fixture.token(signature: { $0[9] ^= 1 })
        let notification = Samples.notification(
            index: 1, bundleId: Fixture.bundle, appAppleId: Fixture.app,
            environment: .production, signedDate: Fixture.now,
            signedTransactionInfo: Fixture.text(token), signedRenewalInfo: nil)
        let explanation = Self.explain(Fixture.token(notification), as: .notification)
        #expect(explanation.verification.verdict == .invalidSignature)
        #expect(explanation.failed?.member == "data.signedTransactionInfo")
        #expect(explanation.failed?.step.check == .signature)
        #expect(explanation.sections[1].checks.last?.check == .agreement)
        #expect(explanation.contents.contains { $0.title.hasSuffix("data.signedTransactionInfo") })
    }

    @Test("evidence of no known kind fails at its kind, whatever else holds")
    func unknownKind() {
        let payload = Array(
            "{\"signedDate\":\(Fixture.now.milliseconds),\"environment\":\"Production\"}".utf8)
        let explanation = Self.explain(Fixture.token(payload), as: nil)
        #expect(explanation.verification.verdict == .wrongKind)
        #expect(explanation.failed?.step.check == .kind)
        #expect(explanation.sections[0].checks.contains { $0.outcome == .notReached })
    }

    @Test("unsigned members of a Server API answer are never marked as verified")
    func unsigned() {
        let token = Fixture.text(Fixture.token())
        let answer = Array(#"{"revision":"r1","signedTransactions":["\#(token)"]}"#.utf8)
        let explanation = Self.explain(answer, as: .serverAnswer)
        #expect(explanation.isVerified, "\(explanation.verification.detail)")
        let marks = explanation.contents.map { ($0.title, $0.isVerified) }
        #expect(marks.contains { $0 == ("transactions", true) })
        #expect(marks.contains { $0 == ("unsigned", false) })
        #expect(explanation.sections.map(\.member) == ["", "signedTransactions[0]"])
    }

    @Test("a receipt: the newest records, their number, and their timeline", arguments: [3, 300])
    func records(count: Int) throws {
        let receipt = try ReceiptMinter(MintedReceipts.ca.get().chain).sign(
            MintedReceipts.sample(.count(count)).payload)
        let explanation = Explanation(
            receipt.span, as: nil, trust: try MintedReceipts.verifier().trust,
            policy: MintedReceipts.policy, at: MintedReceipts.now)
        #expect(explanation.isVerified, "\(explanation.verification.detail)")
        let content = try #require(explanation.contents.first)
        #expect(content.recordCount == count)
        #expect(content.records.count == min(count, ExplanationLimits.records))
        let dates = content.records.compactMap(\.purchaseDate)
        if count > ExplanationLimits.records {
            let receipt = AppReceiptFieldTests.receipt(
                try MintedReceipts.verifier().verify(
                    receipt.span, as: .appReceipt, policy: MintedReceipts.policy,
                    at: MintedReceipts.now))
            let all = try #require(receipt).inApp.compactMap(\.purchaseDate).sorted()
            #expect(dates == all.suffix(ExplanationLimits.records) && all.first != dates.first)
        }
        let events = TimelineEvent.all(of: content.records)
        #expect(events.count >= content.records.count)
        #expect(events.map(\.date) == events.map(\.date).sorted())
        #expect(content.fields?.shown.contains { $0.name.hasPrefix("inApp") } == false)
        let json = try JSONDocument.parse(explanation.json(next: []), limit: .max)
        let shown = try #require(json.root["contents"]?.elements?.first { _ in true })
        #expect(shown["recordsOmitted"]?.int64 == Int64(max(0, count - 200)))
        #expect(shown["verified"]?.bool == true)
    }

    @Test("fields beyond the limits are counted, and long values cut")
    func limits() throws {
        let many = (0..<500).map { "\"m\($0)\":\($0)" }.joined(separator: ",")
        let long = String(repeating: "x", count: 5_000)
        let token = Fixture.token(Array("{\"a\":\"\(long)\",\(many)}".utf8))
        let explanation = Self.explain(token)
        let fields = try #require(explanation.contents.last?.fields)
        #expect(fields.shown.count == ExplanationLimits.fields)
        #expect(fields.omitted == 501 - ExplanationLimits.fields)
        #expect(fields.shown[0].value.hasSuffix("… (5000 bytes)"))
    }

    @Test("dates in words")
    func words() {
        let cases: [(seconds: Int64, text: String)] = [
            (0, "now"), (-1, "1 second ago"), (1, "in 1 second"), (-59, "59 seconds ago"),
            (-60, "1 minute ago"), (-3_599, "59 minutes ago"), (7_200, "in 2 hours"),
            (-86_400, "1 day ago"), (-40 * 86_400, "1 month ago"), (800 * 86_400, "in 2 years"),
        ]
        for (seconds, text) in cases {
            #expect(DateWords.relative(Fixture.time(seconds), to: Fixture.now) == text)
        }
        for milliseconds in [Int64.min, Int64.max] {
            let date = Timestamp(milliseconds: milliseconds)
            #expect(DateWords.text(date, at: Fixture.now) == "no year of four digits")
        }
    }

    @Test("genuine evidence of Apple", .enabled(if: Vectors.has("apple-jws")))
    func genuine() throws {
        let token = try #require(Vectors.bytes("apple-jws/notification-test-sandbox-2025.jws"))
        for (environments, verdict) in [
            ([StoreEnvironment.sandbox], Verdict.valid), ([.production], .wrongEnvironment),
        ] {
            let policy = Policy(bundleId: nil, environments: Set(environments))
            let answer = Verifier(trust: .apple).verify(
                token.span, as: .notification, policy: policy, at: AppleEvidenceTests.now)
            #expect(answer.verdict == verdict)
            ExplanationAgreement.expect(
                token, as: .notification, trust: .apple, policy: policy,
                at: AppleEvidenceTests.now, explains: answer)
        }
        try Vectors.report("explained notifications", 1)
    }
}
