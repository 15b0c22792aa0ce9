import AssayIO
import Synchronization

/// A worker as other threads see it: where to post to it, and what it reported last.
final class Worker: Sendable {
    let index: Int
    let loop: EventLoop
    private let state = Locked(WorkerState())
    private let bound = Locked<LoopBound<WorkerLoop>?>(nil)
    /// Whether it waits for its sockets, and can verify a slice of another worker.
    private let isIdle = Atomic(false)

    init(_ index: Int, on loop: EventLoop) {
        self.index = index
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

    /// Sets whether the worker can help another one.
    func setIdle(_ idle: Bool) { isIdle.store(idle, ordering: .relaxed) }

    /// Whether the worker can verify a slice of another one.
    var canHelp: Bool { isIdle.load(ordering: .relaxed) }

    /// Takes the worker's time for a slice. Returns false if it has none.
    func takeIdle() -> Bool {
        canHelp && isIdle.exchange(false, ordering: .relaxed)
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

/// What all workers of a server share.
final class SharedResources: Sendable {
    let transport: any Transport
    /// Runs work that takes too long for a worker, whose sockets would wait.
    let background: any Executor
    /// Slices that the background threads have, of all workers.
    private let backgroundSlices = Atomic(0)
    /// Validates unknown chains, with low priority.
    let chains: any Executor
    /// The memory of all workers.
    let bytes: SharedBudget
    /// The rate at which unknown chains are validated.
    let chainRate: SharedBucket
    /// The slots of fetches.
    let fetches = SharedFetches()
    let workers: [Worker]

    init(
        _ configuration: ServerConfiguration, _ workers: [Worker], _ transport: any Transport
    ) throws(LoopError) {
        self.transport = transport
        self.workers = workers
        bytes = SharedBudget(
            limit: configuration.limits.evidenceBytes, workers: workers.count)
        chainRate = SharedBucket(perSecond: configuration.limits.unknownChainsPerSecond)
        background = try transport.makeExecutor(
            count: configuration.fixed.backgroundThreads, name: "assay-bg",
            hasLowPriority: false)
        do throws(LoopError) {
            chains = try transport.makeExecutor(
                count: 1, name: "assay-chains", hasLowPriority: true)
        } catch {
            background.stop()
            throw error
        }
    }

    /// Unknown chains that can wait on one worker.
    func chainLimit(of limits: ServerLimits) -> Int {
        max(limits.unknownChainsWaiting / workers.count, 1)
    }

    /// Background threads without a slice.
    var idleBackgroundThreads: Int {
        max(background.count - backgroundSlices.load(ordering: .relaxed), 0)
    }

    func countBackgroundSlice(_ change: Int) { backgroundSlices.add(change, ordering: .relaxed) }

    /// Applies the limits of a reload.
    func limitsDidChange(_ limits: ServerLimits) {
        bytes.limit = limits.evidenceBytes
        chainRate.change(perSecond: limits.unknownChainsPerSecond)
    }

    /// Ends the threads, after the jobs that they have.
    func stop() {
        background.stop()
        chains.stop()
    }
}
