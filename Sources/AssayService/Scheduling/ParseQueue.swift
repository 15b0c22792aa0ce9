import AssayIO
package import AssayTelemetry
import AssayWire

/// A body to be parsed.
package struct ParseJob {
    let flow: Flow
    let id: UInt64
    /// The trace to which its request belongs; nil without one.
    let trace: RequestTrace?
    let bytes: Int
    /// Parses on a background thread. Returns what delivers the result on the loop's thread.
    let parse: @Sendable () -> @Sendable () -> Void

    package init(
        of flow: Flow, id: UInt64, _ trace: RequestTrace?, bytes: Int,
        parse: @escaping @Sendable () -> @Sendable () -> Void
    ) {
        self.flow = flow
        self.id = id
        self.trace = trace
        self.bytes = bytes
        self.parse = parse
    }

    var peer: Peer { flow.peer }

    /// The memory that the body takes as long as it is parsed, beside its own: a copy of the text,
    /// its evidence as a whole, that evidence as received bytes, and for each name and value a
    /// token and its text.
    var parsedBytes: Int {
        let values = min(bytes / Self.leastBytesPerValue, ServerLimits.jsonValues)
        return 3 * bytes + Self.bytesPerValue * values
    }

    private static let leastBytesPerValue = 2
    /// A token has 16 bytes, an entry of a list of members 48.
    private static let bytesPerValue = 64
}

/// Parses the bodies of HTTP requests on background threads: one of each connection at a time, on
/// at most half of this worker's part of the threads, and never more than the budget has memory
/// for.
///
/// Belongs to the loop's thread.
package final class ParseQueue {
    private let tasks: BackgroundTasks
    private let loop: EventLoop
    private let parallelLimit: Int
    private var waiting = ParseOrder<ParseJob>()
    /// The job whose turn it is, while it waits for memory.
    private var next: ParseJob?
    private var running = 0
    private var runningBytes = 0
    private var nanosecondsPerByte = ParseQueue.usualNanosecondsPerByte

    /// Of a body with many values; evidence alone takes a tenth.
    private static let usualNanosecondsPerByte = 10.0
    /// The weight of the latest measurement.
    private static let weight = 0.3

    init(_ tasks: BackgroundTasks, _ loop: EventLoop, threads: Int) {
        self.tasks = tasks
        self.loop = loop
        parallelLimit = max(threads / 2, 1)
    }

    var isIdle: Bool { running == 0 && next == nil && waiting.isEmpty }

    /// Nanoseconds of work that verifications wait for, on one worker. They do not wait for bodies
    /// that wait themselves.
    var nanoseconds: Double { Double(runningBytes) * nanosecondsPerByte }

    /// Adds a body. Its connection reads no further until it is parsed.
    func add(_ job: ParseJob) {
        precondition(
            !job.flow.isParsing, "a connection has one body parsed at a time")
        job.flow.isParsing = true
        // In flight, so that the connection stays until the answer.
        job.flow.inFlight.insert(job.id)
        job.peer.give(body: job.bytes)
        waiting.add(job, bytes: job.bytes, of: job.peer.bodies)
        advance()
    }

    private func advance() {
        while running < parallelLimit, let job = next ?? waiting.next() {
            next = nil
            if job.flow.isClosed {
                end(job)
            } else if job.peer.admits(job.parsedBytes) {
                start(job)
            } else if running > 0 {
                // The one that runs gives memory back.
                next = job
                return
            } else {
                end(job)
                let canFit = job.peer.canFit(job.bytes + job.parsedBytes)
                job.flow.answerAtOnce(
                    .verify, .memoryExhausted(job.id, canFit: canFit), of: job.trace)
            }
        }
    }

    private func start(_ job: ParseJob) {
        running += 1
        runningBytes += job.bytes
        job.peer.give(parsed: job.parsedBytes)
        let (parse, loop, mine) = (job.parse, loop, LoopBound((self, job), to: loop))
        tasks.perform {
            let began = loop.nanoseconds
            let deliver = parse()
            return (deliver, loop.nanoseconds - began)
        } then: { deliver, elapsed in
            let (queue, job) = mine.value
            queue.finish(job, took: elapsed, deliver)
        }
    }

    private func finish(_ job: ParseJob, took elapsed: UInt64, _ deliver: () -> Void) {
        running -= 1
        runningBytes -= job.bytes
        let measured = Double(elapsed) / Double(max(job.bytes, 1))
        nanosecondsPerByte += Self.weight * (measured - nanosecondsPerByte)
        end(job)
        if !job.flow.isClosed { deliver() }
        job.peer.takeBack(parsed: job.parsedBytes)
        advance()
    }

    /// Lets the connection go on.
    private func end(_ job: ParseJob) {
        job.peer.takeBack(body: job.bytes)
        job.flow.isParsing = false
        job.flow.inFlight.remove(job.id)
        job.flow.proceed()
    }
}
