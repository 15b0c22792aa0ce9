import AssayTelemetry

/// A fair queue of keys requested by the flows of several peers: start-time fair queueing in two
/// levels.
///
/// Peers get equal numbers of turns, and so do the flows of each, regardless of the number of keys
/// that each requests. A peer without a recent turn goes before peers that had one, and so does a
/// flow. Within a flow, preferred keys go first, then the keys with the most requests, by powers of
/// two, then a random one, so that the order of a flood does not matter. A turn takes as long
/// however many keys wait.
package struct FairQueue<Peer: Hashable, Key: Hashable> {
    package struct FlowKey: Hashable {
        let peer: Peer
        let number: UInt64
    }

    /// The flows of a peer.
    private struct Group {
        /// Number of keys in their queues. A key of two flows counts twice.
        var count = 0
        /// Number of flows with waiting keys.
        var flowCount = 0
        /// The virtual time at which the peer's next turn starts.
        var start: UInt64
        /// The start of the latest turn of its flows.
        var time: UInt64 = 0
    }

    private struct Entry {
        /// The flows that request the key.
        var requests: [FlowKey: Requests] = [:]
        /// The bucket of the key in its queues. It only rises, so that cancelled requests move no
        /// key.
        var rank = 0
        var isPreferred = false
        /// Number of requests of all flows.
        var count = 0
        /// Its index in `keys`.
        var index: Int

        /// In place: a copy of an entry would copy all its flows.
        mutating func add(_ flow: FlowKey, isPreferred: Bool) {
            requests[flow, default: Requests()].count += 1
            count += 1
            if isPreferred { self.isPreferred = true }
        }

        /// Rises with each doubling of the requests. So a key of many flows is seldom moved.
        var earnedRank: Int {
            let doublings = Int.bitWidth - 1 - count.leadingZeroBitCount
            return min(doublings, ranks / 2 - 1) + (isPreferred ? ranks / 2 : 0)
        }
    }

    /// A flow's requests of a key.
    private struct Requests {
        var count = 0
        /// The key's index in its bucket of the flow's queue.
        var index = 0
    }

    private struct FlowQueue {
        /// The keys by rank; the last ones go first.
        var buckets = [[Key]](repeating: [], count: ranks)
        /// Number of keys.
        var count = 0
        /// The virtual time at which the flow's next turn starts.
        var start: UInt64

        var best: [Key] { buckets.last { !$0.isEmpty } ?? [] }

        /// A key that is as likely to be drawn as any other.
        func random(using random: inout some RandomNumberGenerator) -> Key? {
            guard count > 0 else { return nil }
            var index = Int.random(in: 0..<count, using: &random)
            for bucket in buckets {
                if index < bucket.count { return bucket[index] }
                index -= bucket.count
            }
            return nil
        }
    }

    /// One for each power of two up to 2,048 requests, without preference and with it.
    private static var ranks: Int { 24 }

    private var entries: [Key: Entry] = [:]
    /// All waiting keys, for random draws.
    private var keys: [Key] = []
    private var queues: [FlowKey: FlowQueue] = [:]
    private var groups: [Peer: Group] = [:]
    /// The start of the latest turn.
    private var time: UInt64 = 0
    /// Number of flows with waiting keys.
    private(set) var flowCount = 0
    private var random: any RandomNumberGenerator & Sendable

    /// Number of random candidates of which the worst is dropped. Long queues contribute most
    /// candidates.
    private static var drawCount: Int { 8 }

    init(random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()) {
        self.random = random
    }

    /// Number of waiting keys.
    var count: Int { entries.count }

    func contains(_ key: Key) -> Bool { entries[key] != nil }

    /// Number of keys that wait in a flow's queue.
    func count(of flow: FlowKey) -> Int { queues[flow]?.count ?? 0 }

    /// Turns until the last key of a flow is taken, with those of other flows and peers.
    func turns(of flow: FlowKey) -> Int {
        guard let group = groups[flow.peer] else { return 0 }
        let peers = groups.values.count { $0.count > 0 }
        let ofPeer = min(count(of: flow) * group.flowCount, group.count)
        return min(ofPeer * peers, count)
    }

    /// Adds a request of a flow for the key.
    mutating func add(_ key: Key, of flow: FlowKey, isPreferred: Bool) {
        if entries[key] == nil {
            entries[key] = Entry(index: keys.count)
            keys.append(key)
        }
        let isNew = entries[key]?.requests[flow] == nil
        entries[key]?.add(flow, isPreferred: isPreferred)
        if isNew { join(key, flow) }
        if let entry = entries[key], entry.rank < entry.earnedRank {
            raise(key, to: entry.earnedRank)
        }
    }

    private mutating func join(_ key: Key, _ flow: FlowKey) {
        var group = groups[flow.peer] ?? Group(start: time)
        if group.count == 0 { group.start = max(group.start, time) }
        if count(of: flow) == 0 {
            flowCount += 1
            group.flowCount += 1
            let start = max(queues[flow]?.start ?? 0, group.time)
            queues[flow, default: FlowQueue(start: start)].start = start
        }
        queues[flow]?.count += 1
        group.count += 1
        groups[flow.peer] = group
        put(key, inQueueOf: flow)
    }

    private mutating func raise(_ key: Key, to rank: Int) {
        let flows = entries[key].map { Array($0.requests.keys) } ?? []
        for flow in flows { pull(key, fromQueueOf: flow) }
        entries[key]?.rank = rank
        for flow in flows { put(key, inQueueOf: flow) }
    }

    /// Puts a key into the bucket of its rank.
    private mutating func put(_ key: Key, inQueueOf flow: FlowKey) {
        guard let rank = entries[key]?.rank, let index = queues[flow]?.buckets[rank].count
        else { return }
        entries[key]?.requests[flow]?.index = index
        queues[flow]?.buckets[rank].append(key)
    }

    /// Takes a key out of its bucket.
    private mutating func pull(_ key: Key, fromQueueOf flow: FlowKey) {
        guard let entry = entries[key], let index = entry.requests[flow]?.index,
            let last = queues[flow]?.buckets[entry.rank].popLast(), last != key
        else { return }
        queues[flow]?.buckets[entry.rank][index] = last
        entries[last]?.requests[flow]?.index = index
    }

    /// Removes and returns the next key, and charges the peer and the flow whose turn it is.
    mutating func take() -> Key? {
        let waiting = groups.lazy.filter { $0.value.count > 0 }.map { ($0.key, $0.value.start) }
        guard let peer = first(of: waiting), let group = groups[peer] else { return nil }
        let flows = queues.lazy.filter { $0.key.peer == peer && $0.value.count > 0 }
            .map { ($0.key, $0.value.start) }
        guard let flow = first(of: flows), let queue = queues[flow],
            let key = queue.best.randomElement(using: &random)
        else { return nil }
        time = group.start
        groups[peer]?.start = group.start + 1
        groups[peer]?.time = queue.start
        queues[flow]?.start = queue.start + 1
        remove(key)
        forgetPastTurns()
        return key
    }

    /// A member whose turn starts first.
    private mutating func first<Member>(of members: some Sequence<(Member, UInt64)>) -> Member? {
        var first: UInt64 = .max
        var found: [Member] = []
        for (member, start) in members where start <= first {
            if start < first { found.removeAll(keepingCapacity: true) }
            first = start
            found.append(member)
        }
        return found.randomElement(using: &random)
    }

    /// Forgets past turns once the virtual time has passed them.
    private mutating func forgetPastTurns() {
        if entries.isEmpty {
            queues.removeAll()
            groups.removeAll()
        } else if queues.count > 2 * flowCount {
            groups = groups.filter { $0.value.count > 0 || $0.value.start > time }
            queues = queues.filter { flow, queue in
                guard queue.count == 0 else { return true }
                return groups[flow.peer].map { queue.start > $0.time } ?? false
            }
        }
    }

    mutating func remove(_ key: Key) {
        guard let entry = entries[key] else { return }
        for flow in entry.requests.keys { leave(key, flow) }
        entries[key] = nil
        let last = keys.removeLast()
        if last != key {
            keys[entry.index] = last
            entries[last]?.index = entry.index
        }
    }

    /// Removes a request of a flow; with the last request, removes the key.
    mutating func removeRequest(for key: Key, of flow: FlowKey) {
        guard let entry = entries[key], let requests = entry.requests[flow] else { return }
        if entry.count == 1 { return remove(key) }
        if requests.count == 1 {
            leave(key, flow)
            entries[key]?.requests[flow] = nil
        } else {
            entries[key]?.requests[flow]?.count -= 1
        }
        entries[key]?.count -= 1
    }

    private mutating func leave(_ key: Key, _ flow: FlowKey) {
        pull(key, fromQueueOf: flow)
        queues[flow]?.count -= 1
        groups[flow.peer]?.count -= 1
        guard count(of: flow) == 0 else { return }
        flowCount -= 1
        groups[flow.peer]?.flowCount -= 1
    }

    // MARK: Drops

    /// The key to drop when all queues together are too long: of a peer with many keys.
    mutating func victim() -> Key? {
        var drawn: [Key] = []
        for _ in 0..<Self.drawCount {
            if let key = keys.randomElement(using: &random) { drawn.append(key) }
        }
        return worst(of: drawn)
    }

    /// The key to drop when a flow's queue is too long.
    mutating func victim(of flow: FlowKey) -> Key? {
        var drawn: [Key] = []
        for _ in 0..<Self.drawCount {
            if let key = queues[flow]?.random(using: &random) { drawn.append(key) }
        }
        return worst(of: drawn)
    }

    /// The worst key: spares keys of peers with short queues, then of flows with short queues, then
    /// preferred keys, then keys with many requests.
    private func worst(of keys: [Key]) -> Key? {
        func rank(_ key: Key) -> (Int, Int, Int, Int) {
            guard let entry = entries[key] else { return (0, 0, 0, 0) }
            let ofPeer = entry.requests.keys.map { groups[$0.peer]?.count ?? 0 }.min() ?? 0
            let shortest = entry.requests.keys.map { count(of: $0) }.min() ?? 0
            return (ofPeer, shortest, entry.isPreferred ? 0 : 1, -entry.count)
        }
        return keys.max { rank($0) < rank($1) }
    }
}
