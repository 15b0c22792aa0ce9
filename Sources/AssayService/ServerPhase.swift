/// The phases of a server, in their order. Times are milliseconds of the loop's clock.
package enum ServerPhase {
    case serving
    /// Not ready, and the clients are notified. Still accepts connections and serves requests,
    /// until load balancers have noticed.
    case leaving(until: UInt64)
    /// Rejects new requests and answers the accepted ones.
    case draining(until: UInt64)
    case ended

    /// Whether clients can use this server.
    package var isReady: Bool {
        if case .serving = self { true } else { false }
    }

    package var hasEnded: Bool {
        if case .ended = self { true } else { false }
    }

    /// Whether requests are rejected.
    package var isDraining: Bool {
        switch self {
        case .serving, .leaving: false
        case .draining, .ended: true
        }
    }
}
