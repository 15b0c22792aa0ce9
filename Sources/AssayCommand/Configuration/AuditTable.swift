import AssayCommandLine
import AssayServer

/// `[audit]`: where the lines of the audit log go; nowhere by default.
struct AuditTable {
    var destination: AuditSettings.Destination?
    var includesEvidence = false

    init() {}

    /// Reads the table; notes problems in it.
    init(_ table: ConfigurationTable?, folder: String) {
        guard let table else { return }
        includesEvidence = table.bool("evidence") ?? false
        if let text = table.string("to") {
            destination = Self.destination(text, folder: folder)
            if destination == nil { table.note("to", "empty", Self.remedy) }
        } else if !table.has("to") {
            table.note("to", "missing", Self.remedy)
        }
        table.finish()
    }

    private static let remedy =
        "write the path of a file, or unix: and the path of a socket, such as "
        + "\"/var/log/assay/audit.jsonl\""

    /// Reads a path, or `unix:` and a path; nil if it is empty. A path is relative to the folder.
    static func destination(
        _ text: String, folder: String
    ) -> AuditSettings.Destination? {
        switch AuditSettings.Destination(text) {
        case .file(""), .socket(""): nil
        case .file(let path): .file(FetchSettings.path(path, folder))
        // The name of an abstract socket is no path.
        case .socket(let path):
            .socket(path.hasPrefix("@") ? path : FetchSettings.path(path, folder))
        }
    }

    /// The same, with what a flag or a variable says instead.
    func writing(to text: String?, evidence: Bool) throws(Failure) -> AuditTable {
        var table = self
        if let text {
            guard let named = Self.destination(text, folder: "") else {
                throw Failure("--audit is empty: name a file, or unix: and the path of a socket")
            }
            table.destination = named
        }
        table.includesEvidence = includesEvidence || evidence
        return table
    }

    /// Writes the audit log, by these settings: an earlier service goes on, and opens its file
    /// again.
    ///
    /// - Returns: nil where there is no destination.
    func service(
        reusing earlier: AuditService?, _ sink: any LogSink
    ) throws(Failure) -> AuditService? {
        guard let destination else { return nil }
        do throws(ServerError) {
            let service = if let earlier { earlier } else { try AuditService(log: sink) }
            try service.apply(
                AuditSettings(destination, includesEvidence: includesEvidence))
            return service
        } catch {
            throw Failure("audit: can't write to \(destination): \(error)")
        }
    }

    /// What `serve --check` says about it.
    var summary: String {
        guard let destination else { return "off" }
        return "\(destination)" + (includesEvidence ? ", with the evidence" : "")
    }
}
