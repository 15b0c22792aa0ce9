import Foundation
import TestSupport
import Testing

@Suite("assay entitlements")
struct EntitlementsCommandTests {
    private let folder = TemporaryFolder()
    private let root: String

    init() throws {
        try MintedAuthority.write(to: folder)
        root = folder("ca") + "/root.pem"
    }

    /// Now, to the second: the CA's certificates are no older than a day.
    private static let bought = Int64(Date().timeIntervalSince1970) * 1000
    private static let day: Int64 = 86_400_000

    private static func rfc3339(_ milliseconds: Int64) -> String {
        Date(timeIntervalSince1970: Double(milliseconds / 1000)).formatted(.iso8601)
    }

    /// Signs a payload of subscription 4700. Times are in seconds after the purchase.
    private func period(signed: Int64 = 0, _ members: [String: Any] = [:]) throws -> String {
        var payload: [String: Any] = [
            "transactionId": "4701", "originalTransactionId": "4700",
            "bundleId": "com.example.game", "environment": "Production",
            "productId": "premium.monthly", "type": "Auto-Renewable Subscription",
            "subscriptionGroupIdentifier": "2100", "inAppOwnershipType": "PURCHASED",
            "purchaseDate": Self.bought, "expiresDate": Self.bought + 30 * Self.day,
            "signedDate": Self.bought + signed * 1000,
        ]
        payload.merge(members) { $1 }
        return try sign("transaction", payload)
    }

    private func sign(_ kind: String, _ payload: [String: Any]) throws -> String {
        let json = String(
            decoding: try JSONSerialization.data(withJSONObject: payload), as: UTF8.self)
        let file = folder.write("payload.json", json)
        let minted = try Tool.run("mint", kind, "--ca", folder("ca"), "--payload", file)
        #expect(minted.status == 0, "\(minted.error)")
        return minted.output
    }

    private func entitlements(_ arguments: String..., input: String = "") throws -> Tool.Result {
        try Tool.run(
            ["entitlements", "--root", root, "--at", Self.rfc3339(Self.bought + Self.day)]
                + arguments,
            input: input)
    }

    private func group(_ result: Tool.Result) throws -> [String: Any] {
        let apps = try #require(try result.json["apps"] as? [[String: Any]])
        let groups = try #require(apps.first?["subscriptionGroups"] as? [[String: Any]])
        return try #require(groups.first)
    }

    @Test("A subscription in force: the product, its end and the deciding transaction")
    func active() throws {
        let result = try entitlements(folder.write("a.jws", try period()))
        #expect(result.status == 0 && result.error.isEmpty)
        let group = try group(result)
        #expect(group["status"] as? String == "ACTIVE")
        #expect(group["entitled"] as? Bool == true)
        #expect(group["subscriptionGroupIdentifier"] as? String == "2100")
        #expect(group["entitledUntil"] as? Int64 == Self.bought + 30 * Self.day)
        let decided = try #require(group["decidedBy"] as? [String: Any])
        #expect(decided["item"] as? Int == 0)
        #expect(decided["transactionId"] as? String == "4701")
        #expect(try result.json["nextChange"] as? Int64 == Self.bought + 30 * Self.day)
    }

    @Test("A folder, a file of lines and standard input give the answer of single files")
    func inputs() throws {
        let refund = try period(signed: 60, ["revocationDate": Self.bought + 60_000])
        let lines = try period() + refund
        try FileManager.default.createDirectory(
            atPath: folder("evidence"), withIntermediateDirectories: true)
        folder.write("evidence/1.jws", try period())
        folder.write("evidence/2.jws", refund)
        let results = [
            try entitlements(folder("evidence")),
            try entitlements(folder.write("lines.txt", lines)),
            try entitlements("-", input: lines),
            try entitlements(folder("evidence/2.jws"), folder("evidence/1.jws")),
        ]
        for result in results {
            #expect(result.status == 0, "\(result.error)")
            #expect(try (result.json["items"] as? [Any])?.count == 2)
            #expect(try group(result)["status"] as? String == "REVOKED")
        }
    }

    @Test("A refused item is reported, contributes nothing, and the exit status is 1")
    func refused() throws {
        let foreign = try Tool.run("mint", "ca", folder("other"))
        #expect(foreign.status == 0)
        let forged = try Tool.run("mint", "transaction", "--ca", folder("other"))
        let result = try entitlements(
            folder.write("forged.jws", forged.output), folder.write("a.jws", try period()))
        #expect(result.status == 1 && result.error.isEmpty)
        let items = try #require(try result.json["items"] as? [[String: Any]])
        #expect(items.map { $0["verdict"] as? String } == ["UNTRUSTED_CHAIN", "VALID"])
        let decided = try #require(try group(result)["decidedBy"] as? [String: Any])
        #expect(decided["item"] as? Int == 1)
    }

    @Test("A Server API answer is one item, and all its transactions count")
    func serverAnswer() throws {
        let refund = try period(signed: 60, ["revocationDate": Self.bought + 60_000])
        let tokens = [try period(), refund].map {
            "\"" + $0.trimmingCharacters(in: .whitespacesAndNewlines) + "\""
        }
        let answer = folder.write(
            "answer.json",
            """
            {
              "revision": "r1", "hasMore": true, "bundleId": "com.example.other",
              "signedTransactions": [\(tokens.joined(separator: ",\n"))]
            }
            """)
        let result = try entitlements(answer)
        #expect(result.status == 0, "\(result.error)")
        let items = try #require(try result.json["items"] as? [[String: Any]])
        #expect(items.map { $0["kind"] as? String } == ["server-answer"])
        let group = try group(result)
        #expect(group["status"] as? String == "REVOKED")
        #expect((group["decidedBy"] as? [String: Any])?["item"] as? Int == 0)
        let warnings = try #require(try result.json["warnings"] as? [[String: Any]])
        #expect(
            warnings.map { $0["code"] as? String } == ["ANSWER_INCOMPLETE", "UNSIGNED_DISAGREES"])

        let verified = try Tool.run(
            "verify", "--kind", "server-answer", "--root", root, "--bundle-id",
            "com.example.game", answer)
        #expect(verified.status == 0 && verified.verdict == "VALID")
        let transactions = try #require(try verified.json["transactions"] as? [[String: Any]])
        #expect(transactions.map { $0["transactionId"] as? String } == ["4701", "4701"])
        let unsigned = try #require(try verified.json["unsigned"] as? [String: Any])
        #expect(unsigned["revision"] as? String == "r1")
        let detected = try Tool.run(
            "verify", "--kind", "auto", "--root", root, "--bundle-id", "com.example.game", answer)
        #expect(detected.output == verified.output)
        let text = try Tool.run(
            "verify", "--kind", "auto", "--root", root, "--format", "text", answer)
        #expect(text.output.contains("transactions[1].revocationDate"))
        let refused = try Tool.run(
            "verify", "--kind", "auto", "--root", root, "--bundle-id", "com.example.other",
            answer)
        #expect(refused.status == 1 && refused.verdict == "WRONG_BUNDLE")
        #expect(try (refused.json["detail"] as? String)?.hasPrefix("signedTransactions[0]") == true)
    }

    @Test("A version 1 notification is one item, verified by its receipt")
    func notificationOfVersion1() throws {
        let minted = try Tool.run(
            "mint", "receipt", "--ca", folder("ca"), "--bundle-id", "com.example.game")
        #expect(minted.status == 0, "\(minted.error)")
        let receipt = minted.output.filter { !$0.isWhitespace }
        let file = folder.write(
            "v1.json",
            """
            {"notification_type": "DID_RENEW", "bid": "com.example.game", "password": "secret",
             "unified_receipt": {"latest_receipt": "\(receipt)"}}
            """)
        let result = try Tool.run(
            "entitlements", "--root", folder("ca") + "/receipt-root.pem", file)
        let items = try #require(try result.json["items"] as? [[String: Any]])
        #expect(items.map { $0["kind"] as? String } == ["notification-v1"])
        #expect(items.map { $0["verdict"] as? String } == ["VALID"], "\(result.output)")
        let verified = try Tool.run(
            "verify", "--kind", "notification-v1", "--root", folder("ca") + "/receipt-root.pem",
            "--bundle-id", "com.example.game", file)
        #expect(verified.status == 0 && verified.verdict == "VALID", "\(verified.output)")
        let unsigned = try #require(try verified.json["unsigned"] as? [String: Any])
        #expect(unsigned["notification_type"] as? String == "DID_RENEW")
        #expect(!verified.output.contains("secret"))
    }

    @Test("The policy's options: billing retry, family sharing, durations, maximum age")
    func policy() throws {
        let renewal = try sign(
            "renewal-info",
            [
                "originalTransactionId": "4700", "environment": "Production",
                "autoRenewProductId": "premium.monthly", "autoRenewStatus": 1,
                "isInBillingRetryPeriod": true, "signedDate": Self.bought + Self.day,
            ])
        let ended = try period(["expiresDate": Self.bought + 43_200_000])
        let retry = folder.write("retry.txt", ended + renewal)
        #expect(try group(entitlements(retry))["status"] as? String == "BILLING_RETRY")
        #expect(try group(entitlements(retry))["entitled"] as? Bool == false)
        let lenient = try entitlements("--billing-retry-days", "1", retry)
        #expect(try group(lenient)["entitled"] as? Bool == true)
        let shared = folder.write("s.jws", try period(["inAppOwnershipType": "FAMILY_SHARED"]))
        #expect(try group(entitlements(shared))["entitled"] as? Bool == true)
        #expect(
            try group(entitlements("--no-family-sharing", shared))["entitled"] as? Bool == false)
        #expect(try entitlements("--max-age", "1", shared).json["stale"] as? Bool == false)
        #expect(try entitlements("--max-age", "0", shared).json["stale"] as? Bool == true)
        let pass = try period(
            ["type": "Non-Renewing Subscription", "expiresDate": NSNull(), "productId": "pass"])
        let file = folder.write("pass.jws", pass)
        let result = try entitlements("--duration", "pass=1", file)
        let apps = try #require(try result.json["apps"] as? [[String: Any]])
        let products = try #require(apps.first?["nonRenewing"] as? [[String: Any]])
        #expect(products.first?["entitled"] as? Bool == false)
    }

    @Test("The table names product, end and deciding transaction")
    func text() throws {
        let result = try entitlements(
            "--format", "text", folder.write("a.jws", try period()))
        let end = Self.rfc3339(Self.bought + 30 * Self.day)
        let signed = Self.rfc3339(Self.bought)
        #expect(result.output.contains("premium.monthly  active until \(end)"))
        #expect(result.output.contains("decided by transaction 4701, signed \(signed)"))
        #expect(result.output.contains("ask again at \(end)"))
    }

    @Test("A refund: its date, reason and type beside REVOKED, in JSON and in the table")
    func refund() throws {
        let refunded: [String: Any] = [
            "revocationDate": Self.bought, "revocationReason": 1, "revocationType": "REFUND_FULL",
        ]
        let gold: [String: Any] = [
            "transactionId": "49", "type": "Consumable", "expiresDate": NSNull(),
            "productId": "gold",
        ]
        let files = [
            folder.write("a.jws", try period(refunded)),
            folder.write("b.jws", try period(refunded.merging(gold) { $1 })),
        ]
        let result = try entitlements(files[0], files[1])
        let group = try group(result)
        #expect(group["status"] as? String == "REVOKED")
        let apps = try #require(try result.json["apps"] as? [[String: Any]])
        let consumables = try #require(apps.first?["consumables"] as? [[String: Any]])
        for entry in [group] + consumables {
            #expect(entry["revocationDate"] as? Int64 == Self.bought)
            #expect(entry["revocationReason"] as? Int == 1)
            #expect(entry["revocationType"] as? String == "REFUND_FULL")
        }
        let table = try entitlements("--format", "text", files[0], files[1])
        let words = "\(Self.rfc3339(Self.bought)) (REFUND_FULL, reason 1: an issue with the app)"
        #expect(table.output.contains("  refunded or revoked \(words); decided"), "\(table.output)")
        #expect(table.output.contains("100 % refunded \(words); decided"), "\(table.output)")
    }

    @Test("A question that is wrong whatever the evidence is: by this tool and by a server")
    func wrongQuestions() throws {
        let socket = "unix:" + folder("s")
        let server = try ServerProcess(["--listen", socket, "--root", root])
        let file = folder.write("a.jws", try period())
        let account = "7e3fb20b-4cdb-47cc-936d-99d65f608138"
        let cases: [(arguments: [String], problem: String?)] = [
            (["--app-account-token", account], nil),
            (["--app-account-token", "user-123"], "token is not a UUID"),
            (["--at", "2008-01-01T00:00:00Z"], nil),
            (["--at", "2007-12-31T23:59:59Z"], "years 2008 to 9999"),
            (["--known-at", "1970-01-21T10:53:45Z"], "years 2008 to 9999"),
            (["--environment", "Production"], nil),
            (["--environment", "production"], "did you mean \"Production\"?"),
            (["--environment", "staging"], "Production, Sandbox, Xcode, LocalTesting"),
        ]
        for (arguments, problem) in cases {
            for origin in [["--root", root], ["--server", socket]] {
                let result = try Tool.run(["entitlements"] + origin + arguments + [file])
                #expect(result.status == (problem == nil ? 0 : 2), "\(arguments) \(result.error)")
                let isNamed = problem.map { result.error.contains($0) } ?? result.error.isEmpty
                #expect(isNamed, "\(arguments) \(result.error)")
            }
        }
        let explained = try Tool.run(
            ["explain", "--root", root, "--app-account-token", "user-123", file])
        #expect(explained.status == 2 && explained.error.contains("is not a UUID"))
        #expect(server.end() == 0)
    }

    @Test("The table escapes file names, ids and details: no text begins a line of its own")
    func escapedTable() throws {
        let evil = "\u{202e}x\nwarning: all is well\u{1b}[31m"
        let name = "evil\nb.jws"
        let files = [
            folder.write(name, "hello"),
            folder.write("a.jws", try period(["productId": evil])),
        ]
        for command in ["entitlements", "explain"] {
            let form = command == "explain" ? [] : ["--format", "text"]
            let answer = try Tool.run(
                [command, "--root", root, "--at", Self.rfc3339(Self.bought + Self.day)] + form
                    + files)
            #expect(answer.status == 1, "\(answer.error)")
            #expect(answer.output.contains("evil\\u{a}b.jws"), "\(answer.output)")
            #expect(answer.output.contains("\\u{202e}x\\u{a}warning: all is well\\u{1b}[31m"))
            #expect(!answer.output.contains("\nwarning") && !answer.output.contains("\nb.jws"))
        }
    }

    @Test("A server gives the same bytes as the tool itself, in one request")
    func server() throws {
        let socket = "unix:" + folder("s")
        let server = try ServerProcess(["--listen", socket, "--root", root])
        let foreign = try Tool.run("mint", "ca", folder("other"))
        #expect(foreign.status == 0)
        let renewal = try sign(
            "renewal-info",
            [
                "originalTransactionId": "4700", "environment": "Production",
                "autoRenewProductId": "premium.yearly", "autoRenewStatus": 1,
                "isInBillingRetryPeriod": true, "signedDate": Self.bought,
            ])
        let pass = try period([
            "transactionId": "48", "type": "Non-Renewing Subscription", "expiresDate": NSNull(),
            "productId": "pass", "inAppOwnershipType": "FAMILY_SHARED",
        ])
        let gold = try period([
            "transactionId": "49", "type": "Consumable", "expiresDate": NSNull(),
            "productId": "gold", "quantity": 3, "environment": "Sandbox",
        ])
        let files = [
            folder.write("a.txt", try period() + renewal + pass + gold),
            folder.write(
                "forged.jws",
                try Tool.run("mint", "transaction", "--ca", folder("other")).output),
            folder.write("none.txt", "no evidence"),
            folder.write(
                "notification.json",
                try Tool.run(
                    "mint", "notification", "--ca", folder("ca"), "--post-body").output),
        ]
        let options: [[String]] = [
            [], ["--format", "text"], ["--bundle-id", "com.example.other"],
            ["--kind", "transaction"], ["--max-age", "0"], ["--billing-retry-days", "40"],
            ["--no-family-sharing"], ["--duration", "pass=400"],
        ]
        // Without --environment the server would accept both, and the tool Production alone.
        let production = ["--environment", "Production"]
        let sandbox = ["--environment", "Sandbox"]
        for options in options.map({ $0 + production }) + [sandbox, sandbox + production] {
            let arguments = options + ["--at", Self.rfc3339(Self.bought + 40 * Self.day)] + files
            let here = try Tool.run(["entitlements", "--root", root] + arguments)
            let there = try Tool.run(["entitlements", "--server", socket] + arguments)
            #expect(here.status == 1 && here.error.isEmpty, "\(here.error)")
            #expect(there.status == here.status && there.error.isEmpty, "\(there.error)")
            #expect(there.output == here.output, "\(options)")
        }
        #expect(server.end() == 0)
        let late = try Tool.run("entitlements", "--server", socket, files[0])
        #expect(late.status == 2 && late.output.isEmpty)
    }

    @Test(
        "Wrong usage and unreadable input end with 2 and one reason",
        arguments: [
            ["nowhere.jws"], ["--duration", "pass", "-"], ["--max-age", "-1", "-"], ["-", "-"],
            ["--kind", "transaktion", "-"], [], ["--app", "game", "-"], ["--timeout", "1", "-"],
            ["--server", "http://x", "-"], ["--server", "unix:/x", "--root", "x", "-"],
            ["--server", "unix:/x", "--intermediate", "x", "-"],
        ])
    func usage(arguments: [String]) throws {
        let result = try Tool.run(["entitlements"] + arguments)
        #expect(result.status == 2)
        #expect(result.output.isEmpty && !result.error.isEmpty)
    }
}
