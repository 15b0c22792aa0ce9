/// The requests of one connection that are being verified, and what they hold.
struct RequestsInFlight {
    private var ids: Set<UInt64> = []
    /// Bytes of their evidence and state.
    private(set) var evidenceBytes = 0
    /// Bytes expected in their answers.
    private(set) var answersDue = 0

    /// Capacity for ids that an idle connection keeps: below 1 KB.
    private static let kept = 64

    var count: Int { ids.count }
    var isEmpty: Bool { ids.isEmpty }

    func contains(_ id: UInt64) -> Bool { ids.contains(id) }

    mutating func insert(_ id: UInt64) { ids.insert(id) }

    mutating func charge(_ cost: RequestCost) {
        evidenceBytes += cost.bytes
        answersDue += cost.answer
    }

    mutating func remove(_ id: UInt64, _ cost: RequestCost) {
        ids.remove(id)
        evidenceBytes -= cost.bytes
        answersDue -= cost.answer
    }

    /// Releases spare memory. Called while nothing is in flight.
    mutating func giveBackMemory() {
        if ids.capacity > Self.kept { ids = [] }
    }
}
