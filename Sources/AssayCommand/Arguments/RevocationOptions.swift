import ArgumentParser
import Assay
import AssayCommandLine
import AssayIO
import AssayModels
import AssayServer

/// The options of revocation statuses.
struct RevocationOptions: ParsableArguments {
    @Option(
        name: .customLong("revocation"),
        help: ArgumentHelp(
            "Use the revocation statuses of this file: an OCSP response, or a CRL. Of a folder, "
                + "of each file. Repeat for more.",
            valueName: "file"),
        completion: .file())
    var files: [String] = []

    @Option(
        name: .customLong("revocation-mode"),
        help: ArgumentHelp(
            "soft refuses revoked certificates; hard also those without a good and current "
                + "status. (default: off; with --revocation, soft)",
            valueName: "mode"),
        completion: .choices(RevocationChoice.self),
        transform: choiceArgument)
    var mode: RevocationChoice?

    @Option(
        name: .customLong("revocation-max-age"),
        help: ArgumentHelp(
            "With --revocation-mode hard: how old a good status can be. "
                + "(default: \(RevocationChoice.defaultHours))",
            valueName: "hours"),
        transform: hoursArgument)
    var maximumAge: Duration?

    func check(_ remote: ServerOptions) throws {
        if remote.server != nil, !files.isEmpty || mode != nil {
            throw ValidationError(
                "--revocation can't be used with --server: a server uses the statuses of its own "
                    + "configuration")
        }
        if !files.isEmpty, mode == .off {
            throw ValidationError("--revocation-mode off uses no files: leave out --revocation")
        }
        if maximumAge != nil, mode != .hard {
            throw ValidationError("--revocation-max-age needs --revocation-mode hard")
        }
    }

    var policy: RevocationPolicy {
        (mode ?? (files.isEmpty ? .off : .soft)).policy(maximumAge: maximumAge)
    }

    /// The statuses of the files. One that can't be used is an error where each certificate needs a
    /// status, and a warning otherwise, as a server does it.
    func statuses(at now: Timestamp) throws -> RevocationStatuses {
        let statuses = RevocationStatuses()
        for path in try files.flatMap(Self.expanded) {
            let content = try Input.read(path, limit: RevocationFiles.largest)
            do throws(RevocationError) {
                try statuses.add(content, named: path, at: now)
            } catch {
                guard mode != .hard else { throw Failure("\(path) can't be used: \(error)") }
                Output.note("assay: warning: \(path) can't be used: \(error)")
            }
        }
        return statuses
    }

    /// The files of a folder, or the file itself.
    private static func expanded(_ path: String) throws -> [String] {
        do throws(LoopError) {
            return try RevocationFiles.expanded(path)
        } catch {
            throw Failure("can't read \(path): \(error)")
        }
    }
}

/// The values of `--revocation-mode`, and of `mode` in the configuration.
enum RevocationChoice: String, Choice {
    case off, soft, hard

    /// Longer than Apple's OCSP responses are valid, and shorter than its CRLs.
    static let defaultHours = 168

    func policy(maximumAge: Duration?) -> RevocationPolicy {
        switch self {
        case .off: .off
        case .soft: .soft
        case .hard: .hard(maximumAge: maximumAge ?? .seconds(Self.defaultHours * 3600))
        }
    }
}

/// Parses a positive number of hours, up to ten years.
@Sendable func hoursArgument(_ text: String) throws -> Duration {
    guard let hours = Int64(text), (1...87_600).contains(hours) else {
        throw ValidationError("\"\(text)\" is not a number of hours from 1 to 87600")
    }
    return .seconds(hours * 3600)
}
