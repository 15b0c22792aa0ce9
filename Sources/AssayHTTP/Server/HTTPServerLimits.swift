/// The limits of an `HTTPServer`. The defaults are those of the local App Store.
package struct HTTPServerLimits: Sendable {
    /// Open connections. Further ones wait in the system's accept queue.
    package var connections = 256
    /// Bodies that arrive at the same time. Requests with further ones get 503.
    package var bodies = 256
    /// The size of a request's head.
    package var head = HTTPLimits()
    /// Milliseconds without a byte in either direction.
    package var idleMilliseconds: UInt64 = 60_000
    /// Milliseconds for a request to arrive, counted from the last answer, and for the peer to
    /// read an answer.
    package var requestMilliseconds: UInt64 = 60_000
    /// Whether a connection carries several requests.
    package var keepsAlive = true

    /// Bytes that are discarded after the last answer, so that a peer that still sends a body gets
    /// the answer instead of a reset.
    static let discardedBytes = 16 << 20
    /// Milliseconds between the checks of the time limits.
    static let sweepMilliseconds: UInt64 = 200

    package init() {}
}
