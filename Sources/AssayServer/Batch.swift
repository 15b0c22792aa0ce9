import AssayLoop
import AssayModels
import AssayWire

/// The requests that wait for a worker, of all connections, in the order they came.
///
/// A batch is what gathered while the workers were busy: it is dealt out to those that are idle at
/// the end of each turn of the loop, so that it grows with the load by itself, and a request that
/// comes alone goes at once. Even that one goes to a worker: a chain that was never seen takes
/// milliseconds, which the loop's thread doesn't have.
struct Batch {
    private let piecesMost: Int
    private let requestsPerPiece: Int
    private var waiting: [AcceptedRequest] = []
    private var idleWorkers: Int

    /// A piece below this many is not worth a second worker's wakeup.
    private static let smallestSharedPiece = 4

    init(workers: Int, requestsPerPiece: Int) {
        piecesMost = workers
        idleWorkers = workers
        self.requestsPerPiece = requestsPerPiece
    }

    mutating func add(_ request: AcceptedRequest) { waiting.append(request) }

    var isEmpty: Bool { waiting.isEmpty && idleWorkers == piecesMost }

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

    /// Pieces for the idle workers, an equal share for each.
    mutating func pieces() -> [[AcceptedRequest]] {
        guard idleWorkers > 0, !waiting.isEmpty else { return [] }
        let share = (waiting.count + idleWorkers - 1) / idleWorkers
        let size = min(max(share, Self.smallestSharedPiece), requestsPerPiece)
        var pieces: [[AcceptedRequest]] = []
        var taken = 0
        while idleWorkers > 0, taken < waiting.count {
            let end = min(taken + size, waiting.count)
            pieces.append(Array(waiting[taken..<end]))
            taken = end
            idleWorkers -= 1
        }
        waiting.removeFirst(taken)
        return pieces
    }
}

/// The encoded answers of a piece, made on the worker's thread.
struct PieceAnswers: Sendable {
    private(set) var bytes: [UInt8] = []
    /// Where each request's answer ends in `bytes`.
    private(set) var ends: [Int] = []

    /// What a transaction's typed fields take.
    private static let usualAnswerBytes = 1024

    init(
        _ piece: [AcceptedRequest], _ verifications: [Verification], at now: Timestamp,
        codec: MessageCodec
    ) {
        precondition(piece.count == verifications.count)
        ends.reserveCapacity(piece.count)
        bytes.reserveCapacity(piece.count * Self.usualAnswerBytes)
        for (request, verification) in zip(piece, verifications) {
            let answer = Exchange.answer(verification, to: request.id, request.call, at: now)
            codec.encodeFrame(answer.head, body: answer.body, into: &bytes)
            ends.append(bytes.count)
        }
    }
}
