/// The limits of the audit log, beside those of all records.
package enum AuditLimits {
    /// Bytes of evidence in a line, 64 KiB: any token and most notifications. A receipt of
    /// megabytes is not kept in memory for its line.
    package static let evidenceBytes = 64 << 10
    /// Products of a decision, more than a customer owns.
    static let products = 64
    /// Bytes of a text that nobody signs, more than the longest type of a notification. A client
    /// can write a megabyte there.
    static let unsignedBytes = 64

    /// A text that nobody signs, unless it is longer than any that a store chooses.
    static func unsigned(_ text: String?) -> String? {
        text.flatMap { $0.utf8.count <= unsignedBytes ? $0 : nil }
    }
}
