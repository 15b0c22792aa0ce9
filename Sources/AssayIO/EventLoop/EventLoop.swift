import CLibuv
import Synchronization

/// A libuv loop on a thread of its own.
///
/// Streams, listeners, timers and watchers belong to their loop's thread: they are created, used
/// and closed there. `post`, `call`, `stop` and `join` are safe on any thread.
@safe
package final class EventLoop: @unchecked Sendable {
    package let name: String
    let uv: UnsafeMutablePointer<uv_loop_t>
    /// Memory that streams read into. Only on the loop's thread.
    var arena = ReadArena()
    /// Memory of received bytes, wherever they are held, beyond the memory kept for the next
    /// reads.
    package var receivedBytes: Int {
        max(0, arena.pool.allocatedBytes - SlabPool.keptBytes)
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

    private let wakeup: Wakeup
    private let inbox = Locked(Inbox())
    /// The number of the loop's thread; 0 before the start.
    private let threadNumber = Atomic<UInt>(0)
    private let thread = Locked<Thread?>(nil)

    private struct Inbox: Sendable {
        var jobs: [@Sendable () -> Void] = []
        /// False after `stop`: jobs are rejected.
        var isOpen = true
    }

    package init(name: String) throws(LoopError) {
        // Fields are set last: a failing initializer runs the deinit of stored fields.
        let uv = UnsafeMutablePointer<uv_loop_t>.allocate(capacity: 1)
        let code = unsafe uv_loop_init(uv)
        guard code == 0 else {
            unsafe uv.deallocate()
            throw LoopError(code: code)
        }
        do throws(LoopError) {
            wakeup = try unsafe Wakeup(on: uv)
        } catch {
            _ = unsafe uv_loop_close(uv)
            unsafe uv.deallocate()
            throw error
        }
        self.name = name
        unsafe self.uv = unsafe uv
        wakeup.action = { [unowned self] in
            didPoll()
            _ = runJobs()
        }
    }

    deinit {
        // A running loop is kept alive by its thread, so this one has ended or never started.
        if threadNumber.load(ordering: .acquiring) == 0 {
            closeAll()
            runToEnd()
        }
        unsafe ciphertextMemory?.deallocate()
        unsafe uv.deallocate()
    }

    /// Starts the loop's thread. Call it once.
    package func start() throws(LoopError) {
        let started = try Thread(name: name) { [self] in
            threadNumber.store(Thread.current, ordering: .releasing)
            runToEnd()
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
        if isFirst { wakeup.signal() }
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
        if wasOpen { wakeup.signal() }
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
        return unsafe clock.time(uv_now(uv))
    }

    /// The loop's clock. Only on the loop's thread.
    // Read several times a request, and never within a change: Swift's exclusivity check would
    // cost more than the read.
    @exclusivity(unchecked) package var clock = LoopClock()

    /// When the sockets were polled, if the loop has a `PollWatch`. Only on the loop's thread.
    package internal(set) var polls = PollTimes(since: 0)

    /// Called by the callbacks that can be the first after a poll.
    func didPoll() { polls.didReturn(at: SystemClock.monotonicNanoseconds) }

    /// Runs posted jobs for the given time, and nothing else: sockets and timers wait. Call it on
    /// the loop's thread, at the end of a turn.
    package func runJobs(forMilliseconds duration: UInt64, afterEach: () -> Void) {
        preconditionCurrent()
        let start = SystemClock.monotonicNanoseconds / 1_000_000
        let end = start + duration
        var time = start
        while time < end, wakeup.wait(milliseconds: end - time) {
            unsafe uv_update_time(uv)
            guard runJobs() else { return }
            afterEach()
            time = SystemClock.monotonicNanoseconds / 1_000_000
        }
        unsafe uv_update_time(uv)
    }

    /// Runs all posted jobs. Returns false if the loop was stopped.
    private func runJobs() -> Bool {
        let (jobs, isOpen) = inbox.withLock { inbox in
            defer { inbox.jobs = [] }
            return (inbox.jobs, inbox.isOpen)
        }
        for job in jobs { job() }
        if !isOpen { closeAll() }
        return isOpen
    }

    private func closeAll() {
        unsafe uv_walk(
            uv,
            { handle, argument in
                let loop = unsafe Unmanaged<EventLoop>.fromOpaque(argument!)
                unsafe loop.takeUnretainedValue().close(handle!)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func close(_ handle: UnsafeMutablePointer<uv_handle_t>) {
        if unsafe uv_is_closing(handle) != 0 { return }
        if unsafe wakeup.isHandle(handle) {
            unsafe uv_close(handle, nil)
        } else {
            unsafe Unmanaged<Handle>.fromOpaque(handle.pointee.data).takeUnretainedValue().close()
        }
    }

    /// Runs the loop until its last handle is closed, which only `stop` causes.
    private func runToEnd() {
        unsafe uv_run(uv, UV_RUN_DEFAULT)
        let code = unsafe uv_loop_close(uv)
        precondition(code == 0, "all handles of a loop must be closed before it ends")
    }
}

/// Bytes that streams have read from their sockets and written to them; with TLS, ciphertext
/// bytes.
package struct LoopTraffic: Equatable, Sendable {
    package internal(set) var received: UInt64 = 0
    package internal(set) var written: UInt64 = 0

    package init() {}
}

private final class Answered<Answer: Sendable>: Sendable {
    let result = Locked<Result<Answer, LoopError>>(.failure(.cancelled))
}
