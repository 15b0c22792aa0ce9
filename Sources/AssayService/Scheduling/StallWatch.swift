/// Detects a thread that does not finish its work. Verifications are short, so a long one is a
/// defect, or the machine gives the process no time.
package struct StallWatch {
    /// Milliseconds that work can take.
    var limit: UInt64
    private var began: [UInt64: UInt64] = [:]
    private var last: UInt64 = 0
    /// Whether unfinished work has exceeded the limit.
    private(set) var isStalled = false

    init(limit milliseconds: UInt64) { limit = milliseconds }

    /// Records the start of work on a thread. Returns its number.
    mutating func begin(at now: UInt64) -> UInt64 {
        last += 1
        began[last] = now
        return last
    }

    mutating func end(_ work: UInt64) { began[work] = nil }

    /// Checks the times. Returns whether `isStalled` has changed.
    mutating func check(at now: UInt64) -> Bool {
        let wasStalled = isStalled
        isStalled = began.values.contains { now - $0 > limit }
        return isStalled != wasStalled
    }
}
