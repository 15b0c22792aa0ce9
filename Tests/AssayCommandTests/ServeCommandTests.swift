import Foundation
import TestSupport
import Testing

@Suite("assay serve")
struct ServeCommandTests {
    private let folder = TemporaryFolder()
    private let socket: String

    init() throws {
        socket = "unix:" + folder("s")
        try MintedAuthority.write(to: folder)
    }

    private func token(_ kind: String, _ options: String...) throws -> String {
        try Tool.run(["mint", kind, "--ca", folder("ca")] + options).output
    }

    private func withoutDetail(_ answer: Tool.Result) throws -> NSDictionary {
        try answer.json.filter { $0.key != "detail" } as NSDictionary
    }

    @Test(
        "one ready line, and the same answers as in-process over both transports",
        arguments: [
            [], ["--engine", "portable"], ["--engine", "openssl"],
        ])
    func sameAnswers(options: [String]) throws {
        let root = folder("ca") + "/root.pem"
        let server = try ServerProcess(
            ["--listen", "tcp://127.0.0.1:0", "--listen", socket, "--root", root] + options)
        #expect(server.ready == "assay ready \(server.tcp) \(socket)\n")
        #expect(server.tcp != "none" && !server.tcp.hasSuffix(":0"))

        let transaction = try token("transaction")
        let milliseconds = Int(Date().timeIntervalSince1970 * 1000)
        let app = try token("app-transaction", "--app-apple-id", "42")
        let notification = try token("notification", "--environment", "Sandbox", "--post-body")
        // The deepest nesting that a payload allows.
        let nested = String(repeating: "[", count: 31) + String(repeating: "]", count: 31)
        let deep = try token(
            "transaction", "--payload",
            folder.write(
                "deep",
                """
                {"transactionId":"1","productId":"p","purchaseDate":\(milliseconds),"bundleId":"b",
                "environment":"Production","signedDate":\(milliseconds),"new":\(nested)}
                """))
        let table: [(evidence: String, options: [String], verdict: String)] = [
            (deep, ["transaction"], "VALID"),
            (transaction, ["transaction"], "VALID"),
            (transaction, ["transaction", "--bundle-id", "com.example.game"], "VALID"),
            (transaction, ["transaction", "--bundle-id", "com.example.other"], "WRONG_BUNDLE"),
            (transaction, ["transaction", "--environment", "Sandbox"], "WRONG_ENVIRONMENT"),
            (transaction, ["renewal-info"], "WRONG_KIND"),
            (transaction, ["auto"], "VALID"),
            (app, ["app-transaction", "--app-apple-id", "42"], "VALID"),
            (app, ["app-transaction", "--app-apple-id", "43"], "WRONG_APP"),
            (notification, ["notification"], "WRONG_ENVIRONMENT"),
            (notification, ["notification", "--environment", "Sandbox"], "VALID"),
            ("a.b.c", ["auto"], "MALFORMED"),
            (transaction + transaction, ["transaction"], "MALFORMED"),
        ]
        for (evidence, options, verdict) in table {
            let here = try Tool.run(
                ["verify", "--root", root, "--kind"] + options + ["-"], input: evidence)
            #expect(here.verdict == verdict, "\(options)")
            for address in [server.tcp, socket] {
                let there = try Tool.run(
                    ["verify", "--server", address, "--kind"] + options + ["-"], input: evidence)
                #expect(there.status == here.status)
                // The details differ: the environment is refused by the policy or by the caller's
                // request.
                #expect(try withoutDetail(there) == withoutDetail(here), "\(options)")
            }
        }
        let health = try Tool.run("health", socket)
        #expect(health.status == 0 && health.output == "SERVING\n")
        #expect(server.end() == 0)
        #expect(try Tool.run("health", socket).status == 2)
    }

    @Test("an app entry's policy applies, whatever a client expects")
    func policy() throws {
        let config = folder.write(
            "assay.toml",
            """
            listen = ["\(socket)"]
            [[app]]
            name = "game"
            bundle-id = "com.example.game"
            app-apple-id = 1234567890
            roots = ["ca/root.pem"]
            default = true
            [[app]]
            name = "other"
            bundle-id = "com.example.other"
            environments = ["Sandbox"]
            roots = ["ca/root.pem"]
            """)
        let server = try ServerProcess(["--config", config])
        #expect(server.ready == "assay ready \(socket)\n")
        func verdict(_ evidence: String, _ options: String...) throws -> String? {
            try Tool.run(
                ["verify", "--server", socket, "--kind", "auto"] + options + ["-"],
                input: evidence
            ).verdict
        }
        #expect(try verdict(token("transaction")) == "VALID")
        let other = try token("transaction", "--bundle-id", "com.example.other")
        #expect(try verdict(other) == "WRONG_BUNDLE")
        #expect(try verdict(other, "--bundle-id", "com.example.other") == "WRONG_BUNDLE")
        let sandbox = try token("transaction", "--environment", "Sandbox")
        #expect(try verdict(sandbox, "--environment", "Sandbox") == "WRONG_ENVIRONMENT")
        let others = try token(
            "transaction", "--environment", "Sandbox", "--bundle-id", "com.example.other")
        #expect(try verdict(others, "--app", "other", "--environment", "Sandbox") == "VALID")
        #expect(try verdict(others, "--environment", "Sandbox") == "WRONG_BUNDLE")
        let app = try token("app-transaction", "--app-apple-id", "7")
        #expect(try verdict(app, "--app-apple-id", "7") == "WRONG_APP")
        #expect(server.end() == 0)
    }

    @Test("an address that can't be listened at ends with status 2 and the reason")
    func unusable() throws {
        let answer = try Tool.run("serve", "--listen", "unix:" + folder("none") + "/s")
        #expect(answer.status == 2 && answer.output.isEmpty)
        #expect(answer.error.contains("can't listen on unix:"))
    }
}
