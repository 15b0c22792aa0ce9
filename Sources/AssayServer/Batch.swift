/// The requests that wait for a worker, of all connections, in the order they came.
///
/// A batch is what gathered while the workers were busy: it is dealt out to those that are idle at
/// the end of each turn of the loop, so that it grows with the load by itself, and a request that
/// comes alone goes at once. A few quick ones are verified on the loop's thread, for which a
/// worker's wakeup would take longer; and all short ones where the process has one processor, which
/// loop and worker would only take from each other. Never a chain that was not seen before, which
/// takes milliseconds and is put aside.
struct Batch {
    private let piecesMost: Int
    private let requestsPerPiece: Int
    private let hasOneProcessor: Bool
    private var waiting: [AcceptedRequest] = []
    /// Those that are verified on the loop's thread where there is one processor.
    private var short: [AcceptedRequest] = []
    /// How many more of this turn may be.
    private var inPlaceLeft = Self.inPlaceMost
    private var idleWorkers: Int

    /// A piece below this many is not worth a second worker's wakeup.
    private static let smallestSharedPiece = 4

    /// Of one turn where there is one processor: some 10 ms, after which answers are written.
    private static let inPlaceMost = 512

    init(workers: Int, requestsPerPiece: Int, hasOneProcessor: Bool = false) {
        self.hasOneProcessor = hasOneProcessor
        piecesMost = workers
        idleWorkers = workers
        self.requestsPerPiece = requestsPerPiece
    }

    /// Requests that wait for their verification.
    var waitingCount: Int { waiting.count + short.count }

    /// Whether a further request would wait for more than the next piece of each worker.
    var isLong: Bool { waiting.count > 2 * piecesMost * requestsPerPiece }

    mutating func add(_ request: AcceptedRequest) {
        if hasOneProcessor, inPlaceLeft > 0, request.isShort {
            inPlaceLeft -= 1
            short.append(request)
        } else {
            waiting.append(request)
        }
    }

    /// Requests that have waited elsewhere go first.
    mutating func addFirst(_ requests: [AcceptedRequest]) {
        waiting.insert(contentsOf: requests, at: 0)
    }

    /// A full piece of those that are verified where they are, while their bytes are still in the
    /// processor's cache.
    mutating func takeFullPiece() -> [AcceptedRequest]? {
        guard short.count >= requestsPerPiece else { return nil }
        defer { short.removeAll(keepingCapacity: true) }
        return short
    }

    /// At the end of a turn: the requests that are better verified where they are than handed over.
    mutating func takeInPlace() -> [AcceptedRequest] {
        if hasOneProcessor {
            inPlaceLeft = Self.inPlaceMost
            defer { short.removeAll(keepingCapacity: true) }
            return short
        }
        guard waiting.count < Self.smallestSharedPiece, idleWorkers == piecesMost,
            waiting.allSatisfy(\.isQuick)
        else { return [] }
        defer { waiting.removeAll(keepingCapacity: true) }
        return waiting
    }

    var isEmpty: Bool { waiting.isEmpty && short.isEmpty && idleWorkers == piecesMost }

    /// A worker has finished its piece.
    mutating func workerIsIdle() {
        idleWorkers += 1
        precondition(idleWorkers <= piecesMost)
    }

    /// Takes the requests out that nobody waits for any more.
    mutating func removeAll(
        where isOver: (AcceptedRequest) -> Bool
    ) -> [AcceptedRequest] {
        guard waiting.contains(where: isOver) else { return [] }
        let over = waiting.filter(isOver)
        waiting.removeAll(where: isOver)
        return over
    }

    /// Pieces for the idle workers, an equal share for each; without requests that are over,
    /// which are taken out too.
    mutating func pieces(
        without isOver: (AcceptedRequest) -> Bool
    ) -> (pieces: [[AcceptedRequest]], over: [AcceptedRequest]) {
        guard idleWorkers > 0, !waiting.isEmpty else { return ([], []) }
        let share = (waiting.count + idleWorkers - 1) / idleWorkers
        let size = min(max(share, Self.smallestSharedPiece), requestsPerPiece)
        var (pieces, over): ([[AcceptedRequest]], [AcceptedRequest]) = ([], [])
        var taken = 0
        while idleWorkers > 0, taken < waiting.count {
            var piece: [AcceptedRequest] = []
            while piece.count < size, taken < waiting.count {
                let request = waiting[taken]
                taken += 1
                if isOver(request) { over.append(request) } else { piece.append(request) }
            }
            guard !piece.isEmpty else { break }
            pieces.append(piece)
            idleWorkers -= 1
        }
        waiting.removeFirst(taken)
        return (pieces, over)
    }
}
