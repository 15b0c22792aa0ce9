import AssayIO
import AssayModels
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssayTelemetry

/// A server whose sockets, clock and threads are simulated. Nothing happens unless the test says
/// so, and a seed repeats it.
final class SimulatedServer {
    let world: SimulatedWorld
    /// The thread of the listeners, and those of the workers.
    private let threads: [SimulatedThread]
    private let workers: [Worker]
    private let transport: SimulatedTransport
    private(set) var supervisor: Supervisor!
    private let shared: SharedResources
    let log = LogLines()
    let verifier: Verifier
    private let reported = Locked<[ServerEvent]>([])
    private(set) var configuration: ServerConfiguration!
    private let running: Locked<Running>

    /// Which thread runs: 0 for that of the listeners, -1 for one of the background.
    private struct Running: Sendable {
        var thread = -1
        var sliceNanoseconds: UInt64
        /// The slices of each thread.
        var slices: [Int: Int] = [:]
    }

    /// The slices that each thread has verified: the workers' from 1 on.
    var slices: [Int: Int] {
        get { running.withLock { $0.slices } }
        set { running.withLock { $0.slices = newValue } }
    }

    /// How long a slice of verifications takes.
    var sliceNanoseconds: UInt64 {
        get { running.withLock { $0.sliceNanoseconds } }
        set { running.withLock { $0.sliceNanoseconds = newValue } }
    }

    static let frames = Endpoint.unix(path: "/simulated/frames")
    static let http = Endpoint.http(host: "127.0.0.1", port: 7445)

    /// - Parameter sliceNanoseconds: how long a slice of verifications takes.
    init(
        seed: UInt64 = 1, sliceNanoseconds: UInt64 = 50_000,
        _ change: (inout ServerConfiguration) -> Void = { _ in }
    ) throws {
        let world = SimulatedWorld(seed: seed)
        self.world = world
        running = Locked(Running(sliceNanoseconds: sliceNanoseconds))
        verifier = try Minted.verifier()
        var configuration = ServerConfiguration(
            listen: [Self.frames, Self.http],
            apps: ["game": AppEntry(verifier: verifier, policy: Minted.policy)],
            defaultApp: "game", workers: 2, version: "test", log: log,
            clock: { [running] in
                // Each slice begins with a look at the clock.
                world.pass(
                    nanoseconds: running.withLock {
                        $0.slices[$0.thread, default: 0] += 1
                        return $0.sliceNanoseconds
                    })
                return Minted.now
            })
        change(&configuration)
        self.configuration = configuration
        let transport = SimulatedTransport()
        let threads = (0...configuration.workers).map { SimulatedThread($0, world) }
        let workers = threads.dropFirst().enumerated().map { Worker($0, on: $1.loop) }
        let shared = try SharedResources(
            configuration.limits, workers.map(\.helper), transport,
            backgroundThreads: configuration.fixed.backgroundThreads)
        (self.transport, self.threads, self.workers, self.shared) =
            (transport, threads, workers, shared)
        for thread in threads {
            thread.driver.runElsewhere = { [transport] in transport.runNext() }
        }
        for (worker, thread) in zip(workers, threads.dropFirst()) {
            try thread.run { () throws(LoopError) in try worker.begin(configuration, shared) }
        }
        let (reported, listeners) = (reported, threads[0])
        supervisor = try listeners.run { () throws(LoopError) in
            let supervisor = try Supervisor(
                configuration, on: listeners.loop, workers, shared, transport
            ) {
                event in reported.withLock { $0.append(event) }
            }
            for endpoint in configuration.fixed.listenOnAll {
                _ = try supervisor.acceptor.listen(on: endpoint)
            }
            return supervisor
        }
        runUntilIdle()
    }

    /// Performs an action as the thread of the listeners.
    private func onListeners<Value>(_ action: () -> Value) -> Value {
        try! threads[0].run { () throws(LoopError) in action() }
    }

    var events: [ServerEvent] { reported.withLock { $0 } }

    var hasEnded: Bool {
        events.contains { if case .ended = $0 { true } else { false } }
    }

    /// What all workers hold now.
    var heldResources: HeldResources {
        var sum = HeldResources()
        for (worker, thread) in zip(workers, threads.dropFirst()) {
            thread.perform(on: worker) { sum.add($0.heldResources) }
        }
        return sum
    }

    /// Performs an action on each worker, as its thread.
    func forEachWorker(_ action: (Int, WorkerLoop) -> Void) {
        for (index, (worker, thread)) in zip(workers, threads.dropFirst()).enumerated() {
            thread.perform(on: worker) { action(index, $0) }
        }
    }

    /// The number of connections of each worker.
    var connectionsOfWorkers: [Int] {
        zip(workers, threads.dropFirst()).map { worker, thread in
            var count = 0
            thread.perform(on: worker) { count = $0.connections.count }
            return count
        }
    }

    /// What all workers have counted.
    var metrics: ServerMetrics {
        var sum = supervisor.context.telemetry.metrics
        for (worker, thread) in zip(workers, threads.dropFirst()) {
            thread.perform(on: worker) { sum.add($0.context.telemetry.metrics) }
        }
        return sum
    }

    /// Bytes that all workers have borrowed of the server's memory, and its limit.
    var borrowed: (bytes: Int, limit: Int) { (shared.bytes.memory.borrowed, shared.bytes.limit) }

    var limits: ServerLimits { supervisor.context.limits }

    /// Sockets that are not closed.
    var socketCount: Int { threads.reduce(0) { $0 + $1.driver.socketCount } }

    // MARK: Events

    /// Whether the background threads do nothing.
    var holdsBackground = false

    /// Connects a client.
    func connect(
        to endpoint: Endpoint = frames, from peer: PeerKey = .user(1_000),
        sendBuffer: Int = 64 << 10
    ) -> SimulatedPeer {
        let wire = SimulatedWire(from: peer, sendBuffer: sendBuffer)
        onListeners { transport.connect(wire, to: endpoint, on: threads[0], world) }
        return SimulatedPeer(wire)
    }

    /// Whether nothing can run without time passing.
    var isIdle: Bool { !threads.contains(where: \.driver.isReady) && !transport.hasWork }

    /// Runs one thing that can run, by chance. Returns false if there is nothing.
    @discardableResult
    func step() -> Bool {
        var choices: [() -> Void] = []
        for (index, thread) in threads.enumerated() where thread.driver.isReady {
            choices.append { [running] in
                running.withLock { $0.thread = index }
                thread.driver.turn(of: thread.loop)
                running.withLock { $0.thread = -1 }
            }
        }
        if transport.hasWork, !holdsBackground {
            choices.append { [transport] in _ = transport.runNext() }
        }
        guard !choices.isEmpty else { return false }
        choices[world.number(below: choices.count)]()
        return true
    }

    /// Runs until nothing is left to do without time passing.
    func runUntilIdle() {
        for _ in 0..<Self.mostSteps where !step() { return }
        Issue.record("the server does not come to rest")
    }

    private static let mostSteps = 100_000

    /// Runs until a condition holds, and lets time pass where nothing else is left to do. Returns
    /// false if it does not hold then.
    func run(until condition: () -> Bool, within milliseconds: UInt64) -> Bool {
        let end = world.nanoseconds + milliseconds * 1_000_000
        while !condition() {
            if step() { continue }
            let left = (max(end, world.nanoseconds) - world.nanoseconds) / 1_000_000
            guard let wait = threads.compactMap(\.driver.untilTimer).min(), wait <= left else {
                return false
            }
            world.pass(milliseconds: max(wait, 1))
        }
        return true
    }

    /// Lets time pass, with the timers that are due in it.
    func pass(milliseconds: UInt64) {
        let end = world.nanoseconds + milliseconds * 1_000_000
        runUntilIdle()
        while let wait = threads.compactMap(\.driver.untilTimer).min(),
            world.nanoseconds + wait * 1_000_000 <= end
        {
            world.pass(milliseconds: max(wait, 1))
            runUntilIdle()
        }
        if world.nanoseconds < end { world.pass(nanoseconds: end - world.nanoseconds) }
        runUntilIdle()
    }

    /// - Returns: the settings that need a restart to change.
    @discardableResult
    func reload(_ configuration: ServerConfiguration) -> [String] {
        shared.limitsDidChange(configuration.limits)
        for (worker, thread) in zip(workers, threads.dropFirst()) {
            thread.perform(on: worker) { $0.reload(configuration.reloadable) }
        }
        return onListeners { supervisor.lifecycle.reload(configuration) }
    }

    func noteFailedReload(_ reasons: [String]) {
        onListeners { supervisor.lifecycle.noteFailedReload(reasons) }
    }

    /// Drops the only reference to the supervisor that is not the server's own.
    func dropSupervisor() { supervisor = nil }

    func drain() { onListeners { supervisor.lifecycle.drain() } }
}

/// A loop of the server with what runs it.
final class SimulatedThread {
    let driver: SimulatedDriver
    let loop: EventLoop

    init(_ index: Int, _ world: SimulatedWorld) {
        driver = SimulatedDriver(world)
        loop = EventLoop(name: "simulated-\(index)", on: driver)
    }

    /// Performs an action as this thread.
    func run<Value>(_ action: () throws(LoopError) -> Value) throws(LoopError) -> Value {
        var result: Result<Value, LoopError>?
        loop.simulate {
            do throws(LoopError) { result = .success(try action()) } catch {
                result = .failure(error)
            }
        }
        return try result!.get()
    }

    /// Performs an action on a worker of this thread.
    func perform(on worker: Worker, _ action: (WorkerLoop) -> Void) {
        loop.simulate { if let state = worker.current { action(state) } }
    }
}

/// Listeners without sockets, and threads that run when the simulation says so.
final class SimulatedTransport: Transport, @unchecked Sendable {
    private var listeners: [SimulatedListener] = []
    private var executors: [SimulatedExecutor] = []
    let tasks = SimulatedTasks()

    func listen(
        at endpoint: Endpoint, for server: ServerConfiguration.Fixed, on loop: EventLoop,
        onConnection: @escaping (AssayIO.Stream, Int) -> Void
    ) -> [any StreamListener] {
        let listener = SimulatedListener(endpoint) { onConnection($0, 0) }
        listeners.append(listener)
        return [listener]
    }

    func makeExecutor(count: Int, name: String, hasLowPriority: Bool) -> any Executor {
        let executor = SimulatedExecutor(count: count)
        executors.append(executor)
        return executor
    }

    func startTask(_ operation: @escaping @Sendable () async -> Void) -> Task<Void, Never> {
        Task.detached(executorPreference: tasks, operation: operation)
    }

    var residentBytes: Int? { nil }

    func connect(
        _ wire: SimulatedWire, to endpoint: Endpoint, on thread: SimulatedThread,
        _ world: SimulatedWorld
    ) {
        let socket = SimulatedSocket(wire, thread.driver, world)
        let stream = AssayIO.Stream(socket, on: thread.loop)
        guard let listener = listeners.first(where: { $0.endpoint == endpoint && !$0.isClosed })
        else { return stream.close() }
        listener.arrive(stream)
    }

    var hasWork: Bool { executors.contains { !$0.isIdle } || tasks.hasWork }

    func runNext() -> Bool { executors.contains { $0.runNext() } || tasks.runNext() }
}

/// Runs tasks of Swift on the simulation's thread.
final class SimulatedTasks: TaskExecutor, @unchecked Sendable {
    private let jobs = Locked<[UnownedJob]>([])

    var hasWork: Bool { jobs.withLock { !$0.isEmpty } }

    func enqueue(_ job: consuming ExecutorJob) {
        let job = UnownedJob(job)
        jobs.withLock { $0.append(job) }
    }

    func runNext() -> Bool {
        guard let job = jobs.withLock({ $0.isEmpty ? nil : $0.removeFirst() }) else { return false }
        unsafe job.runSynchronously(on: asUnownedTaskExecutor())
        return true
    }
}

/// A listener whose queue is a list.
final class SimulatedListener: StreamListener {
    let endpoint: Endpoint
    let descriptor: Int32 = -1
    private(set) var isPaused = false
    private(set) var isClosed = false
    private var queue: [AssayIO.Stream] = []
    private let onConnection: (AssayIO.Stream) -> Void

    init(_ endpoint: Endpoint, onConnection: @escaping (AssayIO.Stream) -> Void) {
        self.endpoint = endpoint
        self.onConnection = onConnection
    }

    func arrive(_ stream: AssayIO.Stream) {
        queue.append(stream)
        accept()
    }

    private func accept() {
        while !isPaused, !queue.isEmpty { onConnection(queue.removeFirst()) }
    }

    func pause() { isPaused = true }

    func resume() {
        isPaused = false
        accept()
    }

    func finish() {
        resume()
        close()
    }

    func close() {
        isClosed = true
        for stream in queue { stream.close() }
        queue = []
    }
}
