import AssayTelemetry

/// The requests of one connection that are being verified, and what they hold.
package struct RequestsInFlight {
    private var ids = SortedIds()
    /// Those that their client has given up.
    private var givenUp: Set<UInt64> = []
    /// Bytes of their evidence and state.
    package private(set) var evidenceBytes = 0
    /// Bytes expected in their answers.
    package private(set) var answersDue = 0
    /// The lines of those that wait for verification; nil for a connection that has none.
    private(set) var lines: RequestLines?

    /// Capacity for ids that an idle connection keeps: below 1 KB.
    private static let kept = 64

    package var count: Int { ids.count }
    package var isEmpty: Bool { ids.isEmpty }

    package func contains(_ id: UInt64) -> Bool { ids.contains(id) }

    /// Records an admitted request. A receipt that is still arriving costs nothing yet.
    mutating func insert(_ id: UInt64, _ cost: RequestCost = .none) {
        ids.insert(id)
        charge(cost)
    }

    /// Records the cost of a receipt that has arrived.
    mutating func charge(_ cost: RequestCost) {
        evidenceBytes += cost.bytes
        answersDue += cost.answer
    }

    mutating func remove(_ id: UInt64, _ cost: RequestCost = .none) {
        ids.remove(id)
        if !givenUp.isEmpty { givenUp.remove(id) }
        evidenceBytes -= cost.bytes
        answersDue -= cost.answer
    }

    /// Marks requests in flight that their client has given up. Ignores other ids: their requests
    /// have ended. Returns false if there is nothing to mark.
    mutating func giveUp(_ given: [UInt64]) -> Bool {
        let marked = given.filter { ids.contains($0) }
        givenUp.formUnion(marked)
        return !marked.isEmpty
    }

    /// Whether a request was given up, and has not ended yet.
    func hasGivenUp(_ id: UInt64) -> Bool { !givenUp.isEmpty && givenUp.contains(id) }

    /// Returns the lines in which requests wait for verification.
    mutating func makeLines(of peer: Peer) -> RequestLines {
        if let lines { return lines }
        let new = RequestLines(of: peer)
        lines = new
        return new
    }

    /// Releases spare memory. Called while nothing is in flight.
    package mutating func giveBackMemory() {
        if ids.capacity > Self.kept { ids = SortedIds() }
        if givenUp.isEmpty { givenUp = [] }
        // Items of a Resolve that has ended are possibly still queued.
        if lines?.isEmpty == true { lines = nil }
    }
}

/// Ids in their order. Clients count upwards, so that most are added at the end; a table would hash
/// each several times. One connection has a thousand at most, whatever it chooses.
private struct SortedIds {
    private var ids: [UInt64] = []

    var count: Int { ids.count }
    var isEmpty: Bool { ids.isEmpty }
    var capacity: Int { ids.capacity }

    /// The index of the first id that is not below `id`.
    private func position(of id: UInt64) -> Int {
        guard let last = ids.last, last >= id else { return ids.count }
        var (low, high) = (0, ids.count - 1)
        while low < high {
            let middle = (low + high) / 2
            if ids[middle] < id { low = middle + 1 } else { high = middle }
        }
        return low
    }

    func contains(_ id: UInt64) -> Bool {
        let position = position(of: id)
        return position < ids.count && ids[position] == id
    }

    mutating func insert(_ id: UInt64) {
        let position = position(of: id)
        if position == ids.count {
            ids.append(id)
        } else if ids[position] != id {
            ids.insert(id, at: position)
        }
    }

    mutating func remove(_ id: UInt64) {
        let position = position(of: id)
        if position < ids.count, ids[position] == id { ids.remove(at: position) }
    }
}
