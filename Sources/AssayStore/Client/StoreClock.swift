import AssayIO

/// The clocks of a client. Tests have their own, so that no test waits.
struct StoreClock: Sendable {
    /// Milliseconds since 1970.
    var wall: @Sendable () -> Int64
    /// Nanoseconds of a clock that never steps back.
    var monotonic: @Sendable () -> UInt64
    /// Waits for nanoseconds. Throws when the task is cancelled.
    var sleep: @Sendable (UInt64) async throws -> Void
    /// 0 ..< 1.
    var chance: @Sendable () -> Double

    static let system = StoreClock(
        wall: { SystemClock.wallMilliseconds },
        monotonic: { SystemClock.monotonicNanoseconds },
        sleep: { try await Task.sleep(nanoseconds: $0) },
        chance: { Double.random(in: 0..<1) })
}

/// The end of a call.
struct StoreDeadline: Sendable {
    /// Of the monotonic clock.
    let nanoseconds: UInt64

    init(after duration: Duration, from now: UInt64) {
        let (seconds, attoseconds) = duration.components
        let total = max(seconds, 0).multipliedReportingOverflow(by: 1_000_000_000)
        let whole = total.overflow ? UInt64.max / 2 : UInt64(total.partialValue)
        nanoseconds = now + min(whole, UInt64.max / 2) + UInt64(max(attoseconds, 0) / 1_000_000_000)
    }

    /// Nanoseconds left; 0 after the end.
    func left(at now: UInt64) -> UInt64 { nanoseconds > now ? nanoseconds - now : 0 }
}
