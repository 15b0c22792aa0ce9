import Foundation
import TestSupport
import Testing

/// Evidence of the time before StoreKit 2, minted and verified at the command line.
@Suite("assay mint notification-v1 and transaction-receipt")
struct OldEvidenceCommandTests {
    private let folder = TemporaryFolder()

    init() throws { try MintedAuthority.write(to: folder) }

    private func mint(_ kind: String, _ options: [String]) throws -> String {
        let minted = try Tool.run(["mint", kind, "--ca", folder("ca")] + options)
        #expect(minted.status == 0 && minted.error.isEmpty, "\(options): \(minted.error)")
        return minted.output
    }

    private func verify(
        _ kind: String, _ evidence: String, _ options: [String] = []
    ) throws -> Tool.Result {
        try Tool.run(
            ["verify", "--kind", kind, "--root", folder("ca/receipt-root.pem")] + options + ["-"],
            input: evidence)
    }

    private func object(_ text: String) throws -> [String: Any] {
        let json = try JSONSerialization.jsonObject(with: Data(text.utf8))
        return try #require(json as? [String: Any])
    }

    /// What the body says beside the type, by the names of Apple's documentation.
    @Test("each type of version 1 verifies, and its members agree with it")
    func types() throws {
        let subscription = ["auto_renew_product_id", "auto_renew_status"]
        for (type, members, cancelled) in [
            ("INITIAL_BUY", subscription, false), ("INTERACTIVE_RENEWAL", subscription, false),
            ("DID_RENEW", subscription, false),
            ("DID_FAIL_TO_RENEW", subscription + ["expiration_intent"], false),
            ("DID_RECOVER", subscription, false), ("RENEWAL", subscription, false),
            ("DID_CHANGE_RENEWAL_PREF", subscription, false),
            (
                "DID_CHANGE_RENEWAL_STATUS",
                subscription + ["auto_renew_status_change_date_ms"], false
            ),
            ("PRICE_INCREASE_CONSENT", subscription, false), ("CANCEL", subscription, true),
            ("REFUND", [], true), ("CONSUMPTION_REQUEST", [], false),
            ("REVOKE", subscription, true),
        ] as [(String, [String], Bool)] {
            let body = try mint(
                "notification-v1", ["--type", type, "--environment", "Sandbox"])
            let json = try object(body)
            #expect(json["notification_type"] as? String == type)
            #expect(json["environment"] as? String == "Sandbox")
            #expect(json["bid"] as? String == "com.example.game")
            for name in [
                "auto_renew_product_id", "auto_renew_status", "expiration_intent",
                "auto_renew_status_change_date_ms",
            ] { #expect((json[name] != nil) == members.contains(name), "\(type): \(name)") }
            let unified = try #require(json["unified_receipt"] as? [String: Any])
            #expect(unified["status"] as? Int == 0)
            let list = unified["latest_receipt_info"] as? [[String: Any]]
            let pending = unified["pending_renewal_info"] as? [[String: Any]]
            #expect(list?.count == 1 && (pending == nil) == members.isEmpty)
            let answer = try verify("notification-v1", body, ["--environment", "Sandbox"])
            #expect(answer.status == 0 && answer.verdict == "VALID", "\(answer.output)")
            let payload = try #require(try answer.json["payload"] as? [String: Any])
            let records = try #require(payload["inApp"] as? [[String: Any]])
            #expect(records.count == 1)
            #expect((records[0]["cancellationDate"] != nil) == cancelled, "\(type)")
            if let entry = list?.first {
                #expect((entry["cancellation_date_ms"] != nil) == cancelled, "\(type)")
                #expect(
                    entry["transaction_id"] as? String == records[0]["transactionId"] as? String)
            }
            #expect(try answer.json["warnings"] == nil, "\(answer.output)")
        }
    }

    @Test("a notification needs the root, its environment and its app; the password stays")
    func neighbours() throws {
        let body = try mint(
            "notification-v1", ["--bundle-id", "com.example.chess", "--password", "s3cret"])
        #expect(try object(body)["password"] as? String == "s3cret")
        #expect(try object(body)["environment"] as? String == "PROD")
        for (options, verdict) in [
            ([], "VALID"), (["--bundle-id", "com.example.chess"], "VALID"),
            (["--bundle-id", "com.example.game"], "WRONG_BUNDLE"),
            (["--environment", "Sandbox"], "WRONG_ENVIRONMENT"),
        ] as [([String], String)] {
            let answer = try verify("notification-v1", body, options)
            #expect(answer.verdict == verdict, "\(options): \(answer.output)")
            #expect(!answer.output.contains("s3cret"))
        }
        let other = try Tool.run("verify", "--kind", "notification-v1", "-", input: body)
        #expect(other.verdict == "UNTRUSTED_CHAIN")
        let many = try mint("notification-v1", ["--count", "3", "--date", "2026-11-20T00:00:00Z"])
        let ids = try many.split(separator: "\n").map {
            try object(String($0))["original_transaction_id"] as? String
        }
        #expect(ids.count == 3 && Set(ids).count == 3)
    }

    @Test("a transaction receipt verifies with root and intermediate, in its environment alone")
    func transactionReceipts() throws {
        let intermediate = ["--intermediate", folder("ca/receipt-intermediate.pem")]
        for (environment, other) in [("Sandbox", "Production"), ("Production", "Sandbox")] {
            let receipt = try mint("transaction-receipt", ["--environment", environment])
            let chosen = intermediate + ["--environment", environment]
            let answer = try verify("transaction-receipt", receipt, chosen)
            #expect(answer.status == 0 && answer.verdict == "VALID", "\(answer.output)")
            let json = try answer.json
            #expect(json["environment"] as? String == environment)
            #expect((json["detail"] as? String)?.contains("disagrees") != true)
            #expect(
                try verify("transaction-receipt", receipt, intermediate + ["--environment", other])
                    .verdict == "WRONG_ENVIRONMENT")
            let missing = try verify(
                "transaction-receipt", receipt, ["--environment", environment])
            #expect(missing.verdict == "UNTRUSTED_CHAIN", "\(missing.output)")
            let shape = try verify(
                "transaction-receipt", receipt, chosen + ["--format", "verify-receipt"])
            let old = try #require(try shape.json["receipt"] as? [String: Any])
            #expect(old["bid"] as? String == "com.example.game")
            #expect(old["product_id"] as? String == "com.example.game.premium.monthly")
            #expect(old["expires_date"] is String && old["purchase_date_pst"] is String)
        }
    }

    @Test("wrong options are refused with the reason")
    func refusals() throws {
        for (kind, options, part) in [
            ("notification-v1", ["--type", "DID_RENEWED"], "DID_RENEW"),
            ("notification-v1", ["--environment", "Xcode"], "Production and Sandbox"),
            ("transaction-receipt", ["--count", "0"], "--count"),
        ] {
            let answer = try Tool.run(["mint", kind, "--ca", folder("ca")] + options)
            #expect(answer.status == 2 && answer.error.contains(part), "\(answer.error)")
        }
        let nowhere = try Tool.run("mint", "notification-v1", "--ca", folder("nowhere"))
        #expect(nowhere.status == 2 && nowhere.error.contains("assay mint ca"))
    }
}
