/// How many calls a client keeps in flight on a connection. It learns from the server's refusals
/// how many of them the server can take, as TCP does from losses: it shrinks by a quarter when the
/// server refuses calls because of its load, and grows by one with each window of answers.
///
/// A refusal costs the server a part of an answer. A call that waits in the client costs it
/// nothing.
package struct InFlightWindow {
    private let limit: Double
    private let adapts: Bool
    private var size: Double
    /// The loop time in milliseconds of the last refusal that counted.
    private var shrunkAt: UInt64 = 0

    /// Refusals come in bursts, of which one counts: those of a turn of the server's queue.
    private static let pause: UInt64 = 50
    /// The smallest window: one batch of signatures.
    private static let smallest = 8.0

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

    /// Notes a refusal because of the server's load.
    package mutating func shrink(at now: UInt64) {
        guard adapts, now >= shrunkAt + Self.pause else { return }
        shrunkAt = now
        size = min(limit, max(Self.smallest, size * 0.75))
    }
}
