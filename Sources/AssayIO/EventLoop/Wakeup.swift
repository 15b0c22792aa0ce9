import CLibuv
import Glibc

/// What other threads wake a loop with: an eventfd that the loop polls.
///
/// Not libuv's `uv_async_t`. There the loop, once woken, spins until the sender is back from its
/// write. Where both share a processor, and the scheduler lets the loop in as soon as it is woken,
/// that lasts until the sender's next time slice: milliseconds, in which the loop serves nobody.
@safe
final class Wakeup {
    private let descriptor: CountingDescriptor
    private let poll: UnsafeMutablePointer<uv_poll_t>
    /// What the loop does when it has been woken.
    var action: () -> Void = {}

    /// - Parameter uv: a loop that is closed before this is given up, and this handle with it.
    init(on uv: UnsafeMutablePointer<uv_loop_t>) throws(LoopError) {
        let descriptor = try CountingDescriptor(eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC)))
        let poll = UnsafeMutablePointer<uv_poll_t>.allocate(capacity: 1)
        let code = unsafe uv_poll_init(uv, poll, descriptor.number)
        guard code == 0 else {
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

    deinit { unsafe poll.deallocate() }

    /// Wakes the loop, now or at the end of its turn. From any thread.
    func signal() { descriptor.add() }

    private func fire() {
        descriptor.clear()
        action()
    }

    /// Waits for a signal, and for nothing else, and takes it; false when there was none in time.
    /// On the loop's thread.
    func wait(milliseconds: UInt64) -> Bool {
        var polled = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        // Cut short by a process's signal it has waited long enough, too.
        guard unsafe Glibc.poll(&polled, 1, Int32(clamping: milliseconds)) == 1 else {
            return false
        }
        descriptor.clear()
        return true
    }

    func isHandle(_ handle: UnsafeMutablePointer<uv_handle_t>) -> Bool {
        unsafe UnsafeRawPointer(handle) == UnsafeRawPointer(poll)
    }
}
