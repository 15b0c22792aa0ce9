import CLibuv
import Glibc

/// What other threads wake a loop with: an eventfd that the loop polls.
///
/// Not libuv's `uv_async_t`. There the loop, once woken, spins until the sender is back from its
/// write. Where both share a processor, and the scheduler lets the loop in as soon as it is woken,
/// that lasts until the sender's next time slice: milliseconds, in which the loop serves nobody.
@safe
final class Wakeup {
    private let descriptor: Int32
    private let poll: UnsafeMutablePointer<uv_poll_t>
    /// What the loop does when it has been woken.
    var action: () -> Void = {}

    /// - Parameter uv: a loop that is closed before this is given up, and this handle with it.
    init(on uv: UnsafeMutablePointer<uv_loop_t>) throws(LoopError) {
        let descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard descriptor >= 0 else { throw .tooManyOpenFiles }
        let poll = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
        let code = unsafe uv_poll_init(uv, poll, descriptor)
        guard code == 0 else {
            Glibc.close(descriptor)
            unsafe poll.deallocate()
            throw LoopError(code: code)
        }
        self.descriptor = descriptor
        unsafe self.poll = unsafe poll
        unsafe poll.pointee.data = Unmanaged.passUnretained(self).toOpaque()
        let started = unsafe uv_poll_start(poll, Int32(UV_READABLE.rawValue)) { handle, _, _ in
            let wakeup = unsafe Unmanaged<Wakeup>.fromOpaque(handle!.pointee.data)
            unsafe wakeup.takeUnretainedValue().fire()
        }
        precondition(started == 0, "an open descriptor can be polled")
    }

    deinit {
        Glibc.close(descriptor)
        unsafe poll.deallocate()
    }

    /// Wakes the loop, now or at the end of its turn. From any thread.
    func signal() {
        var one: UInt64 = 1
        // It fails only when the loop has been woken too often to count, and is awake.
        _ = unsafe write(descriptor, &one, MemoryLayout<UInt64>.size)
    }

    private func fire() {
        takeSignal()
        action()
    }

    private func takeSignal() {
        var count: UInt64 = 0
        _ = unsafe read(descriptor, &count, MemoryLayout<UInt64>.size)
    }

    /// Waits for a signal, and for nothing else, and takes it; false when there was none in time.
    /// On the loop's thread.
    func wait(milliseconds: UInt64) -> Bool {
        var polled = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        // Cut short by a process's signal it has waited long enough, too.
        guard unsafe Glibc.poll(&polled, 1, Int32(clamping: milliseconds)) == 1 else {
            return false
        }
        takeSignal()
        return true
    }

    func isHandle(_ handle: UnsafeMutablePointer<uv_handle_t>) -> Bool {
        unsafe UnsafeRawPointer(handle) == UnsafeRawPointer(poll)
    }
}
