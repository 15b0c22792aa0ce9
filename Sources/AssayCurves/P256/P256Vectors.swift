internal import CAssayP256

/// The sums of signatures and their comparison in the slots of vectors: AVX-512 IFMA, in C. Reuses
/// its buffers. Not thread-safe.
@safe final class P256Vectors {
    static let isSupported = assay_p256_is_supported()
    /// From the field's R = 2²⁵⁶ to that of the vectors, with five limbs of 52 bits.
    static let coordinateDoublings = assay_p256_radix_bits - 256

    static let generatorTable = FixedBaseTable<P256>(
        P256.generator, coordinateDoublings: coordinateDoublings)

    private let keys: UnsafeMutablePointer<UnsafeRawPointer?>
    private let r: UnsafeMutablePointer<UInt64>
    private let outcomes: UnsafeMutablePointer<assay_p256_outcome>

    init(capacity: Int) {
        precondition(Self.isSupported)
        precondition(
            P256.windowBits == assay_p256_window_bits
                && ECDSABatch<P256>.digitCount == assay_p256_digits)
        unsafe keys = .allocate(capacity: capacity)
        unsafe r = .allocate(capacity: capacity * Words4.count)
        unsafe outcomes = .allocate(capacity: capacity)
    }

    deinit {
        unsafe keys.deallocate()
        unsafe r.deallocate()
        unsafe outcomes.deallocate()
    }

    /// Verifies all signatures of a batch with at most `capacity`, whose tables are for vectors.
    func verify(_ batch: ECDSABatch<P256>) {
        batch.writeDigits()
        for index in 0..<batch.count {
            unsafe keys[index] = UnsafeRawPointer(batch.tables[index].points)
            let number = batch.r(index)
            for word in 0..<Words4.count { unsafe r[index * Words4.count + word] = number[word] }
        }
        unsafe assay_p256_verify(
            Self.generatorTable.points, keys, batch.digits, r, batch.count, outcomes)
        for index in 0..<batch.count {
            let outcome: ECDSABatch<P256>.Outcome =
                switch unsafe outcomes[index] {
                case .holds: .holds
                case .fails: .fails
                case .undecided: .undecided
                }
            batch.decide(index, outcome)
        }
    }
}
