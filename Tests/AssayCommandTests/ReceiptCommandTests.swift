import Foundation
import TestSupport
import Testing

@Suite("assay mint receipt, and verification of its receipts")
struct ReceiptCommandTests {
    private let folder = TemporaryFolder()
    private let root: String

    init() throws {
        try MintedAuthority.write(to: folder)
        root = folder("ca") + "/receipt-root.pem"
    }

    private func mint(_ options: [String]) throws -> Tool.Result {
        try Tool.run(["mint", "receipt", "--ca", folder("ca")] + options)
    }

    /// Mints a sandbox receipt to a file and returns its content.
    private func minted(_ name: String, _ options: [String]) throws -> [UInt8] {
        let answer = try mint(
            ["--environment", "Sandbox"] + options + ["--output", folder(name)])
        #expect(
            answer.status == 0 && answer.error.isEmpty && answer.output.isEmpty,
            "\(options): \(answer.error)")
        return [UInt8](try Data(contentsOf: URL(fileURLWithPath: folder(name))))
    }

    private func verify(_ name: String, _ options: [String] = []) throws -> Tool.Result {
        try Tool.run(
            ["verify", "--kind", "app-receipt", "--root", root, "--environment", "Sandbox"]
                + options + [folder(name)])
    }

    private func payload(of answer: Tool.Result) throws -> [String: Any] {
        #expect(answer.verdict == "VALID", "\(answer.output.prefix(300))\(answer.error)")
        return try #require(try answer.json["payload"] as? [String: Any])
    }

    @Test("--device-id can be repeated: one of them is enough")
    func devices() throws {
        _ = try minted("receipt", ["--records", "1"])
        let own = String(repeating: "A5", count: 16)
        let other = "01:02:03:04:05:06"
        func verdict(_ devices: String...) throws -> String? {
            try verify("receipt", devices.flatMap { ["--device-id", $0] }).verdict
        }
        #expect(try verdict(own) == "VALID")
        #expect(try verdict(other, own) == "VALID")
        #expect(try verdict(own, other) == "VALID")
        #expect(try verdict(other) == "MISMATCH")
        #expect(try verdict(other, other) == "MISMATCH")
        for (options, reason) in [
            (["--device-id", own, "--device-id", "01"], "16 octets"),
            (["--device-id", "a", "--device-id", "b", "--kind", "transaction"], "one device"),
            (["--device-id", own, "--device-id", other, "--kind", "auto"], "one device"),
            (Array(repeating: ["--device-id", own], count: 34).flatMap(\.self), "at most 33"),
        ] {
            let result = try verify("receipt", options)
            #expect(result.status == 2 && result.error.contains(reason), "\(result.error)")
        }
    }

    /// DER and BER encode the first length of a CMS structure differently.
    @Test(
        "each digest, encoding and form is valid under its root",
        arguments: ["sha1", "sha256"], ["der", "ber"])
    func forms(digest: String, encoding: String) throws {
        for base64 in ["line", "lines", "none"] {
            let name = [digest, encoding, base64].joined(separator: "-")
            let bytes = try minted(
                name,
                ["--digest", digest, "--encoding", encoding, "--base64", base64, "--records", "7"])
            let binary: [UInt8]
            if base64 == "none" {
                binary = bytes
            } else {
                let text = String(decoding: bytes, as: UTF8.self)
                let lines = text.split(whereSeparator: \.isNewline)
                #expect((lines.count > 1) == (base64 == "lines"))
                #expect(base64 == "line" || lines.allSatisfy { $0.count <= 76 })
                binary = [UInt8](try #require(Data(base64Encoded: lines.joined())))
            }
            #expect(binary[0] == 0x30 && (binary[1] == 0x80) == (encoding == "ber"))
            // The OID of SHA-1. Receipts with SHA-256 lack it.
            let sha1: [UInt8] = [0x06, 0x05, 0x2B, 0x0E, 0x03, 0x02, 0x1A]
            #expect(binary.prefix(60).contains(sha1) == (digest == "sha1"))
            let payload = try payload(of: try verify(name))
            #expect((payload["inApp"] as? [Any])?.count == 7)
            let foreign = try Tool.run(
                "verify", "--kind", "app-receipt", "--environment", "Sandbox", folder(name))
            #expect(foreign.status == 1 && foreign.verdict == "UNTRUSTED_CHAIN")
        }
    }

    @Test("the size is as requested, within one record")
    func sizes() throws {
        for (size, bytes) in [("20000", 20_000), ("64KB", 65_536), ("1mb", 1 << 20)] {
            let receipt = try minted("size-" + size, ["--size", size, "--base64", "none"])
            #expect((bytes - 500...bytes).contains(receipt.count), "\(size): \(receipt.count)")
            let payload = try payload(of: try verify("size-" + size))
            let records = try #require(payload["inApp"] as? [[String: Any]])
            let average = Double(receipt.count) / Double(records.count)
            #expect(bytes < 60_000 || (400...450).contains(average), "\(average) a record")
            #expect(
                Set(records.compactMap { $0["transactionId"] as? String }).count == records.count)
        }
        #expect(
            try payload(
                of: {
                    _ = try minted("no-records", ["--records", "0"])
                    return try verify("no-records")
                }())["inApp"] as? [Int] == [])
    }

    @Test("files up to a server's largest limit are read, larger ones are not")
    func largest() throws {
        // A sparse file: it has a length and no content.
        let path = folder.write("large", "")
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        // Above a server's default limit.
        try file.truncate(atOffset: 33 << 20)
        #expect(try verify("large").verdict == "MALFORMED")
        try file.truncate(atOffset: 256 << 20 + 1)
        let refused = try verify("large")
        #expect(refused.status == 2 && refused.error.contains("268435456"), "\(refused.error)")
    }

    @Test("bundle, app id, environment and date are as requested")
    func fields() throws {
        let options = [
            "--bundle-id", "com.example.other", "--app-apple-id", "42", "--environment",
            "Production", "--date", "2024-05-06T07:08:09Z", "--records", "2",
        ]
        let ca = folder("old")
        _ = try Tool.run("mint", "ca", ca, "--date", "2024-05-06T00:00:00Z")
        let output = folder("fields")
        let answer = try Tool.run(
            ["mint", "receipt", "--ca", ca, "--output", output] + options)
        #expect(answer.status == 0, "\(answer.error)")
        // A root pinned for development never verifies Production. A plain --root has no such
        // limit.
        let verified = try Tool.run(
            "verify", "--kind", "app-receipt", "--root", ca + "/receipt-root.pem", "--bundle-id",
            "com.example.other", "--app-apple-id", "42", output)
        let payload = try payload(of: verified)
        #expect(payload["bundleId"] as? String == "com.example.other")
        #expect(payload["adamId"] as? Int == 42)
        #expect(payload["receiptType"] as? String == "Production")
        #expect(payload["receiptCreationDate"] as? Int == 1_714_979_289_000)
        #expect(try verified.json["environment"] as? String == "Production")
        // Attributes without a name, in the texts.
        #expect((payload["sha1Hash"] as? String)?.count == 40)
        let unknown = payload["unknownAttributes"] as? [[String: Any]] ?? []
        #expect(unknown.compactMap { $0["type"] as? Int }.contains(9))
        let trust = ["--root", ca + "/receipt-root.pem"]
        for (command, line) in [
            (["verify", "--kind", "app-receipt", "--format", "text"] + trust, "  attribute 9 "),
            (["explain", "--no-verify"], "  attribute 9 "),
            (["explain", "--all"] + trust, "unknownAttributes["),
        ] {
            let text = try Tool.run(command + [output]).output
            #expect(text.contains(line) && text.contains("0204503233"), "\(command): \(text)")
        }
        for (changed, verdict) in [
            (["--bundle-id", "com.example.game"], "WRONG_BUNDLE"),
            (["--app-apple-id", "43"], "WRONG_APP"),
            (["--environment", "Sandbox"], "WRONG_ENVIRONMENT"),
            (["--at", "2024-05-06T07:00:00Z"], "INVALID_DATE"),
        ] {
            let other = try Tool.run(
                ["verify", "--kind", "app-receipt", "--root", ca + "/receipt-root.pem"] + changed
                    + [output])
            #expect(other.status == 1 && other.verdict == verdict, "\(changed)")
        }
    }

    @Test("the same options give the same payload, another seed another payload")
    func seeds() throws {
        let date = ["--date", "2026-11-21T08:00:00Z", "--base64", "none", "--digest", "sha1"]
        let first = try minted("first", date)
        #expect(try minted("second", date) == first)
        #expect(try minted("third", date + ["--seed", "2"]) != first)
    }

    @Test("the selected records, and the format of verifyReceipt")
    func selections() throws {
        _ = try minted("many", ["--records", "60"])
        let all = try #require(
            try payload(of: try verify("many"))["inApp"] as? [[String: Any]])
        let none = try payload(of: try verify("many", ["--in-app", "none"]))
        #expect((none["inApp"] as? [Any])?.isEmpty == true)
        let latest = try payload(of: try verify("many", ["--in-app", "latest"]))
        let originals = Set(all.compactMap { $0["originalTransactionId"] as? String })
        #expect((latest["inApp"] as? [Any])?.count == originals.count)
        let product = try #require(all[0]["productId"] as? String)
        let some = try payload(of: try verify("many", ["--in-app", "product=" + product]))
        #expect(
            (some["inApp"] as? [Any])?.count
                == all.count { $0["productId"] as? String == product })

        let answer = try verify("many", ["--format", "verify-receipt"])
        #expect(answer.status == 0)
        let response = try answer.json
        #expect(response["status"] as? Int == 0)
        #expect(response["environment"] as? String == "Sandbox")
        let receipt = try #require(response["receipt"] as? [String: Any])
        #expect(receipt["bundle_id"] as? String == "com.example.game")
        #expect(receipt["receipt_type"] as? String == "ProductionSandbox")
        let records = try #require(receipt["in_app"] as? [[String: Any]])
        #expect(records.count == all.count)
        for (record, own) in zip(records, all) {
            #expect(record["product_id"] as? String == own["productId"] as? String)
            #expect(record["transaction_id"] as? String == own["transactionId"] as? String)
            #expect(record["quantity"] as? String == "1")
            #expect(
                record["purchase_date_ms"] as? String
                    == (own["purchaseDate"] as? Int).map(String.init))
        }
        let refused = try verify(
            "many", ["--format", "verify-receipt", "--bundle-id", "com.example.other"])
        #expect(refused.status == 1)
        #expect(try refused.json["status"] as? Int != 0)
        #expect(try refused.json["receipt"] == nil)
    }

    @Test("verify accepts minted evidence with default options")
    func defaults() throws {
        let receipt = try mint(["--records", "1"])
        let root = folder("ca/receipt-root.pem")
        let answer = try Tool.run(
            "verify", "--kind", "app-receipt", "--root", root, "-", input: receipt.output)
        #expect(answer.status == 0 && answer.verdict == "VALID", "\(answer.output)")
        let sandbox = try mint(["--records", "1", "--environment", "Sandbox"])
        let other = try Tool.run(
            "verify", "--kind", "app-receipt", "--root", root, "-", input: sandbox.output)
        #expect(other.status == 1 && other.verdict == "WRONG_ENVIRONMENT")
    }

    @Test("invalid options are refused")
    func refusals() throws {
        let cases: [([String], String)] = [
            (["--records", "3", "--size", "1MB"], "not both"),
            (["--records", "-1"], "--records"), (["--records", "99999999"], "--records"),
            (["--records", "x"], "x"), (["--size", "0"], "size"), (["--size", "-5"], "size"),
            (["--size", "1GB"], "size"), (["--size", "300MB"], "--size"),
            (["--size", "1.5MB"], "size"), (["--size", "KB"], "size"), (["--size", ""], "size"),
            (["--digest", "md5"], "md5"), (["--encoding", "cer"], "cer"),
            (["--base64", "url"], "url"), (["--environment", "LocalTesting"], "receipt"),
            (["--environment", "production"], "production"),
            (["--date", "yesterday"], "yesterday"),
            (["--seed", "-1"], "seed"), (["--app-apple-id", "x"], "app-apple-id"),
            (["--nonsense"], "nonsense"), (["stray"], "stray"),
        ]
        for (options, part) in cases {
            let answer = try mint(options)
            #expect(answer.status == 2, "\(options): \(answer.status)")
            #expect(answer.output.isEmpty && answer.error.contains(part), "\(answer.error)")
        }
        // Smaller than any receipt; an existing file; no CA.
        #expect(try mint(["--size", "100"]).status == 2)
        let there = folder.write("there", "x")
        #expect(try mint(["--output", there]).status == 2)
        #expect(try String(contentsOfFile: there, encoding: .utf8) == "x")
        #expect(try Tool.run("mint", "receipt", "--ca", folder("nowhere")).status == 2)
    }
}
