import Foundation
import TestSupport
import Testing

@Suite("assay entitlements")
struct EntitlementsCommandTests {
    private let folder = TemporaryFolder()
    private let root: String

    init() throws {
        let made = try Tool.run("mint", "ca", folder("ca"))
        try #require(made.status == 0, "\(made.error)")
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

    @Test("A subscription in force: the product, its end and what decided")
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

    @Test("The policy's options: leniency, family sharing, durations, maximum age")
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

    @Test(
        "Wrong usage and unreadable input end with 2 and one reason",
        arguments: [
            ["nowhere.jws"], ["--duration", "pass", "-"], ["--max-age", "-1", "-"], ["-", "-"],
            ["--kind", "transaktion", "-"], [],
        ])
    func usage(arguments: [String]) throws {
        let result = try Tool.run(["entitlements"] + arguments)
        #expect(result.status == 2)
        #expect(result.output.isEmpty && !result.error.isEmpty)
    }
}
