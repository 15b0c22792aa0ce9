import CLibuv
import Glibc

/// An operating-system thread.
package struct Thread: Sendable {
    private let id: uv_thread_t

    /// Starts a thread. `top -H` shows `name`, cut to the system's 15 bytes.
    init(name: String, body: @escaping @Sendable () -> Void) throws(LoopError) {
        let main = unsafe Unmanaged.passRetained(ThreadMain(name: name, body: body))
        var id = uv_thread_t()
        let code = unsafe uv_thread_create(
            &id,
            { argument in
                let main = unsafe Unmanaged<ThreadMain>.fromOpaque(argument!)
                unsafe main.takeRetainedValue().run()
            }, main.toOpaque())
        guard code == 0 else {
            unsafe main.release()
            throw LoopError(code: code)
        }
        self.id = id
    }

    /// Waits for the thread's end. Call it once for each thread.
    func join() {
        var id = id
        let code = unsafe uv_thread_join(&id)
        precondition(code == 0, "a thread is joined once, and not by itself")
    }

    /// Lowers the priority of the calling thread: on a busy processor it gets about a third of
    /// another thread's share. Its work is due within a second or two, so it can't wait for an
    /// idle processor: under a flood there is none.
    static func lowerPriority() {
        // Applies to this thread only, relative to the process's niceness.
        _ = nice(lowPriorityNiceness)
    }

    /// Each step reduces a thread's weight by a fifth.
    private static let lowPriorityNiceness: Int32 = 5

    /// Lets a thread that waits for this processor run first.
    package static func yield() { sched_yield() }

    /// A number that is unique among running threads.
    static var current: UInt { UInt(uv_thread_self()) }
}

private final class ThreadMain: Sendable {
    private let name: String
    private let body: @Sendable () -> Void

    init(name: String, body: @escaping @Sendable () -> Void) {
        self.name = name
        self.body = body
    }

    func run() {
        _ = unsafe pthread_setname_np(pthread_self(), String(name.prefix(15)))
        blockBrokenPipe()
        body()
    }

    /// Blocks SIGPIPE, so that libuv's write to a closed peer is an error and not the end of the
    /// process. A library leaves the process's own handling of the signal alone.
    private func blockBrokenPipe() {
        var signals = sigset_t()
        unsafe sigemptyset(&signals)
        unsafe sigaddset(&signals, SIGPIPE)
        unsafe pthread_sigmask(SIG_BLOCK, &signals, nil)
    }
}

/// A counting semaphore.
@safe
package final class Semaphore: @unchecked Sendable {
    private let memory: UnsafeMutablePointer<uv_sem_t>

    package init() throws(LoopError) {
        let memory = UnsafeMutablePointer<uv_sem_t>.allocate(capacity: 1)
        let code = unsafe uv_sem_init(memory, 0)
        guard code == 0 else {
            unsafe memory.deallocate()
            throw LoopError(code: code)
        }
        unsafe self.memory = unsafe memory
    }

    deinit {
        unsafe uv_sem_destroy(memory)
        unsafe memory.deallocate()
    }

    package func signal() { unsafe uv_sem_post(memory) }
    package func wait() { unsafe uv_sem_wait(memory) }
}
