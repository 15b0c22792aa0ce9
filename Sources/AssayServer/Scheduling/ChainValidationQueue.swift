import Assay
import AssayIO

/// Evidence whose chain has not validated before: it waits here, apart from what the workers do.
///
/// Validating a chain takes as long as a hundred verifications under a known one, so it has a
/// thread of its own, at a rate of its own. One request for each chain is verified; those that wait
/// for the same chain go back to the workers when it has been, and find it known, or refused.
/// Connections have equal shares of the rate, so that a flood of forged chains delays a genuine one
/// of another connection by one turn or two. Where more wait than have their turn in time, some are
/// refused at random, not the latest.
struct ChainValidationQueue {
    /// Trust is the verifier's: what fails under one may hold under another.
    struct Key: Hashable {
        let verifier: ObjectIdentifier
        let chain: ChainID

        init(_ request: AcceptedRequest, _ chain: ChainID) {
            verifier = ObjectIdentifier(request.app.verifier)
            self.chain = chain
        }
    }

    private var chainsMost: Int
    private var bucket: TokenBucket
    /// The requests that wait for each chain, without the one that is being verified.
    private var requests: [Key: [AcceptedRequest]] = [:]
    /// The chains whose turn has not come, by connection.
    private var queue = FairQueue<UInt64, Key>()
    private(set) var running: Key?

    init(chainsPerSecond: Int, chainsMost: Int) {
        self.chainsMost = chainsMost
        bucket = TokenBucket(perSecond: chainsPerSecond)
    }

    mutating func change(chainsPerSecond: Int, chainsMost: Int) {
        self.chainsMost = chainsMost
        bucket = TokenBucket(perSecond: chainsPerSecond)
    }

    var isEmpty: Bool { requests.isEmpty && running == nil }
    /// Chains that wait, and requests that wait for them.
    var chainCount: Int { queue.count }
    var requestCount: Int { requests.values.reduce(0) { $0 + $1.count } }

    /// Has a request wait for its chain.
    ///
    /// - Returns: the requests to refuse instead, this one perhaps among them, and the milliseconds
    ///   after which their turn may come.
    mutating func add(
        _ request: AcceptedRequest, _ chain: ChainID, at now: UInt64
    ) -> (refused: [AcceptedRequest], wait: UInt64) {
        let key = Key(request, chain)
        let flow = request.connection.value.number
        let isRunning = key == running
        if !isRunning, requests[key] == nil, now + bucket.wait(for: 1, at: now) >= request.deadline
        {
            return ([request], bucket.wait(for: 1, at: now))
        }
        requests[key, default: []].append(request)
        guard !isRunning else { return ([], 0) }
        queue.add(key, of: flow, isPreferred: chain.hasValidatedIssuer)
        let wait = bucket.wait(for: turns(of: flow), at: now)
        var victim: Key?
        if queue.count > chainsMost {
            victim = queue.victim()
        } else if queue.count(of: flow) > 1, now + wait >= request.deadline {
            victim = queue.victim(of: flow)
        }
        guard let victim else { return ([], 0) }
        queue.remove(victim)
        return (requests.removeValue(forKey: victim) ?? [], wait)
    }

    /// Turns until the last chain of a connection has had its own, among the others' turns.
    private func turns(of flow: UInt64) -> Int {
        min(queue.count(of: flow) * queue.flowCount, queue.count)
    }

    /// What comes next.
    enum Next {
        /// Nothing, or not before the one that is being verified.
        case nothing
        /// The first chain's turn comes after so many milliseconds.
        case later(UInt64)
        case verify(AcceptedRequest)
    }

    /// Also takes out, of the chains that it looks at, the requests that nobody waits for any more.
    mutating func next(
        at now: UInt64, without isOver: (AcceptedRequest) -> Bool
    ) -> (next: Next, over: [AcceptedRequest]) {
        var over: [AcceptedRequest] = []
        guard running == nil else { return (.nothing, over) }
        while queue.count > 0 {
            let wait = bucket.wait(for: 1, at: now)
            guard wait == 0 else { return (.later(wait), over) }
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
            running = key
            return (.verify(first), over)
        }
        return (.nothing, over)
    }

    /// The one that was verified is answered: the others of its chain.
    mutating func finish() -> [AcceptedRequest] {
        precondition(running != nil)
        defer { running = nil }
        return running.flatMap { requests.removeValue(forKey: $0) } ?? []
    }

    /// Takes the requests out that nobody waits for any more.
    mutating func removeAll(where isOver: (AcceptedRequest) -> Bool) -> [AcceptedRequest] {
        var over: [AcceptedRequest] = []
        for (key, waiting) in requests where waiting.contains(where: isOver) {
            let gone = waiting.filter(isOver)
            for request in gone {
                queue.removeRequest(for: key, of: request.connection.value.number)
            }
            over += gone
            let rest = waiting.filter { !isOver($0) }
            requests[key] = rest.isEmpty && key != running ? nil : rest
        }
        return over
    }
}
