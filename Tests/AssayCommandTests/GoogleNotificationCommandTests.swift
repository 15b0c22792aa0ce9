import Foundation
import TestSupport
import Testing

/// Pushes of Google Play's notifications at the command line and in a server's configuration.
@Suite("Notifications of Google Play")
struct GoogleNotificationCommandTests {
    private let folder = TemporaryFolder()

    private func mint(_ options: String...) throws -> String {
        let minted = try Tool.run(["mint", "google-notification", "--ca", folder("ca")] + options)
        #expect(minted.status == 0, "\(minted.error)")
        return minted.output
    }

    private var keys: String { folder("ca") + "/google-jwks.json" }

    private var options: [String] {
        [
            "--google-jwks", keys, "--google-audience", "https://game.example.com/google",
            "--google-service-account", "push@example.iam.gserviceaccount.com",
        ]
    }

    @Test("a minted push verifies with keys, audience and service account, and not without")
    func minted() throws {
        for about in ["subscription", "one-time-product", "voided-purchase", "test"] {
            let push = try mint("--about", about)
            for kind in ["google-notification", "auto"] {
                let answer = try Tool.run(
                    ["verify", "--kind", kind, "--bundle-id", "com.example.game"] + options + ["-"],
                    input: push)
                #expect(answer.status == 0 && answer.verdict == "VALID", "\(answer.output)")
                let json = try answer.json
                #expect(json["kind"] as? String == "google-notification")
                #expect((json["dedupKey"] as? String)?.contains("/message/") == true)
                let payload = json["payload"] as? [String: Any]
                #expect(payload?["packageName"] as? String == "com.example.game")
            }
        }
        let push = try mint()
        for index in stride(from: 0, to: options.count, by: 2) {
            var fewer = options
            let option = fewer[index]
            fewer.removeSubrange(index...index + 1)
            let answer = try Tool.run(
                ["verify", "--kind", "google-notification"] + fewer + ["-"], input: push)
            #expect(answer.verdict == "UNTRUSTED_CHAIN")
            #expect(try (answer.json["detail"] as? String)?.contains(option) == true)
        }
    }

    @Test("text and explain name the checks; explain --no-verify shows what nobody has checked")
    func shown() throws {
        let push = try mint("--audience", "https://other.example.com")
        let text = try Tool.run(
            ["verify", "--kind", "google-notification", "--format", "text"] + options + ["-"],
            input: push)
        #expect(text.status == 1 && text.output.hasPrefix("UNTRUSTED_CHAIN"))
        #expect(!text.output.contains("lead to a pinned root\n"))
        let explained = try Tool.run(["explain", "--all"] + options + ["-"], input: push)
        #expect(explained.output.contains("the token's audience is accepted"), "\(explained)")
        #expect(!explained.output.contains("To pin another root"))
        let inspected = try Tool.run(
            ["explain", "--no-verify", "--format", "json", "-"], input: push
        ).json
        #expect(inspected["likelyKind"] as? String == "google-notification")
        let header = inspected["unverifiedHeader"] as? [String: Any]
        let claims = header?["tokenClaims"] as? [String: Any]
        #expect(claims?["aud"] as? String == "https://other.example.com")
        #expect(header?["messageId"] is String)
        #expect((inspected["unverifiedPayload"] as? [String: Any])?["packageName"] is String)
    }

    @Test("keys that are none are refused before evidence is read")
    func badKeys() throws {
        for (text, part) in [("{}", "JWK Set"), ("", "JWK Set"), (nil, "can't read")] {
            let file = text.map { folder.write("keys.json", $0) } ?? folder("none.json")
            let answer = try Tool.run(
                "verify", "--kind", "google-notification", "--google-jwks", file, "-", input: "{}")
            #expect(answer.status == 2 && answer.error.contains(part), "\(answer.error)")
        }
        let remote = try Tool.run(
            "verify", "--kind", "google-notification", "--google-audience", "x", "--server",
            "unix:/x", "-")
        #expect(remote.status == 2 && remote.error.contains("can't be used with --server"))
    }

    @Test("a server has the keys of its configuration")
    func server() throws {
        let push = try mint()
        let file = folder.write(
            "assay.toml",
            """
            listen = ["unix:\(folder("sock"))"]
            [[app]]
            name = "game"
            bundle-id = "com.example.ios"
            app-apple-id = 42
            [app.google]
            package-names = ["com.example.game"]
            jwks = "ca/google-jwks.json"
            audiences = ["https://game.example.com/google"]
            service-accounts = ["push@example.iam.gserviceaccount.com"]
            """)
        let checked = try Tool.run("serve", "--config", file, "--check")
        #expect(checked.status == 0, "\(checked.error)")
        #expect(checked.output.contains("pushes to https://game.example.com/google of push@"))
        let server = try ServerProcess(["--config", file])
        defer { _ = server.end() }
        let foreign = try Tool.run("mint", "google-notification", "--ca", folder("other")).output
        let purchase = try Tool.run("mint", "google-purchase", "--ca", folder("ca")).output
        let cases = [
            (push, "google-notification", "VALID"),
            (foreign, "google-notification", "UNTRUSTED_CHAIN"),
            (purchase, "google-purchase", "UNTRUSTED_CHAIN"),
        ]
        for (evidence, kind, verdict) in cases {
            let answer = try Tool.run(
                "verify", "--kind", kind, "--server", "unix:\(folder("sock"))", "-",
                input: evidence)
            #expect(answer.verdict == verdict, "\(answer.output)")
        }
    }

    @Test("a server without a configuration takes the options")
    func serve() throws {
        let push = try mint()
        let server = try ServerProcess(["--listen", "unix:" + folder("s")] + options)
        defer { _ = server.end() }
        let answer = try Tool.run(
            "verify", "--kind", "google-notification", "--server", "unix:" + folder("s"), "-",
            input: push)
        #expect(answer.verdict == "VALID", "\(answer.output) \(answer.error)")
    }
}
