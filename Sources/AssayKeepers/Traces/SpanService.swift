import AssayIO
public import AssayModels
public import AssayTelemetry

/// Exports a span of each request whose client records its trace, on a thread of its own. No answer
/// waits for it: spans for which there is no space, or no collector, are lost and counted.
public final class SpanService: Sendable {
    package let queue: RecordQueue
    /// Nil for a test that takes the spans itself.
    private let thread: RecordThread?

    /// How often a collector can refuse spans before they are lost. It is asked each second: after
    /// ten of them others are worth more.
    private static let attempts = 10

    /// Starts the thread. `apply` gives it a collector. The server's log receives how many spans
    /// were lost, and why; the clock, by default the system's, is the time of these messages.
    public init(
        log sink: any LogSink = StandardErrorLog(), clock: (@Sendable () -> Timestamp)? = nil
    ) throws(ServerError) {
        let log = Log(sink: sink, clock: clock ?? Log.systemClock)
        queue = RecordQueue()
        do throws(LoopError) {
            thread = try RecordThread("assay-spans", of: queue, attempts: Self.attempts) {
                log.write(span: $0)
            }
        } catch {
            throw .system(error)
        }
    }

    /// A service without a thread.
    package init(writtenElsewhere queue: RecordQueue) {
        self.queue = queue
        thread = nil
    }

    deinit { stop() }

    /// Exports what waits, and ends the thread.
    public func stop() { thread?.stop() }

    /// Sends spans by this transport from now on.
    ///
    /// - Parameters:
    ///   - transport: closed once another one is used.
    ///   - version: the server's, which spans name.
    public func apply(
        sendingBy transport: any SpanTransport, version: String
    ) throws(ServerError) {
        do throws(LoopError) {
            try thread?.use { SpanExporter(transport, version: version) }
        } catch {
            throw .system(error)
        }
    }
}

extension Log {
    /// The reasons are libcurl's and the collector's status.
    fileprivate func write(span event: RecordEvent) {
        switch event {
        case .takesNone(let error):
            // What the transport says is a whole reason.
            let reason = if case .other(let text) = error { text } else { error.description }
            write(.warning, "spans_not_exported", ["reason": .text(reason)])
        case .takesRecords: write(.info, "spans_exported_again")
        case .lost(let count):
            write(.warning, "spans_lost", ["count": .number(Int(clamping: count))])
        }
    }
}
