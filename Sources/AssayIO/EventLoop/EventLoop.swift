import Synchronization

/// An event loop on a thread of its own: libuv's, unless another driver simulates one.
///
/// Streams, listeners, timers and watchers belong to their loop's thread: they are created, used
/// and closed there. `post`, `call`, `stop` and `join` are safe on any thread.
@safe
package final class EventLoop: @unchecked Sendable {
    package let name: String
    package let driver: any LoopDriver
    /// Memory that streams read into. Only on the loop's thread.
    var arena: ReadArena
    /// Owns the memory of received bytes.
    private let slabs = SlabPool()
    /// Memory of received bytes, wherever they are held, beyond the memory kept for the next
    /// reads.
    package var receivedBytes: Int {
        max(0, slabs.allocatedBytes - SlabPool.keptBytes)
    }
    /// Bytes that its streams have received and written. Only on the loop's thread.
    package internal(set) var traffic = LoopTraffic()

    /// Memory for received ciphertext before decryption. Only on the loop's thread.
    var ciphertextArena: UnsafeMutableRawBufferPointer {
        if let memory = unsafe ciphertextMemory { return unsafe memory }
        let memory = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 * 1024, alignment: 16)
        unsafe ciphertextMemory = unsafe memory
        return unsafe memory
    }
    private var ciphertextMemory: UnsafeMutableRawBufferPointer?

    private let inbox = Locked(Inbox())
    /// The number of the loop's thread; 0 before the start.
    private let threadNumber = Atomic<UInt>(0)
    private let thread = Locked<Thread?>(nil)

    private struct Inbox: Sendable {
        var jobs: [@Sendable () -> Void] = []
        /// False after `stop`: jobs are rejected.
        var isOpen = true
    }

    package convenience init(name: String) throws(LoopError) {
        let driver = try LibuvDriver()
        self.init(name: name, on: driver)
        driver.onWake = { [unowned self] in
            didPoll()
            runPostedJobs()
        }
    }

    /// Creates a loop that another driver runs, which calls `runPostedJobs` after each `wake`.
    package init(name: String, on driver: any LoopDriver) {
        self.name = name
        self.driver = driver
        arena = ReadArena(slabs)
    }

    deinit {
        // A running loop is kept alive by its thread, so this one has ended or never started.
        if threadNumber.load(ordering: .acquiring) == 0 {
            driver.closeAll()
            driver.run()
        }
        unsafe ciphertextMemory?.deallocate()
    }

    /// Starts the loop's thread. Call it once.
    package func start() throws(LoopError) {
        let started = try Thread(name: name) { [self] in
            threadNumber.store(Thread.current, ordering: .releasing)
            // The driver's callbacks need the loop until its thread ends.
            withExtendedLifetime(self) { driver.run() }
        }
        thread.withLock { $0 = started }
    }

    /// Runs a job on the loop's thread, after all jobs posted before. One wakeup serves all jobs
    /// in the queue. Returns false, and drops the job, once the loop has been stopped. A loop
    /// that never starts runs no jobs.
    @discardableResult
    package func post(_ job: @escaping @Sendable () -> Void) -> Bool {
        let (isOpen, isFirst) = inbox.withLock { inbox in
            guard inbox.isOpen else { return (false, false) }
            inbox.jobs.append(job)
            return (true, inbox.jobs.count == 1)
        }
        // Outside the lock, which the loop takes as soon as it wakes.
        if isFirst { driver.wake() }
        return isOpen
    }

    /// Runs a job on the loop's thread and returns its answer. Never call it on that thread.
    /// Throws `cancelled` if the loop has been stopped.
    package func call<Answer: Sendable>(
        _ job: @escaping @Sendable () throws(LoopError) -> Answer
    ) throws(LoopError) -> Answer {
        precondition(!isCurrent, "the loop's own thread must not wait for itself")
        let done = try Semaphore()
        let answer = Answered<Answer>()
        let isPosted = post {
            do throws(LoopError) {
                let value = try job()
                answer.result.withLock { $0 = .success(value) }
            } catch {
                answer.result.withLock { $0 = .failure(error) }
            }
            done.signal()
        }
        guard isPosted else { throw .cancelled }
        done.wait()
        return try answer.result.withLock { $0 }.get()
    }

    /// Closes all open handles, then ends the loop's thread. Jobs posted before still run.
    package func stop() {
        let wasOpen = inbox.withLock { inbox in
            defer { inbox.isOpen = false }
            return inbox.isOpen
        }
        if wasOpen { driver.wake() }
    }

    /// Waits until the loop's thread has ended. Never call it on that thread.
    package func join() {
        precondition(!isCurrent, "the loop's own thread must not wait for itself")
        let started = thread.withLock { thread in
            defer { thread = nil }
            return thread
        }
        started?.join()
    }

    /// Whether this is the loop's thread.
    package var isCurrent: Bool {
        threadNumber.load(ordering: .relaxed) == Thread.current
    }

    func preconditionCurrent() {
        precondition(isCurrent, "call this on the loop's own thread")
    }

    /// Milliseconds of the loop's clock at the start of this turn.
    package var now: UInt64 {
        preconditionCurrent()
        return unsafe clock.time(driver.turnMilliseconds)
    }

    /// Nanoseconds of the monotonic clock. Safe on any thread.
    package var nanoseconds: UInt64 { driver.nanoseconds }

    /// Nanoseconds of the loop's clock. Only on the loop's thread.
    package var clockNanoseconds: UInt64 { unsafe clock.nanoseconds(at: driver.nanoseconds) }

    /// The loop's clock. Only on the loop's thread.
    // Read several times a request, and never within a change: Swift's exclusivity check would
    // cost more than the read.
    @exclusivity(unchecked) package var clock = LoopClock()

    /// When the sockets were polled, if the loop has a `PollWatch`. Only on the loop's thread.
    package internal(set) var polls = PollTimes(since: 0)

    /// Called by the callbacks that can be the first after a poll.
    package func didPoll() { polls.didReturn(at: driver.nanoseconds) }

    /// Runs posted jobs for the given time, and nothing else: sockets and timers wait. Call it on
    /// the loop's thread, at the end of a turn.
    package func runJobs(forMilliseconds duration: UInt64, afterEach: () -> Void) {
        preconditionCurrent()
        let end = driver.nanoseconds / 1_000_000 + duration
        while case let time = driver.nanoseconds / 1_000_000, time < end,
            driver.wait(milliseconds: end - time)
        {
            driver.updateTurnTime()
            guard runPostedJobs() else { return }
            afterEach()
        }
        driver.updateTurnTime()
    }

    /// Runs all posted jobs. Returns false if the loop was stopped.
    @discardableResult
    package func runPostedJobs() -> Bool {
        let (jobs, isOpen) = inbox.withLock { inbox in
            defer { inbox.jobs = [] }
            return (inbox.jobs, inbox.isOpen)
        }
        for job in jobs { job() }
        if !isOpen { driver.closeAll() }
        return isOpen
    }

    /// Makes the calling thread the loop's while a simulation runs it.
    package func simulate(_ body: () -> Void) {
        precondition(threadNumber.load(ordering: .relaxed) == 0, "one loop runs at a time")
        threadNumber.store(Thread.current, ordering: .relaxed)
        body()
        threadNumber.store(0, ordering: .relaxed)
    }
}

/// Bytes that streams have read from their sockets and written to them; with TLS, ciphertext
/// bytes.
package struct LoopTraffic: Equatable, Sendable {
    package internal(set) var received: UInt64 = 0
    package internal(set) var written: UInt64 = 0

    package init() {}

    /// Adds the bytes of another loop.
    package mutating func add(_ other: LoopTraffic) {
        received &+= other.received
        written &+= other.written
    }
}

private final class Answered<Answer: Sendable>: Sendable {
    let result = Locked<Result<Answer, LoopError>>(.failure(.cancelled))
}
