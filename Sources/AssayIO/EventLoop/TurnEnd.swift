import CLibuv

/// Calls back at the end of each turn, after all ready sockets have been read and all posted jobs
/// have run: the time to process the turn's input as a batch. Never causes a turn itself.
@safe
package final class TurnEnd: Handle {
    private var action: () -> Void

    package init(on loop: EventLoop, _ action: @escaping () -> Void) throws(LoopError) {
        self.action = action
        try unsafe super.init(on: loop, type: UV_CHECK) { handle in
            let check = UnsafeMutableRawPointer(handle)
            return unsafe uv_check_init(loop.uv, check.assumingMemoryBound(to: uv_check_t.self))
        }
        let code = unsafe uv_check_start(pointer(as: uv_check_t.self)) { handle in
            let end = unsafe Handle.object(TurnEnd.self, of: handle)
            end.loop.didPoll()
            end.action()
        }
        precondition(code == 0)
    }

    override func didClose() { action = {} }
}
