import AssayTelemetry

/// Counts the sockets of each listener's clients, TLS handshakes included, and decides which
/// listener can accept another one.
///
/// Half of all sockets are divided among the listeners, so that the clients of one listener never
/// keep out those of another. The other half is first come, first served.
struct ListenerSockets {
    /// The limit for all listeners together.
    var limit: Int
    private var counts: [Int] = []
    private(set) var total = 0

    init(limit: Int) { self.limit = limit }

    var listenerCount: Int { counts.count }

    /// Adds a listener and returns its number.
    @discardableResult
    mutating func addListener() -> Int {
        counts.append(0)
        return counts.count - 1
    }

    mutating func didOpen(_ listener: Int) {
        counts[listener] += 1
        total += 1
    }

    mutating func didClose(_ listener: Int) {
        counts[listener] -= 1
        total -= 1
        precondition(counts[listener] >= 0, "a socket was released twice")
    }

    func canAccept(_ listener: Int) -> Bool {
        total + reserved(besides: listener) < limit
    }

    /// The unused parts of the other listeners.
    private func reserved(besides listener: Int) -> Int {
        let part = limit / (2 * max(counts.count, 1))
        return counts.indices.reduce(0) { sum, other in
            other == listener ? sum : sum + max(part - counts[other], 0)
        }
    }
}
