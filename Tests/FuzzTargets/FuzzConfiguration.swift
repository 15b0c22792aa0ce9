import Assay
import AssayBytes
import AssayCommand
import AssayMint
import TestSupport

extension FuzzTarget {
    /// A configuration file. Invariant: the file is usable, or its problems are reported, and
    /// the next reading reports the same.
    static func configuration(_ authority: FuzzAuthority) -> FuzzTarget {
        let file = ConfigurationFiles(authority)
        let seeds = ConfigurationSeeds.all
        return FuzzTarget(
            "Configuration", seeds: seeds, words: ConfigurationSeeds.words,
            mutate: { LineMutation.mutate($0, &$1, from: seeds) }
        ) { bytes in
            let text = bytes.array(0..<bytes.count)
            guard !file.waits(text) else { return }
            let first = file.check(text)
            switch first {
            case .usable(let summary, let apps): precondition(apps > 0 && !summary.isEmpty)
            case .mistakes(let mistakes):
                precondition(!mistakes.isEmpty, "refused without a reason")
                for mistake in mistakes { precondition(mistake.hasPrefix(file.path)) }
            }
            precondition("\(first)" == "\(file.check(text))", "read twice, understood twice")
        }
    }
}

/// The folder of the configuration, with the certificates that it can name.
private final class ConfigurationFiles: Sendable {
    private let folder: ScratchFolder
    let path: String

    init(_ authority: FuzzAuthority) {
        do {
            folder = try ScratchFolder()
            for file in try authority.tokens.files() {
                try folder.write(file.contents, to: file.name)
            }
        } catch {
            preconditionFailure("no folder for configurations: \(error)")
        }
        path = folder("assay.toml")
    }

    func check(_ text: [UInt8]) -> ConfigurationCheck {
        do {
            try folder.write(text, to: "assay.toml")
            return try ConfigurationCheck(path: path, now: FuzzAuthority.now)
        } catch {
            preconditionFailure("neither a configuration nor mistakes: \(error)")
        }
    }

    /// Whether the text names a terminal or pipe, which a read would wait for.
    func waits(_ text: [UInt8]) -> Bool {
        let text = String(decoding: text, as: UTF8.self)
        return text.contains("/dev") || text.contains("/proc")
    }
}

private enum ConfigurationSeeds {
    static let all: [[UInt8]] = [
        """
        listen = ["tcp://127.0.0.1:7443", "unix:/run/assay/assay.sock", "systemd:assay"]
        workers = 4
        denied = ["\(String(repeating: "ab:", count: 31))ab"]

        [[app]]
        name = "game"
        bundle-id = "com.example.game"
        app-apple-id = 1234567890
        environments = ["Production", "Sandbox"]
        default = true

        [[app]]
        name = "game-development"
        bundle-id = "com.example.game"
        environments = ["Xcode", "LocalTesting", "Unspecified"]
        development-roots = ["root.pem"]
        roots = ["root.pem"]
        intermediates = ["intermediate.pem"]
        """,
        """
        listen = ["tls://[::1]:7443"]
        [tls]
        certificate = "leaf.pem"
        key = "leaf-key.pem"
        client-ca = "root.pem"
        client-names = ["spiffe://example.org/backend", "Backend.example.org", "billing job"]
        minimum-version = "1.2"
        [unix]
        mode = "0660"
        owner = "root"
        group = "0"
        allowed-users = ["root", "1000"]
        [admin]
        listen = "tcp://127.0.0.1:7444"
        any-address = true
        """ + app,
        "[limits]\n" + limits.map { "\($0.0) = \($0.1)\n" }.joined() + app,
        app + "unix.mode = 1\nlimits = { backlog = -1 }\ntls = []\nadmin.listen = 1979-05-27",
        app + "name = '''a\n'''\n\"bundle-id\" = \"\"\"\\u00e9\\\n b\"\"\"\nx.y.z = +1_0.0e-7",
        "a = [[[[[{b = [0xFF, 0o7, 0b1, inf, nan, 07:32:00.1, 1979-05-27T07:32:00-07:00]}]]]]]",
        "app = [1, {name = \"a\"}, []]\n# comment\r\n[a.\"b.c\".'d']\n[[a.e]]\n[[a.e]]",
        "",
    ].map { Array($0.utf8) }

    private static let app = "\n[[app]]\nname = \"a\"\nbundle-id = \"b\"\napp-apple-id = 1\n"

    private static let limits = [
        ("connections", 10_000), ("frame-bytes", 524_288), ("fetches", 32),
        ("timeout-ms", 30_000), ("longest-timeout-ms", 1), ("drain-delay-seconds", 0),
        ("idle-seconds", 86_400), ("evidence-bytes", 1 << 40),
    ]

    static let words =
        [
            "[limits]", "[unix]", "[admin]", "[tls]", "[[app]]", "listen", "workers", "denied",
            "environments", "development-roots", "\"root.pem\"", "true", "false", "\"\"\"", "'''",
            "9223372036854775807", "-9223372036854775808", "1e400", "\\U0010FFFF", "\\uD800",
            "systemd:", "unix:@", "tls://", "tcp://[::1]:0", "9999-12-31T23:59:60Z",
        ]
}
