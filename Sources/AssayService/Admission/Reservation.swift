/// Memory that is reserved for one request of a client. Gives it back when it ends.
package struct Reservation: ~Copyable {
    private let peer: Peer
    /// The cost of evidence that is complete.
    private(set) var cost: RequestCost
    /// Bytes of a receipt that is still arriving.
    private(set) var receiptBytes = 0

    /// Reserves the memory of a request: nothing for a receipt that is still to arrive.
    init(_ cost: RequestCost, for peer: Peer) {
        self.peer = peer
        self.cost = cost
        peer.give(cost)
    }

    private init(moving cost: RequestCost, for peer: Peer) {
        self.peer = peer
        self.cost = cost
    }

    /// Reserves the first memory of a receipt, whose size was checked when it was admitted.
    mutating func begin(receipt bytes: Int) {
        peer.give(receipt: bytes)
        receiptBytes += bytes
    }

    /// Changes the memory of a receipt. Returns false, and changes nothing, if memory does not
    /// admit it.
    mutating func resize(receipt bytes: Int) -> Bool {
        if bytes > receiptBytes {
            guard peer.admits(receipt: bytes - receiptBytes), peer.canFit(receipt: bytes)
            else { return false }
            peer.give(receipt: bytes - receiptBytes)
        } else {
            peer.takeBack(receipt: receiptBytes - bytes)
        }
        receiptBytes = bytes
        return true
    }

    /// Turns the memory of a receipt that has arrived into the cost of a request. Returns false if
    /// memory does not admit the request's answer; then nothing is reserved.
    mutating func complete(_ cost: RequestCost) -> Bool {
        release()
        guard peer.admits(cost) else { return false }
        peer.give(cost)
        self.cost = cost
        return true
    }

    /// Takes over what another one has reserved.
    mutating func take(_ other: inout Reservation) { cost.add(other.handOver()) }

    /// Moves the reservation of complete evidence into a new one.
    mutating func move() -> Reservation { Reservation(moving: handOver(), for: peer) }

    /// Ends the reservation of complete evidence without giving its memory back, which becomes the
    /// caller's duty.
    mutating func handOver() -> RequestCost {
        defer { cost = .none }
        return cost
    }

    /// Gives the memory of a receipt back, before the reservation ends.
    mutating func release() {
        peer.takeBack(receipt: receiptBytes)
        receiptBytes = 0
    }

    // An empty one can end on any thread.
    deinit {
        if cost != .none { peer.takeBack(cost) }
        if receiptBytes > 0 { peer.takeBack(receipt: receiptBytes) }
    }
}
