import Synchronization

/// The lines of the audit log that wait to be written.
package final class AuditLog: RecordQueue, @unchecked Sendable {
    private let evidence = Atomic(false)

    /// Whether lines have the evidence itself.
    package var includesEvidence: Bool {
        get { evidence.load(ordering: .relaxed) }
        set { evidence.store(newValue, ordering: .relaxed) }
    }
}
