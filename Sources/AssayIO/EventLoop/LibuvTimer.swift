import CLibuv

@safe
final class LibuvTimer: Handle, LoopTimer {
    private var action: () -> Void = {}

    init(on loop: EventLoop) throws(LoopError) {
        try unsafe super.init(on: loop, type: UV_TIMER) { handle in
            let timer = UnsafeMutableRawPointer(handle)
            return unsafe uv_timer_init(
                loop.uv, timer.assumingMemoryBound(to: uv_timer_t.self))
        }
    }

    func start(
        afterMilliseconds delay: UInt64, everyMilliseconds period: UInt64,
        _ action: @escaping () -> Void
    ) {
        self.action = action
        let code = unsafe uv_timer_start(
            pointer(as: uv_timer_t.self),
            { handle in
                let timer = unsafe Handle.object(LibuvTimer.self, of: handle)
                timer.action()
            }, delay, period)
        precondition(code == 0)
    }

    func stop() {
        _ = unsafe uv_timer_stop(pointer(as: uv_timer_t.self))
        action = {}
    }

    override func didClose() { action = {} }
}
