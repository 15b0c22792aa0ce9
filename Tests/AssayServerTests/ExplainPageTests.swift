import AssayAdmin
import AssayIO
import AssayMint
import AssayModels
import AssayServer
import TestSupport
import Testing

/// The page `/explain` of the admin listener.
@Suite("Explain page", .ownThread, .serialized, .timeLimit(.minutes(3)))
struct ExplainPageTests {
    private static let boundary = "----form"

    private static func form(_ fields: [(name: String, file: String?, content: [UInt8])]) -> [UInt8]
    {
        var body: [UInt8] = []
        for (name, file, content) in fields {
            let fileName = file.map { "; filename=\"\($0)\"" } ?? ""
            body += Array(
                ("--\(boundary)\r\nContent-Disposition: form-data; name=\"\(name)\"\(fileName)"
                    + "\r\n\r\n").utf8)
            body += content + [13, 10]
        }
        return body + Array("--\(boundary)--\r\n".utf8)
    }

    /// Sends a form with one choice more or less than the page's.
    private static func post(
        _ admin: AdminTest, _ evidence: [[UInt8]], kind: String = "auto", app: String = "game",
        environment: String = "", account: String = "", _ fields: String = ""
    ) throws -> AdminTest.Answer {
        var parts: [(String, String?, [UInt8])] = [
            ("app", nil, Array(app.utf8)), ("kind", nil, Array(kind.utf8)),
            ("account", nil, Array(account.utf8)),
            ("environment", nil, Array(environment.utf8)), ("evidence", nil, evidence.first ?? []),
        ]
        for (index, file) in evidence.dropFirst().enumerated() {
            parts.append(("file", "f\(index)", file))
        }
        return try send(admin, form(parts), fields)
    }

    private static func send(
        _ admin: AdminTest, _ body: [UInt8], _ fields: String = "",
        type: String = "multipart/form-data; boundary=\(boundary)"
    ) throws -> AdminTest.Answer {
        let client = try BlockingClient(admin.admin.endpoint)
        let head =
            "POST /explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: \(type)\r\n\(fields)"
            + "Content-Length: \(body.count)\r\n\r\n"
        try client.send(Array(head.utf8) + body)
        return AdminTest.answer(try client.receiveToEnd())
    }

    @Test("evidence that is valid, refused, of several items, and none") func verdicts() throws {
        let admin = try AdminTest(explains: true)
        defer { admin.end() }
        let page = admin.get("/explain")
        #expect(page.status == 200 && page.body.contains("<textarea name=\"evidence\""))
        #expect(page.body.contains("<option value=\"game\">game</option>"))
        #expect(page.head.contains("form-action 'self'"))
        #expect(page.head.contains("Referrer-Policy: same-origin"))
        #expect(!page.body.contains("<script") && !page.body.contains("by the bundle id"))

        let token = try Minted.transaction.get()
        let valid = try Self.post(admin, [token])
        #expect(valid.status == 200 && valid.body.contains(">VALID</span>"), "\(valid.body)")
        #expect(valid.body.contains("<span class=\"mark good\">VERIFIED</span>"))
        #expect(!valid.body.contains("NOT VERIFIED"))
        #expect(valid.body.contains("What the customer owns"))

        let tampered = try Self.post(admin, [Minted.tampered(token)])
        #expect(tampered.body.contains(">INVALID_SIGNATURE</span>"))
        #expect(tampered.body.contains("<span class=\"mark bad\">NOT VERIFIED</span>"))
        #expect(!tampered.body.contains("mark good"))
        #expect(tampered.body.contains("<li class=\"failed\"><b>the leaf&#39;s key signed"))

        let receipt = try Minted.receipt(bytes: 20_000)
        let several = try Self.post(admin, [token, Minted.tampered(token), receipt])
        #expect(several.body.contains("1. pasted") && several.body.contains("3. f1"))
        #expect(several.body.contains("in-app records") && several.body.contains("<svg"))

        let elsewhere = try Self.post(admin, [token], environment: "Production")
        #expect(elsewhere.body.contains(">WRONG_ENVIRONMENT</span>"))
        let renewal = try Self.post(admin, [token], kind: "renewal-info")
        #expect(renewal.body.contains(">WRONG_KIND</span>"))
    }

    @Test("the answer comes first, and the rest is folded") func order() throws {
        let admin = try AdminTest(explains: true)
        defer { admin.end() }
        let token = try Minted.transaction.get()
        func positions(_ texts: [String], _ page: String) throws -> [String.Index] {
            try texts.map { try #require(page.firstRange(of: $0), "\($0) in \(page)").lowerBound }
        }
        let several = try Self.post(admin, [token, Minted.tampered(token)]).body
        let order = try positions(
            [
                ">VALID</span>", "Signed by Apple, or under a root or a key of yours",
                ">INVALID_SIGNATURE</span>", "The signature does not fit the bytes.",
                "What the customer owns", "What to do next", "<h3>pasted</h3>",
                "<li>Give access to com.example", "<h3>f0</h3>",
                "<li>Refuse.</li>", "<h2>Failed check</h2>", "<b>f0: the leaf&#39;s key signed",
                "<details class=\"all\"><summary>1. pasted: every check", "<ol class=\"checks\">",
                "Certificates</h2>", "<summary>2. f0: every check", "Explain another item",
            ].filter { $0 != "<ol class=\"checks\">" }, several)
        #expect(order == order.sorted(), "\(several)")
        #expect(!several.contains("<details class=\"all\" open"))
        let refused = try Self.post(admin, [token], environment: "Production").body
        #expect(
            refused.contains("<li>To accept Sandbox: --environment Sandbox, or environments of"))
        #expect(!refused.contains("What the customer owns") && !refused.contains("<h3>pasted"))
        let valid = try Self.post(admin, [token]).body
        #expect(!valid.contains("Failed check"))
    }

    @Test("purchases of another account than the named one are marked") func accounts() throws {
        let admin = try AdminTest(explains: true)
        defer { admin.end() }
        let token = try Minted.transaction.get()
        #expect(admin.get("/explain").body.contains("<input name=\"account\""))
        let account = "00000000-0000-4000-8000-0000000000ff"
        let marked = try Self.post(admin, [token], account: account).body
        #expect(marked.contains("OF ANOTHER ACCOUNT") && marked.contains("value=\"\(account)\""))
        #expect(!(try Self.post(admin, [token]).body.contains("OF ANOTHER ACCOUNT")))
        let hostile = try Self.post(admin, [token], account: "\"><script>").body
        #expect(!hostile.contains("<script") && hostile.contains("&quot;&gt;&lt;script&gt;"))
    }

    @Test("of several app entries the evidence's bundle id chooses one") func bundleIds() throws {
        let admin = try AdminTest(explains: true) { configuration in
            let game = configuration.apps["game"]!
            let other = Policy(bundleId: "com.example.b", environments: [.sandbox])
            configuration.apps = ["b": game.with(other), "game": game]
        }
        defer { admin.end() }
        let option = "<option value=\"\" selected>by the bundle id</option>"
        #expect(admin.get("/explain").body.contains(option))
        let token = try Minted.transaction.get()
        let renewal = try Minted.token(.renewalInfo)
        let receipt = try Minted.receipt(bytes: 3_000, bundleId: "com.example.b")
        let third = try Minted.token(.transaction, bundleId: "<c>")
        let chosen: [(name: String, evidence: [[UInt8]], app: String)] = [
            ("transaction", [token], "game"),
            ("another app", [try Minted.token(.transaction, bundleId: "com.example.b")], "b"),
            ("notification", [try Minted.token(.notification)], "game"),
            ("receipt", [receipt], "b"),
            ("receipt in base64", [ReceiptMinter.base64(receipt)], "b"),
            ("second item", [renewal, token], "game"),
        ]
        for (name, evidence, app) in chosen {
            let answer = try Self.post(admin, evidence, app: "")
            #expect(answer.status == 200 && answer.body.contains(">VALID</span>"), "\(name)")
            #expect(answer.body.contains("app entry <b>\(app)</b>"), "\(name): \(answer.body)")
        }
        let refused: [(name: String, evidence: [UInt8], text: String)] = [
            ("no bundle id", renewal, "names no bundle id"),
            ("no evidence", Array("x".utf8), "names no bundle id"),
            ("no entry", third, "no app entry has the bundle id &quot;&lt;c&gt;&quot;"),
        ]
        for (name, evidence, text) in refused {
            let answer = try Self.post(admin, [evidence], app: "")
            #expect(answer.status == 400 && answer.body.contains(text), "\(name): \(answer.body)")
        }
        let asked = try Self.post(admin, [token], app: "b")
        #expect(asked.body.contains(">WRONG_BUNDLE</span>"))
    }

    @Test("what the page refuses") func refusals() throws {
        let admin = try AdminTest(explains: true)
        defer { admin.end() }
        let token = try Minted.transaction.get()
        let whole = Self.form([("app", nil, Array("game".utf8)), ("evidence", nil, token)])
        let cases: [(name: String, answer: AdminTest.Answer, status: Int, text: String)] = [
            ("nothing", try Self.post(admin, []), 400, "paste evidence"),
            ("an app", try Self.post(admin, [token], app: "<b>"), 400, "&lt;b&gt;"),
            ("a kind", try Self.post(admin, [token], kind: "x"), 400, "no kind is named"),
            ("a type", try Self.send(admin, whole, type: "text/plain"), 400, "multipart"),
            ("a form", try Self.send(admin, Array(whole.dropLast(9))), 400, "malformed"),
            ("no body", try Self.send(admin, []), 400, "malformed"),
            (
                "an origin", try Self.post(admin, [token], "Origin: https://example.com\r\n"), 403,
                "another site"
            ),
            ("no origin", try Self.post(admin, [token], "Origin: null\r\n"), 403, "another site"),
            (
                "a site", try Self.post(admin, [token], "Sec-Fetch-Site: cross-site\r\n"), 403,
                "another site"
            ),
            ("a method", try admin.ask("PUT /explain HTTP/1.1\r\n"), 405, "POST"),
            (
                "a host", try admin.ask("GET /explain HTTP/1.1\r\n", host: "a.example"), 421,
                "numeric"
            ),
            (
                "a length",
                try admin.ask("POST /explain HTTP/1.1\r\nContent-Length: 99999999\r\n"), 413,
                "limit"
            ),
            ("another path", try admin.ask("POST /status HTTP/1.1\r\n"), 405, "only GET"),
        ]
        for (name, answer, status, text) in cases {
            #expect(answer.status == status, "\(name): \(answer)")
            #expect(answer.body.contains(text), "\(name): \(answer.body)")
        }
        for fields in ["Origin: http://localhost\r\n", "Sec-Fetch-Site: same-origin\r\n"] {
            #expect(try Self.post(admin, [token], fields).status == 200, "\(fields)")
        }
    }

    @Test("chunked bodies, with their limit, and more bodies than are kept") func bodies() throws {
        let admin = try AdminTest(explains: true)
        defer { admin.end() }
        let token = try Minted.transaction.get()
        let body = Self.form([("app", nil, Array("game".utf8)), ("evidence", nil, token)])
        let head =
            "POST /explain HTTP/1.1\r\nHost: localhost\r\nContent-Type: multipart/form-data; "
            + "boundary=\(Self.boundary)\r\n"
        func chunk(_ bytes: [UInt8]) -> [UInt8] {
            Array((String(bytes.count, radix: 16) + "\r\n").utf8) + bytes + [13, 10]
        }
        let client = try BlockingClient(admin.admin.endpoint)
        try client.send(
            Array("\(head)Transfer-Encoding: chunked\r\n\r\n".utf8) + chunk(body)
                + Array("0\r\n\r\n".utf8))
        let answer = AdminTest.answer(try client.receiveToEnd())
        #expect(answer.status == 200 && answer.body.contains(">VALID</span>"))

        // Without an end: the server cuts the client off while it sends.
        let endless = try BlockingClient(admin.admin.endpoint)
        try endless.send(Array("\(head)Transfer-Encoding: chunked\r\n\r\n".utf8))
        let part = chunk([UInt8](repeating: 0x41, count: 1 << 20))
        #expect((0..<64).contains { _ in (try? endless.send(part)) == nil })
        let rest = (try? endless.receiveToEnd()) ?? []
        #expect(AdminTest.answer(rest).status != 200)

        var waiting: [BlockingClient] = []
        for _ in 0..<2 {
            let client = try BlockingClient(admin.admin.endpoint)
            try client.send(Array("\(head)Content-Length: 1000\r\n\r\nabc".utf8))
            waiting.append(client)
        }
        admin.eventually { (try? Self.post(admin, [token]).status) == 503 }
        #expect(admin.get("/healthz").status == 200)
        for client in waiting { client.close() }
        admin.eventually { (try? Self.post(admin, [token]).status) == 200 }
    }

    @Test("the page is off unless it is switched on") func off() throws {
        let admin = try AdminTest()
        defer { admin.end() }
        #expect(admin.get("/explain").status == 404)
        #expect(try Self.post(admin, [try Minted.transaction.get()]).status == 404)
        #expect(admin.get("/explain").body.contains("--admin-explain"))
    }

    @Test("text of evidence is escaped") func escaped() throws {
        let admin = try AdminTest(explains: true)
        defer { admin.end() }
        let hostile = "<script>alert(1)</script>&\"'"
        var body = "{\"\(hostile.replacing("\"", with: ""))\":\"<img src=x>\"}"
        for evidence in [body, "ey.\(hostile)", hostile] {
            body = try Self.post(admin, [Array(evidence.utf8)]).body
            #expect(!body.contains("<script") && !body.contains("<img"), "\(evidence)")
        }
        let file = Self.form([
            ("app", nil, Array("game".utf8)), ("file", "<b>", Array("x".utf8)),
            ("file", "<b>", Array("y".utf8)),
        ])
        let page = try Self.send(admin, file)
        #expect(page.status == 200 && page.body.contains("1. &lt;b&gt;"))
    }
}
