import AssayIO

/// A token bucket: a rate per second, with a burst of one second.
package struct TokenBucket {
    private let perSecond: Double
    private var tokens: Double
    private var lastFill: UInt64?

    package init(perSecond: Int) {
        precondition(perSecond > 0)
        self.perSecond = Double(perSecond)
        tokens = Double(perSecond)
    }

    /// Takes tokens, in advance if there are too few.
    ///
    /// - Parameter now: milliseconds.
    package mutating func spend(_ count: Int, at now: UInt64) {
        fill(now)
        tokens -= Double(count)
    }

    /// Milliseconds until `count` tokens are available.
    package mutating func wait(for count: Int, at now: UInt64) -> UInt64 {
        fill(now)
        return UInt64((max(Double(count) - tokens, 0) * 1000 / perSecond).rounded(.up))
    }

    private mutating func fill(_ now: UInt64) {
        // Loops begin their turns at different times, and can share a bucket.
        let last = lastFill ?? now
        let elapsed = max(now, last) - last
        lastFill = max(now, last)
        tokens = min(tokens + Double(elapsed) * perSecond / 1000, perSecond)
    }
}

/// A token bucket of all workers.
package final class SharedBucket: Sendable {
    private let bucket: Locked<TokenBucket>

    init(perSecond: Int) { bucket = Locked(TokenBucket(perSecond: perSecond)) }

    func change(perSecond: Int) {
        bucket.withLock { $0 = TokenBucket(perSecond: perSecond) }
    }

    func spend(_ count: Int, at now: UInt64) {
        bucket.withLock { $0.spend(count, at: now) }
    }

    func wait(for count: Int, at now: UInt64) -> UInt64 {
        bucket.withLock { $0.wait(for: count, at: now) }
    }
}
