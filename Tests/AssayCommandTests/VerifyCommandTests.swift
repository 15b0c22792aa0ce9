import Foundation
import TestSupport
import Testing

@Suite("assay verify")
struct VerifyCommandTests {
    private let folder = TemporaryFolder()
    private let root: String

    init() throws {
        try MintedAuthority.write(to: folder)
        root = folder("ca") + "/root.pem"
    }

    private func token(_ kind: String = "transaction", _ options: String...) throws -> String {
        let minted = try Tool.run(["mint", kind, "--ca", folder("ca")] + options)
        #expect(minted.status == 0 && minted.error.isEmpty)
        return minted.output
    }

    private func verify(
        _ evidence: String, _ options: String..., kind: String = "transaction"
    ) throws -> Tool.Result {
        let arguments = ["verify", "--kind", kind, "--root", root] + options + ["-"]
        return try Tool.run(arguments, input: evidence)
    }

    @Test(
        "minted evidence of each kind is valid, and the report names its kind",
        arguments: [
            "transaction", "renewal-info", "app-transaction", "notification", "realtime-request",
        ])
    func kinds(kind: String) throws {
        for named in [kind, "auto"] {
            let answer = try verify(try token(kind), kind: named)
            #expect(answer.status == 0 && answer.error.isEmpty)
            #expect(answer.output.split(separator: "\n").count == 1)
            let json = try answer.json
            #expect(json["verdict"] as? String == "VALID")
            #expect(json["kind"] as? String == kind)
            #expect(json["environment"] as? String == "Production")
            #expect(json["detail"] is String && json["evidenceKey"] is String)
            let namesPurchase = !["renewal-info", "realtime-request"].contains(kind)
            #expect((json["dedupKey"] is String) == namesPurchase)
            let certificate = try #require(json["certificate"] as? [String: Any])
            #expect(certificate["serial"] is String)
            #expect(certificate["expired"] as? Bool == false)
            let notAfter = try #require(certificate["notAfter"] as? String)
            #expect(notAfter.hasSuffix("Z") && notAfter.count == 20)
            let payload = try #require(json["payload"] as? [String: Any])
            #expect(payload["signedDate"] is Int || payload["receiptCreationDate"] is Int)
            #expect((json["transaction"] != nil) == (kind == "notification"))
            #expect((json["renewalInfo"] != nil) == (kind == "notification"))
            #expect(json["appTransaction"] == nil)
        }
    }

    @Test("a POST body is a notification")
    func postBody() throws {
        let body = try token("notification", "--post-body")
        #expect(body.hasPrefix("{\"signedPayload\":\""))
        let answer = try verify(body, kind: "notification")
        let transaction = try answer.json["transaction"] as? [String: Any]
        #expect(transaction?["bundleId"] as? String == "com.example.game")
    }

    @Test("unknown members and fractions of the payload are printed as signed")
    func rawPayload() throws {
        let payload = """
            {"transactionId":"1","productId":"p","purchaseDate":1697679936049.7297,"bundleId":"b",
             "environment":"Production","signedDate":1697679936049.72970,"new":{"x":[1e3,null]}}
            """
        let minted = try token(
            "transaction", "--payload", folder.write("payload", payload))
        let answer = try verify(minted, "--at", "2023-10-19T02:00:00Z")
        // Signed before the CA's leaf became valid.
        #expect(answer.verdict == "CERTIFICATE_EXPIRED")
        let ca = folder("old")
        _ = try Tool.run("mint", "ca", ca, "--date", "2023-10-19T00:00:00Z")
        let old = try Tool.run(
            "mint", "transaction", "--ca", ca, "--payload", folder("payload"))
        let read = try Tool.run(
            "verify", "--kind", "transaction", "--root", ca + "/root.pem", "-", input: old.output)
        #expect(read.status == 0)
        #expect(read.output.contains("\"new\":{\"x\":[1e3,null]}"))
        #expect(read.output.contains("\"signedDate\":1697679936049.72970,"))
    }

    @Test("each refusal has its verdict, status 1, and returns no payload")
    func refusals() throws {
        let minted = try token()
        let sandbox = try token("transaction", "--environment", "Sandbox")
        let parts = minted.dropLast().split(separator: ".").map(String.init)
        let other = (parts[2].hasPrefix("A") ? "B" : "A") + parts[2].dropFirst()
        let table: [(String, [String], String)] = [
            ("WRONG_BUNDLE", ["--bundle-id", "com.example.other"], minted),
            ("WRONG_ENVIRONMENT", ["--environment", "Sandbox"], minted),
            ("WRONG_ENVIRONMENT", [], sandbox),
            ("INVALID_DATE", ["--at", "2020-01-01T00:00:00Z"], minted),
            ("INVALID_SIGNATURE", [], [parts[0], parts[1], other].joined(separator: ".")),
            ("MALFORMED", [], [parts[0], parts[1]].joined(separator: ".")),
            ("MALFORMED", [], "x" + minted),
            ("MALFORMED", [], " " + minted),
        ]
        for (verdict, options, evidence) in table {
            let arguments = ["verify", "--kind", "transaction", "--root", root] + options + ["-"]
            let answer = try Tool.run(arguments, input: evidence)
            #expect(answer.verdict == verdict)
            #expect(answer.status == 1 && answer.error.isEmpty)
            #expect(try answer.json["payload"] == nil)
            #expect(!(try #require(try answer.json["detail"] as? String)).isEmpty)
        }
        let untrusted = try Tool.run("verify", "--kind", "transaction", "-", input: minted)
        #expect(untrusted.verdict == "UNTRUSTED_CHAIN" && untrusted.status == 1)
        #expect(try untrusted.json["certificate"] == nil)
        #expect(try verify(minted, kind: "renewal-info").verdict == "WRONG_KIND")
        let app = try token("app-transaction", "--app-apple-id", "42")
        #expect(try verify(app, "--app-apple-id", "42", kind: "app-transaction").status == 0)
        let foreign = try verify(app, "--app-apple-id", "43", kind: "app-transaction")
        #expect(foreign.verdict == "WRONG_APP")
    }

    @Test("environments add up; a final line break is not part of the token")
    func accepted() throws {
        let sandbox = try token("transaction", "--environment", "Sandbox")
        let both = try verify(
            sandbox.dropLast() + "\r\n", "--environment", "Production", "--environment", "Sandbox")
        #expect(both.status == 0)
        let file = folder.write("token.jws", sandbox)
        let named = try Tool.run(
            "verify", "--kind", "transaction", "--root", root, "--environment", "Sandbox", file)
        #expect(named.output == both.output)
    }

    @Test("auto reports no kind if the payload does not show one")
    func auto() throws {
        let minimal = try token(
            "transaction", "--payload",
            folder.write("p", "{\"environment\":\"Production\",\"bundleId\":\"b\"}"))
        let open = try verify(minimal, kind: "auto")
        #expect(open.status == 1 && open.verdict == "WRONG_KIND")
        #expect(try open.json["kind"] == nil)
        #expect(try verify(minimal).status == 0)
        #expect(try verify("a.b", kind: "auto").verdict == "MALFORMED")
    }

    @Test("a chain of another authority is refused with its name and the remedy")
    func untrusted() throws {
        let token = try token()
        let answer = try Tool.run("verify", "--kind", "transaction", "-", input: token)
        #expect(answer.verdict == "UNTRUSTED_CHAIN")
        let detail = try answer.json["detail"] as? String ?? ""
        #expect(detail.contains("\"Assay Development Root CA\""), "\(detail)")
        #expect(detail.hasSuffix("add --root FILE"), "\(detail)")
        #expect(try verify(token).verdict == "VALID")
    }

    @Test("characters around a token are named")
    func edges() throws {
        let token = String(try token().dropLast())
        for (text, named) in [
            (" " + token, "white space"), (token + "\n\n", "white space"),
            ("\u{feff}" + token, "byte order mark"), ("\"\(token)\"", "quotation mark"),
        ] {
            let answer = try verify(text)
            #expect(answer.status == 1 && answer.verdict == "MALFORMED")
            let detail = try answer.json["detail"] as? String ?? ""
            #expect(detail.contains(named), "\(detail)")
        }
    }

    @Test("wrong usage and unreadable files are status 2, with the reason on standard error")
    func usage() throws {
        let empty = folder.write("empty", " \n")
        let table: [(arguments: [String], reason: String)] = [
            (["verify", "x"], "transaction, renewal-info, app-transaction, notification"),
            (["verify", "--kind", "purchase", "x"], "'purchase' is invalid"),
            (["verify", "--kind", "transaction"], "<file>"),
            (["verify", "--kind", "transaction", "--environment", "Prod", "x"], "Sandbox"),
            (["verify", "--kind", "transaction", "--app-apple-id", "0", "x"], "positive"),
            (["verify", "--kind", "transaction", "--at", "today", "x"], "RFC 3339"),
            (["verify", "--kind", "transaction", "--bundle", "x"], "--bundle-id"),
            (["verify", "--kind", "transaction", folder("none")], "no such file"),
            (["verify", "--kind", "transaction", folder("none") + "/x"], "no such file"),
            (["verify", "--kind", "transaction", empty], "is empty"),
            (["verify", "--kind", "transaction", "-"], "has no evidence"),
            (["verify", "--kind", "transaction", "--root", empty, empty], "is empty"),
            (["verify", "--kind", "transaction", "--root", folder("none"), root], "no such file"),
            (["verify", "--kind", "transaction", "--root", root + "x", root], "no such file"),
            (
                ["verify", "--kind", "transaction", "--root", folder("ca/root-key.pem"), root],
                "can't be pinned: it contains a private key"
            ),
            (
                ["verify", "--kind", "transaction", "--root", folder("ca/leaf.pem"), root],
                "leaf.pem can't be pinned: it is not a certificate authority (CA is false)"
            ),
            (["verify", "--kind", "transaction", "--server", "http://x", "x"], "tcp://HOST:PORT"),
            (
                ["verify", "--kind", "transaction", "--server", "unix:/x", "--root", root, "x"],
                "trusts only the roots that its own"
            ),
            (
                [
                    "verify", "--kind", "transaction", "--server", "unix:/x", "--at",
                    "2025-01-01T00:00:00Z", "x",
                ], "its own clock"
            ),
            (["verify", "--kind", "transaction", "--app", "game", "x"], "add --server"),
            (["verify", "--kind", "transaction", "--tls-ca", root, "x"], "need --server tls://"),
            (["load", "tcp://127.0.0.1:1", "--p99", "5"], "the bound of --sweep"),
            (["verify", "--kind", "transaction", "--server", "unix:/none", root], "unix:/none"),
            (["health", "unix:" + folder("none")], "no such file"),
            (["health", "here"], "tcp://HOST:PORT"),
            (["mint", "transaction"], "--ca"),
            (["mint", "transaction", "--ca", folder("none")], "assay mint ca"),
            (["mint", "transaction", "--ca", folder("ca"), "--count", "0"], "--count"),
            (["mint", "ca", folder("ca")], "already exists"),
            (["serve", "--workers", "0"], "--workers"),
            (["serve", "--engine", "portabel"], "portable"),
            (["serve", "--listen", "7443"], "tcp://HOST:PORT"),
            (["frobnicate"], "frobnicate"),
        ]
        for (arguments, reason) in table {
            let answer = try Tool.run(arguments)
            #expect(answer.status == 2, "\(arguments)")
            #expect(answer.output.isEmpty, "\(arguments)")
            #expect(answer.error.contains(reason), "\(arguments): \(answer.error)")
            #expect(
                answer.error.hasPrefix(Tool.prefix(of: arguments)),
                "\(arguments): \(answer.error)")
        }
    }

    @Test(
        "every command has help with examples",
        arguments: [
            [], ["verify"], ["explain"], ["serve"], ["health"], ["mint"],
            ["mint", "ca"],
            ["mint", "transaction"],
            ["mint", "renewal-info"], ["mint", "app-transaction"], ["mint", "notification"],
            ["mint", "realtime-request"],
        ])
    func help(command: [String]) throws {
        let answer = try Tool.run(command + ["--help"])
        #expect(answer.status == 0 && answer.error.isEmpty)
        #expect(answer.output.contains("EXAMPLE"))
    }

    @Test func version() throws {
        let answer = try Tool.run("version")
        #expect(answer.status == 0)
        #expect(answer.output.hasPrefix("assay "))
        #expect(answer.output.split(separator: ".").count == 3)
    }
}
