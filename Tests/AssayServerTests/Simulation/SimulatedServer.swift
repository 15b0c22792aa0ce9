import AssayIO
import AssayModels
import TestSupport
import Testing

@testable import AssayServer

/// A server whose sockets, clock and threads are simulated. Nothing happens unless the test says
/// so, and a seed repeats it.
final class SimulatedServer {
    let world: SimulatedWorld
    let driver: SimulatedDriver
    let loop: EventLoop
    let workers: SimulatedExecutor
    private let transport: SimulatedTransport
    private(set) var server: ServerLoop!
    let log = LogLines()
    let verifier: Verifier
    private let reported = Locked<[ServerEvent]>([])

    static let frames = Endpoint.unix(path: "/simulated/frames")
    static let http = Endpoint.unixHTTP(path: "/simulated/http")

    /// - Parameter sliceNanoseconds: how long a slice of verifications takes.
    init(
        seed: UInt64 = 1, sliceNanoseconds: UInt64 = 50_000,
        _ change: (inout ServerConfiguration) -> Void = { _ in }
    ) throws {
        let world = SimulatedWorld(seed: seed)
        let driver = SimulatedDriver(world)
        let loop = EventLoop(name: "simulated", on: driver)
        (self.world, self.driver, self.loop) = (world, driver, loop)
        verifier = try Minted.verifier()
        var configuration = ServerConfiguration(
            listen: [Self.frames, Self.http],
            apps: ["game": AppEntry(verifier: verifier, policy: Minted.policy)],
            defaultApp: "game", workers: 2, version: "test", log: log,
            clock: {
                // Each slice begins with a look at the clock.
                world.pass(nanoseconds: sliceNanoseconds)
                return Minted.now
            })
        configuration.hasOneProcessor = false
        change(&configuration)
        transport = SimulatedTransport(driver)
        let workers = SimulatedExecutor(count: configuration.workers)
        self.workers = workers
        driver.runElsewhere = { [transport] in workers.runNext() || transport.runNext() }
        let reported = reported
        let transport = transport
        server = try onLoop { () throws(LoopError) in
            let server = try ServerLoop(configuration, on: loop, transport, workers: workers) {
                event in reported.withLock { $0.append(event) }
            }
            for endpoint in configuration.fixed.listenOnAll {
                _ = try server.acceptor.listen(on: endpoint)
            }
            return server
        }
    }

    /// Performs an action as the loop's thread.
    func onLoop<Value>(_ action: () throws(LoopError) -> Value) throws(LoopError) -> Value {
        var result: Result<Value, LoopError>?
        loop.simulate {
            do throws(LoopError) { result = .success(try action()) } catch {
                result = .failure(error)
            }
        }
        return try result!.get()
    }

    var events: [ServerEvent] { reported.withLock { $0 } }

    var hasEnded: Bool {
        events.contains { if case .ended = $0 { true } else { false } }
    }

    var holdings: ServerHoldings {
        try! onLoop { () throws(LoopError) in server.publisher.holdings }
    }

    var metrics: ServerMetrics { server.context.telemetry.metrics }

    // MARK: Events

    /// Connects a client.
    func connect(to endpoint: Endpoint = frames) -> SimulatedPeer {
        let socket = driver.makeSocket()
        try! onLoop { () throws(LoopError) in transport.connect(socket, to: endpoint, on: loop) }
        return SimulatedPeer(socket)
    }

    /// Whether nothing can run without time passing.
    var isIdle: Bool { !driver.isReady && workers.isIdle && !transport.hasWork }

    /// Runs one thing that can run, by chance. Returns false if there is nothing.
    @discardableResult
    func step() -> Bool {
        var choices: [() -> Void] = []
        if driver.isReady { choices.append { [self] in driver.turn(of: loop) } }
        if !workers.isIdle { choices.append { [self] in workers.runNext() } }
        if transport.hasWork { choices.append { [transport] in _ = transport.runNext() } }
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

    /// Lets time pass, with the timers that are due in it.
    func pass(milliseconds: UInt64) {
        let end = world.nanoseconds + milliseconds * 1_000_000
        runUntilIdle()
        while let wait = driver.untilTimer, world.nanoseconds + wait * 1_000_000 <= end {
            world.pass(milliseconds: max(wait, 1))
            runUntilIdle()
        }
        if world.nanoseconds < end { world.pass(nanoseconds: end - world.nanoseconds) }
        runUntilIdle()
    }

    func reload(_ configuration: ServerConfiguration) {
        try! onLoop { () throws(LoopError) in _ = server.lifecycle.reload(configuration) }
    }

    func drain() { try! onLoop { () throws(LoopError) in server.lifecycle.drain() } }
}

/// Listeners without sockets, and threads that run when the simulation says so.
final class SimulatedTransport: Transport, @unchecked Sendable {
    private let driver: SimulatedDriver
    private var listeners: [SimulatedListener] = []
    private var executors: [SimulatedExecutor] = []
    let tasks = SimulatedTasks()

    init(_ driver: SimulatedDriver) { self.driver = driver }

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

    func connect(_ socket: SimulatedSocket, to endpoint: Endpoint, on loop: EventLoop) {
        let stream = AssayIO.Stream(socket, on: loop)
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
