/// Verifies ECDSA signatures (SEC 1, section 4.1.4) of keys with a table, many at once. Reuses
/// its buffers. Not thread-safe.
@safe package final class ECDSABatch<Curve: PrimeCurve> {
    package typealias Table = FixedBaseTable<Curve>
    typealias Words = Curve.Field.Words

    package enum Outcome: Sendable {
        case holds
        case fails
        /// u₁·G + u₂·Q is a sum that the formulas do not know: two equal or opposite points, or
        /// infinity. Another implementation has to decide.
        case undecided

        /// Nil where another implementation has to decide.
        package var holds: Bool? {
            switch self {
            case .holds: true
            case .fails: false
            case .undecided: nil
            }
        }
    }

    /// Signatures that share the inversions.
    package let capacity: Int
    package private(set) var count = 0

    private(set) var tables: [Table] = []
    private let numbers: UnsafeMutablePointer<Numbers>
    /// Digits of u₁ and u₂ of each signature.
    let digits: UnsafeMutablePointer<Int16>
    private let outcomes: UnsafeMutablePointer<Outcome>
    private let scratch: SharedInversion<Curve.Order>.Scratch
    /// Created at the first use: its buffers are large, and vectors do not need it.
    private lazy var sums = SumTrees<Curve>(
        capacity: capacity, listCapacity: 2 * Self.digitCount)

    /// The digest and the signature. If r or s is out of range, they have other values.
    private struct Numbers {
        var e: Curve.Order
        var r: Curve.Order
        var s: Curve.Order
        var isInRange: Bool
    }

    static var digitCount: Int {
        SignedDigits.count(Words.self, windowBits: Curve.windowBits)
    }

    package init(capacity: Int) {
        self.capacity = capacity
        tables.reserveCapacity(capacity)
        unsafe numbers = .allocate(capacity: capacity)
        unsafe digits = .allocate(capacity: capacity * 2 * Self.digitCount)
        unsafe outcomes = .allocate(capacity: capacity)
        scratch = .init(capacity: capacity)
    }

    deinit {
        unsafe numbers.deallocate()
        unsafe digits.deallocate()
        unsafe outcomes.deallocate()
    }

    /// Adds a signature.
    ///
    /// - Parameters:
    ///   - table: Of the key.
    ///   - digest: Only the octets that fit the order count, the leftmost ones.
    ///   - r: Big-endian, of the order's size, as `s`. The signature fails unless both are in
    ///     1 ..< n.
    /// - Precondition: `count` is below `capacity`.
    package func append(
        _ table: Table, digest: Span<UInt8>, r: Span<UInt8>, s: Span<UInt8>
    ) {
        precondition(count < capacity)
        tables.append(table)
        let e = Words(bigEndian: digest.extracting(0..<min(digest.count, Words.byteCount)))
        var entry = Numbers(e: Curve.Order(reducing: e), r: .zero, s: .one, isInRange: false)
        if let r = Curve.Order(bigEndian: r), let s = Curve.Order(bigEndian: s), !r.isZero,
            !s.isZero
        {
            (entry.r, entry.s, entry.isInRange) = (r, s, true)
        }
        unsafe numbers[count] = entry
        count += 1
    }

    package func outcome(_ index: Int) -> Outcome {
        precondition(index < count)
        return unsafe outcomes[index]
    }

    package func removeAll() {
        tables.removeAll(keepingCapacity: true)
        count = 0
    }

    /// Verifies all signatures.
    package func verify() {
        let (generator, sums) = (Curve.generatorTable, sums)
        writeDigits()
        for index in 0..<count {
            let digits = unsafe self.digits + index &* 2 &* Self.digitCount
            sums.begin(index)
            unsafe sums.append(index, digits, of: generator)
            unsafe sums.append(index, digits + Self.digitCount, of: tables[index])
        }
        sums.add(count)
        for index in 0..<count {
            decide(index, Self.compare(sums.sum(index), r(index)))
        }
    }

    /// r of a signature, or 0 if r or s is out of range.
    func r(_ index: Int) -> Words { unsafe numbers[index].r.number }

    /// Sets the outcome of a signature: that of the sum, unless r or s is out of range.
    func decide(_ index: Int, _ outcome: Outcome) {
        unsafe outcomes[index] = numbers[index].isInRange ? outcome : .fails
    }

    /// Writes for each signature the digits of u₁, then those of u₂.
    func writeDigits() {
        let (size, windowBits) = (Self.digitCount, Curve.windowBits)
        var inversion = SharedInversion<Curve.Order>(scratch)
        for index in 0..<count { unsafe inversion.append(numbers[index].s) }
        inversion.invert()
        for index in (0..<count).reversed() {
            let inverse = inversion.takeLast()
            let (u1, u2) = unsafe (numbers[index].e * inverse, numbers[index].r * inverse)
            let first = unsafe digits + index &* 2 &* size
            unsafe SignedDigits.write(u1.number, windowBits: windowBits, to: first)
            unsafe SignedDigits.write(u2.number, windowBits: windowBits, to: first + size)
        }
    }

    /// Whether x of the sum, X / ZZ, is r mod n: it is r, or r + n if that is below p.
    private static func compare(_ sum: SumTrees<Curve>.Sum, _ r: Words) -> Outcome {
        if sum.zz.isZero { return .undecided }
        if Curve.Field(r) * sum.zz == sum.x { return .holds }
        guard r.isBelow(Curve.fieldMinusOrder) else { return .fails }
        let next = r.adding(Curve.Order.modulus).sum
        return Curve.Field(next) * sum.zz == sum.x ? .holds : .fails
    }
}

extension PrimeField {
    /// The element for a number below twice the modulus.
    package init(reducing number: Words) {
        self.init(
            number.isBelow(Self.modulus) ? number : number.subtracting(Self.modulus).difference)
    }
}
