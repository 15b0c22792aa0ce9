import Foundation
import TestSupport
import Testing

@Suite("assay explain --no-verify")
struct ExplainUnverifiedTests {
    private let folder = TemporaryFolder()

    init() throws {
        try MintedAuthority.write(to: folder)
    }

    private func mint(_ options: String...) throws -> String {
        let minted = try Tool.run(["mint"] + options + ["--ca", folder("ca")])
        #expect(minted.status == 0, "\(minted.error)")
        return minted.output
    }

    private func inspect(_ evidence: String) throws -> [String: Any] {
        let answer = try Tool.run(
            ["explain", "--no-verify", "--format", "json", "-"], input: evidence)
        #expect(answer.status == 0 && answer.error.isEmpty, "\(answer.error)")
        let json = try answer.json
        #expect(json["verified"] as? Bool == false)
        #expect((json["warning"] as? String)?.hasPrefix("UNVERIFIED: ") == true)
        return json
    }

    private func problems(_ json: [String: Any]) -> [String] {
        json["problems"] as? [String] ?? ["no list"]
    }

    @Test(
        "header, certificates and payload of each kind of token",
        arguments: ["transaction", "renewal-info", "app-transaction", "realtime-request"])
    func tokens(kind: String) throws {
        let json = try inspect(try mint(kind))
        #expect(json["format"] as? String == "a StoreKit 2 JWS")
        #expect(json["likelyKind"] as? String == kind)
        #expect(problems(json).isEmpty)
        let header = try #require(json["unverifiedHeader"] as? [String: Any])
        #expect(header["alg"] as? String == "ES256")
        let chain = try #require(json["unverifiedCertificates"] as? [[String: Any]])
        #expect(chain.count == 3)
        #expect(
            chain.map { $0["markers"] as? String } == [
                "1.2.840.113635.100.6.11.1", "1.2.840.113635.100.6.2.1", "",
            ])
        #expect(chain.map { $0["isCA"] as? Bool } == [false, true, true])
        #expect(chain[0]["issuer"] as? String == chain[1]["subject"] as? String)
        #expect((chain[2]["subject"] as? String)?.contains("CN=") == true)
        for member in ["serial", "notBefore", "notAfter", "key", "sha256"] {
            #expect(chain.allSatisfy { ($0[member] as? String)?.isEmpty == false }, "\(member)")
        }
        let payload = try #require(json["unverifiedPayload"] as? [String: Any])
        #expect(payload["bundleId"] is String || payload["productId"] is String)
        #expect(json["payload"] == nil && json["verdict"] == nil)
    }

    @Test("the evidence in a notification and in a Server API answer is inspected, too")
    func nested() throws {
        let body = try mint("notification", "--post-body")
        let json = try inspect(body)
        #expect(json["format"] as? String == "JSON")
        #expect(json["likelyKind"] as? String == "notification")
        let outer = try #require((json["nested"] as? [[String: Any]])?.first)
        #expect(outer["member"] as? String == "signedPayload")
        #expect(outer["verified"] as? Bool == false)
        let inner = try #require(outer["nested"] as? [[String: Any]])
        #expect(
            inner.map { $0["member"] as? String } == [
                "data.signedTransactionInfo", "data.signedRenewalInfo",
            ])
        #expect(inner.map { $0["likelyKind"] as? String } == ["transaction", "renewal-info"])
        let token = try mint("transaction").dropLast()
        let answer = try inspect("{\"revision\":\"r\",\"signedTransactions\":[\"\(token)\"]}")
        let item = try #require((answer["nested"] as? [[String: Any]])?.first)
        #expect(item["member"] as? String == "signedTransactions[0]")
        #expect(item["likelyKind"] as? String == "transaction")
    }

    @Test("an app receipt: attributes, records and certificates, as DER and as base64")
    func receipts() throws {
        for base64 in ["line", "lines", "none"] {
            _ = try mint(
                "receipt", "--records", "3", "--base64", base64, "--output", folder(base64))
            let answer = try Tool.run("explain", "--no-verify", "--format", "json", folder(base64))
            let json = try answer.json
            #expect(problems(json).isEmpty)
            #expect(json["likelyKind"] as? String == "app-receipt")
            #expect((json["unverifiedCertificates"] as? [Any])?.count ?? 0 >= 2)
            let payload = try #require(json["unverifiedPayload"] as? [String: Any])
            #expect(payload["bundleId"] as? String == "com.example.game")
            #expect((payload["inApp"] as? [Any])?.count == 3)
        }
        let text = try Tool.run("explain", "--no-verify", folder("line")).output
        #expect(text.contains("inApp[2].transactionId"))
        #expect(text.contains("UNVERIFIED certificate 1 of "))
    }

    @Test("damaged evidence is shown as far as it can be read, with what is wrong")
    func damaged() throws {
        let token = String(try mint("transaction").dropLast())
        let parts = token.split(separator: ".").map(String.init)
        let receipt = try mint("receipt", "--records", "3", "--base64", "line")
        let table: [(evidence: String, problem: String, hasPayload: Bool)] = [
            (parts[0] + "." + parts[1], "this has 2", true),
            (parts[0] + ".", "this has 2", false),
            (token + ".x", "this has 4", true),
            (String(token.dropLast(10)), "the signature has", true),
            (parts[0] + ".!" + parts[1] + "." + parts[2], "not base64 from offset 0 on", false),
            (parts[0] + "." + parts[1].dropLast(8) + "." + parts[2], "not valid JSON", false),
            ("e30." + parts[1] + "." + parts[2], "no list x5c", true),
            ("\"" + token + "\"", "a quotation mark before the evidence", true),
            (String(receipt.prefix(receipt.count / 2)), "ends too early", true),
            (receipt.dropLast(1) + "AAAA", "bytes follow the receipt", true),
            ("{\"signedPayload\":", "not valid JSON", false),
            ("hello", "like no known evidence", false),
        ]
        for (evidence, problem, hasPayload) in table {
            let json = try inspect(evidence)
            #expect(
                problems(json).contains { $0.contains(problem) },
                "\(evidence.suffix(20)): \(problems(json))")
            #expect((json["unverifiedPayload"] != nil) == hasPayload, "\(evidence.suffix(20))")
            let text = try Tool.run(["explain", "--no-verify", "-"], input: evidence)
            #expect(text.status == 0 && text.output.contains(problem))
        }
        let cut = try inspect(parts[0] + "." + parts[1].dropLast(8) + "." + parts[2])
        #expect((cut["unverifiedPayloadText"] as? String)?.hasPrefix("{") == true)
    }

    @Test("a certificate that is none has its fault; the others are shown")
    func certificates() throws {
        let token = try mint("transaction")
        let parts = token.split(separator: ".").map(String.init)
        let padded = parts[0] + String(repeating: "=", count: (4 - parts[0].count % 4) % 4)
        let text = padded.replacingOccurrences(of: "-", with: "+")
            .replacingOccurrences(of: "_", with: "/")
        let data = try #require(Data(base64Encoded: text))
        let parsed = try JSONSerialization.jsonObject(with: data)
        var header = try #require(parsed as? [String: Any])
        var chain = try #require(header["x5c"] as? [String])
        chain[1] = "AAAA"
        header["x5c"] = chain
        let other = try JSONSerialization.data(withJSONObject: header).base64EncodedString()
        let json = try inspect(other + "." + parts[1] + "." + parts[2])
        let shown = try #require(json["unverifiedCertificates"] as? [[String: Any]])
        #expect(shown.map { $0["fault"] is String } == [false, true, false])
        #expect(shown[1]["subject"] == nil && shown[2]["subject"] is String)
    }

    @Test("132: what is printed of hostile evidence has a limit, in text and in JSON")
    func bounded() throws {
        let long = String(repeating: "n", count: 130_000)
        let ones = repeatElement("1", count: 70_000).joined(separator: ",")
        let objects = repeatElement("{\"a\":1}", count: 17_000).joined(separator: ",")
        let members = (0..<17_000).map { "\"\($0)\":{\"b\":2}" }.joined(separator: ",")
        let table: [(evidence: String, showsName: Bool)] = [
            ("{\"\(long)\":[\(ones)]}", false), ("{\"\(long)\":[\(objects)]}", true),
            ("{\"a\":[\(objects)],\"\(long)\":1}", true), ("{\(members)}", false),
            ("{\"a\":\"\(String(repeating: "x", count: 3 << 20))\"}", false),
            ("{\"\(long)\":1,\"b\":2}", true),
        ]
        for (evidence, showsName) in table {
            let text = try Tool.run(["explain", "--no-verify", "-"], input: evidence)
            #expect(text.status == 0 && text.output.utf8.count < 300_000, "\(text.error)")
            #expect(text.output.contains("… (130000 bytes)") == showsName)
            let json = try inspect(evidence)
            #expect((json["unverifiedPayload"] == nil) == (evidence.utf8.count > 1 << 20))
        }
        let many = try Tool.run(["explain", "--no-verify", "-"], input: table[3].evidence).output
        #expect(many.contains("\n  16600 more fields are left out\n"), "\(many.suffix(200))")
    }

    @Test("a receipt of many records: the newest, and how many are left out")
    func manyRecords() throws {
        _ = try mint("receipt", "--records", "250", "--output", folder("many"))
        let text = try Tool.run("explain", "--no-verify", folder("many")).output
        #expect(text.contains("the newest 200 in-app records; 50 are left out"))
        #expect(text.contains("inApp[199].transactionId") && !text.contains("inApp[200]"))
        let json = try Tool.run("explain", "--no-verify", "--format", "json", folder("many")).json
        #expect(json["recordsOmitted"] as? Int == 50)
        let payload = try #require(json["unverifiedPayload"] as? [String: Any])
        #expect((payload["inApp"] as? [Any])?.count == 200)
    }

    @Test("text marks every section, and escapes what a terminal would act on")
    func text() throws {
        let payload = folder.write(
            "payload", "{\"bundleId\":\"b\\u001b[31m\",\"\\u009bx\":\"y\",\"quantity\":1}")
        let token = try mint("transaction", "--payload", payload)
        let answer = try Tool.run(["explain", "--no-verify", "-"], input: token)
        #expect(answer.status == 0)
        let lines = answer.output.split(separator: "\n", omittingEmptySubsequences: false)
        #expect(lines[0].hasPrefix("UNVERIFIED: nothing here was checked"))
        let titles = lines.filter { !$0.isEmpty && !$0.hasPrefix(" ") }
        #expect(titles.count == 7 && titles.allSatisfy { $0.hasPrefix("UNVERIFIED") })
        #expect(answer.output.contains("b\\u{1b}[31m"))
        let isControl = { (scalar: Unicode.Scalar) in scalar.value == 0x1B || scalar.value == 0x9B }
        #expect(!answer.output.unicodeScalars.contains(where: isControl))
        let file = folder.write("token", token)
        #expect(try Tool.run("explain", "--no-verify", file).output == answer.output)
        for (arguments, reason) in [
            ([], "<file>"), ([folder("none")], "no such file"),
            (["--format", "jsno", file], "did you mean \"json\"?"),
            ([folder.write("empty", "")], "is empty"), ([file, file], "shows one file"),
            (["--all", file], "checks nothing"), (["--kind", "transaction", file], "--kind"),
        ] {
            let refused = try Tool.run(["explain", "--no-verify"] + arguments)
            #expect(refused.status == 2 && refused.error.contains(reason), "\(refused.error)")
        }
    }
}
