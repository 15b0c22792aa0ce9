import CLibuv
import Glibc

/// Wakes a loop from other threads, with an eventfd that the loop polls.
///
/// libuv's `uv_async_t` is not used. There a woken loop spins until the sender returns from its
/// write. If both share a processor, and the scheduler runs the loop as soon as it wakes, the
/// loop spins until the sender's next time slice, for milliseconds, and serves no connection.
@safe
final class Wakeup {
    private let descriptor: CountingDescriptor
    private let poll: UnsafeMutablePointer<uv_poll_t>
    /// Called on the loop's thread after a wakeup.
    var action: () -> Void = {}

    /// Starts to poll in the loop.
    /// - Parameter uv: a loop that is closed, and this handle with it, before this object is
    ///   released.
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

    /// Wakes the loop, now or at the end of its turn. Safe on any thread.
    func signal() { descriptor.add() }

    private func fire() {
        descriptor.clear()
        action()
    }

    /// Waits for a signal only, and clears it. Returns false on timeout. Call it on the loop's
    /// thread.
    func wait(milliseconds: UInt64) -> Bool {
        var polled = pollfd(fd: descriptor.number, events: Int16(POLLIN), revents: 0)
        // A process signal that interrupts the wait counts as a timeout.
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
