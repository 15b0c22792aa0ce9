/// `ECDSABatch` for P-256, compiled for this curve: a generic class that another module uses is
/// not. Adds in the way that the owner chooses.
package final class P256Verification {
    package typealias Table = FixedBaseTable<P256>
    package typealias Outcome = ECDSABatch<P256>.Outcome

    /// What adds the points of signatures. Tables are made for one.
    package enum Arithmetic: Sendable, CaseIterable {
        /// Words of 64 bits, in Swift. On any machine.
        case portable
        /// Four pairs of points in a vector, in C. On processors with AVX2.
        case avx2
        /// The same, in two vectors. On any 64-bit processor of Arm.
        case neon
        /// Eight signatures in a vector, in C. On processors with AVX-512 IFMA.
        case ifma

        package var isSupported: Bool {
            switch self {
            case .portable: true
            case .avx2: P256PairSums.hasAVX2
            case .neon: P256PairSums.hasNeon
            case .ifma: P256Vectors.isSupported
            }
        }

        /// Whether it adds pairs of points in vectors.
        fileprivate var addsPairs: Bool { self == .avx2 || self == .neon }

        fileprivate var coordinateDoublings: Int {
            switch self {
            case .portable: 0
            case .avx2, .neon: P256PairSums.coordinateDoublings
            case .ifma: P256Vectors.coordinateDoublings
            }
        }
    }

    private let batch: ECDSABatch<P256>
    private let vectors: P256Vectors?
    private let coordinateDoublings: Int

    /// - Precondition: The arithmetic is supported.
    package init(capacity: Int, arithmetic: Arithmetic = .portable) {
        batch = ECDSABatch(
            capacity: capacity, pairSums: arithmetic.addsPairs ? P256PairSums.init : nil)
        vectors = arithmetic == .ifma ? P256Vectors(capacity: capacity) : nil
        coordinateDoublings = arithmetic.coordinateDoublings
    }

    package var count: Int { batch.count }

    package func append(
        _ table: Table, digest: Span<UInt8>, r: Span<UInt8>, s: Span<UInt8>
    ) {
        precondition(
            table.coordinateDoublings == coordinateDoublings, "a table of this arithmetic")
        batch.append(table, digest: digest, r: r, s: s)
    }

    package func verify() {
        if let vectors { vectors.verify(batch) } else { batch.verify() }
    }

    package func outcome(_ index: Int) -> Outcome { batch.outcome(index) }

    package func removeAll() { batch.removeAll() }

    /// Verifies one signature; the parameters are those of `append`.
    ///
    /// - Returns: nil if another implementation has to decide.
    package static func verifies(
        _ table: Table, digest: Span<UInt8>, r: Span<UInt8>, s: Span<UInt8>
    ) -> Bool? {
        let arithmetic = Arithmetic.allCases.first {
            $0.isSupported && $0.coordinateDoublings == table.coordinateDoublings
        }!
        let verification = P256Verification(capacity: 1, arithmetic: arithmetic)
        verification.append(table, digest: digest, r: r, s: s)
        verification.verify()
        return verification.outcome(0).holds
    }

    /// The table of the generator, built at its first use.
    package static func generatorTable(for arithmetic: Arithmetic = .portable) -> Table {
        switch arithmetic {
        case .portable: P256.generatorTable
        case .avx2, .neon: P256PairSums.sharedTable
        case .ifma: P256Vectors.generatorTable
        }
    }

    /// Returns nil unless the octets, `04 ‖ x ‖ y`, are a point on the curve.
    package static func table(
        uncompressed octets: Span<UInt8>, for arithmetic: Arithmetic = .portable
    ) -> Table? {
        Table(uncompressed: octets, coordinateDoublings: arithmetic.coordinateDoublings)
    }
}
