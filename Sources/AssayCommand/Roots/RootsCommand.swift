import ArgumentParser
import Assay
import AssayCommandLine
import AssayModels

struct RootsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "roots",
        abstract: "Check the authorities that are pinned.",
        subcommands: [RootsCheckCommand.self])
}

struct RootsCheckCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "check",
        abstract: "Compare the pinned roots with files that you fetched, and warn before an end.",
        discussion: """
            The pinned roots are Apple's, which are built in, and those of --root and of
            the configuration. For each it shows when it ends, and whether a file has it. A
            file with another certificate is a renewal of a pinned root (the same name and
            key), a root of the same name with another key, or not pinned. It asks no host:
            fetch Apple's from https://www.apple.com/certificateauthority/.

            EXAMPLES
              When do the roots end?
                assay roots check
              Does Apple publish others?
                assay roots check --config /etc/assay.toml AppleRootCA-G3.cer \\
                  AppleRootCA-G2.cer AppleIncRootCertificate.cer

            EXIT STATUS
              0  nothing to do
              1  a root ends within a year, or the files differ from what is pinned
              2  wrong usage, or a file could not be read
              3  a root ends within three months, or has ended
            """)

    @Option(
        help: ArgumentHelp("The server's configuration, TOML.", valueName: "file"),
        completion: .file())
    var config: String?

    @Option(
        name: .customLong("root"),
        help: ArgumentHelp(
            "A further pinned root, PEM or DER. Repeat for more.", valueName: "file"),
        completion: .file())
    var roots: [String] = []

    @Option(
        help: ArgumentHelp("Compare with this time, RFC 3339. (default: now)", valueName: "time"),
        transform: momentArgument)
    var at: DateArgument?

    @Option(
        help: ArgumentHelp("text or json. (default: text)", valueName: "format"),
        completion: .choices(RootsFormat.self),
        transform: choiceArgument)
    var format: RootsFormat = .text

    @Argument(
        help: ArgumentHelp("Certificates that you fetched, PEM or DER.", valueName: "file"),
        completion: .file())
    var files: [String] = []

    func run() throws {
        let report = RootsReport(
            try pinned(), try files.map(Self.fetched), at: at?.timestamp ?? .now)
        switch format {
        case .json: try Output.line(json: report.json)
        case .text: try Output.line(report.text)
        }
        switch report.urgency {
        case .none: break
        case .year: throw ExitStatus.refused
        case .threeMonths, .over: throw ExitStatus.urgent
        }
    }

    /// The roots that a server with this configuration pins, each once.
    private func pinned() throws -> [TrustAnchor] {
        let flags = ServerSettings.Flags(config: config, roots: roots)
        let settings: ServerSettings
        do {
            settings = try ServerSettings(flags: flags, environment: [:])
        } catch let problems as ConfigurationProblems {
            throw Failure(problems.all.map(\.description))
        }
        var anchors: [TrustAnchor] = []
        for anchor in settings.apps.flatMap(\.trust.allAnchors)
        where !anchors.contains(where: { $0.fingerprint == anchor.fingerprint }) {
            anchors.append(anchor)
        }
        return anchors
    }

    private static func fetched(_ path: String) throws -> FetchedRoot {
        guard let anchor = try TrustStore.empty.pinning(file: path).anchors.first else {
            throw Failure("\(path) has no certificate")
        }
        return FetchedRoot(path: path, anchor: anchor)
    }
}

/// The values of `roots check --format`.
enum RootsFormat: String, Choice {
    case text, json
}
