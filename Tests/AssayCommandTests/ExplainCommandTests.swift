import Foundation
import TestSupport
import Testing

@Suite("assay explain")
struct ExplainCommandTests {
    private let folder = TemporaryFolder()
    private let roots: [String]

    init() throws {
        try MintedAuthority.write(to: folder)
        let ca = folder("ca")
        roots = ["--root", ca + "/root.pem", "--root", ca + "/receipt-root.pem"]
    }

    private func mint(_ options: String...) throws -> String {
        let minted = try Tool.run(["mint"] + options + ["--ca", folder("ca")])
        #expect(minted.status == 0, "\(minted.error)")
        return minted.output
    }

    private func explain(_ arguments: String..., input: String = "") throws -> Tool.Result {
        try Tool.run(["explain"] + roots + arguments, input: input)
    }

    /// The items of `--format json`.
    private func items(_ answer: Tool.Result) throws -> [[String: Any]] {
        try #require(try answer.json["items"] as? [[String: Any]], "\(answer.error)")
    }

    private func explanation(_ item: [String: Any]?) throws -> [String: Any] {
        try #require(item?["explanation"] as? [String: Any])
    }

    private func checks(
        _ explanation: [String: Any], of section: Int = 0
    ) throws -> [[String: Any]] {
        let sections = try #require(explanation["sections"] as? [[String: Any]])
        return try #require(sections[section]["checks"] as? [[String: Any]])
    }

    private func body(of kind: String) throws -> String {
        switch kind {
        case "app-receipt": return try mint("receipt", "--base64", "line")
        case "server-answer":
            let token = try mint("transaction").trimmingCharacters(in: .newlines)
            return "{\"revision\":\"r\",\"signedTransactions\":[\"\(token)\"]}"
        case "notification-v1":
            let receipt = try mint("receipt", "--base64", "line").filter { !$0.isWhitespace }
            return """
                {"notification_type": "DID_RENEW", "bid": "com.example.game",
                 "unified_receipt": {"latest_receipt": "\(receipt)"}}
                """
        default: return try mint(kind)
        }
    }

    @Test(
        "each kind: the verdict of verify, its checks, certificates and payload",
        arguments: [
            "transaction", "renewal-info", "app-transaction", "notification", "realtime-request",
            "app-receipt", "server-answer", "notification-v1",
        ])
    func kinds(kind: String) throws {
        let file = folder.write("evidence", try body(of: kind))
        for options in [[], ["--kind", kind]] {
            let answer = try Tool.run(
                ["explain", "--format", "json"] + roots + options + [file])
            #expect(answer.status == 0 && answer.error.isEmpty, "\(answer.error)")
            let items = try items(answer)
            #expect(items.count == 1 && items[0]["label"] as? String == file)
            let explanation = try explanation(items.first)
            #expect(explanation["verdict"] as? String == "VALID")
            #expect(explanation["kind"] as? String == kind)
            #expect(explanation["verified"] as? Bool == true)
            #expect(explanation["failedCheck"] == nil)
            let checks = try checks(explanation)
            #expect(checks.allSatisfy { $0["outcome"] as? String == "passed" })
            #expect(!checks.isEmpty && checks.allSatisfy { $0["statement"] is String })
            #expect(try answer.json["entitlements"] is [String: Any])
            #expect(try answer.json["itemsOmitted"] as? Int == 0)
            #expect(try answer.json["entitlementsOmitted"] as? Int == 0)
        }
        let text = try explain(file)
        let subject = kind == "notification" ? "notification DID_RENEW BILLING_RECOVERY" : kind
        #expect(text.status == 0 && text.output.hasPrefix("VALID: \(file), \(subject)\n"))
        for title in ["\nWHAT THE CUSTOMER OWNS", "\nWHAT TO DO NEXT\n  "] {
            #expect(text.output.contains(title), "\(title)")
        }
        #expect(!text.output.contains("Use the payload"))
        let whole = try explain("--all", file)
        #expect(whole.status == 0 && whole.output.hasPrefix("VALID: \(file), \(subject)\n"))
        for title in ["\nCHECKS\n", "\nCERTIFICATES\n", "(verified)"] {
            #expect(whole.output.contains(title), "\(title)")
            #expect(!text.output.contains(title), "\(title)")
        }
        guard !["renewal-info", "realtime-request"].contains(kind) else { return }
        let other = try explain("--bundle-id", "com.example.other", file)
        #expect(other.status == 1 && other.output.hasPrefix("WRONG_BUNDLE: "))
    }

    @Test(
        "Apple's transaction receipts", .enabled(if: Vectors.has("sk1/legacy")))
    func transactionReceipt() throws {
        let path = try #require(Vectors.folder("sk1/legacy")) + "/v3-sbx-vpnclient-20170309.b64"
        let answer = try explain("--format", "json", "--environment", "Sandbox", path)
        let verified = try Tool.run(
            ["verify", "--kind", "transaction-receipt", "--environment", "Sandbox"] + roots
                + [path])
        let explanation = try explanation(try items(answer).first)
        #expect(explanation["kind"] as? String == "transaction-receipt")
        #expect(explanation["verdict"] as? String == verified.verdict)
        #expect(explanation["detail"] as? String == (try verified.json["detail"] as? String))
        #expect(answer.status == verified.status)
    }

    @Test("refused evidence: the failed check with what was compared, and no verified content")
    func refused() throws {
        let token = try mint("transaction").trimmingCharacters(in: .newlines)
        let parts = token.split(separator: ".")
        let forged = parts[0] + "." + parts[1] + "." + String(repeating: "A", count: 86)
        let first = parts[2].first == "A" ? "B" : "A"
        let swapped = parts[0] + "." + parts[1] + "." + first + parts[2].dropFirst()
        let renewal = try mint("renewal-info")
        let table: [(options: [String], evidence: String, verdict: String, check: String)] = [
            ([], String(forged), "INVALID_SIGNATURE", "signatureForm"),
            ([], String(swapped), "INVALID_SIGNATURE", "signature"),
            (["--environment", "Sandbox"], token, "WRONG_ENVIRONMENT", "environment"),
            (["--bundle-id", "com.example.other"], token, "WRONG_BUNDLE", "bundle"),
            (["--kind", "transaction"], renewal, "WRONG_KIND", "kind"),
            (["--at", "2009-01-01T00:00:00Z"], token, "INVALID_DATE", "signingDate"),
            (["--kind", "transaction"], parts[0] + "." + parts[1], "MALFORMED", "segments"),
            ([], "hello", "MALFORMED", "segments"),
        ]
        for (options, evidence, verdict, check) in table {
            let answer = try Tool.run(
                ["explain", "--format", "json"] + roots + options + ["-"], input: evidence)
            #expect(answer.status == 1 && answer.error.isEmpty, "\(verdict): \(answer.error)")
            let explanation = try explanation(try items(answer).first)
            #expect(explanation["verdict"] as? String == verdict, "\(explanation)")
            #expect(explanation["failedCheck"] as? String == check, "\(verdict)")
            #expect(explanation["verified"] as? Bool == false)
            let outcomes = try checks(explanation).compactMap { $0["outcome"] as? String }
            #expect(outcomes.count { $0 == "failed" } == 1, "\(verdict): \(outcomes)")
            let contents = explanation["contents"] as? [[String: Any]] ?? []
            #expect(contents.allSatisfy { $0["verified"] as? Bool == false })
            #expect(try answer.json["entitlements"] == nil)
            let text = try Tool.run(["explain"] + roots + options + ["-"], input: evidence)
            #expect(text.status == 1 && text.output.hasPrefix("\(verdict): "), "\(text.output)")
            #expect(text.output.contains("\nFAILED CHECK\n  FAILED "), "\(verdict)")
            let whole = try Tool.run(
                ["explain", "--all"] + roots + options + ["-"], input: evidence)
            #expect(whole.output.contains("NOT VERIFIED") == !contents.isEmpty, "\(verdict)")
            #expect(!text.output.contains("WHAT THE CUSTOMER OWNS"))
        }
        let foreign = try Tool.run(["explain", "-"], input: token)
        #expect(foreign.status == 1 && foreign.output.hasPrefix("UNTRUSTED_CHAIN: "))
        let bundle = try explain("--bundle-id", "com.example.other", "-", input: token)
        #expect(
            bundle.output.contains(
                "found \"com.example.game\"; accepted \"com.example.other\""))
    }

    @Test("a refused item among valid ones: status 1, and the others still count")
    func several() throws {
        let token = try mint("transaction")
        let path = folder("items")
        try FileManager.default.createDirectory(
            atPath: path, withIntermediateDirectories: true)
        for (name, content) in [("a.jws", token), ("b.txt", "hello"), (".hidden", "hello")] {
            folder.write("items/" + name, content)
        }
        let answer = try explain("--format", "json", path)
        #expect(answer.status == 1)
        let items = try items(answer)
        #expect(items.map { $0["label"] as? String } == [path + "/a.jws", path + "/b.txt"])
        let verdicts = try items.map { try explanation($0)["verdict"] as? String }
        #expect(verdicts == ["VALID", "MALFORMED"])
        let owned = try #require(try answer.json["entitlements"] as? [String: Any])
        #expect((owned["apps"] as? [Any])?.count == 1)

        let lines = try explain("--format", "json", "-", input: String(repeating: token, count: 40))
        #expect(lines.status == 0)
        #expect(try self.items(lines).count == 32)
        #expect(try lines.json["itemsOmitted"] as? Int == 8)
        let text = try explain("-", input: String(repeating: token, count: 40))
        #expect(text.output.contains("8 more items are left out; 'assay entitlements'"))
    }

    @Test("a receipt of many records: what is left out is counted, in each form")
    func bounds() throws {
        for records in [150, 1200] {
            let file = folder("receipt-\(records)")
            _ = try mint("receipt", "--records", "\(records)", "--output", file)
            let whole = try Tool.run(["entitlements"] + roots + [file])
            let all = Self.purchases(try whole.json)
            let answer = try explain("--format", "json", file)
            let owned = try #require(try answer.json["entitlements"] as? [String: Any])
            let omitted = try #require(try answer.json["entitlementsOmitted"] as? Int)
            let shown = Self.purchases(owned)
            #expect(shown == min(all, 200) && omitted == all - shown, "\(all), \(omitted)")
            #expect((omitted > 0) == (records == 1200))
            let content = try explanation(try items(answer).first)["contents"] as? [[String: Any]]
            #expect((content?.first?["records"] as? [Any])?.count == min(records, 200))
            #expect(content?.first?["recordsOmitted"] as? Int == max(0, records - 200))
            let text = try explain("--all", file).output
            let note = "\(omitted) more entries are left out; 'assay entitlements' prints all"
            #expect(text.contains(note) == (omitted > 0))
            #expect(text.contains("in-app records: \(records)\n"))
        }
    }

    /// The number of purchases in an answer about entitlements.
    private static func purchases(_ answer: [String: Any]) -> Int {
        let apps = answer["apps"] as? [[String: Any]] ?? []
        return apps.reduce(0) { count, app in
            let groups = app["subscriptionGroups"] as? [[String: Any]] ?? []
            let subscriptions = groups.map { ($0["subscriptions"] as? [Any])?.count ?? 0 }
            let others = ["nonConsumables", "nonRenewing", "consumables"].map {
                (app[$0] as? [Any])?.count ?? 0
            }
            return count + (subscriptions + others).reduce(0, +)
        }
    }

    @Test("text escapes what a terminal would act on")
    func escaped() throws {
        let payload = folder.write(
            "payload", "{\"bundleId\":\"b\\u001b[31m\",\"\\u009bx\":\"y\",\"quantity\":1}")
        let answer = try explain("--all", "-", input: try mint("transaction", "--payload", payload))
        #expect(answer.status == 1 && answer.output.contains("b\\u{1b}[31m"))
        let isControl = { (scalar: Unicode.Scalar) in scalar.value == 0x1B || scalar.value == 0x9B }
        #expect(!answer.output.unicodeScalars.contains(where: isControl))
    }

    @Test("wrong usage and files that can't be read: status 2, and a reason")
    func usage() throws {
        let file = folder.write("token.jws", try mint("transaction"))
        try FileManager.default.createDirectory(
            atPath: folder("none"), withIntermediateDirectories: true)
        let table: [(arguments: [String], reason: String)] = [
            ([], "<file>"), ([folder("missing")], "no such file"),
            ([file, folder("missing")], "no such file"),
            ([folder("none")], "has no files"), ([folder.write("empty", " \n")], "no evidence"),
            (["-"], "standard input has no evidence"), (["-", "-"], "read only once"),
            (["--format", "jsno", file], "did you mean \"json\"?"),
            (["--kind", "transactoin", file], "did you mean \"transaction\"?"),
            (["--environment", "sandbox", file], "Sandbox"), (["--at", "noon", file], "--at"),
            (["--root", folder("missing"), file], "no such file"),
            (["--root", file, file], file), (["--bundel-id", "x", file], "--bundle-id"),
        ]
        for (arguments, reason) in table {
            let refused = try Tool.run(["explain"] + arguments)
            #expect(refused.status == 2, "\(arguments): \(refused.status)")
            #expect(refused.output.isEmpty, "\(arguments)")
            #expect(refused.error.contains(reason), "\(arguments): \(refused.error)")
        }
    }
}
