/// A fair queue of keys requested by several flows: start-time fair queueing.
///
/// Flows get equal numbers of turns, regardless of the number of keys that each requests. A flow
/// without a recent turn goes before flows that had one. Within a flow, preferred keys go first,
/// then the keys with the most requests, then a random one, so that the order of a flood does not
/// matter.
struct FairQueue<Flow: Hashable, Key: Hashable> {
    private struct Entry {
        /// The flows that request the key, with the number of their requests.
        var requests: [Flow: Int]
        var isPreferred: Bool
        /// Its index in `keys`.
        var place: Int
        var count: Int { requests.values.reduce(0, +) }
    }

    private struct Line {
        var keys: [Key] = []
        /// The virtual time at which the flow's next turn starts.
        var start: UInt64
    }

    private var entries: [Key: Entry] = [:]
    /// All waiting keys, for random draws.
    private var keys: [Key] = []
    private var lines: [Flow: Line] = [:]
    /// The start of the latest turn.
    private var time: UInt64 = 0
    /// Number of flows with waiting keys.
    private(set) var flowCount = 0
    private var random: any RandomNumberGenerator & Sendable

    /// Number of random candidates of which the worst is dropped. Long lines contribute most
    /// candidates.
    private static var drawCount: Int { 8 }

    init(random: any RandomNumberGenerator & Sendable = SystemRandomNumberGenerator()) {
        self.random = random
    }

    /// Number of waiting keys.
    var count: Int { entries.count }

    func contains(_ key: Key) -> Bool { entries[key] != nil }

    /// Number of keys that wait in a flow's line.
    func count(of flow: Flow) -> Int { lines[flow]?.keys.count ?? 0 }

    /// Adds a request of a flow for the key.
    mutating func add(_ key: Key, of flow: Flow, isPreferred: Bool) {
        if entries[key] == nil { keys.append(key) }
        var entry =
            entries[key] ?? Entry(requests: [:], isPreferred: false, place: keys.count - 1)
        entry.isPreferred = entry.isPreferred || isPreferred
        if entry.requests[flow] == nil { join(key, flow) }
        entry.requests[flow, default: 0] += 1
        entries[key] = entry
    }

    private mutating func join(_ key: Key, _ flow: Flow) {
        var line = lines[flow] ?? Line(start: time)
        if line.keys.isEmpty {
            flowCount += 1
            line.start = max(line.start, time)
        }
        line.keys.append(key)
        lines[flow] = line
    }

    /// Removes and returns the next key, and charges the flow whose turn it is.
    mutating func take() -> Key? {
        var first: UInt64 = .max
        var flows: [Flow] = []
        for (flow, line) in lines where !line.keys.isEmpty && line.start <= first {
            if line.start < first { flows.removeAll(keepingCapacity: true) }
            first = line.start
            flows.append(flow)
        }
        guard let flow = flows.randomElement(using: &random), let line = lines[flow],
            let key = best(of: line.keys)
        else { return nil }
        time = line.start
        lines[flow]?.start = line.start + 1
        remove(key)
        forgetPastTurns()
        return key
    }

    private mutating func best(of keys: [Key]) -> Key? {
        func rank(_ key: Key) -> (Int, Int) {
            let entry = entries[key]
            return (entry?.isPreferred == true ? 1 : 0, entry?.count ?? 0)
        }
        // One look-up a key and one random number a turn: a flood makes long lines.
        var best: [Key] = []
        var bestRank = (0, 0)
        for key in keys {
            let rank = rank(key)
            if rank < bestRank { continue }
            if rank > bestRank { best.removeAll(keepingCapacity: true) }
            bestRank = rank
            best.append(key)
        }
        return best.randomElement(using: &random)
    }

    /// Forgets past turns of a flow once the virtual time has passed them.
    private mutating func forgetPastTurns() {
        if entries.isEmpty {
            lines.removeAll()
        } else if lines.count > 2 * flowCount {
            lines = lines.filter { !$0.value.keys.isEmpty || $0.value.start > time }
        }
    }

    mutating func remove(_ key: Key) {
        guard let entry = entries.removeValue(forKey: key) else { return }
        let last = keys.removeLast()
        if last != key {
            keys[entry.place] = last
            entries[last]?.place = entry.place
        }
        for flow in entry.requests.keys { leave(key, flow) }
    }

    /// Removes a request of a flow; with the last request, removes the key.
    mutating func removeRequest(for key: Key, of flow: Flow) {
        guard let count = entries[key]?.requests[flow] else { return }
        guard count == 1 else {
            entries[key]?.requests[flow] = count - 1
            return
        }
        entries[key]?.requests[flow] = nil
        leave(key, flow)
        if entries[key]?.requests.isEmpty == true { remove(key) }
    }

    private mutating func leave(_ key: Key, _ flow: Flow) {
        guard let place = lines[flow]?.keys.firstIndex(of: key) else { return }
        lines[flow]?.keys.remove(at: place)
        if lines[flow]?.keys.isEmpty == true { flowCount -= 1 }
    }

    // MARK: Drops

    /// The key to drop when all lines together are too long: from one of the longest lines.
    mutating func victim() -> Key? {
        var drawn: [Key] = []
        for _ in 0..<Self.drawCount {
            if let key = keys.randomElement(using: &random) { drawn.append(key) }
        }
        return worst(of: drawn)
    }

    /// The key to drop when a flow's line is too long.
    mutating func victim(of flow: Flow) -> Key? {
        var drawn: [Key] = []
        for _ in 0..<Self.drawCount {
            if let key = lines[flow]?.keys.randomElement(using: &random) { drawn.append(key) }
        }
        return worst(of: drawn)
    }

    /// The worst key: spares keys of flows with short lines, then preferred keys, then keys with
    /// many requests.
    private func worst(of keys: [Key]) -> Key? {
        func rank(_ key: Key) -> (Int, Int, Int) {
            guard let entry = entries[key] else { return (0, 0, 0) }
            let shortest = entry.requests.keys.map { count(of: $0) }.min() ?? 0
            return (shortest, entry.isPreferred ? 0 : 1, -entry.count)
        }
        return keys.max { rank($0) < rank($1) }
    }
}
