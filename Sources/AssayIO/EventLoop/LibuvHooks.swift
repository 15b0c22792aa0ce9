import CLibuv

/// Calls back at the end of each turn of libuv. Never causes a turn itself.
@safe
final class LibuvTurnEnd: Handle, LoopHook {
    private var action: () -> Void

    init(on loop: EventLoop, _ action: @escaping () -> Void) throws(LoopError) {
        self.action = action
        try unsafe super.init(on: loop, type: UV_CHECK) { handle in
            let check = UnsafeMutableRawPointer(handle)
            return unsafe uv_check_init(loop.uv, check.assumingMemoryBound(to: uv_check_t.self))
        }
        let code = unsafe uv_check_start(pointer(as: uv_check_t.self)) { handle in
            unsafe Handle.object(LibuvTurnEnd.self, of: handle).action()
        }
        precondition(code == 0)
    }

    override func didClose() { action = {} }
}

/// Calls back when libuv begins to poll.
@safe
final class LibuvPollStart: Handle, LoopHook {
    private var action: () -> Void

    init(on loop: EventLoop, _ action: @escaping () -> Void) throws(LoopError) {
        self.action = action
        try unsafe super.init(on: loop, type: UV_PREPARE) { handle in
            let prepare = UnsafeMutableRawPointer(handle)
            return unsafe uv_prepare_init(
                loop.uv, prepare.assumingMemoryBound(to: uv_prepare_t.self))
        }
        let code = unsafe uv_prepare_start(pointer(as: uv_prepare_t.self)) { handle in
            unsafe Handle.object(LibuvPollStart.self, of: handle).action()
        }
        precondition(code == 0)
    }

    override func didClose() { action = {} }
}
