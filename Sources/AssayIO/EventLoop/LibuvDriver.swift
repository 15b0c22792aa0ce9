import CLibuv

/// Runs a loop by libuv.
///
/// Everything but `wake` and `nanoseconds` belongs to the loop's thread, hence `@unchecked`.
@safe
final class LibuvDriver: LoopDriver, @unchecked Sendable {
    let uv: UnsafeMutablePointer<uv_loop_t>
    private let wakeup: Wakeup

    /// Called on the loop's thread after `wake`.
    var onWake: () -> Void {
        get { wakeup.action }
        set { wakeup.action = newValue }
    }

    init() throws(LoopError) {
        // Fields are set last: a failing initializer runs the deinit of stored fields.
        let uv = UnsafeMutablePointer<uv_loop_t>.allocate(capacity: 1)
        let code = unsafe uv_loop_init(uv)
        guard code == 0 else {
            unsafe uv.deallocate()
            throw LoopError(code: code)
        }
        do throws(LoopError) {
            wakeup = try unsafe Wakeup(on: uv)
        } catch {
            _ = unsafe uv_loop_close(uv)
            unsafe uv.deallocate()
            throw error
        }
        unsafe self.uv = unsafe uv
    }

    // The loop has closed: `run` ended, or the loop never started and its deinit closed it.
    deinit { unsafe uv.deallocate() }

    // MARK: Time

    var nanoseconds: UInt64 { SystemClock.monotonicNanoseconds }
    var turnMilliseconds: UInt64 { unsafe uv_now(uv) }
    func updateTurnTime() { unsafe uv_update_time(uv) }

    // MARK: Wakeups

    func wake() { wakeup.signal() }
    func wait(milliseconds: UInt64) -> Bool { wakeup.wait(milliseconds: milliseconds) }

    // MARK: Handles

    func makeTimer(on loop: EventLoop) throws(LoopError) -> any LoopTimer {
        try LibuvTimer(on: loop)
    }

    func makeTurnEnd(
        on loop: EventLoop, _ action: @escaping () -> Void
    ) throws(LoopError) -> any LoopHook {
        try LibuvTurnEnd(on: loop, action)
    }

    func makePollStart(
        on loop: EventLoop, _ action: @escaping () -> Void
    ) throws(LoopError) -> any LoopHook {
        try LibuvPollStart(on: loop, action)
    }

    // MARK: Life

    func closeAll() {
        unsafe uv_walk(
            uv,
            { handle, argument in
                let driver = unsafe Unmanaged<LibuvDriver>.fromOpaque(argument!)
                unsafe driver.takeUnretainedValue().close(handle!)
            }, Unmanaged.passUnretained(self).toOpaque())
    }

    private func close(_ handle: UnsafeMutablePointer<uv_handle_t>) {
        if unsafe uv_is_closing(handle) != 0 { return }
        if unsafe wakeup.isHandle(handle) {
            unsafe uv_close(handle, nil)
        } else {
            unsafe Unmanaged<Handle>.fromOpaque(handle.pointee.data).takeUnretainedValue().close()
        }
    }

    /// Runs the loop until its last handle is closed, which only `closeAll` causes.
    func run() {
        unsafe uv_run(uv, UV_RUN_DEFAULT)
        let code = unsafe uv_loop_close(uv)
        precondition(code == 0, "all handles of a loop must be closed before it ends")
    }
}

extension EventLoop {
    /// The loop of libuv, for its handles.
    var uv: UnsafeMutablePointer<uv_loop_t> {
        guard let driver = driver as? LibuvDriver else {
            preconditionFailure("a simulated loop has no descriptors")
        }
        return unsafe driver.uv
    }
}
