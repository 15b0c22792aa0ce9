public import Assay
import AssayTelemetry

/// A file with keys that a policy accepts.
public struct KeyFile: Sendable {
    /// The file: a JWK Set.
    public let path: String
    /// Takes the keys of the file.
    public let keys: PushKeys

    /// Creates a description of a file.
    public init(path: String, keys: PushKeys) {
        self.path = path
        self.keys = keys
    }
}

/// Reads files of keys again when they change. One thread uses it.
final class KeyFileKeeper {
    private var files: [KeyFile] = []
    private var watched = WatchedFiles()
    /// The last problem of a path, so that it is reported once.
    private var problems: [String: String] = [:]
    private let report: (KeyFileEvent) -> Void

    /// - Parameter report: called with what becomes of a file.
    init(report: @escaping (KeyFileEvent) -> Void) { self.report = report }

    /// Takes other files, and reads all of them.
    func apply(_ files: [KeyFile]) {
        self.files = files
        problems = [:]
        look(all: true)
    }

    /// Reads the files that changed. Keys of a file that can't be used any more stay: one that is
    /// being written must not refuse all pushes.
    func look(all: Bool = false) {
        let changes = watched.look(at: files.map(\.path), all: all)
        for (path, content) in changes.changed {
            do throws(PushKeysError) {
                for file in files where file.path == path { try file.keys.replace(content) }
                problems[path] = nil
                if !all { report(.read(path: path)) }
            } catch {
                note(path, error.description)
            }
        }
        for (path, problem) in changes.problems { note(path, problem) }
    }

    private func note(_ path: String, _ problem: String) {
        guard problems.updateValue(problem, forKey: path) != problem else { return }
        report(.notUsed(path: path, reason: problem))
    }
}

/// What a keeper of key files reports to the log.
enum KeyFileEvent: Equatable {
    case read(path: String)
    case notUsed(path: String, reason: String)
}
