import Assay
import AssayCommandLine
import AssayIO
import AssayModels
import AssayServer
import TestSupport
import Testing

@testable import AssayCommand

@Suite("Configuration")
struct ConfigurationTests {
    private let folder = TemporaryFolder()

    private static let game = """
        [[app]]
        name = "game"
        bundle-id = "com.example.game"
        app-apple-id = 42

        """

    private func settings(
        _ text: String?, flags: ServerSettings.Flags = .init(),
        environment: [String: String] = [:]
    ) throws -> ServerSettings {
        var flags = flags
        if let text { flags.config = folder.write("assay.toml", text) }
        return try ServerSettings(flags: flags, environment: environment)
    }

    @Test("a whole file")
    func whole() throws {
        try MintedAuthority.write(to: folder)
        let settings = try settings(
            """
            listen = ["tcp://127.0.0.1:0", "unix:/run/assay/assay.sock"]
            workers = 3
            limits.idle-seconds = 7
            denied = ["\(String(repeating: "AB:", count: 31))AB"]
            [[app]]
            name = "game"
            bundle-id = "com.example.game"
            app-apple-id = 42
            environments = ["Production", "Sandbox"]
            default = true
            legacy-key = false
            [[app]]
            name = "test"
            bundle-id = "com.example.test"
            environments = ["Xcode", "Sandbox"]
            development-roots = ["ca/root.pem"]
            """)
        #expect(
            settings.listen.map(\.description).joined(separator: " ")
                == "tcp://127.0.0.1:0 unix:/run/assay/assay.sock")
        #expect(settings.workers == 3)
        #expect(settings.limits.server.idleMilliseconds == 7000)
        #expect(settings.apps.map(\.name) == ["game", "test"])
        #expect(settings.defaultApp?.name == "game")
        #expect(settings.apps[0].environments == [.production, .sandbox])
        #expect(settings.apps[0].appAppleId == 42)
        let entries = try settings.serverConfiguration().apps
        #expect(entries["game"]?.policy.allowsLegacyKey == false)
        #expect(entries["test"]?.policy.allowsLegacyKey == true)
        #expect(settings.apps[0].trust.anchors.count == TrustStore.apple.anchors.count)
        #expect(settings.apps[1].trust.anchors.last?.development == true)
        let denied = Fingerprint(String(repeating: "ab", count: 32))
        #expect(settings.apps[1].trust.denied.map { $0 } == [denied])
    }

    @Test("each limit is read, printed by --check, documented and bounded")
    func limits() throws {
        let bytes = try #require(Vectors.bytes(Vectors.packageRoot + "/docs/configuration.md"))
        let page = String(decoding: bytes, as: UTF8.self)
        for limit in LimitSettings.all {
            let standard = limit.get(LimitSettings())
            #expect(limit.range.contains(standard), "\(limit.key)")
            let row = page.split(separator: "\n").first {
                $0.hasPrefix("| `limits.\(limit.key)` |")
            }
            #expect(row?.hasSuffix("| \(standard) |") == true, "\(limit.key): \(row ?? "none")")
            // Sets each limit to its lower bound. A default must not exceed the longest timeout.
            let other = limit.range.lowerBound
            let changed = try settings(
                Self.game + "[limits]\n\(limit.key) = \(other)\n"
                    + (limit.key.hasPrefix("longest-")
                        ? "\(limit.key.dropFirst("longest-".count)) = 1\n" : ""))
            #expect(limit.get(changed.limits) == other, "\(limit.key)")
            #expect(changed.summary(now: .now).contains("\(limit.key.padded(to: 25))\(other)"))
        }
    }

    @Test("the settings of the HTTP listeners, and an app's secret, which is never printed")
    func http() throws {
        let settings = try settings(
            """
            listen = ["http://127.0.0.1:0", "unix-http:/run/assay/http.sock"]
            [http]
            allowed-origins = ["https://tools.example.com"]
            hosts = ["Assay.Internal"]
            [[app]]
            name = "game"
            bundle-id = "com.example.game"
            app-apple-id = 42
            shared-secret = "a secret"
            """)
        #expect(settings.http.allowedOrigins == ["https://tools.example.com"])
        #expect(settings.http.hosts == ["assay.internal"])
        let configuration = try settings.serverConfiguration()
        #expect(configuration.http == settings.http)
        #expect(configuration.apps["game"]?.secrets.sharedSecret == "a secret")
        let summary = settings.summary(now: .now)
        #expect(summary.contains("http://127.0.0.1:0"))
        #expect(summary.contains("pages of https://tools.example.com"))
        #expect(summary.contains("compared with passwords") && !summary.contains("a secret"))
    }

    @Test("the address of the admin listener")
    func admin() throws {
        let file = "admin.listen = \"tcp://127.0.0.1:1\"\n" + Self.game
        let open = "admin = {listen = \"tcp://0.0.0.0:1\", any-address = true}\n" + Self.game
        let flag = ServerSettings.Flags(admin: .tcp(host: "127.0.0.1", port: 3))
        let exposed = ServerSettings.Flags(admin: .tcp(host: "::", port: 3))
        var allowed = exposed
        allowed.adminAnyAddress = true
        let variable = ["ASSAY_ADMIN": "unix:/run/a"]
        #expect(try settings(nil).admin.endpoint == nil)
        #expect(try settings(file).admin.endpoint?.description == "tcp://127.0.0.1:1")
        #expect(try settings(open).admin.endpoint?.description == "tcp://0.0.0.0:1")
        #expect(
            try settings(file, environment: variable).admin.endpoint?.description == "unix:/run/a")
        #expect(
            try settings(file, flags: flag, environment: variable).admin.endpoint?.description
                == "tcp://127.0.0.1:3")
        #expect(try settings(file, flags: allowed).admin.endpoint?.description == "tcp://[::]:3")
        #expect(throws: Failure.self) { try settings(file, flags: exposed) }
        #expect(throws: Failure.self) { try settings(nil, environment: ["ASSAY_ADMIN": "7444"]) }
    }

    private typealias Mistake = (text: String, location: String, remedy: String)

    private static let mistakesOfTheFile: [Mistake] = [
        ("listen = [", "line 1", "toml.io"),
        ("listen = 1\nlisten = 2", "line 2", "toml.io"),
        ("", "app: missing", "[[app]]"),
        ("app = 3", "app: of type integer", "[[app]]"),
        (Self.game + "[sever]\nx = 1", "sever: unknown key", "write one of"),
        ("listen = \"unix:/x\"\n" + Self.game, "listen: of type string", "array"),
        ("listen = []\n" + Self.game, "listen: empty", "leave the key out"),
        ("listen = [\"unix:/x\", \"7443\"]\n" + Self.game, "listen[2]", "tcp://HOST:PORT"),
        (
            "http.allowed-origins = [\"a.example\"]\n" + Self.game, "http.allowed-origins[1]",
            "https"
        ),
        (
            "http.allowed-origins = [\"https://*\"]\n" + Self.game, "http.allowed-origins[1]",
            "https"
        ),
        ("http.hosts = [\"a\", \"a:80\"]\n" + Self.game, "http.hosts[2]", "without scheme"),
        (Self.game + "api-keys = [\"short\"]", "app[1].api-keys[1]", "openssl rand"),
        (Self.game + "shared-secret = \"\"", "app[1].shared-secret", "leave the key out"),
        ("listen = [7443]\n" + Self.game, "listen[1]", "double quotes"),
        ("worker = 2\n" + Self.game, "worker: unknown key", "\"workers\""),
        ("workers = 0\n" + Self.game, "workers: 0", "from 1 to 256"),
        ("workers = 1.5\n" + Self.game, "workers: of type floating", "whole number"),
        ("denied = [\"aa\"]\n" + Self.game, "denied[1]", "SHA-256"),
        (Self.game + "[limits]\nconnections = 0", "limits.connections: 0", "from 1 to"),
        (Self.game + "[limits]\nframes = 1", "limits.frames: unknown key", "write one of"),
        (
            Self.game + "[limits]\ntimeout-ms = 9000\nlongest-timeout-ms = 8000",
            "limits.timeout-ms: 9000", "at most 8000"
        ),
        ("limits = 3\n" + Self.game, "limits: of type integer", "[limits]"),
    ]

    private static let mistakesOfAdmin: [Mistake] = [
        ("[admin]\n" + Self.game, "admin.listen: missing", "tcp://127.0.0.1:7444"),
        ("admin.listen = \"7444\"\n" + Self.game, "admin.listen", "tcp://HOST:PORT"),
        ("admin.listen = \"tls://127.0.0.1:1\"\n" + Self.game, "admin.listen", "unix:PATH"),
        ("admin.port = 1\n" + Self.game, "admin.port: unknown key", "write one of"),
        (
            "admin.listen = \"tcp://0.0.0.0:7444\"\n" + Self.game, "admin.listen",
            "any-address = true"
        ),
        (
            "admin = {listen = \"tcp://a.example:1\", any-address = true}\n" + Self.game,
            "admin.listen: a host name", "numeric"
        ),
    ]

    private static let mistakesOfApps: [Mistake] = [
        (Self.game + "bundle_id = \"x\"", "app[1].bundle_id: unknown", "\"bundle-id\""),
        (Self.game + "environments = []", "app[1].environments: empty", "at least one"),
        (
            Self.game + "environments = [\"Sandbox\", \"Prodction\"]",
            "app[1].environments[2]", "did you mean \"Production\"?"
        ),
        (
            Self.game + "environments = [\"Xcode\"]",
            "app[1].development-roots: missing for an app that accepts Xcode", "pin"
        ),
        (Self.game + "default = \"yes\"", "app[1].default: of type string", "true or false"),
        (
            Self.game + "roots = [\"none.pem\"]", "app[1].roots[1]: can't read",
            "one certificate"
        ),
        (Self.game + "roots = [\"assay.toml\"]", "app[1].roots[1]", "can't be pinned"),
        (
            Self.game + "roots = [\"ca/root.pem\", \"ca/leaf.pem\"]", "app[1].roots[2]",
            "it is not a certificate authority (CA is false)"
        ),
        (
            Self.game + "development-roots = [\"ca/leaf.pem\"]", "app[1].development-roots[1]",
            "it is not a certificate authority (CA is false)"
        ),
        (
            Self.game + "development-roots = [\"none.pem\"]",
            "app[1].development-roots: not valid", "Sandbox"
        ),
        (Self.game + Self.game, "app[2].name: app[1] already has the name \"game\"", "different"),
        (
            Self.game + "default = true\n"
                + Self.game.replacing("\"game\"", with: "\"other\"") + "default = true",
            "app[2].default", "one entry"
        ),
        ("[[app]]\nname = \"x\"\napp-apple-id = 1", "app[1].bundle-id: missing", "any app"),
        ("[[app]]\nbundle-id = \"x\"\napp-apple-id = 1", "app[1].name: missing", "name"),
        (
            "[[app]]\nname = \"x\"\nbundle-id = \"x\"",
            "app[1].app-apple-id: missing for an app that accepts Production", "Apple ID"
        ),
        (
            "[[app]]\nname = \"x\"\nbundle-id = \"x\"\napp-apple-id = -1",
            "app[1].app-apple-id: -1 is out of range", "from 1"
        ),
    ]

    @Test("each error names its location and the remedy")
    func mistakes() throws {
        try MintedAuthority.write(to: folder)
        let all = Self.mistakesOfTheFile + Self.mistakesOfAdmin + Self.mistakesOfApps
        for (text, location, remedy) in all {
            let problems = try #require(throws: ConfigurationProblems.self) {
                try settings(text)
            }
            let messages = problems.all.map(\.description)
            #expect(
                messages.contains {
                    $0.contains("assay.toml: " + location) && $0.contains(remedy)
                }, "\(location): \(messages)")
        }
    }

    @Test("all errors of a file are reported at once")
    func several() throws {
        let problems = try #require(throws: ConfigurationProblems.self) {
            try settings("workers = 0\nx = 1\n[[app]]\nname = \"a\"")
        }
        #expect(problems.all.count == 4)
    }

    /// Found by fuzzing: TOMLKit's parser ends the process at these names.
    @Test("a table name that starts with an invalid character")
    func tableNames() throws {
        let long = String(repeating: "\"", count: 3)
        let table: [(text: String, location: String?)] = [
            ("[!]", "line 1, column 2"), ("[\n]", "line 1, column 2"),
            ("[[=]]", "line 1, column 3"), ("[ #a]", "line 1, column 3"),
            ("\u{FEFF}[\u{11}a]", "line 1, column 5"), ("a = 1\r\n  [,]", "line 2, column 4"),
            ("a = [1, # [\n]\n[é]", "line 3, column 2"), (#"a = "\"" # ""# + "\n[.]", "line 2"),
            ("a = \(long)\(long)\n[*]", "line 2"), ("a = '''x\n[!]''''\n[*]", "line 3"),
            (#"a = '\' # '"# + "\n[*]", "line 2"), ("a = {b = [{}]}\n[*]", "line 2"),
            // Neither table names nor mistakes.
            ("a = \(long)\n[!]\\\(long)\n[*]\(long)", nil), ("a = [\n[+1],\n[{}]]", nil),
            ("# a\n#[!]", nil), (#"["!"]"#, nil), ("[ '!' ]\n[[a . b]]\n[_]\n[-]", nil),
            // Reported by the parser.
            ("[]", nil), ("[[]]", nil), ("[", nil), ("[[", nil), ("[a", nil), ("a = ]\n[a]", nil),
        ]
        for (text, location) in table {
            let problems = try #require(throws: ConfigurationProblems.self, "\(text)") {
                try settings(text)
            }
            let messages = problems.all.map(\.description)
            let isReported = messages.contains { $0.contains("a table name can't start with") }
            #expect(isReported == (location != nil), "\(text): \(messages)")
            if let location {
                #expect(messages.first?.contains(location) == true, "\(text): \(messages)")
            }
        }
    }

    /// Found by fuzzing: TOMLKit's parser ends the process at the first of these texts.
    @Test("dates and times, which no setting has")
    func dates() throws {
        for text in [
            "a = 1979-05-27T*7:32:00", "a = [1979-05-27]", "a = 07:32:00", "a = {b = +07:00}",
            "a = 1979-05-27 07:32:00.9Z", "\na=1-",
        ] {
            let problems = try #require(throws: ConfigurationProblems.self) {
                try settings(text)
            }
            #expect(problems.all.first?.problem == "a date or time: no setting has one")
        }
        // In quotes or a comment it is not a date. Nor is a number with an exponent, or a name.
        let text =
            "workers = 2 # 07:32\nlisten = [\"unix:1-2:3\"]\nx = 1e-3\ny-1-2 = 1\n" + Self.game
        let problems = try #require(throws: ConfigurationProblems.self) { try settings(text) }
        #expect(problems.all.map(\.problem) == ["unknown key", "unknown key"])
    }

    @Test("a brace inside an array, at which the parser would end the process")
    func braceInArray() throws {
        for text in ["app = [1, }, []]", "x = [}", "x = [\n# ]\n}", "x = {a = [}", "x = [[1], }"] {
            let problems = try #require(throws: ConfigurationProblems.self, "\(text)") {
                try settings(text)
            }
            #expect(problems.all.first?.problem == "a } inside an array", "\(text)")
        }
        let text = "x = [{a = [1, {b = 2}]}, \"}\"] # }\n" + Self.game
        let problems = try #require(throws: ConfigurationProblems.self) { try settings(text) }
        #expect(problems.all.map(\.problem) == ["unknown key"])
    }

    @Test("names with a hundred thousand parts, and keys of a megabyte")
    func largeNames() throws {
        let parts = Array(repeating: "a", count: 100_000).joined(separator: ".")
        let quoted = Array(repeating: "\"a\"", count: 100_000).joined(separator: " . ")
        let brackets = String(repeating: "[", count: 100_000)
        let braces = String(repeating: "{a=", count: 100_000)
        for text in [
            "[\(parts)]", "[[\(quoted)]]", "\(parts) = 1", "a = {\(parts) = 1}",
            "a = \(brackets)", "a = \(braces)",
            "\(String(repeating: "a", count: 1_000_000)) = 1",
        ] {
            #expect(throws: ConfigurationProblems.self) { try settings(text) }
        }
        let most = Array(repeating: "a", count: TOMLPreflight.mostDots + 1).joined(separator: ".")
        let problems = try #require(throws: ConfigurationProblems.self) {
            try settings("\(most) = 1\n[b.\(most.dropFirst(2))]\n" + Self.game)
        }
        #expect(problems.all.map(\.problem) == ["unknown key", "unknown key"])
    }

    @Test("a file that is not text, or does not exist")
    func unreadable() throws {
        let nul = folder.write("nul.toml", "workers = 1\u{0}")
        #expect(throws: ConfigurationProblems.self) {
            try ServerSettings(flags: .init(config: nul), environment: [:])
        }
        #expect(throws: Failure.self) {
            try ServerSettings(flags: .init(config: folder("none")), environment: [:])
        }
    }

    @Test("flags override variables, variables the file, and the file the defaults")
    func precedence() throws {
        let file = "listen = [\"unix:/file\"]\nworkers = 2\n" + Self.game
        let variables = ["ASSAY_LISTEN": "unix:/variable", "ASSAY_WORKERS": "3"]
        let flags = ServerSettings.Flags(listen: [.unix(path: "/flag")], workers: 4)

        #expect(try settings(nil).listen == [ServerSettings.defaultListen])
        #expect(try settings(nil).workers == nil)
        #expect(try settings(file).listen == [.unix(path: "/file")])
        #expect(try settings(file).workers == 2)
        let variable = try settings(file, environment: variables)
        #expect(variable.listen == [.unix(path: "/variable")] && variable.workers == 3)
        let flag = try settings(file, flags: flags, environment: variables)
        #expect(flag.listen == [.unix(path: "/flag")] && flag.workers == 4)

        _ = try settings(file)
        let named = try ServerSettings(
            flags: .init(), environment: ["ASSAY_CONFIG": folder("assay.toml")])
        #expect(named.apps.map(\.name) == ["game"])
        #expect(throws: Failure.self) { try settings(nil, environment: ["ASSAY_WORKERS": "no"]) }
        #expect(throws: Failure.self) { try settings(nil, environment: ["ASSAY_LISTEN": "x"]) }
    }

    @Test("--check prints a summary, or every error")
    func check() throws {
        let good = folder.write("good.toml", Self.game)
        let checked = try Tool.run("serve", "--check", "--config", good)
        #expect(checked.status == 0 && checked.error.isEmpty)
        for part in [
            "com.example.game", "tcp://127.0.0.1:7443", "game (default)", "42", "Production",
            "63343abfb89a6a03ebb57e9b3f5fa7be7c4f5c756f3017b3a8c488c3653e9179", " days",
        ] {
            #expect(checked.output.contains(part), "\(part)")
        }
        // The default gives way to the sockets of a service manager.
        #expect(checked.output.contains("systemctl show assay.socket"))
        #expect(!checked.output.contains("warning"))
        let bad = folder.write("bad.toml", "workers = 0\n[[app]]\n")
        let refused = try Tool.run("serve", "--check", environment: ["ASSAY_CONFIG": bad])
        #expect(refused.status == 2 && refused.output.isEmpty)
        #expect(refused.error.contains("bad.toml: workers"))
        #expect(refused.error.contains("bad.toml: app[1].name"))
    }
}
