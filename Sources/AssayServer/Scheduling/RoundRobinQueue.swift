/// A queue that serves flows in turn: deficit round robin (Shreedhar and Varghese, 1995).
///
/// Each element has a cost, and a flow gets a quantum of cost in each round, however much it has
/// queued. So a flow waits for at most as much of each other flow as it has queued itself, and
/// the queue can predict that wait. The owner of a flow keeps it: no operation looks one up. All
/// operations on an element take constant time on average.
struct RoundRobinQueue<Element> {
    /// The elements of one flow, in the order of their arrival.
    final class Flow {
        fileprivate var line = Ring<Entry>()
        /// The cost of its elements.
        fileprivate(set) var cost = 0
        /// The cost that it can take before the next flow's turn.
        fileprivate var credit = 0
        fileprivate var hasTurn = false

        var count: Int { line.count }
        var isEmpty: Bool { line.isEmpty }
    }

    fileprivate struct Entry {
        let element: Element
        let cost: Int
    }

    /// Flows whose costs have the same bit width.
    private struct Bucket {
        var flows = 0
        var cost = 0
    }

    /// The flows with elements, in the order of their turns. Flows whose elements were removed
    /// leave when their turn comes.
    private var turns = Ring<Flow>()
    private var buckets = [Bucket](repeating: Bucket(), count: Int.bitWidth)
    private(set) var count = 0
    /// The cost of all elements.
    private(set) var cost = 0
    /// Number of flows with elements.
    private(set) var flowCount = 0
    private let leastQuantum: Int

    init(leastQuantum: Int) {
        precondition(leastQuantum > 0)
        self.leastQuantum = leastQuantum
    }

    var isEmpty: Bool { count == 0 }

    var meanCost: Int { count > 0 ? cost / count : 0 }

    /// What each flow gets in a round. At least the mean cost: a round then serves an element of
    /// each flow on average, however expensive they are.
    var quantum: Int { max(leastQuantum, meanCost) }

    // MARK: Elements

    mutating func append(_ element: Element, cost: Int, to flow: Flow) {
        let cost = max(cost, 1)
        flow.line.append(Entry(element: element, cost: cost))
        didAdd(cost, to: flow)
    }

    /// Adds an element before the others of its flow.
    mutating func prepend(_ element: Element, cost: Int, to flow: Flow) {
        let cost = max(cost, 1)
        flow.line.prepend(Entry(element: element, cost: cost))
        didAdd(cost, to: flow)
    }

    private mutating func didAdd(_ cost: Int, to flow: Flow) {
        count += 1
        change(flow, by: cost)
        guard !flow.hasTurn else { return }
        flow.hasTurn = true
        flow.credit = quantum
        turns.append(flow)
    }

    /// Removes and returns the next element.
    mutating func take() -> Element? {
        while let flow = turns.first {
            guard let first = flow.line.first else {
                endTurns(of: flow)
                continue
            }
            guard first.cost <= flow.credit || flowCount == 1 else {
                flow.credit += quantum
                _ = turns.popFirst()
                turns.append(flow)
                continue
            }
            _ = flow.line.popFirst()
            flow.credit = max(flow.credit - first.cost, 0)
            count -= 1
            change(flow, by: -first.cost)
            if flow.line.isEmpty { endTurns(of: flow) }
            return first.element
        }
        return nil
    }

    /// Unused credit is lost: an idle flow saves none.
    private mutating func endTurns(of flow: Flow) {
        _ = turns.popFirst()
        flow.hasTurn = false
        flow.credit = 0
    }

    func allSatisfy(_ predicate: (Element) -> Bool) -> Bool {
        for turn in 0..<turns.count {
            let line = turns[turn].line
            for index in 0..<line.count where !predicate(line[index].element) { return false }
        }
        return true
    }

    /// Removes and returns the elements for which `isRemoved` holds.
    mutating func removeAll(where isRemoved: (Element) -> Bool) -> [Element] {
        var removed: [Element] = []
        for turn in 0..<turns.count {
            removed += removeAll(of: turns[turn], where: isRemoved)
        }
        return removed
    }

    /// Removes and returns the elements of a flow for which `isRemoved` holds.
    mutating func removeAll(
        of flow: Flow, where isRemoved: (Element) -> Bool = { _ in true }
    ) -> [Element] {
        let removed = flow.line.removeAll { isRemoved($0.element) }
        count -= removed.count
        change(flow, by: -removed.reduce(0) { $0 + $1.cost })
        return removed.map(\.element)
    }

    // MARK: Costs

    private mutating func change(_ flow: Flow, by difference: Int) {
        leaveBucket(flow)
        flow.cost += difference
        cost += difference
        joinBucket(flow)
    }

    private mutating func leaveBucket(_ flow: Flow) {
        guard flow.cost > 0 else { return }
        let bucket = Self.bucket(of: flow.cost)
        buckets[bucket].flows -= 1
        buckets[bucket].cost -= flow.cost
        flowCount -= 1
    }

    private mutating func joinBucket(_ flow: Flow) {
        guard flow.cost > 0 else { return }
        let bucket = Self.bucket(of: flow.cost)
        buckets[bucket].flows += 1
        buckets[bucket].cost += flow.cost
        flowCount += 1
    }

    private static func bucket(of cost: Int) -> Int {
        Int.bitWidth - 1 - cost.leadingZeroBitCount
    }

    /// The cost that is taken before another element of a flow: its own elements, and of each
    /// other flow as much as it takes in the same rounds. An upper bound: flows of similar cost
    /// are counted together.
    ///
    /// - Parameter flow: nil for a flow that has no elements.
    /// - Parameter cost: the cost of the other element.
    func cost(before cost: Int, of flow: Flow?) -> Int {
        let own = flow?.cost ?? 0
        let reach = own + max(cost, quantum)
        // Nobody has more.
        guard reach < self.cost else { return self.cost }
        let bucket = Self.bucket(of: reach)
        var sum = 0
        for index in 0..<bucket { sum += buckets[index].cost }
        for index in bucket..<buckets.count where buckets[index].flows > 0 {
            sum += min(buckets[index].cost, buckets[index].flows.saturatingProduct(reach))
        }
        return sum
    }

    /// Whether a flow has few elements in the queue, beside other flows with more: with its next
    /// element at most two quanta, and the others on average twice that or a quantum.
    func isLight(_ flow: Flow?) -> Bool {
        let own = flow?.cost ?? 0
        let others = flowCount - (own > 0 ? 1 : 0)
        guard others > 0 else { return own == 0 }
        let next = own + meanCost
        return next <= 2 * quantum && cost - own >= others * min(quantum, 2 * next)
    }
}

extension Int {
    fileprivate func saturatingProduct(_ other: Int) -> Int {
        let (product, overflow) = multipliedReportingOverflow(by: other)
        return overflow ? .max : product
    }
}
