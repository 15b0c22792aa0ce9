import AssayIO

/// Runs a loop of the server, turn by turn, as libuv does: timers, the sockets that are ready in an
/// order of the seed's, posted jobs, the turn's end, what was closed, the next poll.
final class SimulatedDriver: LoopDriver, @unchecked Sendable {
    private let world: SimulatedWorld
    private(set) var turnMilliseconds: UInt64
    private var isWoken = false
    private var timers: [SimulatedTimer] = []
    private var turnEnds: [SimulatedHook] = []
    private var pollStarts: [SimulatedHook] = []
    private var sockets: [SimulatedSocket] = []
    private var closed: [() -> Void] = []
    /// Runs other threads while the loop waits for a wakeup alone. Returns false if there are none.
    var runElsewhere: () -> Bool = { false }

    init(_ world: SimulatedWorld) {
        self.world = world
        turnMilliseconds = world.nanoseconds / 1_000_000
    }

    var nanoseconds: UInt64 { world.nanoseconds }
    func updateTurnTime() { turnMilliseconds = world.nanoseconds / 1_000_000 }

    func wake() { isWoken = true }

    func wait(milliseconds: UInt64) -> Bool {
        while !isWoken, runElsewhere() {}
        if !isWoken { world.pass(milliseconds: milliseconds) }
        defer { isWoken = false }
        return isWoken
    }

    func makeTimer(on loop: EventLoop) -> any LoopTimer {
        let timer = SimulatedTimer(self)
        timers.append(timer)
        return timer
    }

    func makeTurnEnd(on loop: EventLoop, _ action: @escaping () -> Void) -> any LoopHook {
        let hook = SimulatedHook(action)
        turnEnds.append(hook)
        return hook
    }

    func makePollStart(on loop: EventLoop, _ action: @escaping () -> Void) -> any LoopHook {
        let hook = SimulatedHook(action)
        pollStarts.append(hook)
        return hook
    }

    /// Adds the server's end of a connection.
    func add(_ socket: SimulatedSocket) { sockets.append(socket) }

    /// The number of open sockets.
    var socketCount: Int { sockets.count }

    /// Calls the last callback of something that was closed, at the end of the turn.
    func afterTurn(_ action: @escaping () -> Void) { closed.append(action) }

    func closeAll() {
        for timer in timers { timer.close() }
        for hook in turnEnds + pollStarts { hook.close() }
        for socket in sockets { socket.stream?.close() }
    }

    func run() { preconditionFailure("a simulation runs turns") }

    // MARK: Turns

    /// Whether a turn has something to do.
    var isReady: Bool {
        isWoken || !closed.isEmpty || sockets.contains(where: \.isReady)
            || timers.contains { $0.isDue(at: world.nanoseconds / 1_000_000) }
    }

    /// Milliseconds until the next timer; nil without one.
    var untilTimer: UInt64? {
        let now = world.nanoseconds / 1_000_000
        return timers.compactMap(\.due).min().map { max($0, now) - now }
    }

    func turn(of loop: EventLoop) {
        loop.simulate {
            updateTurnTime()
            for timer in timers where timer.isDue(at: turnMilliseconds) {
                timer.fire(at: turnMilliseconds)
            }
            var ready: [() -> Void] = sockets.filter(\.isReady).map { socket in
                { socket.process() }
            }
            if isWoken {
                ready.append { [self] in
                    isWoken = false
                    loop.runPostedJobs()
                }
            }
            for event in world.shuffle(ready) {
                loop.didPoll()
                event()
            }
            for hook in turnEnds { hook.action() }
            let ends = closed
            closed = []
            for end in ends { end() }
            sockets.removeAll(where: \.isOver)
            timers.removeAll(where: \.isClosed)
            turnEnds.removeAll(where: \.isClosed)
            pollStarts.removeAll(where: \.isClosed)
            // The loop waits from here to its next turn.
            for hook in pollStarts { hook.action() }
        }
    }
}

final class SimulatedTimer: LoopTimer {
    private unowned let driver: SimulatedDriver
    private(set) var due: UInt64?
    private var period: UInt64 = 0
    private var action: () -> Void = {}
    private(set) var isClosed = false

    init(_ driver: SimulatedDriver) { self.driver = driver }

    func isDue(at now: UInt64) -> Bool { due.map { $0 <= now } ?? false }

    func start(
        afterMilliseconds delay: UInt64, everyMilliseconds period: UInt64,
        _ action: @escaping () -> Void
    ) {
        due = driver.turnMilliseconds + delay
        self.period = period
        self.action = action
    }

    func fire(at now: UInt64) {
        due = period > 0 ? now + period : nil
        action()
    }

    func stop() {
        due = nil
        action = {}
    }

    func close() {
        stop()
        isClosed = true
    }
}

final class SimulatedHook: LoopHook {
    private(set) var action: () -> Void
    private(set) var isClosed = false

    init(_ action: @escaping () -> Void) { self.action = action }

    func close() {
        action = {}
        isClosed = true
    }
}
