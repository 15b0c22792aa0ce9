import AssayMint
import AssayModels
import Testing

/// Scenario files: what is accepted, and what is wrong and where.
@Suite("Scenario files")
struct ScenarioFormatTests {
    private static func file(
        step: String = #""expect": {}"#, before: String = "", name: String = "mine"
    ) -> String {
        """
        {"name": "\(name)", "summary": "Mine.", \(before) "steps": [
          {"at": "0d", "title": "buys",
           "transactions": {"100": {"productId": "premium.monthly"}}, \(step)}
        ]}
        """
    }

    private static func mint(_ text: String) throws -> [MintedStep] {
        try MintedScenarios.minter.get().mint(Scenario(json: Array(text.utf8)))
    }

    struct Refused: CustomTestStringConvertible {
        let text: String
        let error: MintError
        var testDescription: String { "\(error)" }

        init(_ text: String, at location: String, _ reason: String) {
            self.text = text
            error = .invalidMember(at: location, reason: reason)
        }

        init(_ text: String, unknown name: String, at location: String, _ known: [String]) {
            self.text = text
            error = .unknownMember(name, at: location, known: known)
        }
    }

    private static let evidence = "steps[0].evidence[0]"
    private static let time = "must be a time after the start, such as \"30d\" or \"1d12h-1ms\""
    private static let catalogue = [
        "basic.monthly", "gold.100", "news.monthly", "pass.summer", "premium.monthly",
        "premium.yearly", "pro.monthly", "world.2",
    ]

    private static let refused = [
        Refused("[]", at: "the file", "must be an object"),
        Refused("{}", at: "the file", "needs the member name"),
        Refused(
            file(name: "Mine"), at: "name", "must be of lower-case letters, digits and hyphens"),
        Refused(
            file(before: #""stepz": 1,"#), unknown: "stepz", at: "the file",
            ["name", "summary", "policy", "products", "steps"]),
        Refused(
            #"{"name": "a", "summary": "b", "steps": []}"#, at: "the file",
            "needs at least one step"),
        Refused(
            #"{"name": "a", "summary": "b", "steps": [{"at": "0d", "title": "c"}]}"#,
            at: "steps[0]", "needs the member expect: no step is before it"),
        Refused(
            """
            {"name": "a", "summary": "b", "steps": [
              {"at": "1d", "title": "c", "expect": {}}, {"at": "0d", "title": "d"}]}
            """, at: "steps[1]", "is before the step above it: write steps in order of time"),
        Refused(
            file(before: #""policy": {"maxAgeDays": -1},"#), at: "policy.maxAgeDays",
            "must be from 0 to 36525 days"),
        Refused(
            file(step: #""evidence": [{}], "expect": {}"#), at: evidence,
            "needs exactly one of transaction, renewalInfo, appTransaction, notification, receipt, "
                + "history, statuses, transactionInfo, notificationHistory, deliver"),
        Refused(
            file(step: #""evidence": [{"transaction": "100", "of": 1}], "expect": {}"#),
            unknown: "of", at: evidence, ["transaction", "name", "hold", "change"]),
        Refused(
            file(step: #""evidence": [{"transaction": "101"}], "expect": {}"#), at: evidence,
            "names the transaction \"101\", which is not bought by then"),
        Refused(
            file(step: #""evidence": [{"transaction": "100", "hold": true}], "expect": {}"#),
            at: evidence, "is held: it needs a name, by which a later step delivers it"),
        Refused(
            file(step: #""evidence": [{"deliver": "x"}], "expect": {}"#), unknown: "x",
            at: evidence + ".deliver", []),
        Refused(
            file(step: #""evidence": [{"notification": "A B C"}], "expect": {}"#),
            at: evidence + ".notification",
            "must be a type, or a type and a subtype with a space between"),
        Refused(
            file(step: #""renewals": {"100": {"renewalDate": 5, "endDate": "x"}}, "expect": {}"#),
            at: "steps[0].renewals.100.endDate", time),
        Refused(
            file(step: #""expect": {"groups": [{"status": "ACTVE", "by": "100"}]}"#),
            at: "steps[0].expect.groups[0].status",
            "must be one of ACTIVE, GRACE_PERIOD, BILLING_RETRY, EXPIRED, REVOKED, UNKNOWN"),
        Refused(
            file(step: #""expect": {"groups": [{"status": "ACTIVE", "by": "100"}]}"#),
            at: "steps[0].expect.groups[0]",
            "names the transaction \"100\", which no evidence up to this step carries"),
        Refused(
            file(step: #""expect": {"products": [{"entitled": false, "until": "1d", "by": "7"}]}"#),
            at: "steps[0].expect.products[0]", "has an end and does not entitle"),
    ]

    @Test("A wrong file is refused with the location and the reason", arguments: refused)
    func refusals(refused: Refused) {
        #expect(throws: refused.error) { try Self.mint(refused.text) }
    }

    @Test("An unknown product is refused with the known ones")
    func products() {
        let text = Self.file().replacing("premium.monthly", with: "premium.monthli")
        #expect(
            throws: MintError.unknownMember(
                "premium.monthli", at: "steps[0].transactions.100.productId", known: Self.catalogue)
        ) { try Self.mint(text) }
        let own = Self.file(before: #""products": {"premium.monthli": {"type": "Consumable"}},"#)
            .replacing(#""productId": "premium.monthly""#, with: #""productId": "premium.monthli""#)
        #expect(throws: Never.self) { try Self.mint(own) }
    }

    @Test("Text that is not JSON, or has a member twice, is not a scenario")
    func json() {
        for text in ["", "{", Self.file() + "}", #"{"name": "a", "name": "b"}"#] {
            let error = #expect(throws: MintError.self) { try Self.mint(text) }
            if error?.reason == .malformedScenario { continue }
            Issue.record("\(text): \(String(describing: error))")
        }
    }

    @Test(
        "Times",
        arguments: [
            ("0d", 0), ("30d", 2_592_000_000), ("1d12h", 129_600_000), ("30d-1ms", 2_591_999_999),
            ("-1d12h", -129_600_000), ("-1d+12h", -43_200_000), ("2m3s4ms", 123_004),
            ("10000000d", 864_000_000_000_000),
            // Rejected neighbours.
            ("", nil), ("d", nil), ("30", nil), ("30 d", nil), ("30D", nil), ("1.5d", nil),
            ("--1d", nil), ("10000001d", nil), ("99999999999999999999d", nil), ("1d-", nil),
        ] as [(String, Int64?)])
    func times(text: String, expected: Int64?) {
        let file = """
            {"name": "a", "summary": "b",
             "steps": [{"at": "\(text)", "title": "c", "expect": {}}]}
            """
        #expect((try? Scenario(json: Array(file.utf8)))?.steps.first?.at == expected)
    }

    @Test("A step outside the validity of the authority's certificate is refused")
    func validity() {
        for time in ["-3d", "800d"] {
            let text = Self.file().replacing(#""at": "0d""#, with: "\"at\": \"\(time)\"")
            let error = #expect(throws: MintError.self) { try Self.mint(text) }
            if error?.reason == .invalidMember, error?.location == "steps[0].at" { continue }
            Issue.record("\(time): \(String(describing: error))")
        }
    }

    @Test("A scenario with a receipt needs an authority for receipts")
    func receipts() throws {
        let scenario = try #require(try Scenario.builtIn.first { $0.name == "receipt" })
        let ca = try DevelopmentCA.make(at: MintedScenarios.made)
        #expect(throws: MintError.missingFile("receipt-leaf.pem")) {
            try ScenarioMinter(ca).mint(scenario)
        }
    }

    @Test("Equal scenarios give equal files, apart from signatures")
    func reproducible() throws {
        let scenario = try #require(try Scenario.builtIn.first)
        let minter = try MintedScenarios.minter.get()
        let (one, other) = (try minter.mint(scenario), try minter.mint(scenario))
        #expect(one.map(\.expected) == other.map(\.expected))
        #expect(one.map { $0.files.map(\.path) } == other.map { $0.files.map(\.path) })
        #expect(minter.start == MintedScenarios.made)
    }
}
