import ArgumentParser
import Assay
import AssayBytes
import AssayCommandLine
import AssayIO
import AssayModels
import AssayServer

struct RevocationCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "revocation",
        abstract: "Show what a server knows of the revocation of certificates.",
        subcommands: [RevocationStatusCommand.self])
}

struct RevocationStatusCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "status",
        abstract: "Show each certificate's status: what it is, how old, and where it is from.",
        discussion: """
            Reads what the server writes into the folder state of [revocation], whether it
            runs or not. Shows the certificates of chains that validated since the server
            started; why a response is not used; when a status is asked for again, or why
            not; and files that can't be used.

            EXAMPLES
              assay revocation status --config /etc/assay.toml
              assay revocation status /var/lib/assay/revocation
              assay revocation status --format json /var/lib/assay/revocation

            EXIT STATUS
              0  no certificate is revoked
              1  a certificate is revoked
              2  wrong usage, or the folder has no report
            """)

    @Option(
        help: ArgumentHelp(
            "The server's configuration, which names the folder.", valueName: "file"),
        completion: .file())
    var config: String?

    @Option(
        help: ArgumentHelp("text or json. (default: text)", valueName: "format"),
        completion: .choices(RevocationFormat.self),
        transform: choiceArgument)
    var format: RevocationFormat = .text

    @Argument(
        help: ArgumentHelp("The folder state of [revocation].", valueName: "folder"),
        completion: .directory)
    var folder: String?

    func validate() throws {
        guard (config == nil) != (folder == nil) else {
            throw ValidationError("name the folder state of [revocation], or --config FILE")
        }
    }

    func run() throws {
        let folder = try folder ?? configured()
        let path = folder + (folder.hasSuffix("/") ? "" : "/") + RevocationReport.fileName
        guard let text = try Input.readIfPresent(path) else {
            throw Failure(
                "\(path) does not exist: the server writes it once [revocation] has a mode and "
                    + "this folder as state")
        }
        let report: RevocationStatusText
        do throws(JSONError) {
            report = RevocationStatusText(try JSONDocument.parse(text), at: .now)
        } catch {
            throw Failure("\(path) is not a report: \(error)")
        }
        switch format {
        case .json: try Output.line(json: text)
        case .text: try Output.line(report.text)
        }
        if report.hasRevoked { throw ExitStatus.refused }
    }

    /// The folder that the configuration names.
    private func configured() throws -> String {
        let path = config ?? ""
        let text = try Input.read(path)
        let table: ConfigurationTable
        do throws(ConfigurationProblem) {
            table = try ConfigurationTable.parse(text, file: path)
        } catch {
            throw Failure(error.description)
        }
        let folder = path.lastIndex(of: "/").map { String(path[...$0]) } ?? ""
        guard let state = table.table("revocation")?.string("state") else {
            throw Failure("\(path) has no state in [revocation]: the server keeps no report")
        }
        return FetchSettings.path(state, folder)
    }
}

/// The values of `revocation status --format`.
enum RevocationFormat: String, Choice {
    case text, json
}

/// The text of a report.
struct RevocationStatusText {
    private(set) var lines: [String] = []
    private(set) var hasRevoked = false
    private let now: Timestamp

    var text: String { lines.joined(separator: "\n") }

    init(_ report: JSONDocument, at now: Timestamp) {
        self.now = now
        let root = report.root
        let count = root["documents"]?.int64 ?? 0
        lines.append(
            "written \(age(root["writtenAt"]?.string)) ago; \(count) responses and CRLs loaded")
        let certificates = root["certificates"]?.elements.map { Array($0) } ?? []
        if certificates.isEmpty {
            lines.append("no chain has validated since the server started")
        }
        for certificate in certificates { add(certificate) }
        for file in root["files"]?.elements.map({ Array($0) }) ?? [] {
            lines.append("not used: \(string(file, "path")): \(string(file, "problem"))")
        }
    }

    private mutating func add(_ certificate: JSONValue) {
        lines.append(
            "\(string(certificate, "position")) \(string(certificate, "name")), serial "
                + string(certificate, "serial"))
        let status = string(certificate, "status")
        var line = "  " + (status == "none" ? "no status" : status)
        if status == "revoked" {
            hasRevoked = true
            line += " since \(string(certificate, "revokedAt")) (\(string(certificate, "reason")))"
        }
        if status != "none" { line += ", \(age(certificate["thisUpdate"]?.string)) old" }
        if let end = certificate["nextUpdate"]?.string {
            let isStale = (RFC3339.timestamp(end) ?? now) < now
            line += isStale ? ", STALE since \(end)" : ", until \(end)"
        }
        lines.append(line)
        if let source = certificate["source"]?.string { lines.append("  from \(source)") }
        if let next = certificate["nextRefresh"]?.string {
            lines.append("  asked for again at \(next)")
        }
        if let reason = certificate["notAsked"]?.string {
            lines.append("  not asked for: \(reason)")
        }
        if let failures = certificate["failures"]?.int64, failures > 0 {
            lines.append("  \(failures) requests failed in a row")
        }
        for problem in certificate["problems"]?.elements.map({ Array($0) }) ?? [] {
            lines.append("  problem: \(problem.string ?? "?")")
        }
    }

    private func string(_ value: JSONValue, _ name: String) -> String {
        value[name]?.string ?? "?"
    }

    /// The time since a date, in its largest units.
    private func age(_ date: String?) -> String {
        guard let date, let time = RFC3339.timestamp(date) else { return "some time" }
        let seconds = max(0, now.seconds - time.seconds)
        switch seconds {
        case 0..<120: return "\(seconds) s"
        case 120..<7200: return "\(seconds / 60) min"
        case 7200..<172_800: return "\(seconds / 3600) h"
        default: return "\(seconds / 86_400) days"
        }
    }
}
