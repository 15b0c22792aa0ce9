import AssayService

/// Connections that wait for a turn of the loop. Clients take turns, and the connections of each in
/// the order of their arrival, so that one client with many connections is one client here.
///
/// A client whose connection took longer than its quota owes that time: where others wait, it is
/// passed over until it has paid.
struct TurnQueue<Waiting> {
    /// Clients with waiting connections, each once.
    private var peers = Ring<Peer>()
    private var connections: [ObjectIdentifier: Ring<Waiting>] = [:]
    private(set) var count = 0

    /// The connections of the queue are being served.
    var isServing = false

    var isEmpty: Bool { count == 0 }

    /// Whether a connection that is being read can go on: it does not pass those that wait.
    var admitsNext: Bool { isServing || isEmpty }

    mutating func enqueue(_ connection: Waiting, of peer: Peer) {
        let key = ObjectIdentifier(peer)
        if connections[key] == nil { peers.append(peer) }
        connections[key, default: Ring()].append(connection)
        count += 1
    }

    mutating func next() -> Waiting? {
        passOverDebtors()
        guard let peer = peers.popFirst() else { return nil }
        let key = ObjectIdentifier(peer)
        let connection = connections[key]?.popFirst()
        if connections[key]?.isEmpty == true {
            connections[key] = nil
        } else {
            peers.append(peer)
        }
        count -= 1
        return connection
    }

    /// Each client is passed over at most once. One that is alone delays nobody.
    private mutating func passOverDebtors() {
        guard peers.count > 1 else {
            peers.first?.forgiveDebt()
            return
        }
        for _ in 0..<peers.count {
            guard let peer = peers.first, peer.payDebt() else { return }
            _ = peers.popFirst()
            peers.append(peer)
        }
    }
}
