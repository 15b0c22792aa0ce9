import Foundation
import Glibc
import TestSupport
import Testing

/// `assay sign`, and the server that signs: what they accept, and what never shows.
@Suite("assay sign", .serialized) struct SignCommandTests {
    private let folder = TemporaryFolder()
    private static let issuer = "57246542-96fe-1a63-e053-0824d011072a"
    private static let nonce = "7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10"
    private static let apiKey = "for-signing-0123456789abcdef"
    /// The Base64 of the key, which nothing may contain.
    private let secret: String
    private let keyFile: String

    init() throws {
        try MintedAuthority.write(to: folder, date: "2025-01-01T00:00:00Z")
        let key = try StoreKeyFile.write(to: folder)
        keyFile = key.path
        secret =
            key.pem.split(separator: "\n").dropFirst().joined()
            .components(separatedBy: "-----")[0]
    }

    private func sign(_ kind: String, _ options: String...) throws -> Tool.Result {
        try Tool.run(
            [
                "sign", kind, "--bundle-id", "com.example.game", "--key", keyFile, "--issuer-id",
                Self.issuer,
            ]
                + options)
    }

    /// Checks that a text has no part of the key: its raw octets follow 36 digits of Base64.
    private func expectNoKey(_ text: String, _ name: String) {
        #expect(secret.count > 150)
        for start in stride(from: 40, to: secret.count - 16, by: 8) {
            let part = secret.dropFirst(start).prefix(16)
            #expect(!text.contains(part), "\(name) has the key")
        }
    }

    @Test("each kind is signed from options, and mistakes are named")
    func commands() throws {
        func offer(_ options: String...) throws -> Tool.Result {
            try Tool.run(
                [
                    "sign", "promotional-offer", "--bundle-id", "com.example.game", "--key",
                    keyFile, "--issuer-id", Self.issuer,
                ] + options)
        }
        let two = try sign("promotional-offer", "--product", "gold", "--offer", "back")
        #expect(two.status == 0 && two.output.hasPrefix("{\"jws\":\"eyJ"), "\(two.error)")
        let one = try offer("--product", "gold", "--offer", "back", "--offer-version", "1")
        #expect(try one.json.keys.sorted() == ["keyId", "nonce", "signature", "timestamp"])
        #expect(try one.json["keyId"] as? String == "2X9R4HXF34")
        let introductory = try sign(
            "introductory-offer", "--product", "gold", "--transaction-id", "1", "--deny")
        #expect(introductory.status == 0)
        let request = folder.write(
            "request.json",
            #"{"transactionId":"1","requestInfo":{"requestReferenceId":"\#(Self.nonce)"}}"#)
        let commerce = try sign(
            "advanced-commerce", "--type", "subscription-reactivate", request)
        #expect(commerce.status == 0, "\(commerce.error)")
        for (result, words) in [
            (
                try sign("promotional-offer", "--product", "gold", "--offer", ""),
                "offerIdentifier is empty"
            ),
            (
                try sign(
                    "promotional-offer", "--product", "g", "--offer", "o", "--app-account-token",
                    "x"),
                "--offer-version 1"
            ),
            (
                try offer(
                    "--product", "g", "--offer", "o", "--offer-version", "1", "--transaction-id",
                    "1"),
                "part of version 2 alone"
            ),
            (
                try sign("introductory-offer", "--product", "g", "--transaction-id", "1"),
                "--allow or --deny"
            ),
            (
                try sign(
                    "introductory-offer", "--product", "g", "--transaction-id", "MVWXYZ1234",
                    "--allow"),
                "transactionId is not a number"
            ),
            (
                try offer("--product", "g", "--offer", "o", "--issuer-id", "team"),
                "the issuer id is not a UUID"
            ),
            (
                try offer("--product", "g", "--offer", "o", "--key-id", "KEY1"),
                "the key id is not ten letters and digits"
            ),
            (try sign("advanced-commerce", request), "operation is missing"),
            (try sign("retention-answer", "--answer", "-", "-"), "--app-apple-id"),
        ] {
            #expect(result.status == 2 && result.error.contains(words), "\(result.error)")
            expectNoKey(result.error + result.output, words)
        }
    }

    @Test("a retention request of the sandbox that names no app gets no signed answer")
    func retentionWithoutApp() throws {
        let choice = folder.write(
            "answer.json", #"{"message":{"messageIdentifier":"\#(Self.nonce)"}}"#)
        for (id, status) in [(42, 0), (0, 1), (43, 1)] as [(Int, Int32)] {
            let payload = folder.write(
                "request.json",
                #"{"originalTransactionId":"1","appAppleId":\#(id),"productId":"gold","#
                    + #""userLocale":"en-US","requestIdentifier":"\#(Self.nonce)","#
                    + #""environment":"Sandbox","signedDate":1735776000000}"#)
            let minted = try Tool.run(
                "mint", "realtime-request", "--ca", folder("ca"), "--payload", payload)
            #expect(minted.status == 0, "\(minted.error)")
            let request = folder.write("request.jws", minted.output)
            let signed = try sign(
                "retention-answer", "--app-apple-id", "42", "--environment", "Sandbox", "--root",
                folder("ca") + "/root.pem", "--at", "2025-01-02T00:00:00Z", "--answer", choice,
                request)
            #expect(signed.status == status, "\(id): \(signed.error)")
            #expect(signed.output.isEmpty == (status != 0), "\(id)")
        }
    }

    @Test(
        "a key file that others may read is refused, by the tool and by the server",
        arguments: [0o644, 0o640, 0o604])
    func modes(mode: Int) throws {
        try StoreKeyFile.setMode(mode, of: keyFile)
        let tool = try sign("promotional-offer", "--product", "gold", "--offer", "back")
        #expect(tool.status == 2 && tool.error.contains("others may read it"), "\(tool.error)")
        let check = try Tool.run("serve", "--check", "--config", try configuration())
        #expect(check.status == 2 && check.error.contains("others may read it"), "\(check.error)")
        expectNoKey(tool.error + check.error, "a refusal")
    }

    private func configuration(_ keys: String? = nil, apiKeys: String? = nil) throws -> String {
        folder.write(
            "assay.toml",
            """
            [[app]]
            name = "game"
            bundle-id = "com.example.game"
            app-apple-id = 1234567890
            environments = ["Production", "Sandbox"]
            roots = ["ca/root.pem"]
            \(apiKeys ?? "sign-api-keys = [\"\(Self.apiKey)\"]")
            \(keys ?? """
                [app.keys.main]
                file = "\(StoreKeyFile.name)"
                issuer-id = "\(Self.issuer)"
                """)
            """)
    }

    @Test("the configuration of keys is checked before the start")
    func configurations() throws {
        let key = """
            [app.keys.NAME]
            file = "\(StoreKeyFile.name)"
            issuer-id = "\(Self.issuer)"
            """
        let (a, b) = (
            key.replacingOccurrences(of: "NAME", with: "a"),
            key.replacingOccurrences(of: "NAME", with: "b")
        )
        for (keys, apiKeys, words) in [
            (a, nil, "signs with a (2X9R4HXF34)"),
            ("[app.keys]\ndefault = \"b\"\n\(a)\n\(b)", nil, "b (2X9R4HXF34), default"),
            ("\(a)\n\(b)", nil, "! default: missing beside several keys"),
            ("[app.keys]\ndefault = \"c\"\n\(a)", nil, "! \"c\" is no key of this table"),
            ("[app.keys]", nil, "! no key beside it"),
            ("[app.keys.a]\nfile = \"x.p8\"", nil, "! issuer-id: missing"),
            (
                "[app.keys.a]\nfile = \"x.p8\"\nkey-id = \"KEY1\"\nissuer-id = \"team\"", nil,
                "! key-id: the key id is not ten letters and digits"
            ),
            (
                "[app.keys.a]\nfile = \"x.p8\"\nkey-id = \"2X9R4HXF34\"\nissuer-id = \"team\"",
                nil, "! issuer-id: the issuer id is not a UUID"
            ),
            ("\(a)\ncolour = 1", nil, "! colour: unknown key"),
            (a, "", "! sign-api-keys: missing beside keys"),
            (a, "sign-api-keys = [\"short\"]", "! shorter than 20 bytes"),
            ("", nil, "! keys: missing beside sign-api-keys"),
        ] as [(String, String?, String)] {
            let check = try Tool.run(
                "serve", "--check", "--config", try configuration(keys, apiKeys: apiKeys))
            let text = check.output + check.error
            let isRefused = words.hasPrefix("!")
            #expect(check.status == (isRefused ? 2 : 0), "\(text)")
            #expect(
                text.contains(isRefused ? String(words.dropFirst(2)) : words), "\(words): \(text)")
            expectNoKey(text, words)
        }
    }

    private func curl(_ url: String, _ options: String...) throws -> String {
        try Tool.run(program: "/usr/bin/curl", ["-s", "--noproxy", "*"] + options + [url]).output
    }

    @Test("nothing that a signing server writes or shows has the key, and it leaves no core dump")
    func secrets() throws {
        let socket = folder("admin.sock")
        let server = try ServerProcess([
            "--config", try configuration(), "--listen", "http://127.0.0.1:0", "--admin",
            "unix:" + socket, "--admin-explain", "--log-level", "debug",
        ])
        let url = server.address("http://")
        try #require(url != "none", "\(server.log)")
        var texts: [(String, String)] = [("ready", server.ready)]
        let key = "Authorization: Bearer " + Self.apiKey
        for (path, body, fields) in [
            ("promotional-offer", #"{"productId":"p","offerIdentifier":"o","version":1}"#, key),
            ("promotional-offer", #"{"productId":"p","offerIdentifier":"o"}"#, key),
            ("promotional-offer", #"{"productId":"p","offerIdentifier":"o","key":"none"}"#, key),
            ("promotional-offer", "{}", key), ("promotional-offer", "{", key),
            ("promotional-offer", "{}", "Authorization: Bearer wrong"),
            ("introductory-offer", "{}", "X: y"), ("advanced-commerce", #"{"request":{}}"#, key),
            ("retention-answer", #"{"signedPayload":"a.b.c","answer":{}}"#, key),
        ] {
            texts.append(
                (
                    path,
                    try curl(
                        url + "/v1/sign/" + path, "-i", "-H", "Content-Type: application/json",
                        "-H", fields,
                        "-d", body)
                ))
        }
        #expect(texts[1].1.contains("\"signature\"") && texts[2].1.contains("\"jws\""))
        #expect(texts[3].1.contains("key is not the name of a key"))
        for page in ["/metrics", "/status", "/", "/explain", "/healthz"] {
            texts.append((page, try curl("http://localhost" + page, "--unix-socket", socket)))
        }
        #expect(texts.contains { $0.0 == "/metrics" && $0.1.contains("Sign") })
        let process = "/proc/\(server.number)/"
        for file in ["cmdline", "environ", "limits", "status"] {
            texts.append((file, try String(contentsOfFile: process + file, encoding: .utf8)))
        }
        let limits = texts.first { $0.0 == "limits" }?.1 ?? ""
        let core = limits.split(separator: "\n").first { $0.hasPrefix("Max core file size") } ?? ""
        let soft = core.split(separator: " ").dropFirst(4).first
        #expect(soft == "1" || soft == "0", "\(core)")
        server.signal(SIGHUP)
        #expect(server.logs("reload"))
        #expect(server.end() == 0)
        texts.append(("log", server.log))
        for (name, text) in texts { expectNoKey(text, name) }
        #expect(!server.log.contains(Self.apiKey))
    }
}
