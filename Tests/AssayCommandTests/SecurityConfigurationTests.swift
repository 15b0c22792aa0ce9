import AssayCommandLine
import AssayIO
import AssayModels
import AssayServer
import Glibc
import TestSupport
import Testing

@testable import AssayCommand

/// Tests `[unix]` and `[tls]`: which clients can connect, and which certificate they get.
@Suite("Configuration of security")
struct SecurityConfigurationTests {
    private let folder = TemporaryFolder()

    private static let game = """
        [[app]]
        name = "game"
        bundle-id = "com.example.game"
        app-apple-id = 42

        """

    init() throws {
        // Any certificate with its key is enough.
        try MintedAuthority.write(to: folder)
        folder.write("empty.pem", "no PEM\n")
    }

    private func settings(_ text: String) throws -> ServerSettings {
        let path = folder.write("assay.toml", Self.game + text)
        return try ServerSettings(flags: .init(config: path), environment: [:])
    }

    @Test("complete tables")
    func whole() throws {
        let unix = try settings(
            """
            [unix]
            mode = "0600"
            owner = "root"
            group = "0"
            allowed-users = ["root", "1234"]
            """
        ).unix
        #expect(unix.access.mode == 0o600 && unix.access.owner == 0 && unix.access.group == 0)
        #expect(unix.allowedUsers == [0, 1234])
        let plain = try settings("")
        #expect(plain.unix.access == SocketFileAccess() && plain.unix.allowedUsers == nil)
        #expect(plain.unix.access.mode == 0o660 && plain.tls == nil)

        let tls = try #require(
            try settings(
                """
                [tls]
                certificate = "ca/leaf.pem"
                key = "ca/leaf-key.pem"
                client-ca = "ca/root.pem"
                client-names = ["spiffe://example.org/Backend", "Backend.Example.org"]
                minimum-version = "1.2"
                """
            ).tls)
        #expect(tls.settings.allowsTLS12 && tls.settings.clientAuthority == folder("ca/root.pem"))
        #expect(
            tls.settings.clientNames == ["spiffe://example.org/Backend", "Backend.Example.org"])
        #expect(tls.context.notAfter ?? 0 > Timestamp.now.seconds)
        let strict = try #require(
            try settings("[tls]\ncertificate = \"ca/leaf.pem\"\nkey = \"ca/leaf-key.pem\"").tls)
        #expect(!strict.settings.allowsTLS12 && strict.settings.clientAuthority == nil)
    }

    @Test("every unreadable TLS file is reported, not only the first")
    func unreadableFiles() throws {
        let problems = try #require(throws: ConfigurationProblems.self) {
            try settings("[tls]\ncertificate = \"a\"\nkey = \"b\"\nclient-ca = \"c\"")
        }
        let messages = problems.all.map(\.description)
        for (name, file, remedy) in [
            ("certificate", "a", "intermediates"), ("key", "b", "private key"),
            ("client-ca", "c", "authorities"),
        ] {
            let location = "tls.\(name): \(folder(file)) can't be read"
            #expect(
                messages.contains { $0.contains(location) && $0.contains(remedy) }, "\(messages)")
        }
    }

    @Test("each error names its location and the remedy")
    func mistakes() throws {
        let identity = "certificate = \"ca/leaf.pem\"\nkey = \"ca/leaf-key.pem\"\n"
        let table: [(text: String, location: String, remedy: String)] = [
            ("[unix]\nmode = \"abc\"", "unix.mode: \"abc\" is not a file mode", "octal"),
            ("[unix]\nmode = \"0066\"", "unix.mode: \"0066\" is not a file mode", "for the owner"),
            ("[unix]\nmode = \"01777\"", "unix.mode: \"01777\" is not a file mode", "octal"),
            ("[unix]\nmode = 432", "unix.mode: of type integer", "double quotes"),
            (
                "[unix]\nowner = \"no-such-user\"",
                "unix.owner: this machine has no user \"no-such-user\"", "number"
            ),
            ("[unix]\ngroup = \"no-group\"", "unix.group: this machine has no group", "number"),
            (
                "[unix]\nallowed-users = [\"root\", \"no-such-user\"]",
                "unix.allowed-users[2]: this machine has no user \"no-such-user\"", "number"
            ),
            ("[unix]\nallowed-users = []", "unix.allowed-users: empty", "leave the key out"),
            ("[unix]\nusers = []", "unix.users: unknown key", "write one of"),
            ("[tls]\ncertificate = \"ca/leaf.pem\"", "tls.key: missing", "PEM"),
            ("[tls]\nkey = \"ca/leaf-key.pem\"", "tls.certificate: missing", "PEM"),
            (
                "[tls]\ncertificate = \"none\"\nkey = \"ca/leaf-key.pem\"",
                "tls.certificate: \(folder("none")) can't be read: no such file", "PEM"
            ),
            (
                "[tls]\ncertificate = \"ca/leaf.pem\"\nkey = \"none\"",
                "tls.key: \(folder("none")) can't be read", "PEM"
            ),
            (
                "[tls]\ncertificate = \"ca/leaf.pem\"\nkey = \"ca/root-key.pem\"",
                "tls.key: the key in \(folder("ca/root-key.pem")) does not match", "PEM"
            ),
            (
                "[tls]\ncertificate = \"ca/leaf.pem\"\nkey = \"empty.pem\"",
                "tls.key: \(folder("empty.pem")) has no private key", "PEM"
            ),
            (
                "[tls]\ncertificate = \"empty.pem\"\nkey = \"ca/leaf-key.pem\"",
                "tls.certificate: \(folder("empty.pem")) has no certificate", "PEM"
            ),
            (
                "[tls]\n\(identity)client-ca = \"empty.pem\"",
                "tls.client-ca: \(folder("empty.pem")) has no certificate", "PEM"
            ),
            ("[tls]\n\(identity)client-ca = \"none\"", "tls.client-ca: ", "can't be read"),
            (
                "[tls]\n\(identity)client-names = [\"a\"]", "tls.client-names: without",
                "client-ca"
            ),
            (
                "[tls]\n\(identity)client-ca = \"ca/root.pem\"\nclient-names = []",
                "tls.client-names: empty", "leave the key out"
            ),
            ("[tls]\n\(identity)minimum-version = \"1.1\"", "tls.minimum-version: \"1.1\"", "1.3"),
            ("[tls]\n\(identity)ca = \"x\"", "tls.ca: unknown key", "write one of"),
        ]
        for (text, location, remedy) in table {
            let problems = try #require(throws: ConfigurationProblems.self, "\(text)") {
                try settings(text)
            }
            let messages = problems.all.map(\.description)
            #expect(
                messages.contains { $0.contains("assay.toml: " + location) && $0.contains(remedy) },
                "\(location): \(messages)")
        }
        #expect(throws: Failure.self) {
            let path = folder.write("assay.toml", "listen = [\"tls://127.0.0.1:0\"]\n" + Self.game)
            _ = try ServerSettings(flags: .init(config: path), environment: [:])
        }
    }

    @Test("line 85: a wildcard is not a client name")
    func patterns() throws {
        let text = """
            [tls]
            certificate = "ca/leaf.pem"
            key = "ca/leaf-key.pem"
            client-ca = "ca/root.pem"
            client-names = ["a.test", "*.a.test"]
            """
        let problems = try #require(throws: ConfigurationProblems.self) { try settings(text) }
        let location = "tls.client-names[2]: \"*.a.test\" is a wildcard"
        #expect(problems.all.count == 1)
        #expect(problems.all.first?.description.contains(location) == true, "\(problems)")
    }

    @Test("a reload keeps verifiers with the same trust, and their caches")
    func reuse() throws {
        let first = try settings("").serverConfiguration()
        let second = try settings("[limits]\nconnections = 5").serverConfiguration(reusing: first)
        #expect(second.apps["game"]?.verifier === first.apps["game"]?.verifier)
        #expect(second.limits.connections == 5)
        let other = try settings("intermediates = []\nroots = [\"ca/root.pem\"]\n")
            .serverConfiguration(reusing: first)
        #expect(other.apps["game"]?.verifier !== first.apps["game"]?.verifier)
    }

    /// A certificate of another name suggests its name, not its authority.
    private func checkNames(_ certificate: String, _ address: String) throws {
        let localhost = address.replacing("127.0.0.1", with: "localhost")
        func health(_ options: [String], _ address: String) throws -> Tool.Result {
            try Tool.run(["health", "--tls-ca", certificate] + options + [address])
        }
        for (options, address) in [([], localhost), (["--tls-name", "other.example"], address)] {
            let renamed = try health(options, address)
            #expect(renamed.status == 2 && renamed.error.contains("hostname mismatch"))
            #expect(renamed.error.contains("the name in its certificate with --tls-name"))
            #expect(!renamed.error.contains("--tls-ca"))
        }
        #expect(try health(["--tls-name", "127.0.0.1"], localhost).output == "SERVING\n")
    }

    @Test("line 67: verify, health and load over TLS; a certificate changes on SIGHUP")
    func commands() throws {
        // A server certificate made with openssl, as an operator makes one.
        guard let openssl = try OpenSSLTool() else { return }
        defer { openssl.cleanUp() }
        func make(_ name: String) throws -> (certificate: String, key: String) {
            let (certificate, key) = (folder(name + ".pem"), folder(name + "-key.pem"))
            let made = try openssl.run(
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                "-nodes", "-days", "2", "-subj", "/CN=\(name)", "-addext",
                "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", certificate)
            try #require(made.status == 0, "\(made.output)")
            return (certificate, key)
        }
        let (first, second) = (try make("first"), try make("second"))
        func write(_ identity: (certificate: String, key: String)) {
            folder.write(
                "assay.toml",
                """
                listen = ["tls://127.0.0.1:0"]
                [tls]
                certificate = "\(identity.certificate)"
                key = "\(identity.key)"
                [[app]]
                name = "game"
                bundle-id = "com.example.game"
                environments = ["Sandbox"]
                roots = ["ca/root.pem"]
                """)
        }
        write(first)
        let server = try ServerProcess(["--config", folder("assay.toml")])
        let address = server.address("tls://")
        try #require(address != "none", "\(server.log)")
        let token = try Tool.run(
            "mint", "transaction", "--ca", folder("ca"), "--environment", "Sandbox"
        ).output
        func health(_ certificate: String) throws -> Tool.Result {
            try Tool.run("health", "--tls-ca", certificate, address)
        }
        #expect(try health(first.certificate).output == "SERVING\n")
        #expect(
            try Tool.run(
                "verify", "--server", address, "--tls-ca", first.certificate, "--environment",
                "Sandbox", "--kind", "transaction", "-", input: token
            ).verdict == "VALID")
        let untrusted = try health(second.certificate)
        #expect(untrusted.status == 2 && untrusted.error.contains("is not trusted"))
        #expect(untrusted.error.contains("name its authority with --tls-ca"))
        try checkNames(first.certificate, address)
        #expect(try Tool.run("health", "--tls-ca", "x", "tcp://127.0.0.1:1").status == 2)

        folder.write("token", token)
        let load = try Tool.run(
            "load", address, "--tls-ca", first.certificate, "--closed", "--duration", "1",
            "--file", "transaction=\(folder("token"))", "--environment", "Sandbox", "--quiet")
        #expect(load.status == 0, "\(load.output) \(load.error)")

        write(second)
        server.signal(SIGHUP)
        #expect(server.logs("\"event\":\"reloaded\""))
        #expect(try health(second.certificate).status == 0)
        #expect(try health(first.certificate).status == 2)
        write((second.certificate, first.key))
        server.signal(SIGHUP)
        #expect(server.logs("\"event\":\"reload_failed\""))
        #expect(server.log.contains("does not match the certificate"))
        #expect(try health(second.certificate).status == 0)
        #expect(server.end() == 0)
    }
}
