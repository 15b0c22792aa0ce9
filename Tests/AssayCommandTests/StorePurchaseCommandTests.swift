import Foundation
import TestSupport
import Testing

/// Purchases of other stores at the command line and in a server's configuration.
@Suite("Purchases of other stores")
struct StorePurchaseCommandTests {
    private let folder = TemporaryFolder()

    /// A minted purchase; the folder has its key afterwards.
    private func mint(_ store: String, _ options: String...) throws -> String {
        let minted = try Tool.run(["mint", store + "-purchase", "--ca", folder("ca")] + options)
        #expect(minted.status == 0, "\(minted.error)")
        return minted.output
    }

    private func key(_ store: String) -> String { folder("ca") + "/\(store)-licence-key.txt" }

    @Test("minted purchases verify with their key alone, as a file and as base64")
    func minted() throws {
        for store in ["google", "huawei"] {
            let options = store == "huawei" ? ["--pss"] : []
            let minted = try Tool.run(
                ["mint", store + "-purchase", "--ca", folder("ca")] + options)
            let text = try String(contentsOfFile: key(store), encoding: .utf8)
            for value in [key(store), text.split(separator: "\n").joined()] {
                for kind in [store + "-purchase", "auto"] {
                    let answer = try Tool.run(
                        "verify", "--kind", kind, "--\(store)-key", value, "-",
                        input: minted.output)
                    let json = try answer.json
                    #expect(answer.status == 0 && json["verdict"] as? String == "VALID")
                    #expect(json["state"] as? String == "PURCHASED")
                    #expect(json["kind"] as? String == store + "-purchase")
                    #expect((json["payload"] as? [String: Any])?["orderId"] is String)
                }
            }
            let without = try Tool.run("verify", "--kind", "auto", "-", input: minted.output)
            #expect(without.status == 1 && without.verdict == "UNTRUSTED_CHAIN")
            #expect(try (without.json["detail"] as? String)?.contains("--\(store)-key") == true)
            #expect(try (without.json["detail"] as? String)?.contains("--root") == false)
        }
        let attributes = try FileManager.default.attributesOfItem(
            atPath: folder("ca") + "/google-key.pem")
        #expect(attributes[.posixPermissions] as? Int == 0o600)
    }

    @Test("each purchase of a list of owned ones is an item of entitlements")
    func ownedList() throws {
        let lines = try mint("huawei", "--count", "2").split(separator: "\n")
        let pairs = try lines.map {
            try #require(
                try JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: String])
        }
        let list: [String: Any] = [
            "inAppPurchaseDataList": pairs.compactMap { $0["data"] },
            "inAppSignature": pairs.compactMap { $0["signature"] },
        ]
        let text = String(
            decoding: try JSONSerialization.data(withJSONObject: list), as: UTF8.self)
        let file = folder.write("list.json", text)
        let answer = try Tool.run("entitlements", "--huawei-key", key("huawei"), file)
        let items = try #require(try answer.json["items"] as? [[String: Any]])
        #expect(answer.status == 0, "\(answer.error)")
        #expect(items.map { $0["label"] as? String } == [file + "[0]", file + "[1]"])
        #expect(items.allSatisfy { $0["verdict"] as? String == "VALID" })
        // One answer is about one item.
        let verified = try Tool.run(
            "verify", "--kind", "huawei-purchase", "--huawei-key", key("huawei"), file)
        #expect(verified.verdict == "MALFORMED" && verified.output.contains("several purchases"))
    }

    @Test("a second use of the folder signs with the same key; a payload is signed unchanged")
    func sameKey() throws {
        _ = try mint("google")
        let payload = folder.write("p.json", #"{"packageName":"a","purchaseToken":"t"}"#)
        let evidence = try mint("google", "--payload", payload)
        let answer = try Tool.run(
            "verify", "--kind", "google-purchase", "--google-key", key("google"),
            "--environment", "Sandbox", "-", input: evidence)
        #expect(answer.verdict == "VALID")
        #expect(try answer.json["state"] as? String == "UNKNOWN")
    }

    @Test("a pending purchase is VALID and says so, also as text and in explain")
    func pending() throws {
        let evidence = try mint("google", "--pending")
        let text = try Tool.run(
            "verify", "--kind", "google-purchase", "--google-key", key("google"), "--format",
            "text", "-", input: evidence)
        #expect(text.output.hasPrefix("VALID") && text.output.contains("PENDING"))
        #expect(text.output.contains("not checked: this kind has no certificates"))
        #expect(!text.output.contains("lead to a pinned root"))
        let explained = try Tool.run(
            "explain", "--all", "--google-key", key("google"), "-", input: evidence)
        #expect(explained.output.contains("Grant nothing yet: it is not paid (PENDING)"))
        #expect(explained.output.contains("a key of the app signed exactly these bytes"))
    }

    @Test("inspect shows the signed text, the signature beside it, and what is wrong with it")
    func inspected() throws {
        let purchase = try mint("google")
        func inspect(_ evidence: String) throws -> [String: Any] {
            let answer = try Tool.run(
                ["explain", "--no-verify", "--format", "json", "-"], input: evidence)
            #expect(answer.status == 0, "\(answer.error)")
            return try answer.json
        }
        let json = try inspect(purchase)
        #expect(json["likelyKind"] as? String == "google-purchase")
        #expect((json["problems"] as? [String])?.isEmpty == true)
        let payload = try #require(json["unverifiedPayload"] as? [String: Any])
        #expect(payload["packageName"] is String && payload["purchaseToken"] is String)
        let header = try #require(json["unverifiedHeader"] as? [String: Any])
        let signature = try #require(header["signature"] as? String)
        #expect(header["wrapper"] == nil)
        let wrapped = try JSONSerialization.data(
            withJSONObject: ["Store": "GooglePlay", "Payload": purchase])
        let ofUnity = try inspect(String(decoding: wrapped, as: UTF8.self))
        #expect((ofUnity["unverifiedHeader"] as? [String: Any])?["wrapper"] as? String == "Unity")
        #expect(ofUnity["unverifiedPayload"] as? [String: Any] != nil)
        let short = try inspect(purchase.replacingOccurrences(of: signature, with: "AAAA"))
        #expect(
            (short["problems"] as? [String])?.contains { $0.contains("3 octets") } == true)
        let text = try Tool.run(["explain", "--no-verify", "-"], input: purchase)
        #expect(text.output.contains("packageName") && text.output.contains("UNVERIFIED payload"))
    }

    @Test("a server without a configuration takes keys and roots of its command line")
    func serve() throws {
        try MintedAuthority.write(to: folder)
        let purchase = folder.write("purchase.json", try mint("google"))
        let harmony = try Tool.run("mint", "harmony-purchase", "--ca", folder("ca"))
        let token = folder.write("token.jws", harmony.output)
        let arguments = ["--google-key", key("google"), "--root", folder("ca") + "/root.pem"]
        let check = try Tool.run(["serve", "--check"] + arguments)
        #expect(check.status == 0 && check.output.contains("google"), "\(check.output)")
        #expect(check.output.contains("harmony"))
        let socket = folder("s")
        let server = try ServerProcess(["--listen", "unix:" + socket] + arguments)
        defer { _ = server.end() }
        for (kind, file) in [("google-purchase", purchase), ("harmony-purchase", token)] {
            let answer = try Tool.run([
                "verify", "--kind", kind, "--server", "unix:" + socket, file,
            ])
            #expect(answer.verdict == "VALID", "\(answer.output) \(answer.error)")
        }
        let other = try Tool.run([
            "serve", "--check", "--google-key", folder.write("none.txt", "a key"),
        ])
        #expect(other.status == 2 && other.error.contains("--google-key"))
    }

    @Test("a key that is none is refused before evidence is read")
    func badKeys() throws {
        let cases = [
            (folder.write("empty.txt", ""), "it is empty"),
            (folder.write("text.txt", "a key"), "not the base64 of a public key"),
            (folder("none.txt"), "can't read"),
        ]
        for (value, part) in cases {
            let answer = try Tool.run(
                "verify", "--kind", "google-purchase", "--google-key", value, "-", input: "{}")
            #expect(answer.status == 2 && answer.error.contains(part), "\(answer.error)")
        }
        let remote = try Tool.run(
            "verify", "--kind", "google-purchase", "--google-key", "x", "--server", "unix:/x", "-")
        #expect(remote.status == 2 && remote.error.contains("can't be used with --server"))
    }

    @Test("evidence of HarmonyOS is minted, and verifies with --root and under a server's roots")
    func harmony() throws {
        try MintedAuthority.write(to: folder)
        let root = folder("ca") + "/root.pem"
        for kind in ["harmony-purchase", "harmony-subscription", "harmony-notification"] {
            let options = kind == "harmony-notification" ? ["--post-body"] : []
            let minted = try Tool.run(
                ["mint", kind, "--ca", folder("ca"), "--bundle-id", "100"] + options)
            #expect(minted.status == 0, "\(minted.error)")
            for named in [kind, "auto"] {
                let answer = try Tool.run(
                    "verify", "--kind", named, "--bundle-id", "100", "--root", root, "-",
                    input: minted.output)
                #expect(answer.verdict == "VALID", "\(answer.output)")
                #expect(try answer.json["kind"] as? String == kind)
            }
            let without = try Tool.run("verify", "--kind", kind, "-", input: minted.output)
            #expect(without.verdict == "UNTRUSTED_CHAIN")
        }
        let file = folder.write(
            "harmony.toml",
            """
            listen = ["unix:\(folder("sock"))"]
            [[app]]
            name = "game"
            bundle-id = "com.example.ios"
            app-apple-id = 42
            [app.harmony]
            roots = ["ca/root.pem"]
            application-ids = ["100"]
            """)
        let server = try ServerProcess(["--config", file])
        defer { _ = server.end() }
        for (id, verdict) in [("100", "VALID"), ("101", "WRONG_BUNDLE")] {
            let minted = try Tool.run(
                "mint", "harmony-purchase", "--ca", folder("ca"), "--bundle-id", id)
            let answer = try Tool.run(
                "verify", "--kind", "harmony-purchase", "--server", "unix:\(folder("sock"))", "-",
                input: minted.output)
            #expect(answer.verdict == verdict, "\(answer.output)")
        }
        let apple = try Tool.run(
            "verify", "--kind", "transaction", "--server", "unix:\(folder("sock"))", "-",
            input: try Tool.run("mint", "transaction", "--ca", folder("ca")).output)
        #expect(apple.verdict == "UNTRUSTED_CHAIN")
    }

    @Test("entitlements of Apple and Google in one answer")
    func entitlements() throws {
        try MintedAuthority.write(to: folder)
        let apple = try Tool.run("mint", "transaction", "--ca", folder("ca")).output
        let google = try mint("google", "--product-id", "gold")
        let files = [folder.write("a.jws", apple), folder.write("b.json", google)]
        let answer = try Tool.run(
            ["entitlements", "--root", folder("ca") + "/root.pem", "--google-key", key("google")]
                + files)
        let apps = try #require(try answer.json["apps"] as? [[String: Any]])
        #expect(answer.status == 0, "\(answer.output) \(answer.error)")
        #expect(apps.map { $0["store"] as? String } == ["APPLE", "GOOGLE"])
        let products = apps[1]["nonConsumables"] as? [[String: Any]]
        #expect(products?.first?["productId"] as? String == "gold")
        #expect(products?.first?["entitled"] as? Bool == true)
    }

    @Test("a server has the keys of its configuration")
    func server() throws {
        let google = try mint("google")
        let huawei = try mint("huawei")
        let file = folder.write(
            "assay.toml",
            """
            listen = ["unix:\(folder("sock"))"]
            [[app]]
            name = "game"
            bundle-id = "com.example.ios"
            app-apple-id = 42
            [app.google]
            licence-keys = ["ca/google-licence-key.txt"]
            package-names = ["com.example.game"]
            [app.huawei]
            keys = ["\(key("huawei"))"]
            """)
        let checked = try Tool.run("serve", "--config", file, "--check")
        #expect(checked.status == 0, "\(checked.error)")
        #expect(checked.output.contains("purchases of com.example.game by key"))
        let server = try ServerProcess(["--config", file])
        defer { _ = server.end() }
        let cases = [
            (google, "google-purchase", "VALID"), (huawei, "huawei-purchase", "WRONG_BUNDLE"),
            (google, "huawei-purchase", "INVALID_SIGNATURE"),
        ]
        for (evidence, kind, verdict) in cases {
            let answer = try Tool.run(
                "verify", "--kind", kind, "--server", "unix:\(folder("sock"))", "-",
                input: evidence)
            #expect(answer.verdict == verdict, "\(answer.output)")
        }
    }
}
