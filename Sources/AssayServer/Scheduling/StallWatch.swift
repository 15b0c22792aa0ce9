/// Notices a thread that never gives its work back. A verification can't take long, so that one
/// which does is a defect, or a machine that gives the process no time.
struct StallWatch {
    /// Milliseconds that work may take.
    var limit: UInt64
    private var began: [UInt64: UInt64] = [:]
    private var last: UInt64 = 0
    /// Whether some work has taken longer than it may, and is not back.
    private(set) var isStalled = false

    init(limit milliseconds: UInt64) { limit = milliseconds }

    /// Some work was given to a thread; the answer names it.
    mutating func begin(at now: UInt64) -> UInt64 {
        last += 1
        began[last] = now
        return last
    }

    mutating func end(_ work: UInt64) { began[work] = nil }

    /// Looks at the time; whether `isStalled` has changed.
    mutating func check(at now: UInt64) -> Bool {
        let wasStalled = isStalled
        isStalled = began.values.contains { now - $0 > limit }
        return isStalled != wasStalled
    }
}
