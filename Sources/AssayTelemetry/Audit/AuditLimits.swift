/// The limits of the audit log, beside those of all records.
package enum AuditLimits {
    /// Bytes of evidence in a line, 64 KiB: any token and most notifications. A receipt of
    /// megabytes is not kept in memory for its line.
    package static let evidenceBytes = 64 << 10
    /// Products of a decision, more than a customer owns.
    static let products = 64
}
