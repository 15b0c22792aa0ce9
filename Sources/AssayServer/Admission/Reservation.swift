/// Memory that the budget has reserved for one request. Gives it back when it ends.
struct Reservation: ~Copyable {
    private let budget: Budget
    /// The cost of evidence that is complete.
    private(set) var cost: RequestCost
    /// Bytes of a receipt that is still arriving.
    private(set) var receiptBytes = 0

    /// Reserves the memory of a request: nothing for a receipt that is still to arrive.
    init(_ cost: RequestCost, of budget: Budget) {
        self.budget = budget
        self.cost = cost
        budget.give(cost)
    }

    private init(moving cost: RequestCost, of budget: Budget) {
        self.budget = budget
        self.cost = cost
    }

    /// Reserves the first memory of a receipt, whose size was checked when it was admitted.
    mutating func begin(receipt bytes: Int) {
        budget.give(receipt: bytes)
        receiptBytes += bytes
    }

    /// Changes the memory of a receipt. Returns false, and changes nothing, if the budget does not
    /// admit it.
    mutating func resize(receipt bytes: Int) -> Bool {
        if bytes > receiptBytes {
            guard budget.admits(receipt: bytes - receiptBytes), budget.canFit(receipt: bytes)
            else { return false }
            budget.give(receipt: bytes - receiptBytes)
        } else {
            budget.takeBack(receipt: receiptBytes - bytes)
        }
        receiptBytes = bytes
        return true
    }

    /// Turns the memory of a receipt that has arrived into the cost of a request. Returns false if
    /// the budget does not admit the request's answer; then nothing is reserved.
    mutating func complete(_ cost: RequestCost) -> Bool {
        release()
        guard budget.admits(cost) else { return false }
        budget.give(cost)
        self.cost = cost
        return true
    }

    /// Takes over what another one has reserved.
    mutating func take(_ other: inout Reservation) { cost.add(other.handOver()) }

    /// Moves the reservation of complete evidence into a new one.
    mutating func move() -> Reservation { Reservation(moving: handOver(), of: budget) }

    /// Ends the reservation of complete evidence without giving its memory back, which becomes the
    /// caller's duty.
    mutating func handOver() -> RequestCost {
        defer { cost = .none }
        return cost
    }

    /// Gives the memory of a receipt back, before the reservation ends.
    mutating func release() {
        budget.takeBack(receipt: receiptBytes)
        receiptBytes = 0
    }

    // An empty one can end on any thread.
    deinit {
        if cost != .none { budget.takeBack(cost) }
        if receiptBytes > 0 { budget.takeBack(receipt: receiptBytes) }
    }
}
