/// The memory, requests and handshakes that a server holds. Tests compare them with the limits.
package struct HeldResources: Equatable, Sendable {
    /// Holds nothing.
    package static let none = HeldResources()

    package var connections = 0
    /// Bytes of evidence that was accepted and is unanswered.
    package var evidenceBytes = 0
    /// Received bytes of frames that were not taken yet.
    package var bufferedBytes = 0
    /// Bytes of answers that the system has not taken.
    package var unwrittenBytes = 0
    /// Memory of all of these, as the limit counts it. Above the sum if a small request keeps
    /// alive other bytes that were received with it.
    package var heldBytes = 0
    package var requestsInFlight = 0
    /// Requests that wait for verification.
    package var waiting = 0
    /// Unknown chains that wait for validation or are being validated, and the requests that wait
    /// for them.
    package var unknownChains = 0
    package var unknownChainRequests = 0
    /// TLS handshakes in progress, including queued ones, and queued ones alone.
    package var handshakes = 0
    package var handshakesWaiting = 0
    /// Fetches that ask the App Store.
    package var fetches = 0
    package var turns: UInt64 = 0

    package init() {}

    /// Adds what another worker holds.
    package mutating func add(_ other: HeldResources) {
        connections += other.connections
        evidenceBytes += other.evidenceBytes
        bufferedBytes += other.bufferedBytes
        unwrittenBytes += other.unwrittenBytes
        heldBytes += other.heldBytes
        requestsInFlight += other.requestsInFlight
        waiting += other.waiting
        unknownChains += other.unknownChains
        unknownChainRequests += other.unknownChainRequests
        handshakes += other.handshakes
        handshakesWaiting += other.handshakesWaiting
        fetches += other.fetches
        turns += other.turns
    }
}
