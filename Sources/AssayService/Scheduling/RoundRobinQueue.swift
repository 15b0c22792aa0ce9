import AssayTelemetry

/// A queue that serves peers in turn, and the flows of each peer in turn: deficit round robin
/// (Shreedhar and Varghese, 1995) in two levels.
///
/// Each element has a cost. In each round a peer gets a quantum of cost, however many flows it has,
/// and so does each flow in the rounds of its peer, however much it has queued. So a flow waits for
/// at most as much of each other peer as its own peer takes before it, and the queue can predict
/// that wait. A peer alone gets everything. The owner of a flow keeps it: no operation looks one
/// up. All operations on an element take constant time on average.
package struct RoundRobinQueue<Element> {
    /// What takes turns: a peer, or a flow of one.
    package class Member {
        /// The cost of its elements.
        fileprivate(set) final var cost = 0
        /// The cost that it can take before the next member's turn.
        fileprivate final var credit = 0
        fileprivate final var hasTurn = false
    }

    /// A client, whose flows share its turns.
    package final class Peer: Member {
        fileprivate var flows = Round<Line>()

        package override init() {}
    }

    /// The elements of one flow, in the order of their arrival. Its owner keeps it.
    package final class Line: Member {
        let peer: Peer
        fileprivate var entries = Ring<Entry>()

        package init(of peer: Peer) { self.peer = peer }

        var count: Int { entries.count }
        var isEmpty: Bool { entries.isEmpty }
    }

    fileprivate struct Entry {
        let element: Element
        let cost: Int
    }

    private var peers = Round<Peer>()
    package private(set) var count = 0
    private let leastQuantum: Int

    package init(leastQuantum: Int) {
        precondition(leastQuantum > 0)
        self.leastQuantum = leastQuantum
    }

    package var isEmpty: Bool { count == 0 }
    /// The cost of all elements.
    var cost: Int { peers.cost }
    /// Number of peers with elements.
    var peerCount: Int { peers.count }

    var meanCost: Int { count > 0 ? cost / count : 0 }

    /// What each peer and each flow gets in a round. At least the mean cost: a round then serves an
    /// element of each on average, however expensive they are.
    var quantum: Int { max(leastQuantum, meanCost) }

    // MARK: Elements

    package mutating func append(_ element: Element, cost: Int, to flow: Line) {
        let cost = max(cost, 1)
        flow.entries.append(Entry(element: element, cost: cost))
        didAdd(cost, to: flow)
    }

    /// Adds an element before the others of its flow.
    mutating func prepend(_ element: Element, cost: Int, to flow: Line) {
        let cost = max(cost, 1)
        flow.entries.prepend(Entry(element: element, cost: cost))
        didAdd(cost, to: flow)
    }

    private mutating func didAdd(_ cost: Int, to flow: Line) {
        count += 1
        change(flow, by: cost)
        flow.peer.flows.enter(flow, quantum)
        peers.enter(flow.peer, quantum)
    }

    private mutating func change(_ flow: Line, by difference: Int) {
        // The peer's own cost changes with the round that it is in.
        flow.peer.flows.change(flow, by: difference)
        peers.change(flow.peer, by: difference)
    }

    /// Removes and returns the next element.
    package mutating func take() -> Element? {
        while let peer = peers.first {
            guard let flow = nextFlow(of: peer), let first = flow.entries.first else {
                peers.endTurn()
                continue
            }
            guard peers.canPay(first.cost, quantum) else { continue }
            _ = flow.entries.popFirst()
            count -= 1
            change(flow, by: -first.cost)
            peer.flows.pay(first.cost)
            peers.pay(first.cost)
            // Flows whose elements were removed: they would keep their peer, and it them.
            if peer.cost == 0 { peer.flows.endTurns() }
            return first.element
        }
        return nil
    }

    /// The flow of a peer whose first element is next; nil if the peer has none.
    private func nextFlow(of peer: Peer) -> Line? {
        while let flow = peer.flows.first {
            guard let first = flow.entries.first else {
                peer.flows.endTurn()
                continue
            }
            if peer.flows.canPay(first.cost, quantum) { return flow }
        }
        return nil
    }

    func allSatisfy(_ predicate: (Element) -> Bool) -> Bool {
        for flow in waitingFlows {
            for index in 0..<flow.entries.count where !predicate(flow.entries[index].element) {
                return false
            }
        }
        return true
    }

    private var waitingFlows: [Line] { peers.members.flatMap(\.flows.members) }

    /// Removes and returns the elements for which `isRemoved` holds.
    mutating func removeAll(where isRemoved: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        for flow in waitingFlows { removed += removeAll(of: flow, where: isRemoved) }
        return removed
    }

    /// Removes and returns the elements of a flow for which `isRemoved` holds. A flow without
    /// elements leaves when its turn comes.
    package mutating func removeAll(
        of flow: Line, where isRemoved: (Element) -> Bool = { _ in true }
    ) -> [Element] {
        let removed = flow.entries.removeAll { isRemoved($0.element) }
        count -= removed.count
        change(flow, by: -removed.reduce(0) { $0 + $1.cost })
        return removed.map(\.element)
    }

    // MARK: Waits

    /// The cost that is taken before another element of a flow: its own elements, and of each other
    /// flow of its peer, and then of each other peer, as much as that takes in the same rounds. An
    /// upper bound: members of similar cost are counted together.
    ///
    /// - Parameters:
    ///   - cost: the cost of the other element.
    ///   - flow: nil for a flow that has no elements.
    ///   - peer: the flow's.
    func cost(before cost: Int, of flow: Line?, from peer: Peer) -> Int {
        let step = max(cost, quantum)
        let ofPeer = peer.flows.cost(upTo: step, after: flow?.cost ?? 0)
        return ofPeer + peers.cost(upTo: step, after: ofPeer, besides: peer.cost)
    }

    /// Whether a flow has few elements in the queue, beside others with more: its peer beside other
    /// peers, or the flow beside the others of the only peer.
    func isLight(_ flow: Line?, from peer: Peer) -> Bool {
        if peers.hasOthers(than: peer.cost) {
            return peers.isLight(peer.cost, meanCost, quantum)
        }
        return peer.flows.isLight(flow?.cost ?? 0, meanCost, quantum)
    }

    // MARK: Rounds

    /// Members that take turns, with the costs of all.
    fileprivate struct Round<Member: RoundRobinQueue.Member> {
        /// Members whose costs have the same bit width.
        private struct Bucket {
            var members = 0
            var cost = 0
        }

        /// The members with elements, in the order of their turns. Those whose elements were
        /// removed leave when their turn comes.
        private var turns = Ring<Member>()
        /// By the bit width of their costs. Empty until the first: most members never have one.
        private var buckets: [Bucket] = []
        private(set) var cost = 0
        /// Number of members with elements.
        private(set) var count = 0

        var first: Member? { turns.first }
        var members: [Member] { (0..<turns.count).map { turns[$0] } }

        mutating func enter(_ member: Member, _ quantum: Int) {
            guard !member.hasTurn else { return }
            member.hasTurn = true
            member.credit = quantum
            turns.append(member)
        }

        /// Whether the first member can pay for its element. If not, its next turn comes after
        /// those of the others, with more credit.
        mutating func canPay(_ cost: Int, _ quantum: Int) -> Bool {
            guard let member = turns.first, cost > member.credit, count > 1 else { return true }
            member.credit += quantum
            _ = turns.popFirst()
            turns.append(member)
            return false
        }

        /// Takes the cost of an element that has left the first member.
        mutating func pay(_ cost: Int) {
            guard let member = turns.first else { return }
            member.credit = max(member.credit - cost, 0)
            if member.cost == 0 { endTurn() }
        }

        /// Unused credit is lost: an idle member saves none.
        mutating func endTurn() {
            guard let member = turns.popFirst() else { return }
            member.hasTurn = false
            member.credit = 0
        }

        mutating func endTurns() { while first != nil { endTurn() } }

        mutating func change(_ member: Member, by difference: Int) {
            if buckets.isEmpty { buckets = Array(repeating: Bucket(), count: Int.bitWidth) }
            leaveBucket(member.cost)
            member.cost += difference
            cost += difference
            joinBucket(member.cost)
        }

        private mutating func leaveBucket(_ cost: Int) {
            guard cost > 0 else { return }
            let bucket = Self.bucket(of: cost)
            buckets[bucket].members -= 1
            buckets[bucket].cost -= cost
            count -= 1
        }

        private mutating func joinBucket(_ cost: Int) {
            guard cost > 0 else { return }
            let bucket = Self.bucket(of: cost)
            buckets[bucket].members += 1
            buckets[bucket].cost += cost
            count += 1
        }

        private static func bucket(of cost: Int) -> Int {
            Int.bitWidth - 1 - cost.leadingZeroBitCount
        }

        /// What all members take before one has taken a cost and a step more.
        ///
        /// - Parameter own: the cost of a member that does not count.
        func cost(upTo step: Int, after taken: Int, besides own: Int = 0) -> Int {
            let (reach, hasOverflow) = taken.addingReportingOverflow(step)
            // Nobody has more.
            guard !hasOverflow, reach < cost else { return cost - own }
            let first = Self.bucket(of: max(reach, 1))
            let ownBucket = own > 0 ? Self.bucket(of: own) : -1
            var sum = 0
            for index in buckets.indices {
                var bucket = buckets[index]
                if index == ownBucket {
                    bucket.members -= 1
                    bucket.cost -= own
                }
                guard bucket.members > 0 else { continue }
                sum +=
                    index < first
                    ? bucket.cost : min(bucket.cost, bucket.members.saturatingProduct(reach))
            }
            return sum
        }

        func hasOthers(than own: Int) -> Bool { count > (own > 0 ? 1 : 0) }

        /// Whether a member of a cost has few elements beside the others: with its next element at
        /// most two quanta, and the others on average twice that or a quantum.
        func isLight(_ own: Int, _ meanCost: Int, _ quantum: Int) -> Bool {
            guard hasOthers(than: own) else { return own == 0 }
            let others = count - (own > 0 ? 1 : 0)
            let next = own + meanCost
            return next <= 2 * quantum && cost - own >= others * min(quantum, 2 * next)
        }
    }
}

extension Int {
    fileprivate func saturatingProduct(_ other: Int) -> Int {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? .max : product
    }
}
