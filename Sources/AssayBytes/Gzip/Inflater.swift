/// Decompresses DEFLATE (RFC 1951).
///
/// The time is linear in input and output: codes are decoded bit by bit, so that a block costs no
/// table larger than itself.
struct Inflater {
    private(set) var output: [UInt8] = []
    private let limit: Int
    /// The index of the next byte.
    private(set) var position: Int
    /// Bits that were read of the byte before it, and not used; the next one is the lowest.
    private var bits: UInt32 = 0
    private var bitCount = 0

    init(at position: Int, limit: Int) {
        self.position = position
        self.limit = limit
    }

    /// Decompresses up to the end of the last block.
    mutating func run(_ bytes: Span<UInt8>) throws(GzipError) {
        var isLast = false
        while !isLast {
            isLast = try take(1, bytes) == 1
            switch try take(2, bytes) {
            case 0: try copyStored(bytes)
            case 1: try decode(bytes, .fixedLengths, .fixedDistances)
            case 2:
                let (lengths, distances) = try readCodes(bytes)
                try decode(bytes, lengths, distances)
            default: throw .invalidBlock
            }
        }
    }

    private mutating func take(_ count: Int, _ bytes: Span<UInt8>) throws(GzipError) -> Int {
        while bitCount < count {
            guard position < bytes.count else { throw .truncated }
            bits |= UInt32(bytes[position]) << UInt32(bitCount)
            position += 1
            bitCount += 8
        }
        let value = bits & (1 << UInt32(count) - 1)
        bits >>= UInt32(count)
        bitCount -= count
        return Int(value)
    }

    private mutating func copyStored(_ bytes: Span<UInt8>) throws(GzipError) {
        // The rest of the byte; fewer than eight bits are held.
        (bits, bitCount) = (0, 0)
        guard position + 4 <= bytes.count else { throw .truncated }
        let count = Int(bytes[position]) | Int(bytes[position + 1]) << 8
        let inverse = Int(bytes[position + 2]) | Int(bytes[position + 3]) << 8
        guard count ^ inverse == 0xFFFF else { throw .invalidBlock }
        position += 4
        guard position + count <= bytes.count else { throw .truncated }
        guard output.count + count <= limit else { throw .tooLarge(limit: limit) }
        output += bytes.array(position..<position + count)
        position += count
    }

    // MARK: Codes

    /// The order in which a block has the lengths of its first code (section 3.2.7).
    private static let order = [
        16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15,
    ]

    private mutating func readCodes(
        _ bytes: Span<UInt8>
    ) throws(GzipError) -> (HuffmanCode, HuffmanCode) {
        let lengthCount = try take(5, bytes) + 257
        let distanceCount = try take(5, bytes) + 1
        let count = try take(4, bytes) + 4
        guard lengthCount <= 286, distanceCount <= 30 else { throw .invalidBlock }
        var first = [UInt8](repeating: 0, count: 19)
        for index in 0..<count { first[Self.order[index]] = UInt8(try take(3, bytes)) }
        guard let code = HuffmanCode(first[...]), code.isComplete else { throw .invalidBlock }
        var lengths: [UInt8] = []
        while lengths.count < lengthCount + distanceCount {
            let symbol = try read(code, bytes)
            switch symbol {
            case 0...15: lengths.append(UInt8(symbol))
            case 16:
                guard let last = lengths.last else { throw .invalidBlock }
                lengths += repeatElement(last, count: 3 + (try take(2, bytes)))
            case 17: lengths += repeatElement(0, count: 3 + (try take(3, bytes)))
            default: lengths += repeatElement(0, count: 11 + (try take(7, bytes)))
            }
        }
        // A block without its end would never end.
        guard lengths.count == lengthCount + distanceCount, lengths[256] > 0,
            let lengthCode = HuffmanCode(lengths[..<lengthCount]),
            let distanceCode = HuffmanCode(lengths[lengthCount...]),
            lengthCode.isComplete || lengthCode.symbolCount == 1,
            distanceCode.isComplete || distanceCode.symbolCount <= 1
        else { throw .invalidBlock }
        return (lengthCode, distanceCode)
    }

    /// Reads the next symbol, a bit at a time (section 3.2.2).
    private mutating func read(
        _ code: HuffmanCode, _ bytes: Span<UInt8>
    ) throws(GzipError) -> Int {
        var (value, first, index) = (0, 0, 0)
        for length in 1...HuffmanCode.longest {
            value |= try take(1, bytes)
            let count = code.counts[length]
            if value - first < count { return code.symbols[index + value - first] }
            index += count
            first = (first + count) << 1
            value <<= 1
        }
        throw .invalidBlock
    }

    // MARK: Data

    /// The least length or distance of a symbol, and the bits that are added (section 3.2.5).
    private static let lengths: [(base: Int, bits: Int)] =
        ranges(
            from: 3, bits: [0, 0, 0, 0] + (0...5).flatMap { [Int](repeating: $0, count: 4) })
        + [(258, 0)]
    private static let distances: [(base: Int, bits: Int)] = ranges(
        from: 1, bits: [0, 0] + (0...13).flatMap { [Int](repeating: $0, count: 2) })

    private static func ranges(from start: Int, bits: [Int]) -> [(base: Int, bits: Int)] {
        var (ranges, base): ([(base: Int, bits: Int)], Int) = ([], start)
        for count in bits {
            ranges.append((base, count))
            base += 1 << count
        }
        return ranges
    }

    private mutating func decode(
        _ bytes: Span<UInt8>, _ lengthCode: HuffmanCode, _ distanceCode: HuffmanCode
    ) throws(GzipError) {
        while true {
            let symbol = try read(lengthCode, bytes)
            if symbol < 256 {
                guard output.count < limit else { throw .tooLarge(limit: limit) }
                output.append(UInt8(symbol))
                continue
            }
            guard symbol > 256 else { return }
            guard symbol - 257 < Self.lengths.count else { throw .invalidBlock }
            let (base, more) = Self.lengths[symbol - 257]
            let count = base + (try take(more, bytes))
            let distanceSymbol = try read(distanceCode, bytes)
            guard distanceSymbol < Self.distances.count else { throw .invalidBlock }
            let (nearest, further) = Self.distances[distanceSymbol]
            let distance = nearest + (try take(further, bytes))
            guard distance <= output.count else { throw .invalidBlock }
            guard output.count + count <= limit else { throw .tooLarge(limit: limit) }
            // The source can overlap what is appended.
            for _ in 0..<count { output.append(output[output.count - distance]) }
        }
    }
}

/// A code by the lengths of its symbols (RFC 1951, section 3.2.2).
struct HuffmanCode: Sendable {
    /// Bits of the longest code.
    static let longest = 15

    /// The number of symbols of each length, and all symbols by length and number.
    let counts: [Int]
    let symbols: [Int]
    /// Whether every sequence of bits begins with a symbol.
    let isComplete: Bool

    var symbolCount: Int { symbols.count }

    /// Returns nil if there are more symbols of a length than fit.
    init?(_ lengths: ArraySlice<UInt8>) {
        var counts = [Int](repeating: 0, count: Self.longest + 1)
        for length in lengths { counts[Int(length)] += 1 }
        counts[0] = 0
        var left = 1
        for count in counts.dropFirst() {
            left = left << 1 - count
            guard left >= 0 else { return nil }
        }
        isComplete = left == 0
        var next = [Int](repeating: 0, count: Self.longest + 2)
        for length in 1...Self.longest { next[length + 1] = next[length] + counts[length] }
        var symbols = [Int](repeating: 0, count: next[Self.longest + 1])
        for (symbol, length) in lengths.enumerated() where length > 0 {
            symbols[next[Int(length)]] = symbol
            next[Int(length)] += 1
        }
        self.counts = counts
        self.symbols = symbols
    }

    private init(fixed lengths: [UInt8]) {
        // Lengths of the RFC, which fit.
        self = HuffmanCode(lengths[...])!
    }

    /// The codes of section 3.2.6.
    static let fixedLengths = HuffmanCode(
        fixed: (0..<288).map { $0 < 144 ? 8 : $0 < 256 ? 9 : $0 < 280 ? 7 : 8 })
    static let fixedDistances = HuffmanCode(fixed: [UInt8](repeating: 5, count: 30))
}
