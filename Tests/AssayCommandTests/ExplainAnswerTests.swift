import Foundation
import TestSupport
import Testing

/// What `assay explain` begins with.
@Suite("assay explain: the answer first")
struct ExplainAnswerTests {
    /// Now, to the second: the CA's certificates are no older than a day.
    private static let bought = Int64(Date().timeIntervalSince1970) * 1000
    private static let day: Int64 = 86_400_000
    private static let at = rfc3339(bought + 3 * day)
    private static let account = "00000000-0000-4000-8000-00000000000a"
    private let folder = TemporaryFolder()
    private let root: String

    init() throws {
        try MintedAuthority.write(to: folder)
        root = folder("ca") + "/root.pem"
    }

    private static func rfc3339(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds) / 1000).ISO8601Format()
    }

    private func sign(_ kind: String, _ payload: [String: Any]) throws -> String {
        let text = try JSONSerialization.data(withJSONObject: payload)
        let file = folder.write("payload", String(decoding: text, as: UTF8.self))
        let minted = try Tool.run("mint", kind, "--payload", file, "--ca", folder("ca"))
        #expect(minted.status == 0, "\(minted.error)")
        return minted.output
    }

    private func period(_ changes: [String: Any] = [:]) throws -> String {
        let payload: [String: Any] = [
            "transactionId": "4701", "originalTransactionId": "4700",
            "bundleId": "com.example.game", "productId": "premium.monthly",
            "subscriptionGroupIdentifier": "1", "type": "Auto-Renewable Subscription",
            "purchaseDate": Self.bought, "expiresDate": Self.bought + 30 * Self.day,
            "signedDate": Self.bought, "environment": "Production", "quantity": 1,
            "inAppOwnershipType": "PURCHASED", "appAccountToken": Self.account,
            "appTransactionId": "7047",
        ]
        return try sign("transaction", payload.merging(changes) { $1 })
    }

    private func explain(_ arguments: String...) throws -> Tool.Result {
        try Tool.run(["explain", "--root", root, "--at", Self.at] + arguments)
    }

    /// Where the texts are in the output; a text that is missing fails the test.
    private func positions(_ texts: [String], _ output: String) throws -> [String.Index] {
        try texts.map { text in
            try #require(output.range(of: text), "\(text) in \(output)").lowerBound
        }
    }

    @Test("A wrapper is named in text and in JSON; evidence without one names none")
    func unwrapped() throws {
        let token = try period()
        let wrapped = try JSONSerialization.data(withJSONObject: [
            "Store": "AppleAppStore", "TransactionID": "4701", "Payload": token,
        ])
        for (text, isWrapped) in [(String(decoding: wrapped, as: UTF8.self), true), (token, false)]
        {
            let file = folder.write("evidence", text)
            let answer = try explain(file)
            #expect(answer.status == 0, "\(answer.output)")
            #expect(answer.output.contains("\n  unwrapped Unity\n") == isWrapped)
            let json = try explain("--format", "json", file).output
            #expect(json.contains(#""unwrapped":"Unity""#) == isWrapped, "\(json)")
        }
    }

    @Test("verdict in words, what the customer owns, what to do, failed checks, then the rest")
    func order() throws {
        let valid = folder.write("a.jws", try period())
        let refused = folder.write("b.jws", try period(["environment": "Sandbox"]))
        let texts = [
            "VALID: \(valid), transaction\n  Signed by Apple, or under a root or a key of",
            "WRONG_ENVIRONMENT: \(refused), transaction\n  The policy does not accept this",
            "\nWHAT THE CUSTOMER OWNS", "premium.monthly  active until ",
            "\nWHAT TO DO NEXT", "  \(valid):\n    Give access to premium.monthly until ",
            "  \(refused):\n    Send sandbox purchases to a sandbox app entry.\n"
                + "    To accept Sandbox: --environment Sandbox, or environments of the app "
                + "entry, now Production.",
            "\nFAILED CHECK\n  FAILED       \(refused): the environment is accepted\n",
            "found Sandbox; accepted Production",
        ]
        let answer = try explain(valid, refused)
        #expect(answer.status == 1 && answer.error.isEmpty, "\(answer.error)")
        let order = try positions(texts, answer.output)
        #expect(order == order.sorted(), "\(answer.output)")
        #expect(
            answer.output.hasSuffix(
                "'assay explain --all' shows every check, the certificates "
                    + "and the payload\n"))
        for title in ["\nCHECKS", "\nCERTIFICATES", "(verified)", "(NOT VERIFIED"] {
            #expect(!answer.output.contains(title), "\(title)")
        }
        let whole = try explain("--all", valid, refused)
        #expect(whole.status == 1)
        let all = try positions(
            texts + ["\nITEM \(valid)\nCHECKS\n", "\nCERTIFICATES\n", "\nITEM \(refused)\n"],
            whole.output)
        #expect(all == all.sorted(), "\(whole.output)")
        #expect(!whole.output.contains("'assay explain --all'"))
        // One item has no labels, and nothing that is VALID owns nothing.
        let alone = try explain(refused)
        #expect(alone.output.contains("\nWHAT TO DO NEXT\n  Send sandbox purchases to"))
        #expect(alone.output.contains("\n  FAILED       the environment is accepted\n"))
        #expect(!alone.output.contains("WHAT THE CUSTOMER OWNS"))
    }

    @Test("items with the same advice are named together")
    func sameAdvice() throws {
        let files = try (1...5).map {
            folder.write("\($0).jws", try period(["transactionId": "470\($0)"]))
        }
        let refused = folder.write("x.jws", try period(["environment": "Sandbox"]))
        let answer = try Tool.run(
            ["explain", "--root", root, "--at", Self.at] + files + [refused])
        #expect(
            answer.output.contains(
                "  \(files[0]), \(files[1]), \(files[2]) and 2 more:\n    Give "),
            "\(answer.output)")
    }

    @Test("JSON has the words as members, and all others as before")
    func json() throws {
        let refused = folder.write("b.jws", try period(["environment": "Sandbox"]))
        for options in [[], ["--all"]] {
            let answer = try Tool.run(
                ["explain", "--format", "json", "--root", root, "--at", Self.at]
                    + options + [refused])
            let items = try #require(try answer.json["items"] as? [[String: Any]])
            let explanation = try #require(items.first?["explanation"] as? [String: Any])
            #expect(
                explanation["meaning"] as? String == "The policy does not accept this environment.")
            let next = try #require(explanation["next"] as? [String])
            #expect(
                next.count == 2 && next[1].hasPrefix("To accept Sandbox: --environment Sandbox"))
            for member in [
                "verdict", "detail", "kind", "verified", "failedCheck", "failedMember", "sections",
                "sectionsOmitted", "trust", "certificates", "contents", "problems",
            ] { #expect(explanation[member] != nil, "\(member)") }
        }
    }

    @Test("what looks wrong with a refused item comes after the failed check")
    func problems() throws {
        let answer = try explain(folder.write("x", "hello"))
        let order = try positions(
            ["MALFORMED: ", "WHAT TO DO NEXT", "FAILED CHECK", "WHAT LOOKS WRONG\n  "],
            answer.output)
        #expect(order == order.sorted(), "\(answer.output)")
        let valid = try explain(folder.write("a.jws", try period()))
        #expect(!valid.output.contains("WHAT LOOKS WRONG") && !valid.output.contains("FAILED"))
    }

    @Test("the entries' owners, seats, moments to ask, superseded items and warnings")
    func entitlements() throws {
        let old = folder.write("old.jws", try period())
        let new = folder.write(
            "new.jws",
            try period([
                "signedDate": Self.bought + 2 * Self.day,
                "appAccountToken": Self.account.uppercased(),
            ]))
        let answer = try explain(old, new)
        for text in [
            ", account \(Self.account)", ", app transaction 7047",
            "bought \(Self.rfc3339(Self.bought))",
            "\nask again at ", "\nask the App Store about 4701 at ",
            "\nnewer evidence replaces, and makes superfluous: \(old)\n",
        ] { #expect(answer.output.contains(text), "\(text) in \(answer.output)") }
        #expect(!answer.output.contains("OF ANOTHER ACCOUNT"))
        let own = try explain("--app-account-token", Self.account, new)
        #expect(!own.output.contains("OF ANOTHER ACCOUNT"), "\(own.output)")
        let other = try explain(
            "--app-account-token", "00000000-0000-4000-8000-00000000000b", new)
        #expect(other.status == 0 && other.output.contains(", OF ANOTHER ACCOUNT; decided by"))
        #expect(other.output.contains("  active, ends "), "\(other.output)")
        let renewal = try sign(
            "renewal-info",
            [
                "originalTransactionId": "4800", "environment": "Production",
                "autoRenewProductId": "premium.yearly", "autoRenewStatus": 1,
                "signedDate": Self.bought,
            ])
        let alone = try explain(folder.write("renewal.jws", renewal))
        #expect(alone.status == 0 && alone.output.contains("\nwarning: "), "\(alone.output)")
    }
}
