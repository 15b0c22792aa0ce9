import AssayIO
import AssayService
import AssayTelemetry

/// A worker as other threads see it: where to post to it, and what it reported last.
final class Worker: Sendable {
    let index: Int
    let loop: EventLoop
    private let state = Locked(WorkerState())
    private let bound = Locked<LoopBound<WorkerLoop>?>(nil)
    /// The same, as the services of other workers see it.
    let helper: Helper

    init(_ index: Int, on loop: EventLoop) {
        self.index = index
        helper = Helper(index)
        self.loop = loop
    }

    /// Makes the worker's state. Call it on its loop's thread, once.
    func begin(
        _ configuration: ServerConfiguration, _ shared: SharedResources
    ) throws(LoopError) {
        let made = LoopBound(try WorkerLoop(configuration, self, shared), to: loop)
        bound.withLock { $0 = made }
    }

    /// The worker's state. Only on its loop's thread.
    var current: WorkerLoop? { bound.withLock { $0 }?.value }

    /// Performs an action on the worker's thread. Does nothing after the loop has ended.
    func post(_ action: @escaping @Sendable (WorkerLoop) -> Void) {
        bound.withLock { $0 }?.post(action)
    }

    /// Performs an action on the worker's thread, and waits for its result.
    func call<Value: Sendable>(
        _ action: @escaping @Sendable (WorkerLoop) -> Value
    ) throws(LoopError) -> Value {
        guard let bound = bound.withLock({ $0 }) else { throw .cancelled }
        return try loop.call { () throws(LoopError) in action(bound.value) }
    }

    /// What the worker held and had counted a moment ago.
    var lastState: WorkerState { state.withLock { $0 } }

    func report(_ new: WorkerState) { state.withLock { $0 = new } }
}

/// What a worker reports several times a second.
struct WorkerState: Sendable {
    var metrics = ServerMetrics()
    var heldResources = HeldResources()
    var traffic = LoopTraffic()
    /// When it was reported, in nanoseconds of the monotonic clock; nil before the first report.
    var reportedAt: UInt64?
    /// Whether the worker's drain has ended: it reports no more.
    var hasEnded = false
}
