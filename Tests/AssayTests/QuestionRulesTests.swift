@testable import Assay
import AssayBytes
import AssayModels
import Testing

/// What is wrong with a question, and the texts of the expectations that fail.
@Suite("Questions") struct QuestionRulesTests {
    private static let account = "7e3fb20b-4cdb-47cc-936d-99d65f608138"

    @Test("environments: Apple's spelling alone")
    func environments() throws {
        for known in StoreEnvironment.known {
            #expect(try StoreEnvironment.named(known.rawValue) == known)
            #expect(throws: UnknownEnvironment.self) {
                try StoreEnvironment.named(known.rawValue.lowercased())
            }
        }
        for (name, remedy) in [
            ("sandbox", "did you mean \"Sandbox\"?"),
            ("PRODUCTION", "did you mean \"Production\"?"),
            ("Sandbx", "did you mean \"Sandbox\"?"),
            ("staging", "write one of Production, Sandbox, Xcode, LocalTesting, Unspecified"),
            ("Sandbox\0", "did you mean \"Sandbox\"?"), ("", "write one of Production, Sandbox"),
        ] {
            let problem = Expectations(environments: [.sandbox, .init(rawValue: name)])
                .problem(of: [.transaction])
            #expect(problem?.contains(remedy) == true, "\(name): \(problem ?? "none")")
        }
        #expect(Expectations(environments: StoreEnvironment.known).problem(of: []) == nil)
    }

    @Test("moments: of the years 2008 to 9999")
    func moments() {
        for (milliseconds, isWrong) in [
            (1_199_145_600_000, false), (1_199_145_599_999, true),
            (253_402_300_799_999, false), (253_402_300_800_000, true),
            (0, true), (-1, true), (.min, true), (.max, true), (1_767_225_600, true),
        ] as [(Int64, Bool)] {
            let moment = Timestamp(milliseconds: milliseconds)
            #expect((moment.problem(as: "at") != nil) == isWrong, "\(milliseconds)")
            var policy = EntitlementPolicy()
            policy.knownAt = moment
            #expect((policy.problem(of: []) != nil) == isWrong, "\(milliseconds)")
            let oldest = Expectations(notOlderThan: moment)
            #expect((oldest.problem(of: []) != nil) == isWrong, "\(milliseconds)")
        }
        let seconds = Timestamp(milliseconds: 1_767_225_600).problem(as: "at")
        #expect(seconds?.hasSuffix("it is 2026-01-01T00:00:00Z") == true)
    }

    @Test("accounts: a UUID where the evidence is of the App Store")
    func accounts() {
        for (text, isWrong) in [
            (Self.account, false), (Self.account.uppercased(), false), ("user-123", true),
            ("", true), (Self.account + "0", true), ("{" + Self.account + "}", true),
        ] {
            var policy = EntitlementPolicy()
            policy.expectedAppAccountToken = text
            let expectations = Expectations(appAccountToken: text)
            for kinds in [[EvidenceKind.transaction], [.googlePurchase, .appReceipt]] {
                #expect((policy.problem(of: kinds) != nil) == isWrong, "\(text)")
                #expect((expectations.problem(of: kinds) != nil) == isWrong, "\(text)")
            }
            for kinds in [[], [EvidenceKind.googlePurchase]] {
                #expect(policy.problem(of: kinds) == nil && expectations.problem(of: kinds) == nil)
            }
        }
    }

    @Test("an account that differs, is absent, or can be none: three texts")
    func accountTexts() {
        let absent = Fixture.token(Fixture.payload(changing: ["appAccountToken": nil]))
        let cases = [
            (Fixture.token(), Self.account, "the app account token is another one than"),
            (
                absent, Self.account,
                "the transaction has no app account token: the app set none at the purchase"
            ),
            (
                Fixture.token(), "user-123",
                "the expected app account token is not a UUID, as every appAccountToken of"
            ),
        ]
        for (token, account, text) in cases {
            let answer = Fixture.verify(token, expecting: Expectations(appAccountToken: account))
            #expect(answer.verdict == .mismatch)
            #expect(answer.detail.hasPrefix(text), "\(answer.detail)")
        }
    }

    @Test("records of a receipt: none has the transaction id, or the product, or both")
    func recordTexts() {
        let cases: [(EvidenceKind, Expectations, String)] = [
            (
                .appReceipt, .init(transactionId: "7"),
                "no record of the receipt has the transaction id \"7\""
            ),
            (
                .notificationV1, .init(productIds: ["gold"]),
                "no record of the receipt has an expected product"
            ),
            (
                .appReceipt, .init(productIds: ["gold"], transactionId: "7"),
                "no record of the receipt has an expected product and the transaction id \"7\""
            ),
            (
                .notification, .init(transactionId: "7"),
                "the notification has no transaction id, and \"7\" is expected"
            ),
            (
                .notification, .init(productIds: ["gold"]),
                "the product is none, not an expected one"
            ),
        ]
        for (kind, expectations, text) in cases {
            let claims = EvidenceClaims(kind: kind, environment: .production)
            let refusal = #expect(throws: Refusal.self) {
                try claims.check(expectations, effectiveDate: Fixture.now)
            }
            #expect(refusal?.detail == text)
        }
        var claims = EvidenceClaims(kind: .transaction, environment: .production)
        claims.transactionId = "6"
        let refusal = #expect(throws: Refusal.self) {
            try claims.check(.init(transactionId: "7"), effectiveDate: Fixture.now)
        }
        #expect(refusal?.detail == "the transaction id is \"6\", not \"7\"")
    }
}
