import Assay
import AssayIO
import AssayTelemetry

/// Requests with unknown chains, queued for validation apart from the batch.
///
/// Validating a chain takes as long as ten to a hundred verifications under a known one, so it has
/// its own thread and its own rate. One request per chain is verified; the others of that chain
/// then return to the batch, and find the chain known or are rejected. Chains that wait together
/// are handed over together, a few at a time. Clients have equal parts of the rate, and so have
/// the connections of each, so that a flood of forged chains delays a genuine one of another client
/// by one or two turns. If more chains wait than can be validated in time, random ones are
/// rejected, not the latest.
package struct ChainValidationQueue {
    /// The key includes the verifier, because trust is the verifier's: a chain that fails under
    /// one can validate under another.
    package struct Key: Hashable {
        let verifier: ObjectIdentifier
        let chain: ChainID

        init(_ request: Job, _ chain: ChainID) {
            verifier = ObjectIdentifier(request.app.verifier)
            self.chain = chain
        }
    }

    private var chainLimit: Int
    /// The rate of all workers together.
    private let bucket: SharedBucket
    /// The requests that wait for each chain, except the one that is being verified.
    private var requests: [Key: [Job]] = [:]
    /// The chains that wait for their turn, by client and connection.
    private var queue = FairQueue<PeerKey, Key>()
    /// The chains that are being validated.
    private(set) var running: Set<Key> = []

    /// Chains handed over at a time: few enough that a genuine chain waits at most 20 ms for
    /// those of a flood, and enough to share the cost of waking the thread.
    static let chainsPerTurn = 8

    init(at rate: SharedBucket, chainLimit: Int) {
        self.chainLimit = chainLimit
        bucket = rate
    }

    mutating func change(chainLimit: Int) { self.chainLimit = chainLimit }

    var isEmpty: Bool { requests.isEmpty && running.isEmpty }
    /// Number of chains that wait.
    var chainCount: Int { queue.count }
    var requestCount: Int { requests.values.reduce(0) { $0 + $1.count } }

    /// Queues a request for the validation of its chain.
    ///
    /// - Returns: the requests to reject instead, possibly including this one, and the
    ///   milliseconds until a retry can succeed.
    mutating func add(
        _ request: Job, _ chain: ChainID, at now: UInt64
    ) -> (refused: [Job], wait: UInt64) {
        let key = Key(request, chain)
        let flow = Self.flow(of: request)
        let isRunning = running.contains(key)
        if !isRunning, requests[key] == nil, now + bucket.wait(for: 1, at: now) >= request.deadline
        {
            return ([request], bucket.wait(for: 1, at: now))
        }
        requests[key, default: []].append(request)
        guard !isRunning else { return ([], 0) }
        queue.add(key, of: flow, isPreferred: chain.hasValidatedIssuer)
        let wait = bucket.wait(for: queue.turns(of: flow), at: now)
        var victim: Key?
        if queue.count > chainLimit {
            victim = queue.victim()
        } else if queue.count(of: flow) > 1, now + wait >= request.deadline {
            victim = queue.victim(of: flow)
        }
        guard let victim else { return ([], 0) }
        queue.remove(victim)
        return (requests.removeValue(forKey: victim) ?? [], wait)
    }

    private static func flow(of request: Job) -> FairQueue<PeerKey, Key>.FlowKey {
        let flow = request.flow
        return FairQueue.FlowKey(peer: flow.peer.key, number: flow.number)
    }

    /// The next step of the queue.
    package enum Next {
        /// No chain waits, or some are being validated.
        case nothing
        /// The first chain's turn comes after this many milliseconds.
        case later(UInt64)
        /// One request of each chain whose turn has come.
        case verify([Job])
    }

    /// Returns the next step. Also removes and returns the requests for which `isOver` holds,
    /// among the chains that it examines.
    mutating func next(
        at now: UInt64, without isOver: (Job) -> Bool
    ) -> (next: Next, over: [Job]) {
        var over: [Job] = []
        guard running.isEmpty else { return (.nothing, over) }
        var turn: [Job] = []
        while queue.count > 0, turn.count < Self.chainsPerTurn {
            let wait = bucket.wait(for: 1, at: now)
            guard wait == 0 else {
                if turn.isEmpty { return (.later(wait), over) }
                break
            }
            guard let key = queue.take() else { break }
            let waiting = requests[key] ?? []
            let rest = waiting.drop(while: isOver)
            over += waiting[..<rest.startIndex]
            guard let first = rest.first else {
                requests[key] = nil
                continue
            }
            bucket.spend(1, at: now)
            requests[key] = Array(rest.dropFirst())
            running.insert(key)
            turn.append(first)
        }
        return (turn.isEmpty ? .nothing : .verify(turn), over)
    }

    /// Ends the running validations and returns the other requests of their chains.
    mutating func finish() -> [Job] {
        precondition(!running.isEmpty)
        defer { running = [] }
        return running.flatMap { requests.removeValue(forKey: $0) ?? [] }
    }

    /// Removes and returns the requests for which `isOver` holds.
    mutating func removeAll(where isOver: (Job) -> Bool) -> [Job] {
        var over: [Job] = []
        for (key, waiting) in requests where waiting.contains(where: isOver) {
            let gone = waiting.filter(isOver)
            for request in gone {
                queue.removeRequest(for: key, of: Self.flow(of: request))
            }
            over += gone
            let rest = waiting.filter { !isOver($0) }
            requests[key] = rest.isEmpty && !running.contains(key) ? nil : rest
        }
        return over
    }
}
