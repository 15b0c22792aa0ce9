/// The times at which a loop polled its sockets, in nanoseconds of the monotonic clock. They date
/// the bytes of a turn to the earliest time at which those can have arrived.
package struct PollTimes: Sendable {
    /// When the last poll returned.
    private var returned: UInt64
    /// When the last poll began.
    private var began: UInt64
    private var isPolling = false
    /// The earliest time at which bytes that are read in this turn arrived in their socket.
    ///
    /// A poll that waited returned as soon as the first bytes arrived. One that found some at once
    /// does not show their age: they came after the poll before it.
    package private(set) var earliestArrival: UInt64

    /// The longest poll that counts as one that found its events at once, 100 µs: a poll of a
    /// thousand ready sockets takes less. The kernel does not say whether a poll waited, and
    /// another call to learn it would cost each turn. After a shorter wait, bytes seem older than
    /// they are, by no more than a turn and this.
    package static let longestWithoutWait: UInt64 = 100_000

    /// - Parameter start: when the loop began to watch; no bytes are older.
    package init(since start: UInt64) {
        returned = start
        began = start
        earliestArrival = start
    }

    package mutating func willPoll(at now: UInt64) {
        began = now
        isPolling = true
    }

    /// Records that the poll returned. Only the first call of a turn counts.
    package mutating func didReturn(at now: @autoclosure () -> UInt64) {
        guard isPolling else { return }
        isPolling = false
        let now = now()
        earliestArrival = now > began + Self.longestWithoutWait ? now : returned
        returned = now
    }
}

/// Notes when the loop begins to poll. Without one, `EventLoop.polls` stays at zero.
package final class PollWatch {
    private let hook: any LoopHook

    /// - Parameter willPoll: called before each poll.
    package init(
        on loop: EventLoop, willPoll: @escaping () -> Void = {}
    ) throws(LoopError) {
        loop.preconditionCurrent()
        hook = try loop.driver.makePollStart(on: loop) { [unowned loop] in
            willPoll()
            loop.polls.willPoll(at: loop.nanoseconds)
        }
        loop.polls = PollTimes(since: loop.nanoseconds)
    }

    package func close() { hook.close() }
}
