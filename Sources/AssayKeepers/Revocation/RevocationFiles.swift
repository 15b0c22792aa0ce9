package import AssayIO
import AssayTelemetry

/// Files of OCSP responses and CRLs.
package enum RevocationFiles {
    /// The limit of a file: no document can be larger, as DER or as PEM.
    package static let largest = RevocationLimits.fileBytes

    /// The files of a folder, in byte order and without hidden ones, or the file itself.
    package static func expanded(_ path: String) throws(LoopError) -> [String] {
        guard let names = try SystemFile.files(in: path) else { return [path] }
        return names.filter { !$0.hasPrefix(".") && !$0.hasSuffix(".new") }
            .map { (path.hasSuffix("/") ? path : path + "/") + $0 }
    }
}

/// Files that are read again when they change.
struct WatchedFiles {
    private var stamps: [String: FileStamp] = [:]

    /// What differs from the last look.
    struct Changes {
        var changed: [(path: String, content: [UInt8])] = []
        var removed: [String] = []
        /// Paths that can't be read, and why.
        var problems: [(path: String, problem: String)] = []
    }

    /// Looks at the files, and reads those that changed.
    ///
    /// - Parameter all: whether to read the others as well.
    mutating func look(at paths: [String], all: Bool = false) -> Changes {
        var changes = Changes()
        var seen: Set<String> = []
        for path in paths {
            do throws(LoopError) {
                for file in try RevocationFiles.expanded(path) where seen.insert(file).inserted {
                    try read(file, all, &changes)
                }
            } catch {
                seen.insert(path)
                changes.problems.append((path, error.description))
            }
        }
        for path in stamps.keys.filter({ !seen.contains($0) }).sorted() {
            stamps[path] = nil
            changes.removed.append(path)
        }
        return changes
    }

    private mutating func read(
        _ file: String, _ all: Bool, _ changes: inout Changes
    ) throws(LoopError) {
        do throws(LoopError) {
            let stamp = try SystemFile.stamp(file)
            guard all || stamps[file] != stamp else { return }
            guard let content = try SystemFile.read(file, limit: RevocationFiles.largest) else {
                stamps[file] = stamp
                changes.problems.append(
                    (file, "it is larger than \(RevocationFiles.largest) bytes"))
                return
            }
            stamps[file] = stamp
            changes.changed.append((file, content))
        } catch {
            // A file that can't be read any more says nothing any more.
            if stamps.removeValue(forKey: file) != nil { changes.removed.append(file) }
            changes.problems.append((file, error.description))
        }
    }
}
