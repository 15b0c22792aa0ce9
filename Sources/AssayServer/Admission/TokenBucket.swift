/// A token bucket: a rate per second, with a burst of one second.
struct TokenBucket {
    private let perSecond: Double
    private var tokens: Double
    private var lastFill: UInt64?

    init(perSecond: Int) {
        precondition(perSecond > 0)
        self.perSecond = Double(perSecond)
        tokens = Double(perSecond)
    }

    /// Takes tokens, in advance if there are too few.
    ///
    /// - Parameter now: milliseconds.
    mutating func spend(_ count: Int, at now: UInt64) {
        fill(now)
        tokens -= Double(count)
    }

    /// Milliseconds until `count` tokens are available.
    mutating func wait(for count: Int, at now: UInt64) -> UInt64 {
        fill(now)
        return UInt64((max(Double(count) - tokens, 0) * 1000 / perSecond).rounded(.up))
    }

    private mutating func fill(_ now: UInt64) {
        let elapsed = now - (lastFill ?? now)
        lastFill = now
        tokens = min(tokens + Double(elapsed) * perSecond / 1000, perSecond)
    }
}
