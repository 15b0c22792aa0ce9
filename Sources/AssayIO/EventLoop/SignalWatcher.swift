import CLibuv

/// The signals that a server handles.
public enum ProcessSignal: Int32, Sendable {
    /// SIGHUP.
    case hangup = 1
    /// SIGINT.
    case interrupt = 2
    /// SIGTERM.
    case terminate = 15
}

/// Calls back on the loop's thread for each signal that the process receives.
@safe
package final class SignalWatcher: Handle {
    private var action: () -> Void

    package init(
        _ signal: ProcessSignal, on loop: EventLoop, _ action: @escaping () -> Void
    ) throws(LoopError) {
        self.action = action
        try unsafe super.init(on: loop, type: UV_SIGNAL) { handle in
            let watcher = UnsafeMutableRawPointer(handle)
            return unsafe uv_signal_init(
                loop.uv, watcher.assumingMemoryBound(to: uv_signal_t.self))
        }
        let code = unsafe uv_signal_start(
            pointer(as: uv_signal_t.self),
            { handle, _ in
                let watcher = unsafe Handle.object(SignalWatcher.self, of: handle)
                watcher.action()
            }, signal.rawValue)
        guard code == 0 else {
            close()
            throw LoopError(code: code)
        }
    }

    override func didClose() { action = {} }
}
