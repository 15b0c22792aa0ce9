import Foundation
import Glibc
import TestSupport
import Testing

/// The server asks a local App Store, with the real client, for clients of both protocols.
@Suite("assay fetch", .serialized) struct FetchCommandTests {
    private let folder = TemporaryFolder()
    private let store: ServerProcess
    private static let issuer = "57246542-96fe-1a63-e053-0824d011072a"
    /// The first transaction of the store's first customer.
    private static let transaction = "470001000000100"

    init() throws {
        try MintedAuthority.write(to: folder, date: "2025-01-01T00:00:00Z")
        try StoreKeyFile.write(to: folder)
        store = try ServerProcess(
            [
                "--ca", folder("ca"), "--listen", "http://127.0.0.1:0", "--customer",
                "grace-period", "--no-rate-limits",
            ], command: "store")
        try #require(store.ready.hasPrefix("assay store ready"), "\(store.log)")
    }

    private var storeURL: String { store.address("http://") }

    /// Writes a configuration. The lines come under `[app.store]`.
    private func configuration(_ lines: String..., environments: String = "Production") -> String {
        folder.write(
            "assay.toml",
            """
            [[app]]
            name = "game"
            bundle-id = "com.example.game"
            app-apple-id = 1234567890
            environments = ["\(environments)"]
            roots = ["\(folder("ca"))/root.pem"]
            [app.store]
            key-file = "\(StoreKeyFile.name)"
            issuer-id = "\(Self.issuer)"
            base-url = "\(storeURL)"
            proxy = ""
            \(lines.joined(separator: "\n"))
            """)
    }

    private func serve(_ configuration: String) throws -> ServerProcess {
        try ServerProcess([
            "--config", configuration, "--listen", "tcp://127.0.0.1:0", "--listen",
            "http://127.0.0.1:0", "--admin", "tcp://127.0.0.1:0",
        ])
    }

    /// Posts JSON; returns the status and the body.
    private func post(_ url: String, _ json: String) throws -> (status: String, body: String) {
        let result = try Tool.run(
            program: "/usr/bin/curl",
            [
                "-s", "--noproxy", "*", "-H", "Content-Type: application/json", "-d", json, "-w",
                "\n%{http_code}", url,
            ])
        let lines = result.output.split(separator: "\n", omittingEmptySubsequences: false)
        return (String(lines.last ?? ""), lines.dropLast().joined(separator: "\n"))
    }

    private func setFault(_ json: String) throws {
        let answer = try post(storeURL + "/faults", json)
        #expect(answer.status == "200" || answer.status == "201", "\(answer)")
    }

    @Test("evidence that names a transaction stands for it, in a file and over HTTP")
    func evidence() throws {
        let server = try serve(configuration())
        try #require(server.tcp != "none", "\(server.log)")
        let http = server.address("http://") + "/v1/fetch"
        // A retention request of the store names the customer's subscription.
        let request = try post(storeURL + "/retention-requests", #"{"customer":1}"#)
        let file = folder.write("request.json", request.body)
        let byFile = try Tool.run("fetch", file, "--server", server.tcp, "--app", "game")
        #expect(
            byFile.status == 0 && byFile.output.contains("subscriptionGroups"), "\(byFile.error)")
        let byHTTP = try post(http, #"{"evidence":\#(request.body)}"#)
        #expect(byHTTP.status == "200" && byHTTP.body.contains("subscriptionGroups"))
        // Nothing of it is verified: what counts is what Apple answers about its transaction.
        func encoded(_ text: String) -> String {
            Data(text.utf8).base64EncodedString().replacingOccurrences(of: "=", with: "")
        }
        func token(_ payload: String) -> String {
            [#"{"alg":"ES256"}"#, payload, String(repeating: "s", count: 64)].map(encoded)
                .joined(separator: ".")
        }
        let transaction = token(#"{"transactionId":"\#(Self.transaction)"}"#)
        let notification = token(
            #"{"notificationType":"DID_RENEW","data":{"signedTransactionInfo":"\#(transaction)"}}"#)
        let info = Data("{\n\t\"transaction-id\" = \"\(Self.transaction)\";\n}".utf8)
            .base64EncodedString()
        let legacy = Data("{\n\t\"purchase-info\" = \"\(info)\";\n}".utf8).base64EncodedString()
        for (name, content) in [
            ("token", transaction), ("notification", #"{"signedPayload":"\#(notification)"}"#),
            ("old receipt", legacy), ("answer", #"{"signedTransactions":["\#(transaction)"]}"#),
        ] {
            let found = try Tool.run(
                "fetch", folder.write("evidence", content), "--server", server.tcp)
            #expect(found.status == 0, "\(name): \(found.error)")
            #expect(found.output.contains(Self.transaction), "\(name)")
        }
        // Of another customer, whom the store does not know.
        let receipt = try Tool.run(
            "mint", "receipt", "--ca", folder("ca"), "--bundle-id", "com.example.game")
        let foreign = try Tool.run(
            "fetch", folder.write("receipt.b64", receipt.output), "--server", server.tcp)
        #expect(foreign.status == 2 && foreign.error.contains("4040010"), "\(foreign.error)")
        let nothing = try Tool.run(
            "fetch", folder.write("nothing.json", "{}"), "--server", server.tcp)
        #expect(nothing.status == 2 && nothing.error.contains("names no transaction"))
    }

    @Test("the life of a customer, by the wire and over HTTP, and what the App Store refuses")
    func life() throws {
        let server = try serve(configuration())
        try #require(server.tcp != "none", "\(server.log)")
        let http = server.address("http://") + "/v1/fetch"
        for (duration, isEntitled) in [("1d", true), ("38d", true), ("7d", false)] {
            let moved = try post(storeURL + "/advance", #"{"duration":"\#(duration)"}"#)
            let object = try JSONSerialization.jsonObject(with: Data(moved.body.utf8))
            let now = try #require((object as? [String: Any])?["now"] as? Int)
            let time = try #require((object as? [String: Any])?["time"] as? String)
            let found = try Tool.run(
                "fetch", Self.transaction, "--server", server.tcp, "--app", "game", "--at", time)
            #expect(found.status == 0, "\(found.error)")
            let answer = try found.json
            let groups = try #require(
                (answer["apps"] as? [[String: Any]])?.first?["subscriptionGroups"]
                    as? [[String: Any]])
            #expect(groups.first?["entitled"] as? Bool == isEntitled, "after \(duration)")
            #expect(answer["environment"] as? String == "Production")
            #expect((answer["revision"] as? String)?.isEmpty == false)
            let same = try post(http, #"{"transactionId":"\#(Self.transaction)","at":\#(now)}"#)
            #expect(same.status == "200")
            let printed = found.output.trimmingCharacters(in: .newlines)
            #expect(same.body.trimmingCharacters(in: .newlines) == printed)
        }
        let text = try Tool.run(
            "fetch", Self.transaction, "--server", server.tcp, "--format", "text", "--list",
            "history")
        #expect(text.status == 0 && text.output.contains("com.example.game (Production)"))

        let unknown = try Tool.run("fetch", "999", "--server", server.tcp)
        #expect(unknown.status == 2 && unknown.error.contains("4040010"), "\(unknown.error)")
        let table: [(fault: String?, json: String, status: String, code: String)] = [
            (nil, #"{"transactionId":"999"}"#, "404", "\"appStoreErrorCode\":4040010"),
            (nil, #"{"transactionId":"a/b"}"#, "400", "INVALID_ARGUMENT"),
            (#"{"code":4000006}"#, #"{"transactionId":"1"}"#, "400", "4000006"),
            (#"{"status":401,"count":3}"#, #"{"transactionId":"1"}"#, "500", "FAILED_PRECONDITION"),
            (
                #"{"page":"bad-signature"}"#, #"{"transactionId":"\#(Self.transaction)"}"#, "502",
                "INVALID_SIGNATURE"
            ),
            (
                #"{"page":"still","count":3}"#, #"{"transactionId":"\#(Self.transaction)"}"#,
                "502", "DATA_LOSS"
            ),
            (
                #"{"delay":3000}"#, #"{"transactionId":"\#(Self.transaction)","timeout":0.5}"#,
                "504", "DEADLINE_EXCEEDED"
            ),
        ]
        for (fault, json, status, code) in table {
            if let fault { try setFault(fault) }
            let answer = try post(http, json)
            #expect(answer.status == status && answer.body.contains(code), "\(json): \(answer)")
            _ = try Tool.run(
                program: "/usr/bin/curl",
                ["-s", "--noproxy", "*", "-X", "DELETE", storeURL + "/faults"])
        }
        let log = server.log
        #expect(!log.contains("eyJ") && !log.contains("PRIVATE KEY"))
        #expect(server.end() == 0)
    }

    @Test("a configuration that can't ask is refused at start, and says why")
    func mistakes() throws {
        let key = folder(StoreKeyFile.name)
        let table: [(lines: String, environments: String, message: String)] = [
            (#"environment = "Sandbox""#, "Production", "does not accept evidence"),
            (#"environment = "auto""#, "Production", "does not accept evidence"),
            (#"environment = "Xcode""#, "Production", "is not an environment"),
            (#"api-keys = ["short"]"#, "Production", "shorter than 20 bytes"),
            (#"issuer = "x""#, "Production", "unknown key"),
            (#"key-id = "a b""#, "Production", "key-id: the key id is not ten letters"),
        ]
        for (lines, environments, message) in table {
            let file = configuration(lines, environments: environments)
            let result = try Tool.run("serve", "--config", file, "--check")
            #expect(result.status == 2 && result.error.contains(message), "\(result)")
        }
        let good = try Tool.run("serve", "--config", configuration(), "--check")
        #expect(good.status == 0, "\(good.error)")
        #expect(good.output.contains("with the key 2X9R4HXF34, production"), "\(good.output)")
        try StoreKeyFile.setMode(0o644, of: key)
        let open = try Tool.run("serve", "--config", configuration(), "--check")
        #expect(open.status == 2 && open.error.contains("can't use the key file"), "\(open.error)")
        try StoreKeyFile.setMode(0o600, of: key)
        let absent = folder.write(
            "assay.toml",
            "[[app]]\nname = \"a\"\nbundle-id = \"b\"\nenvironments = [\"Sandbox\"]\n[app.store]\n")
        let result = try Tool.run("serve", "--config", absent, "--check")
        #expect(result.status == 2)
        for missing in ["key-file", "issuer-id"] {
            #expect(result.error.contains("app[1].store.\(missing): missing"), "\(result.error)")
        }
    }
}
