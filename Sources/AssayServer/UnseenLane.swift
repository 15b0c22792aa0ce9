import Assay

/// Evidence whose chain has not validated before: it waits here, apart from what the workers do.
///
/// Validating a chain takes as long as a hundred verifications under a known one, so it has a
/// thread of its own, at a rate of its own. One request for each chain is verified; those that wait
/// for the same chain go back to the workers when it has been, and find it known, or refused. The
/// chain that most wait for goes first: a server that starts amid a flood of strangers' chains,
/// each of which comes once, knows Apple's a moment later.
struct UnseenLane {
    /// Trust is the verifier's: what fails under one may hold under another.
    struct Key: Hashable {
        let verifier: Swift.ObjectIdentifier
        let chain: UnseenChain

        init(_ request: AcceptedRequest, _ chain: UnseenChain) {
            verifier = Swift.ObjectIdentifier(request.app.verifier)
            self.chain = chain
        }
    }

    private var chainsMost: Int
    private var bucket: TokenBucket
    /// Those that wait for each chain, the one being verified left out.
    private var requests: [Key: [AcceptedRequest]] = [:]
    /// Chains whose turn has not come, in the order they came in.
    private var order: [Key] = []
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
    var chainCount: Int { order.count }
    var requestCount: Int { requests.values.reduce(0) { $0 + $1.count } }

    /// Nil: it waits here now. Otherwise the milliseconds after which there may be room, or time.
    mutating func add(_ request: AcceptedRequest, _ chain: UnseenChain, at now: UInt64) -> UInt64? {
        let key = Key(request, chain)
        if requests[key] != nil {
            requests[key]?.append(request)
            return nil
        }
        let wait = bucket.wait(for: order.count + 1, at: now)
        guard order.count < chainsMost, now + wait < request.deadline else { return max(wait, 1) }
        requests[key] = [request]
        order.append(key)
        return nil
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
        while !order.isEmpty {
            let wait = bucket.wait(for: 1, at: now)
            guard wait == 0 else { return (.later(wait), over) }
            let key = takeMostWanted()
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

    /// The chain that most requests wait for; of several, the one that came first.
    private mutating func takeMostWanted() -> Key {
        var (place, most) = (0, 0)
        for (index, key) in order.enumerated() {
            let count = requests[key]?.count ?? 0
            if count > most { (place, most) = (index, count) }
        }
        return order.remove(at: place)
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
            over += waiting.filter(isOver)
            let rest = waiting.filter { !isOver($0) }
            requests[key] = rest.isEmpty && key != running ? nil : rest
        }
        if !over.isEmpty { order.removeAll { requests[$0] == nil } }
        return over
    }
}
