import AssayIO
import AssayTelemetry

/// The thread that writes the records of a queue.
final class RecordThread: Sendable {
    private let queue: RecordQueue
    private let loop: EventLoop
    private let writer: LoopBound<RecordWriter>

    /// Starts the thread. `use` gives it a destination.
    ///
    /// - Parameters:
    ///   - attempts: how often the destination can refuse records before they are lost; nil for
    ///     ever.
    ///   - report: called with what becomes of records, on the thread.
    init(
        _ name: String, of queue: RecordQueue, attempts: Int? = nil,
        report: @escaping @Sendable (RecordEvent) -> Void
    ) throws(LoopError) {
        let loop = try EventLoop(name: name)
        try loop.start()
        let writer = try loop.call { () throws(LoopError) in
            let writer = RecordWriter(
                queue, attempts: attempts, clock: { loop.nanoseconds / 1_000_000 }, report: report)
            let timer = try Timer(on: loop)
            timer.start(
                afterMilliseconds: RecordLimits.writeMilliseconds,
                everyMilliseconds: RecordLimits.writeMilliseconds
            ) { writer.turn(at: loop.now) }
            return LoopBound(writer, to: loop)
        }
        queue.whenFull { loop.post { writer.value.turn(at: loop.now) } }
        (self.queue, self.loop, self.writer) = (queue, loop, writer)
    }

    /// Writes to this destination from now on. It is opened before this returns.
    func use(
        _ makeSink: @escaping @Sendable () throws(LoopError) -> any RecordSink
    ) throws(LoopError) {
        try loop.call { [writer] () throws(LoopError) in try writer.value.use(makeSink()) }
    }

    /// Writes what waits, as far as the destination takes it soon, and ends the thread.
    func stop() {
        queue.whenFull {}
        loop.post { [writer, loop] in writer.value.finish(at: loop.now) }
        loop.stop()
        if !loop.isCurrent { loop.join() }
    }
}
