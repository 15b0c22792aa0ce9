import CLibuv

/// Calls back after a delay, once or periodically.
@safe
package final class Timer: Handle {
    private var action: () -> Void = {}

    package init(on loop: EventLoop) throws(LoopError) {
        try unsafe super.init(on: loop, type: UV_TIMER) { handle in
            let timer = UnsafeMutableRawPointer(handle)
            return unsafe uv_timer_init(
                loop.uv, timer.assumingMemoryBound(to: uv_timer_t.self))
        }
    }

    /// Starts or restarts the timer. A period of 0 means once.
    package func start(
        afterMilliseconds delay: UInt64, everyMilliseconds period: UInt64 = 0,
        _ action: @escaping () -> Void
    ) {
        precondition(!isClosing)
        self.action = action
        let code = unsafe uv_timer_start(
            pointer(as: uv_timer_t.self),
            { handle in
                let timer = unsafe Handle.object(Timer.self, of: handle)
                timer.action()
            }, delay, period)
        precondition(code == 0)
    }

    package func stop() {
        _ = unsafe uv_timer_stop(pointer(as: uv_timer_t.self))
        action = {}
    }

    override func didClose() { action = {} }
}
