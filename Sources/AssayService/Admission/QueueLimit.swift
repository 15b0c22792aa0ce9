/// The longest delay that the queue can have, which is shorter while an overload lasts.
///
/// A burst fills the queue once and drains. In an overload a queue stands for as long as it is
/// allowed to: it answers no more requests than a short one, it only answers them later, and
/// their evidence leaves the processor's cache. So the limit is the configured one for a burst,
/// and a fifth of it once rejections have gone on for that long. Similar to CoDel (RFC 8289).
package struct QueueLimit {
    /// When rejections began, in milliseconds; nil if none since the queue was last empty.
    private var overloadBegan: UInt64?

    /// A standing queue gets the configured delay divided by this: long enough for the workers to
    /// stay busy between two reads.
    private static let standingDivisor: UInt64 = 5

    /// Milliseconds, not above `configured`.
    func milliseconds(of configured: UInt64, at now: UInt64) -> UInt64 {
        guard let overloadBegan, now - overloadBegan > configured else { return configured }
        return max(configured / Self.standingDivisor, 1)
    }

    /// Whether a delay is too long to queue a request.
    ///
    /// The standing queue is a matter of each connection: one without requests in the queue has no
    /// part in it. A light connection waits for a quantum of each of the others, and its refusal
    /// would shorten no queue. So it has twice the configured limit, and the time that its request
    /// waited in the socket does not count. Where all have little in the queue, that time is the
    /// length of the loop's turn, which no refusal shortens either: its deadline alone limits it.
    ///
    /// - Parameter age: milliseconds that the request has already waited in the socket.
    func isExceeded(
        by delay: UInt64, after age: UInt64, _ backlog: FlowBacklog, of configured: UInt64,
        at now: UInt64
    ) -> Bool {
        switch backlog {
        case .light: delay > 2 * configured
        case .none: delay > configured
        case .queued:
            delay > milliseconds(of: configured, at: now) || age + delay > configured
        }
    }

    mutating func didReject(at now: UInt64) {
        if overloadBegan == nil { overloadBegan = now }
    }

    mutating func queueIsEmpty() { overloadBegan = nil }
}

/// What a connection has in the queue.
package enum FlowBacklog {
    /// Few requests or none, beside connections with more.
    case light
    /// Nothing, beside connections with little.
    case none
    case queued
}
