import CLibuv
import Glibc

/// Calls back at a time of `SystemClock.monotonicNanoseconds`, a few microseconds late. libuv's
/// own timers count milliseconds.
@safe
package final class PreciseTimer: Handle {
    private let descriptor: CountingDescriptor
    private var action: () -> Void

    package init(on loop: EventLoop, _ action: @escaping () -> Void) throws(LoopError) {
        let descriptor = try CountingDescriptor(
            timerfd_create(CLOCK_MONOTONIC, Int32(TFD_NONBLOCK | TFD_CLOEXEC)))
        let number = descriptor.number
        self.descriptor = descriptor
        self.action = action
        try unsafe super.init(on: loop, type: UV_POLL) { handle in
            let poll = UnsafeMutableRawPointer(handle)
            return unsafe uv_poll_init(
                loop.uv, poll.assumingMemoryBound(to: uv_poll_t.self), number)
        }
        let code = unsafe uv_poll_start(pointer(as: uv_poll_t.self), Int32(UV_READABLE.rawValue)) {
            handle, _, _ in
            let timer = unsafe Handle.object(PreciseTimer.self, of: handle)
            timer.fire()
        }
        precondition(code == 0)
    }

    /// Schedules one callback. A time in the past means immediately.
    package func wake(at nanoseconds: UInt64) {
        // Zero would disarm the timer.
        let time = max(nanoseconds, 1)
        var setting = itimerspec()
        setting.it_value.tv_sec = Int(time / 1_000_000_000)
        setting.it_value.tv_nsec = Int(time % 1_000_000_000)
        let code = unsafe timerfd_settime(
            descriptor.number, Int32(TFD_TIMER_ABSTIME), &setting, nil)
        precondition(code == 0)
    }

    private func fire() {
        descriptor.clear()
        action()
    }

    override func didClose() { action = {} }
}
