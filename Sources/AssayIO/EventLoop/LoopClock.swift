/// The clock that timeouts are measured with: the monotonic clock, and ahead of it after
/// `advance`. Tests advance it instead of waiting. Timers of a loop keep the system's time.
package struct LoopClock {
    /// Milliseconds ahead of the monotonic clock.
    private var lead: UInt64 = 0

    package mutating func advance(byMilliseconds duration: UInt64) { lead += duration }

    /// The current time, in milliseconds.
    package var now: UInt64 { time(SystemClock.monotonicNanoseconds / 1_000_000) }

    /// The time of this clock at a time of the monotonic clock, in milliseconds.
    func time(_ milliseconds: UInt64) -> UInt64 { milliseconds &+ lead }
}
