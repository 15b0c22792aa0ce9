import AssayMint

/// A fuzz target: takes the fuzzer's bytes and returns nothing. `check` traps when an invariant
/// fails, which the fuzzer reports as a crash.
///
/// Not part of the product: only `Tests/Fuzz` depends on it.
public struct FuzzTarget: Sendable {
    public typealias Mutate = @Sendable ([UInt8], inout FuzzMutation) -> [UInt8]

    public let name: String
    /// The initial inputs: minted, or written here.
    public let seeds: [[UInt8]]
    /// The dictionary: words that a fuzzer rarely guesses.
    public let words: [[UInt8]]
    /// Mutates an input so that it stays close to valid; nil to use the fuzzer's own mutations.
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
            receipt(authority), receiptPayload(authority), transactionReceipt(authority),
            serverAnswer(authority), notificationV1(authority), frame, head,
            connection(authority), resolve(authority), client(), tls(), handshake(),
            admin(authority), configuration(authority), scenario(authority), http,
            httpConnection(authority), fields, gzip, http2, http2Connection(authority),
            lines, inspection(authority), storeAnswer(authority),
            localStore(authority), explanation(authority), form, evidenceForm(authority),
            keyFile, signing, purchase(authority), ocspResponse(authority),
            revocationList(authority), push(authority), pushKeys,
        ]
    }
}

/// Random numbers and the fuzzer's own mutations, for targets that know the structure of their
/// input.
public struct FuzzMutation {
    private var random: SplitMix64
    private let bytes: ([UInt8], Int) -> [UInt8]

    /// - Parameter bytes: the fuzzer's usual mutation of some bytes, and the maximum size of its
    ///   result.
    public init(seed: UInt64, bytes: @escaping ([UInt8], Int) -> [UInt8]) {
        random = SplitMix64(state: seed)
        self.bytes = bytes
    }

    /// A random number in 0 ..< `count`.
    mutating func below(_ count: Int) -> Int { Int(random.next() % UInt64(max(count, 1))) }

    /// True once in `times` calls on average.
    mutating func once(in times: Int) -> Bool { below(times) == 0 }

    mutating func element<Element>(of all: [Element]) -> Element { all[below(all.count)] }

    /// Applies the fuzzer's usual mutation to a part, which grows by at most 64 bytes.
    func usual(_ part: [UInt8]) -> [UInt8] { bytes(part, part.count + 64) }
}
