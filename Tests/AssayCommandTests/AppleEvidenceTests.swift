import TestSupport
import Testing

@Suite("Apple's evidence on the command line")
struct AppleEvidenceTests {
    @Test("the genuine notification of 2025", .enabled(if: Vectors.has("apple-jws")))
    func notification() throws {
        let name = "apple-jws/notification-test-sandbox-2025.jws"
        let bytes = try #require(Vectors.bytes(name))
        let token = String(decoding: bytes, as: UTF8.self)
        let sandbox = try Tool.run(
            "verify", "--kind", "notification", "--environment", "Sandbox", "--bundle-id",
            "com.loki-project.loki-messenger", "-", input: token)
        #expect(sandbox.status == 0 && sandbox.verdict == "VALID")
        let certificate = try #require(try sandbox.json["certificate"] as? [String: Any])
        #expect(certificate["expired"] as? Bool == true)
        #expect(certificate["notAfter"] as? String == "2025-10-11T19:51:52Z")
        let production = try Tool.run("verify", "--kind", "auto", "-", input: token)
        #expect(production.status == 1 && production.verdict == "WRONG_ENVIRONMENT")
        try Vectors.report(name, 2)
    }

    @Test(
        "the test data of Apple's libraries, signed under their test root",
        .enabled(if: Vectors.has("apple-lib/mock_signed_data", "apple-lib/certs")))
    func libraryVectors() throws {
        let data = try #require(Vectors.folder("apple-lib"))
        let sandbox = ["--environment", "Sandbox", "--bundle-id", "com.example"]
        let production = ["--bundle-id", "com.example", "--app-apple-id"]
        let table: [(file: String, kind: String, options: [String], verdict: String)] = [
            ("testNotification", "notification", sandbox, "VALID"),
            ("testNotification", "notification", production + ["1234"], "WRONG_ENVIRONMENT"),
            ("testNotification", "notification", production + ["1235"], "WRONG_APP"),
            ("testNotification", "transaction", sandbox, "WRONG_KIND"),
            ("transactionInfo", "transaction", sandbox, "VALID"),
            (
                "transactionInfo", "transaction",
                ["--environment", "Sandbox", "--bundle-id", "com.example.x"], "WRONG_BUNDLE"
            ),
            ("renewalInfo", "renewal-info", sandbox, "VALID"),
            ("missingX5CHeaderClaim", "notification", sandbox, "INVALID_CHAIN"),
        ]
        for (file, kind, options, verdict) in table {
            let path = "\(data)/mock_signed_data/\(file)"
            let trusted = ["--root", "\(data)/certs/testCA.der"]
            let answer = try Tool.run(
                ["verify", "--kind", kind] + trusted + options + [path])
            #expect(answer.verdict == verdict, "\(file) as \(kind): \(answer.output)")
            #expect(answer.status == (verdict == "VALID" ? 0 : 1))
        }
        try Vectors.report("apple-lib on the command line", table.count)
    }
}
