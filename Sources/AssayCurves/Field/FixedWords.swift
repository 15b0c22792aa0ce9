/// A natural number of a fixed number of 64-bit words.
package protocol FixedWords: Sendable, BitwiseCopyable, Equatable {
    static var count: Int { get }
    static var zero: Self { get }
    /// The word at `index`, the least significant first.
    subscript(index: Int) -> UInt64 { get set }
    /// Whether this number is less than `other`.
    func isBelow(_ other: Self) -> Bool
    /// The sum, and the carry out of the last word.
    func adding(_ other: Self) -> (sum: Self, carry: UInt64)
    /// The difference, and the borrow out of the last word.
    func subtracting(_ other: Self) -> (difference: Self, borrow: UInt64)
}

extension FixedWords {
    package static var byteCount: Int { count * 8 }

    /// Reads big-endian octets: `byteCount` of them, or fewer, which are the low ones.
    package init(bigEndian octets: Span<UInt8>) {
        self = .zero
        var end = octets.count
        for index in 0..<Self.count where end > 0 {
            let start = max(0, end - 8)
            self[index] = octets.extracting(start..<end).bigEndianWord
            end = start
        }
    }

    /// The big-endian octets, `byteCount` of them.
    package var bigEndian: [UInt8] {
        (0..<Self.byteCount).reversed().map { byte($0) }
    }

    /// Divides by 2^`bits`, of which there are 1 to 63.
    @inline(__always)
    mutating func shiftRight(by bits: Int) {
        let (low, high) = (UInt64(truncatingIfNeeded: bits), UInt64(truncatingIfNeeded: 64 &- bits))
        for index in 0..<Self.count &- 1 {
            self[index] = self[index] &>> low | self[index &+ 1] &<< high
        }
        self[Self.count &- 1] = self[Self.count &- 1] &>> low
    }

    /// The octet with the weight 256^`position`.
    @inline(__always)
    func byte(_ position: Int) -> UInt8 {
        UInt8(
            truncatingIfNeeded: self[position &>> 3]
                &>> UInt64(truncatingIfNeeded: position & 7 &* 8))
    }
}

extension Span<UInt8> {
    /// The big-endian number of at most eight octets.
    @inline(__always)
    fileprivate var bigEndianWord: UInt64 {
        // The compiler makes one load of these.
        if count == 8 {
            let high =
                UInt64(self[0]) << 56 | UInt64(self[1]) << 48 | UInt64(self[2]) << 40
                | UInt64(self[3]) << 32
            return high | UInt64(self[4]) << 24 | UInt64(self[5]) << 16 | UInt64(self[6]) << 8
                | UInt64(self[7])
        }
        return indices.reduce(0) { $0 << 8 | UInt64(self[$1]) }
    }
}

/// A number below 2²⁵⁶.
package struct Words4: FixedWords {
    package var w0, w1, w2, w3: UInt64

    /// - Parameter w0: The least significant word.
    @inline(__always)
    package init(_ w0: UInt64, _ w1: UInt64, _ w2: UInt64, _ w3: UInt64) {
        (self.w0, self.w1, self.w2, self.w3) = (w0, w1, w2, w3)
    }

    @inline(__always) package static var count: Int { 4 }
    @inline(__always) package static var zero: Self { Self(0, 0, 0, 0) }
    @inline(__always) var isZero: Bool { w0 | w1 | w2 | w3 == 0 }

    package subscript(index: Int) -> UInt64 {
        @inline(__always) get {
            switch index {
            case 0: w0
            case 1: w1
            case 2: w2
            default: w3
            }
        }
        set {
            switch index {
            case 0: w0 = newValue
            case 1: w1 = newValue
            case 2: w2 = newValue
            default: w3 = newValue
            }
        }
    }

    @inline(__always)
    package func adding(_ other: Self) -> (sum: Self, carry: UInt64) {
        var carry: UInt64 = 0
        let sum = Self(
            Carry.add(w0, other.w0, &carry), Carry.add(w1, other.w1, &carry),
            Carry.add(w2, other.w2, &carry), Carry.add(w3, other.w3, &carry))
        return (sum, carry)
    }

    @inline(__always)
    package func subtracting(_ other: Self) -> (difference: Self, borrow: UInt64) {
        var borrow: UInt64 = 0
        let difference = Self(
            Carry.subtract(w0, other.w0, &borrow), Carry.subtract(w1, other.w1, &borrow),
            Carry.subtract(w2, other.w2, &borrow), Carry.subtract(w3, other.w3, &borrow))
        return (difference, borrow)
    }

    package func isBelow(_ other: Self) -> Bool { subtracting(other).borrow == 1 }

    /// Returns t mod m for t = top·2²⁵⁶ + `self` < 2·m.
    ///
    /// Adds 2²⁵⁶ − m: with t below 2·m, either `top` or the carry says that t is not below m. A
    /// subtraction of constants would compile to branches.
    /// - Parameters:
    ///   - top: 0 or 1.
    ///   - complement: 2²⁵⁶ − m.
    @inline(__always)
    func reducedOnce(top: UInt64, complement: Self) -> Self {
        let (sum, carry) = adding(complement)
        // A conditional expression would compile to a branch that is mispredicted every other time.
        let mask = (top | carry) &- 1
        return Self(
            sum.w0 ^ ((sum.w0 ^ w0) & mask), sum.w1 ^ ((sum.w1 ^ w1) & mask),
            sum.w2 ^ ((sum.w2 ^ w2) & mask), sum.w3 ^ ((sum.w3 ^ w3) & mask))
    }

    /// The product with one word, in five words.
    @inline(__always)
    func multiplied(by factor: UInt64) -> (low: Self, high: UInt64) {
        let (p0, p1) = (Carry.product(w0, factor), Carry.product(w1, factor))
        let (p2, p3) = (Carry.product(w2, factor), Carry.product(w3, factor))
        var carry: UInt64 = 0
        let r1 = Carry.add(p1.low, p0.high, &carry)
        let r2 = Carry.add(p2.low, p1.high, &carry)
        let r3 = Carry.add(p3.low, p2.high, &carry)
        return (Self(p0.low, r1, r2, r3), p3.high &+ carry)
    }
}
