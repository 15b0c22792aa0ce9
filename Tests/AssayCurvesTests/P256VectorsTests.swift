import AssayCurves
import COpenSSL
import Testing

/// Whole verifications in vectors. Skipped where the processor lacks AVX-512 IFMA.
@Suite(.enabled(if: P256Verification.Arithmetic.ifma.isSupported))
struct P256VectorsTests {
    @Test(arguments: VectorVerifications.sizes) func everyIndex(size: Int) {
        VectorVerifications(arithmetic: .ifma).everyIndex(size: size)
    }

    @Test func outOfRange() { VectorVerifications(arithmetic: .ifma).outOfRange() }
}

private let pairArithmetics = [P256Verification.Arithmetic.avx2, .neon].filter(\.isSupported)

/// The same by pairs. Skipped where the processor has neither AVX2 nor Neon.
@Suite(.enabled(if: !pairArithmetics.isEmpty))
struct P256PairsTests {
    @Test(arguments: pairArithmetics, VectorVerifications.sizes)
    func everyIndex(arithmetic: P256Verification.Arithmetic, size: Int) {
        VectorVerifications(arithmetic: arithmetic).everyIndex(size: size)
    }

    @Test(arguments: pairArithmetics)
    func outOfRange(arithmetic: P256Verification.Arithmetic) {
        VectorVerifications(arithmetic: arithmetic).outOfRange()
    }
}

private struct VectorVerifications {
    typealias Octets = [UInt8]
    typealias Arithmetic = P256Verification.Arithmetic

    static let sizes = [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 15, 16, 17, 64]

    let arithmetic: Arithmetic

    /// A signature of a key, with the outcome that its maker expects.
    private struct Sample {
        var key: Int
        var digest: Octets
        var r: Octets
        var s: Octets
        var isGood: Bool
    }

    private struct Key {
        let scalar: P256Order
        let tables: [Arithmetic: P256Verification.Table]

        init(_ group: PointTests.Reference, _ scalar: P256Order) {
            self.scalar = scalar
            let point = group.multiple(scalar.number.bigEndian)
            tables = .init(
                uniqueKeysWithValues: [.avx2, .neon, .ifma].filter(\.isSupported).map {
                    ($0, P256Verification.table(uncompressed: point.span, for: $0)!)
                })
        }
    }

    private struct Signers {
        let keys: [Key]
        /// k, and x of k·G.
        let nonces: [(k: P256Order, r: P256Order)]
    }

    /// Tables take long in a debug build.
    private static let signers: Signers = {
        let group = PointTests.Reference(NID_X9_62_prime256v1)
        var random = SeededGenerator(seed: 41)
        func scalar() -> P256Order {
            P256Order(
                reducing: Words4(random.next(), random.next(), random.next(), random.next()))
        }
        let keys = (0..<3).map { _ in Key(group, scalar()) }
        let nonces = (0..<16).map { _ in
            let k = scalar()
            let x = Words4(bigEndian: group.multiple(k.number.bigEndian).span.extracting(1..<33))
            return (k: k, r: P256Order(reducing: x))
        }
        return Signers(keys: keys, nonces: nonces)
    }()
    private var keys: [Key] { Self.signers.keys }

    /// A signature for the digest e = s·k − r·d.
    private func sample(isGood: Bool, _ random: inout SeededGenerator) -> Sample {
        let key = Int.random(in: 0..<keys.count, using: &random)
        let nonce = Self.signers.nonces.randomElement(using: &random)!
        let s = P256Order(
            reducing: Words4(random.next(), random.next(), random.next(), random.next()))
        let e = s * nonce.k - nonce.r * keys[key].scalar
        var sample = Sample(
            key: key, digest: e.number.bigEndian, r: nonce.r.number.bigEndian,
            s: s.number.bigEndian, isGood: isGood)
        guard !isGood else { return sample }
        let index = Int.random(in: 8..<32, using: &random)
        let bit = UInt8(1) << UInt8(index % 8)
        switch Int.random(in: 0..<4, using: &random) {
        case 0: sample.digest[index] ^= bit
        case 1: sample.r[index] ^= bit
        case 2: sample.s[index] ^= bit
        default: sample.key = (sample.key + 1) % keys.count
        }
        return sample
    }

    private func outcomes(_ samples: [Sample]) -> [P256Verification.Outcome] {
        let batch = P256Verification(capacity: samples.count, arithmetic: arithmetic)
        for sample in samples {
            batch.append(
                keys[sample.key].tables[arithmetic]!, digest: sample.digest.span, r: sample.r.span,
                s: sample.s.span)
        }
        batch.verify()
        return samples.indices.map(batch.outcome)
    }

    /// Every number of slots a signature can have, and every index of a bad one among good ones
    /// and of a good one among bad ones.
    func everyIndex(size: Int) {
        var random = SeededGenerator(seed: UInt64(size))
        // In the longest one, each slot once and neighbours of each vector.
        for index in stride(from: 0, to: size, by: size > 20 ? 9 : 1) {
            for most in [true, false] {
                let samples = (0..<size).map {
                    sample(isGood: $0 == index ? !most : most, &random)
                }
                let expected: [P256Verification.Outcome] =
                    samples.map { $0.isGood ? .holds : .fails }
                #expect(outcomes(samples) == expected)
            }
        }
    }

    /// A lone signature and its neighbours have their own out-of-range values.
    func outOfRange() {
        var random = SeededGenerator(seed: 42)
        let zero = Octets(repeating: 0, count: 32)
        for bad in [zero, P256Order.modulus.bigEndian, P256Field.modulus.bigEndian] {
            for size in [1, 2, 3, 8] {
                for index in 0..<size {
                    var samples = (0..<size).map { _ in sample(isGood: true, &random) }
                    var expected = [P256Verification.Outcome](repeating: .holds, count: size)
                    samples[index].r = bad
                    expected[index] = .fails
                    #expect(outcomes(samples) == expected)
                    (samples[index].r, samples[index].s) = (samples[index].s, bad)
                    #expect(outcomes(samples) == expected)
                }
            }
        }
    }
}
