import AssayMint

/// One thing that is fuzzed: bytes of a fuzzer in, nothing out. Where something does not hold that
/// has to, `check` traps, which is what a fuzzer looks for.
///
/// Not part of the product: nothing but `Tests/Fuzz` depends on it.
public struct FuzzTarget: Sendable {
    public typealias Mutate = @Sendable ([UInt8], inout FuzzMutation) -> [UInt8]

    public let name: String
    /// Inputs to begin with: minted, or written here.
    public let seeds: [[UInt8]]
    /// What a fuzzer would be slow to guess.
    public let words: [[UInt8]]
    /// Changes an input so that it stays near to what is accepted; nil: the fuzzer's own ways do.
    public let mutate: Mutate?
    public let check: @Sendable (Span<UInt8>) -> Void

    init(
        _ name: String, seeds: [[UInt8]], words: [String] = [], mutate: Mutate? = nil,
        check: @escaping @Sendable (Span<UInt8>) -> Void
    ) {
        self.name = name
        self.seeds = seeds
        self.words = words.map { Array($0.utf8) }
        self.mutate = mutate
        self.check = check
    }

    public static func all(_ authority: FuzzAuthority) -> [FuzzTarget] {
        [
            json, base64, der, certificate(authority), signature(authority), token(authority),
            receipt(authority), receiptPayload(authority), transactionReceipt(authority), frame,
            head, connection(authority), client(), tls(), handshake(), admin(authority),
            configuration(authority),
        ]
    }
}

/// Chance, and the fuzzer's own mutations, for those that know the input's structure.
public struct FuzzMutation {
    private var random: SplitMix64
    private let bytes: ([UInt8], Int) -> [UInt8]

    /// - Parameter bytes: the fuzzer's usual mutation of some bytes, to at most so many.
    public init(seed: UInt64, bytes: @escaping ([UInt8], Int) -> [UInt8]) {
        random = SplitMix64(state: seed)
        self.bytes = bytes
    }

    /// 0 ..< `count`
    mutating func below(_ count: Int) -> Int { Int(random.next() % UInt64(max(count, 1))) }

    /// Once in so many times.
    mutating func once(in times: Int) -> Bool { below(times) == 0 }

    mutating func element<Element>(of all: [Element]) -> Element { all[below(all.count)] }

    /// The fuzzer's usual mutation of a part; it grows by a little at most.
    func usual(_ part: [UInt8]) -> [UInt8] { bytes(part, part.count + 64) }
}
