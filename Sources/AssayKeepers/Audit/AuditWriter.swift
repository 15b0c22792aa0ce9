import AssayIO
import AssayTelemetry

/// Writes the lines of the audit log to their destination. One thread uses it.
final class AuditWriter {
    private let log: AuditLog
    private let report: (AuditEvent) -> Void
    private var sink: (any AuditSink)?
    /// Lines that were taken and are not written.
    private var chunks: [AuditLog.Chunk] = []
    /// Bytes of the first chunk that are written.
    private var written = 0
    /// When a destination that failed is used again, in milliseconds.
    private var retryAt: UInt64 = 0
    /// Why the destination takes no lines; nil if it does.
    private var problem: LoopError?
    private var lastReport: UInt64?
    private var reportedLost: UInt64 = 0

    /// - Parameter report: called with what becomes of lines.
    init(_ log: AuditLog, report: @escaping (AuditEvent) -> Void) {
        self.log = log
        self.report = report
    }

    /// Uses this destination from now on. One that can't be opened changes nothing.
    func use(_ new: any AuditSink) throws(LoopError) {
        try new.open()
        rewind()
        sink = new
        retryAt = 0
    }

    /// Writes the lines that wait, and reports those that were lost.
    ///
    /// - Parameter now: milliseconds of a clock that never steps back.
    func turn(at now: UInt64) {
        if now >= retryAt { write(at: now) }
        reportLost(at: now)
    }

    /// Writes what waits for the last time. Lines that the destination does not take are lost.
    func finish(at now: UInt64) {
        write(at: now)
        for chunk in chunks { log.didLose(chunk) }
        chunks = []
        lastReport = nil
        reportLost(at: now)
    }

    private func write(at now: UInt64) {
        chunks += log.take()
        guard !chunks.isEmpty, let sink else { return }
        do throws(LoopError) {
            try sink.prepare()
            while let chunk = chunks.first {
                while written < chunk.bytes.count {
                    let count = try sink.write(chunk.bytes, from: written)
                    guard count > 0 else { return }
                    written += count
                }
                written = 0
                chunks.removeFirst()
                log.didWrite(chunk)
            }
            if problem.take() != nil { report(.takesLines) }
        } catch {
            rewind()
            retryAt = now + AuditLimits.retryMilliseconds
            if problem != error { report(.takesNone(error)) }
            problem = error
        }
    }

    /// Goes back to the beginning of the line that was not written to its end.
    private func rewind() {
        guard written > 0, let chunk = chunks.first else { return }
        written = chunk.bytes[..<written].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    }

    private func reportLost(at now: UInt64) {
        let lost = log.counts.lost
        guard lost > reportedLost else { return }
        if let lastReport, now < lastReport + AuditLimits.reportMilliseconds { return }
        report(.lost(lost - reportedLost))
        (lastReport, reportedLost) = (now, lost)
    }
}

/// What a writer of the audit log reports to the log.
enum AuditEvent: Equatable {
    /// The destination takes no lines.
    case takesNone(LoopError)
    /// The destination takes lines again.
    case takesLines
    /// The number of lines that were lost since the last report.
    case lost(UInt64)
}
