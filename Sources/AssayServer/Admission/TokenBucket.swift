/// So many a second, and as many at once as a second allows.
struct TokenBucket {
    private let perSecond: Double
    private var tokens: Double
    private var lastFill: UInt64?

    init(perSecond: Int) {
        precondition(perSecond > 0)
        self.perSecond = Double(perSecond)
        tokens = Double(perSecond)
    }

    /// Takes tokens, and where these are more than there are, in advance.
    /// - Parameter now: milliseconds.
    mutating func spend(_ count: Int, at now: UInt64) {
        fill(now)
        tokens -= Double(count)
    }

    /// Milliseconds until there will be `count` tokens.
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
