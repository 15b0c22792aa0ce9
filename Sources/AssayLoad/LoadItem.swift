import AssayMint
package import AssayModels
package import AssayWire

/// A request and its expected verdict.
package struct LoadItem: Sendable {
    package var call: RequestHead.Call
    package var evidence: [UInt8]
    /// The verdict; of a Resolve, that of its last item. The others are VALID.
    package var expected: Verdict

    package init(_ call: VerifyCall, _ evidence: [UInt8], expecting expected: Verdict) {
        self.call = .verify(call)
        self.evidence = evidence
        self.expected = expected
    }

    /// A Resolve of transactions.
    package init(
        resolving transactions: [[UInt8]], expectations: Expectations,
        expecting expected: Verdict
    ) {
        let items = transactions.map { evidence in
            ResolveCall.Item(.named(.transaction), length: UInt32(clamping: evidence.count))
        }
        call = .resolve(ResolveCall(items: items, expectations: expectations))
        evidence = transactions.flatMap(\.self)
        self.expected = expected
    }
}

/// Items of one kind, sent in turn.
package struct LoadGroup: Sendable {
    package var name: String
    /// The group's share of all requests, relative to the other groups.
    package var weight: Double
    package var items: [LoadItem]

    package init(_ name: String, weight: Double, _ items: [LoadItem]) {
        precondition(weight >= 0 && !items.isEmpty)
        self.name = name
        self.weight = weight
        self.items = items
    }
}

/// Selects the next item: a random group, and the next item in that group. The same seed gives
/// the same sequence.
struct Mix {
    private let groups: [LoadGroup]
    /// The upper bound of each group's share of 0 ..< 1.
    private var ends: [Double] = []
    private var nextItems: [Int]
    private let stride: Int
    private var random: SplitMix64

    /// - Parameters:
    ///   - index: The index of this mix among `count` mixes. Each mix starts with a different
    ///     item.
    init(_ groups: [LoadGroup], index: Int, of count: Int) {
        precondition(!groups.isEmpty)
        self.groups = groups
        let total = groups.map(\.weight).reduce(0, +)
        var sum = 0.0
        for group in groups {
            sum += group.weight
            ends.append(sum / total)
        }
        nextItems = groups.map { index % $0.items.count }
        stride = count
        random = SplitMix64(state: LoadLimits.mixSeed + UInt64(index))
    }

    mutating func take() -> (item: LoadItem, group: Int) {
        let (group, item) = next()
        return (groups[group].items[item], group)
    }

    /// The group, and the index of the item in it.
    mutating func next() -> (group: Int, item: Int) {
        let chance = ends.count > 1 ? random.unit() : 0
        let group = ends.firstIndex { chance < $0 } ?? ends.count - 1
        let item = nextItems[group]
        nextItems[group] = (item + stride) % groups[group].items.count
        return (group, item)
    }
}

extension SplitMix64 {
    /// A random number in 0 ..< 1.
    mutating func unit() -> Double { Double(next() >> 11) * 0x1p-53 }
}
