/// Verifies ECDSA signatures (SEC 1, section 4.1.4) of keys with a table, many at once. Reuses
/// its buffers. Not thread-safe.
@safe package final class ECDSABatch<Curve: PrimeCurve> {
    package typealias Table = FixedBaseTable<Curve>
    typealias Words = Curve.Field.Words

    package typealias Outcome = ECDSAOutcome

    /// Signatures that share the inversions.
    package let capacity: Int
    package private(set) var count = 0

    private(set) var tables: [Table] = []
    private let numbers: UnsafeMutablePointer<ECDSANumbers<Curve>>
    /// Digits of u₁ and u₂ of each signature.
    let digits: UnsafeMutablePointer<Int16>
    private let outcomes: UnsafeMutablePointer<Outcome>
    private let scratch: SharedInversion<Curve.Order>.Scratch
    private let pairSums: SumTrees<Curve>.PairSumsMaker?
    /// Created at the first use: its buffers are large, and vectors do not need it.
    private lazy var sums = SumTrees<Curve>(
        capacity: capacity, listCapacity: 2 * Self.digitCount,
        pairSums: pairSums)

    static var digitCount: Int {
        SignedDigits.count(Words.self, windowBits: Curve.windowBits)
    }

    package convenience init(capacity: Int) { self.init(capacity: capacity, pairSums: nil) }

    /// - Parameter pairSums: As for `SumTrees`.
    init(capacity: Int, pairSums: SumTrees<Curve>.PairSumsMaker?) {
        self.capacity = capacity
        self.pairSums = pairSums
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
        unsafe numbers[count] = ECDSANumbers(digest: digest, r: r, s: s)
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
        let sums = sums
        let generator = sums.generatorTable
        writeDigits()
        for index in 0..<count {
            let later = min(index &+ 1, count &- 1)
            let (u1, u2) = unsafe digits(of: index)
            let (laterU1, laterU2) = unsafe digits(of: later)
            sums.begin(index)
            unsafe sums.append(
                index, (.init(u1), generator), fetching: (.init(laterU1), generator))
            unsafe sums.append(
                index, (.init(u2), tables[index]), fetching: (.init(laterU2), tables[later]))
        }
        sums.add(count)
        for index in 0..<count {
            let sum = sums.sum(index)
            decide(index, .comparing(Curve.self, x: sum.x, zz: sum.zz, r(index)))
        }
    }

    /// r of a signature, or 0 if r or s is out of range.
    func r(_ index: Int) -> Words { unsafe numbers[index].r }

    /// Sets the outcome of a signature: that of the sum, unless r or s is out of range.
    func decide(_ index: Int, _ outcome: Outcome) {
        unsafe outcomes[index] = numbers[index].isInRange ? outcome : .fails
    }

    private func digits(
        of index: Int
    ) -> (u1: UnsafeMutablePointer<Int16>, u2: UnsafeMutablePointer<Int16>) {
        let u1 = unsafe digits + index &* 2 &* Self.digitCount
        return unsafe (u1, u1 + Self.digitCount)
    }

    /// Writes for each signature the digits of u₁, then those of u₂.
    func writeDigits() {
        let windowBits = Curve.windowBits
        var inversion = SharedInversion<Curve.Order>(scratch)
        for index in 0..<count { unsafe inversion.append(numbers[index].s) }
        inversion.invert()
        for index in (0..<count).reversed() {
            let (u1, u2) = unsafe numbers[index].scalars(inverse: inversion.takeLast())
            let digits = unsafe digits(of: index)
            unsafe SignedDigits.write(u1, windowBits: windowBits, to: digits.u1)
            unsafe SignedDigits.write(u2, windowBits: windowBits, to: digits.u2)
        }
    }
}
