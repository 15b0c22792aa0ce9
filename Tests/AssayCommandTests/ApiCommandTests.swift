import Foundation
import TestSupport
import Testing

@testable import AssayCommand

@Suite("assay api")
struct ApiCommandTests {
    private let folder = TemporaryFolder()
    private let keyFile: String

    private static let issuer = "57246542-96fe-1a63-e053-0824d011072a"
    private static let transaction = "470001500000001"

    init() throws {
        try MintedAuthority.write(to: folder)
        keyFile = try StoreKeyFile.write(to: folder).path
    }

    /// Mints tokens, one for each index from 0.
    private func tokens(_ count: Int, environment: String = "Production") throws -> [String] {
        let minted = try Tool.run(
            "mint", "transaction", "--ca", folder("ca"), "--bundle-id", "com.example.game",
            "--count", "\(count)", "--environment", environment)
        try #require(minted.status == 0, "\(minted.error)")
        return minted.output.split(separator: "\n").map(String.init)
    }

    private static func page(_ tokens: [String], _ revision: String, more: Bool) -> [UInt8] {
        let list = tokens.map { "\"\($0)\"" }.joined(separator: ",")
        return Array(
            #"{"revision":"\#(revision)","hasMore":\#(more),"signedTransactions":[\#(list)]}"#.utf8)
    }

    /// Runs a command against a server with this script.
    private func run(
        _ arguments: String..., environment: [String: String]? = nil,
        script: @escaping ScriptedStore.Script
    ) throws -> (result: Tool.Result, seen: [ScriptedStore.Request]) {
        let store = try ScriptedStore(script)
        let command =
            [
                "api", arguments[0], "--bundle-id", "com.example.game", "--root",
                folder("ca/root.pem"),
            ]
            + ["--base-url", "http://127.0.0.1:\(store.port)", "--proxy", ""]
        let variables =
            environment ?? [
                "ASSAY_STORE_KEY_FILE": keyFile, "ASSAY_STORE_ISSUER_ID": Self.issuer,
            ]
        let result = try Tool.run(command + arguments.dropFirst(), environment: variables)
        return (result, store.requests)
    }

    private static func objects(_ result: Tool.Result) throws -> [[String: Any]] {
        try result.output.split(separator: "\n").map { line in
            try #require(
                try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
        }
    }

    @Test("a history with all pages: transactions, entitlements, and the saved answers")
    func history() throws {
        let tokens = try tokens(3)
        let pages = [
            Self.page(Array(tokens[..<2]), "r1", more: true),
            Self.page([tokens[2]], "r2", more: false),
        ]
        let saved = folder("saved")
        let (result, seen) = try run(
            "history", "--all", "--save", saved, "--revoked", "false", Self.transaction
        ) { _, number in .answer(status: 200, body: pages[number - 1]) }
        #expect(result.status == 0 && result.error.isEmpty, "\(result.error)")
        #expect(
            seen.map(\.target) == [
                "/inApps/v2/history/\(Self.transaction)?revoked=false",
                "/inApps/v2/history/\(Self.transaction)?revoked=false&revision=r1",
            ])
        #expect(result.output.contains("Production: 3 signed items on 2 pages, verified"))
        #expect(result.output.contains("for what changes later: --from r2"))
        #expect(result.output.contains("com.example.game.premium.monthly  active until"))
        for (index, page) in pages.enumerated() {
            let path = saved + "/history-000\(index + 1).json"
            #expect(FileManager.default.contents(atPath: path) == Data(page))
        }
        let again = try Tool.run(
            "entitlements", "--root", folder("ca/root.pem"), "--bundle-id", "com.example.game",
            saved)
        #expect(again.status == 0, "\(again.error)")
        let (refused, _) = try run("history", "--save", saved, Self.transaction) { _, _ in
            .answer(status: 200, body: pages[1])
        }
        #expect(refused.status == 2 && refused.error.contains("already exists"))
    }

    @Test("--at verifies and decides as of that time")
    func time() throws {
        let tokens = try tokens(1)
        func entitlements(_ options: String...) throws -> (status: Int32, text: String) {
            let store = try ScriptedStore { _, _ in
                .answer(status: 200, body: Self.page(tokens, "r1", more: false))
            }
            let result = try Tool.run(
                [
                    "api", "history", "--bundle-id", "com.example.game", "--proxy", "", "--root",
                    folder("ca/root.pem"), "--base-url", "http://127.0.0.1:\(store.port)",
                ] + options + [Self.transaction])
            return (result.status, result.output + result.error)
        }
        let now = try entitlements()
        #expect(now.status == 0 && now.text.contains("active until"), "\(now.text)")
        let later = try entitlements("--at", "2099-01-01T00:00:00Z")
        #expect(later.status == 0 && !later.text.contains("active until"), "\(later.text)")
        // Evidence that is signed later than the time of its verification is refused.
        let before = try entitlements("--at", "2020-01-01T00:00:00Z")
        #expect(before.status == 1, "\(before.text)")
        #expect(try entitlements("--at", "yesterday").status == 2)
    }

    @Test("--json prints each answer, then what they amount to")
    func json() throws {
        let tokens = try tokens(2)
        let (result, _) = try run("history", "--json", Self.transaction) { _, _ in
            .answer(status: 200, body: Self.page(tokens, "r1", more: true))
        }
        #expect(result.status == 0, "\(result.error)")
        let objects = try Self.objects(result)
        try #require(objects.count == 2)
        #expect(objects[0]["page"] as? Int == 1)
        let answer = try #require(objects[0]["answer"] as? [String: Any])
        #expect(answer["verdict"] as? String == "VALID")
        #expect((answer["transactions"] as? [Any])?.count == 2)
        #expect(objects[1]["environment"] as? String == "Production")
        #expect(objects[1]["complete"] as? Bool == false)
        #expect(objects[1]["revision"] as? String == "r1")
        let entitlements = try #require(objects[1]["entitlements"] as? [String: Any])
        #expect((entitlements["apps"] as? [Any])?.count == 1)
        #expect((entitlements["items"] as? [Any])?.count == 1)
    }

    @Test("without --all there is one page, and a hint to the others")
    func onePage() throws {
        let tokens = try tokens(1)
        let (result, seen) = try run("refunds", Self.transaction) { _, _ in
            .answer(status: 200, body: Self.page(tokens, "r1", more: true))
        }
        #expect(result.status == 0 && seen.count == 1)
        #expect(result.output.contains("there is more: add --all, or --from r1"))
    }

    @Test("calls without signed members print what Apple answered")
    func unsigned() throws {
        let (result, seen) = try run("test-notification") { _, _ in
            .answer(status: 200, body: Array(#"{"testNotificationToken":"ce3a_1"}"#.utf8))
        }
        #expect(result.status == 0, "\(result.error)")
        #expect(
            result.output
                == "Production accepted the request\ntestNotificationToken: ce3a_1\n")
        #expect(seen.first?.method == "POST")
        let (empty, put) = try run(
            "consumption", "--customer-consented", "--delivery", "delivered", "--consumed", "12.5",
            "--preference", "grant", Self.transaction
        ) { _, _ in .answer(status: 202, body: []) }
        #expect(empty.status == 0 && empty.output == "Production accepted the request\n")
        #expect(
            String(decoding: put.first?.body ?? [], as: UTF8.self)
                == #"{"customerConsented":true,"sampleContentProvided":false,"#
                + #""deliveryStatus":"DELIVERED","consumptionPercentage":12500,"#
                + #""refundPreference":"GRANT_FULL"}"#)
        let (extended, body) = try run(
            "extend", "--json", "--days", "7", "--reason", "outage", Self.transaction
        ) { _, _ in .answer(status: 200, body: Array(#"{"success":true}"#.utf8)) }
        let objects = try Self.objects(extended)
        #expect((objects.first?["unsigned"] as? [String: Any])?["success"] as? Bool == true)
        let sent = String(decoding: body.first?.body ?? [], as: UTF8.self)
        #expect(sent.contains(/"requestIdentifier":"[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-/))
    }

    @Test("the exit status says who refused, and no message has the key or a token")
    func failures() throws {
        let sandbox = try tokens(1, environment: "Sandbox")[0]
        let key = try String(contentsOfFile: keyFile, encoding: .utf8).split(separator: "\n")[1]
        func check(
            _ status: Int32, _ text: String, _ arguments: [String] = [],
            script: @escaping ScriptedStore.Script
        ) throws {
            let store = try ScriptedStore(script)
            let result = try Tool.run(
                [
                    "api", "transaction", "--bundle-id", "com.example.game", "--key", keyFile,
                    "--issuer-id", Self.issuer, "--root", folder("ca/root.pem"), "--proxy", "",
                    "--base-url", "http://127.0.0.1:\(store.port)",
                ] + arguments + [Self.transaction])
            #expect(result.status == status, "\(text): \(result.error)")
            #expect(result.output.isEmpty && result.error.hasPrefix("assay: "))
            #expect(result.error.contains(text), "\(result.error)")
            #expect(!result.error.contains(key) && !result.error.contains("eyJ"))
        }
        try check(1, "(Production and Sandbox) refused with 4040010: no") { _, _ in
            .answer(status: 404, body: Array(#"{"errorCode":4040010,"errorMessage":"no"}"#.utf8))
        }
        try check(1, "WRONG_ENVIRONMENT", ["--environment", "Production"]) { _, _ in
            .answer(status: 200, body: Array(#"{"signedTransactionInfo":"\#(sandbox)"}"#.utf8))
        }
        try check(2, "HTTP 401") { _, _ in .answer(status: 401, body: []) }
        try check(2, "the time of the call passed", ["--timeout", "2"]) { _, _ in
            .answer(status: 503, body: [])
        }
        try check(2, "not as documented") { _, _ in .answer(status: 200, body: Array("{}".utf8)) }
    }

    @Test("the key: from options, from variables, and what is missing")
    func keys() throws {
        let token = try tokens(1)[0]
        let body = Array(#"{"signedTransactionInfo":"\#(token)"}"#.utf8)
        func run(
            _ options: [String], _ variables: [String: String], at url: String? = nil
        ) throws -> (status: Int32, error: String) {
            let store = try ScriptedStore { _, _ in .answer(status: 200, body: body) }
            let result = try Tool.run(
                [
                    "api", "transaction", "--bundle-id", "com.example.game", "--proxy", "",
                    "--root", folder("ca/root.pem"), "--base-url",
                    url ?? "http://127.0.0.1:\(store.port)",
                ] + options + [Self.transaction], environment: variables)
            return (result.status, result.error)
        }
        let issuer = ["ASSAY_STORE_ISSUER_ID": Self.issuer]
        #expect(try run(["--key", keyFile], issuer).status == 0)
        #expect(try run(["--key", keyFile, "--issuer-id", Self.issuer], [:]).status == 0)
        #expect(
            try run([], issuer.merging(["ASSAY_STORE_KEY_FILE": keyFile]) { $1 }).status == 0)
        // A server on this machine knows no key of Apple's.
        for variables in [[:], issuer, ["ASSAY_STORE_KEY_FILE": ""]] {
            #expect(try run([], variables).status == 0)
        }
        for url in [
            "https://example.invalid", "http://127.0.0.1.example.invalid", "http://10.0.0.1:1",
            "http://127.0.0.1@example.invalid", "http://[::2]:1",
        ] {
            let other = try run([], issuer, at: url)
            #expect(other.status == 2, "\(url)")
            #expect(
                other.error.contains("--key, or the variable ASSAY_STORE_KEY_FILE"), "\(url)")
        }
        #expect(try run([], [:], at: "http://[::1]:1").error.contains("ASSAY_STORE_KEY") == false)
        #expect(try run([], [:], at: "http://localhost:1").error.contains("ASSAY_STORE") == false)
        #expect(try run(["--key", keyFile], [:]).error.contains("ASSAY_STORE_ISSUER_ID"))
        let other = folder("key.p8")
        try FileManager.default.copyItem(atPath: keyFile, toPath: other)
        #expect(try run(["--key", other], issuer).error.contains("--key-id, or the variable"))
        #expect(try run(["--key", other, "--key-id", "A123456789"], issuer).status == 0)
        try FileManager.default.setAttributes([.posixPermissions: 0o644], ofItemAtPath: other)
        let open = try run(["--key", other, "--key-id", "A123456789"], issuer)
        #expect(open.status == 2 && open.error.contains("others may read it"))
    }

    @Test(
        "usage errors say what to do, before anything is sent",
        arguments: [
            (["history", "--most-pages", "3", "1"], "add --all"),
            (["history", "--product-type", "CONSUMABEL", "1"], "did you mean \"CONSUMABLE\"?"),
            (["statuses", "--status", "6", "1"], "1 to 5"),
            (["notifications", "--subtype", "A"], "--subtype needs --type"),
            (["notifications", "--type", "A", "--transaction", "1"], "not both"),
            (["consumption", "--delivery", "other", "1"], "--customer-consented"),
            (["transaction", "--environment", "sandbox", "1"], "did you mean \"Sandbox\"?"),
            (["extend", "--days", "91", "--reason", "other", "1"], "1 to 90 days"),
            (["set-account-token", "1", "x"], "not a UUID"),
            (["transaction", "1/2"], "a character other than"),
            (["transaction", "--timeout", "0", "1"], "above 0"),
        ] as [([String], String)])
    func usage(arguments: [String], message: String) throws {
        let result = try Tool.run(
            ["api", arguments[0], "--bundle-id", "com.example.game", "--key", keyFile]
                + ["--issuer-id", Self.issuer] + arguments.dropFirst())
        #expect(result.status == 2, "\(result.error)")
        #expect(result.error.contains(message), "\(result.error)")
        #expect(try Tool.run("api", "histroy").error.contains("did you mean \"history\"?"))
    }

    @Test("the key's id in the name of its file")
    func keyId() {
        #expect(StoreKeyNames.keyId(inName: "/a/SubscriptionKey_2X9R4HXF34.p8") == "2X9R4HXF34")
        #expect(StoreKeyNames.keyId(inName: "AuthKey_2X9R4HXF34.p8") == "2X9R4HXF34")
        #expect(StoreKeyNames.keyId(inName: "SubscriptionKey_2X9R4HXF34 (1).p8") == "2X9R4HXF34")
        #expect(StoreKeyNames.keyId(inName: "SubscriptionKey_2X9.p8") == nil)
        #expect(StoreKeyNames.keyId(inName: "key.p8") == nil)
    }
}
