import AssayIO
public import AssayModels
public import AssayTelemetry

/// A server's audit log: a line for each answer, written on a thread of its own. No answer waits
/// for it: lines for which there is no space are lost and counted.
public final class AuditService: Sendable {
    package let log: AuditLog
    /// The thread, and what it writes with; nil for a test that writes itself.
    private let thread: (loop: EventLoop, writer: LoopBound<AuditWriter>)?

    /// Starts the thread. `apply` gives it a destination. The server's log receives how many lines
    /// were lost, and why; the clock, by default the system's, is the time of these messages.
    public init(
        log sink: any LogSink = StandardErrorLog(), clock: (@Sendable () -> Timestamp)? = nil
    ) throws(ServerError) {
        let log = Log(sink: sink, clock: clock ?? Log.systemClock)
        let lines = AuditLog()
        do throws(LoopError) {
            let loop = try EventLoop(name: "assay-audit")
            try loop.start()
            let writer = try loop.call { () throws(LoopError) in
                let writer = AuditWriter(lines) { log.write($0) }
                let timer = try Timer(on: loop)
                timer.start(
                    afterMilliseconds: AuditLimits.writeMilliseconds,
                    everyMilliseconds: AuditLimits.writeMilliseconds
                ) { writer.turn(at: loop.now) }
                return LoopBound(writer, to: loop)
            }
            lines.whenFull { loop.post { writer.value.turn(at: loop.now) } }
            thread = (loop, writer)
        } catch {
            throw .system(error)
        }
        self.log = lines
    }

    /// A service without a thread.
    package init(writtenElsewhere log: AuditLog) {
        self.log = log
        thread = nil
    }

    deinit { stop() }

    /// Writes what waits, and ends the thread.
    public func stop() {
        guard let (loop, writer) = thread else { return }
        log.whenFull {}
        loop.post { writer.value.finish(at: loop.now) }
        loop.stop()
        if !loop.isCurrent { loop.join() }
    }

    /// Uses these settings from now on. A file is opened before this returns, and opened again if
    /// it was already: the old one possibly has another name.
    public func apply(_ settings: AuditSettings) throws(ServerError) {
        log.includesEvidence = settings.includesEvidence
        guard let (loop, writer) = thread else { return }
        do throws(LoopError) {
            try loop.call { () throws(LoopError) in
                switch settings.destination {
                case .file(let path): try writer.value.use(AuditFile(path))
                case .socket(let path): try writer.value.use(AuditSocket(path))
                }
            }
        } catch {
            throw .system(error)
        }
    }
}

extension Log {
    /// The reasons are the system's.
    fileprivate func write(_ event: AuditEvent) {
        switch event {
        case .takesNone(let error):
            write(.error, "audit_not_written", ["reason": .text(error.description)])
        case .takesLines: write(.info, "audit_written_again")
        case .lost(let count):
            write(.error, "audit_lines_lost", ["count": .number(Int(clamping: count))])
        }
    }
}
