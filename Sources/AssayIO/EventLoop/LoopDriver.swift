/// What a loop runs on: libuv and the system's clock, or a simulation of both.
///
/// Belongs to the loop's thread, but for `wake` and `nanoseconds`, which are safe on any.
package protocol LoopDriver: AnyObject, Sendable {
    /// Nanoseconds since an arbitrary moment in the past; never steps back.
    var nanoseconds: UInt64 { get }
    /// Milliseconds of the same clock at the start of this turn.
    var turnMilliseconds: UInt64 { get }
    /// Sets that time to now.
    func updateTurnTime()

    /// Has the loop run its posted jobs, now or at the end of its turn.
    func wake()
    /// Waits for `wake` only, and takes it. Returns false on timeout.
    func wait(milliseconds: UInt64) -> Bool

    func makeTimer(on loop: EventLoop) throws(LoopError) -> any LoopTimer
    /// Calls back at the end of each turn, after all ready sockets have been read and all posted
    /// jobs have run.
    func makeTurnEnd(
        on loop: EventLoop, _ action: @escaping () -> Void
    ) throws(LoopError) -> any LoopHook
    /// Calls back when the loop begins to wait for its sockets.
    func makePollStart(
        on loop: EventLoop, _ action: @escaping () -> Void
    ) throws(LoopError) -> any LoopHook

    /// Closes all that is open, after which `run` ends.
    func closeAll()
    /// Runs the loop until it is closed.
    func run()
}

/// A timer of a driver.
package protocol LoopTimer: AnyObject {
    func start(
        afterMilliseconds delay: UInt64, everyMilliseconds period: UInt64,
        _ action: @escaping () -> Void)
    func stop()
    func close()
}

/// A callback of each turn.
package protocol LoopHook: AnyObject {
    func close()
}
