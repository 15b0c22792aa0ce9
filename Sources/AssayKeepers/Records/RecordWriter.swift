import AssayIO
import AssayTelemetry

/// Writes records to their destination: lines of the audit log, or spans. One thread uses it.
final class RecordWriter {
    private let queue: RecordQueue
    /// How often the destination can refuse a chunk before its records are lost; nil for ever.
    private let attempts: Int?
    /// Milliseconds of a clock that goes on while a turn lasts.
    private let clock: () -> UInt64
    private let report: (RecordEvent) -> Void
    private var sink: (any RecordSink)?
    /// Records that were taken and are not written.
    private var chunks: [RecordQueue.Chunk] = []
    /// Bytes of the first chunk that are written.
    private var written = 0
    /// When a destination that failed is used again, in milliseconds.
    private var retryAt: UInt64 = 0
    /// Why the destination takes no records; nil if it does.
    private var problem: LoopError?
    /// How often in a row the first chunk was refused.
    private var refusals = 0
    private var lastReport: UInt64?
    private var reportedLost: UInt64 = 0

    /// - Parameters:
    ///   - clock: milliseconds of a clock that goes on while a turn lasts.
    ///   - report: called with what becomes of records.
    init(
        _ queue: RecordQueue, attempts: Int? = nil, clock: @escaping () -> UInt64,
        report: @escaping (RecordEvent) -> Void
    ) {
        self.queue = queue
        self.attempts = attempts
        self.clock = clock
        self.report = report
    }

    /// Uses this destination from now on. One that can't be opened changes nothing.
    func use(_ new: any RecordSink) throws(LoopError) {
        try new.open()
        rewind()
        sink = new
        retryAt = 0
    }

    /// Writes the records that wait, and reports those that were lost.
    ///
    /// - Parameter now: milliseconds of a clock that never steps back.
    func turn(at now: UInt64) {
        if now >= retryAt { write(at: now, within: RecordLimits.turnMilliseconds) }
        reportLost(at: now)
    }

    /// Writes what waits for the last time. Records that the destination does not take soon are
    /// lost.
    func finish(at now: UInt64) {
        write(at: now, within: RecordLimits.lastTurnMilliseconds)
        for chunk in chunks { queue.didLose(chunk) }
        chunks = []
        lastReport = nil
        reportLost(at: now)
    }

    private func write(at now: UInt64, within milliseconds: UInt64) {
        chunks += queue.take()
        guard !chunks.isEmpty, let sink else { return }
        let end = clock() + milliseconds
        do throws(LoopError) {
            try sink.prepare()
            while let chunk = chunks.first {
                while written < chunk.bytes.count {
                    guard clock() < end else { return }
                    let count = try sink.write(chunk.bytes, from: written)
                    guard count > 0 else { return }
                    written += count
                }
                (written, refusals) = (0, 0)
                chunks.removeFirst()
                queue.didWrite(chunk)
            }
            if problem.take() != nil { report(.takesRecords) }
        } catch {
            rewind()
            retryAt = now + RecordLimits.retryMilliseconds
            if problem != error { report(.takesNone(error)) }
            problem = error
            loseRefused()
        }
    }

    /// Loses the first chunk where it was refused too often: the next one is possibly accepted.
    private func loseRefused() {
        refusals += 1
        guard let attempts, refusals >= attempts, !chunks.isEmpty else { return }
        queue.didLose(chunks.removeFirst())
        (written, refusals) = (0, 0)
    }

    /// Goes back to the beginning of the line that was not written to its end.
    private func rewind() {
        guard written > 0, let chunk = chunks.first else { return }
        written = chunk.bytes[..<written].lastIndex(of: UInt8(ascii: "\n")).map { $0 + 1 } ?? 0
    }

    private func reportLost(at now: UInt64) {
        let lost = queue.counts.lost
        guard lost > reportedLost else { return }
        if let lastReport, now < lastReport + RecordLimits.reportMilliseconds { return }
        report(.lost(lost - reportedLost))
        (lastReport, reportedLost) = (now, lost)
    }
}

/// What a writer of records reports to the log.
enum RecordEvent: Equatable {
    /// The destination takes no records.
    case takesNone(LoopError)
    /// The destination takes records again.
    case takesRecords
    /// The number of records that were lost since the last report.
    case lost(UInt64)
}
