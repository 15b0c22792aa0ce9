import AssayIO
public import AssayModels
public import AssayTelemetry

/// A server's audit log: a line for each answer, written on a thread of its own. No answer waits
/// for it: lines for which there is no space are lost and counted.
public final class AuditService: Sendable {
    package let log: AuditLog
    /// Nil for a test that writes itself.
    private let thread: RecordThread?

    /// Starts the thread. `apply` gives it a destination. The server's log receives how many lines
    /// were lost, and why; the clock, by default the system's, is the time of these messages.
    public init(
        log sink: any LogSink = StandardErrorLog(), clock: (@Sendable () -> Timestamp)? = nil
    ) throws(ServerError) {
        let log = Log(sink: sink, clock: clock ?? Log.systemClock)
        self.log = AuditLog()
        do throws(LoopError) {
            thread = try RecordThread("assay-audit", of: self.log) { log.write(audit: $0) }
        } catch {
            throw .system(error)
        }
    }

    /// A service without a thread.
    package init(writtenElsewhere log: AuditLog) {
        self.log = log
        thread = nil
    }

    deinit { stop() }

    /// Writes what waits, and ends the thread.
    public func stop() { thread?.stop() }

    /// Uses these settings from now on. A file is opened before this returns, and opened again if
    /// it was already: the old one possibly has another name.
    public func apply(_ settings: AuditSettings) throws(ServerError) {
        log.includesEvidence = settings.includesEvidence
        do throws(LoopError) {
            try thread?.use { () throws(LoopError) -> any RecordSink in
                switch settings.destination {
                case .file(let path): AuditFile(path)
                case .socket(let path): AuditSocket(path)
                }
            }
        } catch {
            throw .system(error)
        }
    }
}

extension Log {
    /// The reasons are the system's.
    fileprivate func write(audit event: RecordEvent) {
        switch event {
        case .takesNone(let error):
            write(.error, "audit_not_written", ["reason": .text(error.description)])
        case .takesRecords: write(.info, "audit_written_again")
        case .lost(let count):
            write(.error, "audit_lines_lost", ["count": .number(Int(clamping: count))])
        }
    }
}
