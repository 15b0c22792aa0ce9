/// Where the lines of the audit log go, and what they have.
public struct AuditSettings: Hashable, Sendable {
    /// What takes the lines.
    public enum Destination: Hashable, Sendable {
        /// A file, by its path. It is created with mode 0600.
        case file(String)
        /// A Unix socket on which another process listens, by its path.
        case socket(String)
    }

    /// What takes the lines.
    public var destination: Destination
    /// Whether lines have the evidence itself, up to 64 KiB of it.
    public var includesEvidence: Bool

    /// Creates settings.
    public init(_ destination: Destination, includesEvidence: Bool = false) {
        self.destination = destination
        self.includesEvidence = includesEvidence
    }
}

extension AuditSettings.Destination: CustomStringConvertible {
    /// Reads a path, or `unix:` and a path.
    public init(_ text: String) {
        let prefix = "unix:"
        self =
            text.hasPrefix(prefix)
            ? .socket(String(text.dropFirst(prefix.count))) : .file(text)
    }

    public var description: String {
        switch self {
        case .file(let path): path
        case .socket(let path): "unix:" + path
        }
    }
}
