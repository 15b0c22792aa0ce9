/// How many calls a client keeps in flight on a connection. It learns how many the server can
/// take, as TCP does: it shrinks by a quarter when the server refuses calls because of its load
/// (a loss), or when calls of a full window queue at the server (a delay, RFC 6817), and grows by
/// one with each window of answers.
///
/// A refusal costs the server a part of an answer, and evidence that queues there leaves the
/// processor's cache. A call that waits in the client costs the server nothing.
package struct InFlightWindow {
    private let limit: Double
    private let adapts: Bool
    private var size: Double
    /// The loop time in milliseconds at which it shrank.
    private var shrunkAt: UInt64 = 0
    /// The fastest answer in milliseconds: the estimated time of an answer without a queue.
    private var shortest = UInt64.max

    /// At most one refusal or delay counts for each turn of the server's queue. Milliseconds.
    private static let pause: UInt64 = 50
    /// The smallest window: one batch of signatures.
    private static let smallest = 8.0
    /// The milliseconds that calls may queue at the server: the target of CoDel (RFC 8289). A
    /// longer queue answers no more calls.
    private static let longestQueueing: UInt64 = 5

    /// - Parameter adapts: Whether refusals and answers change it.
    package init(limit: Int, adapts: Bool) {
        self.limit = Double(limit)
        self.adapts = adapts
        size = Double(limit)
    }

    package var count: Int { Int(size) }

    /// Notes an answer.
    package mutating func grow() {
        guard adapts else { return }
        size = min(limit, size + 1 / size)
    }

    /// Notes an answer to a verification.
    ///
    /// - Parameter delay: The milliseconds since the call was sent.
    /// - Parameter wasFull: Whether the window limited the calls in flight. Where it did not, a
    ///   smaller one would change nothing.
    package mutating func grow(after delay: UInt64, wasFull: Bool, at now: UInt64) {
        shortest = min(shortest, delay)
        guard adapts, wasFull, delay > shortest + Self.longestQueueing else { return grow() }
        guard showsLastChange(at: now) else { return }
        // The smallest window causes no queue: other clients do, or the path is longer now.
        if size <= Self.smallest { shortest = delay }
        shrink(at: now)
    }

    /// Notes a refusal because of the server's load.
    package mutating func shrink(at now: UInt64) {
        guard adapts, showsLastChange(at: now) else { return }
        shrunkAt = now
        size = min(limit, max(Self.smallest, size * 0.75))
    }

    /// Whether answers that arrive now show the effect of the last change.
    private func showsLastChange(at now: UInt64) -> Bool { now >= shrunkAt + Self.pause }
}
