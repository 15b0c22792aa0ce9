/// The clock that timeouts are measured with: the driver's monotonic clock, and ahead of it after
/// `advance`. Tests advance it instead of waiting. Timers of a loop keep the system's time.
package struct LoopClock {
    /// Milliseconds ahead of the monotonic clock.
    private var lead: UInt64 = 0
    private var leadNanoseconds: UInt64 { lead &* 1_000_000 }

    package init() {}

    package mutating func advance(byMilliseconds duration: UInt64) { lead += duration }

    /// The time of this clock at a time of the monotonic clock, in nanoseconds.
    package func nanoseconds(at monotonic: UInt64) -> UInt64 { monotonic &+ leadNanoseconds }

    /// The time of the monotonic clock at a time of this one, in nanoseconds.
    package func monotonic(at nanoseconds: UInt64) -> UInt64 {
        nanoseconds - min(leadNanoseconds, nanoseconds)
    }

    /// The time of this clock at a time of the monotonic clock, in milliseconds.
    func time(_ milliseconds: UInt64) -> UInt64 { milliseconds &+ lead }
}
