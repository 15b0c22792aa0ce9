import AssayWire

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry

/// Compares what the workers count of the server's memory with the sum of what their connections
/// hold, and the requests that were counted with those that are in flight.
final class MemoryLedger {
    /// Also those of closed connections: they live as long as one of their requests is in flight.
    private var flows: [Known] = []

    private struct Known {
        weak var flow: Flow?
        weak var connection: Connection?
        let worker: Int
    }

    private struct Sums: Equatable {
        var unread = 0
        var unwritten = 0
        var body = 0
        var open = 0
        var engine = 0
        var evidence = 0
        var due = 0
        var receipts = 0
    }

    /// What is wrong; nil if nothing is.
    func problem(of server: SimulatedServer) -> String? {
        var problem: String?
        var inFlight = 0
        server.forEachWorker { index, worker in
            for connection in worker.connections.all
            where !flows.contains(where: { $0.flow === connection.flow }) {
                flows.append(
                    Known(flow: connection.flow, connection: connection, worker: index))
            }
            let mine = flows.filter { $0.worker == index }
            inFlight += mine.reduce(0) { $0 + ($1.flow?.inFlight.count ?? 0) }
            problem = problem ?? Self.problem(of: worker, mine)
        }
        flows.removeAll { $0.flow == nil }
        let open = server.metrics.unanswered
        if !(0...inFlight).contains(open) {
            problem = problem ?? "\(open) requests are unanswered, \(inFlight) are in flight"
        }
        return problem
    }

    private static func problem(of worker: WorkerLoop, _ flows: [Known]) -> String? {
        let budget = worker.budget
        let counted = Sums(
            unread: budget.buffered, unwritten: budget.unwritten, body: budget.collected,
            open: budget.open, engine: budget.engines,
            evidence: budget.evidence - worker.scheduler.fetches.held, due: budget.due,
            receipts: budget.receipts)
        var held = Sums()
        for flow in flows.compactMap(\.flow) {
            held.evidence += flow.inFlight.evidenceBytes
            held.due += flow.inFlight.answersDue
        }
        for connection in flows.compactMap(\.connection) {
            let bytes = connection.isClosed ? HeldBytes() : HeldBytes(of: connection)
            held.unread += bytes.unread
            // The system takes bytes without a notice.
            guard bytes.unwritten <= connection.counted.unwritten else {
                return "\(bytes.unwritten) bytes of answers are unwritten, "
                    + "\(connection.counted.unwritten) are counted"
            }
            held.unwritten += connection.counted.unwritten
            held.body += bytes.body
            held.open += bytes.open
            held.engine += bytes.engine
            held.receipts += connection.session.arriving.reduce(0) { $0 + $1.heldBytes }
        }
        if counted != held { return "counted \(counted), held \(held)" }
        var shares = PeerBytes()
        for peer in worker.connections.allPeers { shares.add(peer.held) }
        let all = PeerBytes(of: budget)
        if shares != all { return "clients have \(shares), all have \(all)" }
        if worker.scheduler.parses.isIdle, budget.parsing != 0 || budget.parsed != 0 {
            return "\(budget.parsing) bytes of bodies and \(budget.parsed) of values are counted, "
                + "and none are parsed"
        }
        return nil
    }
}

extension PeerBytes {
    /// What all clients have.
    fileprivate init(of budget: Budget) {
        let buffers = budget.buffered + budget.unwritten + budget.open + budget.engines
        let bodies = budget.parsing + budget.parsed
        self.init(
            memory: budget.evidence + budget.due + budget.receipts + buffers + bodies,
            answers: budget.unwritten + budget.open + budget.due, receipts: budget.receipts,
            bodies: budget.collected + budget.parsing)
    }

    fileprivate mutating func add(_ other: PeerBytes) {
        memory += other.memory
        answers += other.answers
        receipts += other.receipts
        bodies += other.bodies
    }
}

extension Session {
    /// The receipts that are verified as they arrive.
    fileprivate var arriving: [ArrivingReceipt] {
        switch self {
        case let session as HTTP2Session: session.streams.values.compactMap(\.receipt)
        case let session as HTTPSession: [session.current?.receipt].compactMap(\.self)
        case let session as FrameSession: [session.arriving?.receipt].compactMap(\.self)
        default: []
        }
    }
}

extension ArrivingReceipt {
    fileprivate var heldBytes: Int { admitted.reservation.receiptBytes }
}

extension ServerMetrics {
    /// Requests without an answer or a refusal. Negative if one has two.
    fileprivate var unanswered: Int {
        CallLabel.allCases.reduce(0) { sum, call in
            let answered = Status.allCases.reduce(0) { $0 + handled(call, $1) }
            return sum + Int(started(call)) - Int(answered)
        }
    }
}
