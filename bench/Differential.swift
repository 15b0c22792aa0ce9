import Assay
import AssayCurves
import COpenSSL
import Foundation

/// Compares a signature engine with EVP, or with the portable engine, on random signatures of
/// several keys. A quarter of them is damaged: a bit of r, s or the digest is changed, or the
/// key is another one.
///
/// A signature needs no signing: with the nonce k and its r, every s is valid for the digest
/// e = s·k − r·d.
struct Differential {
    private static let usage =
        """
        usage: bench differential [COUNT] [--curve p256|p384] [--engine NAME]
                                  [--against evp|portable] [--wycheproof FOLDER]
        """
    private static let standardCount = 1_000_000
    private static let keys = 8
    private static let nonces = 256
    /// Enough for every size of a batch that shares inversions, and for more than one.
    private static let largestBatch = 70

    /// A random scalar and the point scalar·G, by OpenSSL.
    private struct Pair {
        let scalar: P256Order
        /// `04 ‖ x ‖ y`.
        let point: [UInt8]
        var x: P256Order { P256Order(reducing: Words4(bigEndian: point.span.extracting(1..<33))) }
    }

    /// One engine, with the keys as it knows them.
    private struct Implementation {
        let keys: [PublicKey]
        let verifier: ES256BatchVerifier

        /// - Parameter engine: nil for EVP, without tables.
        init(_ engine: SignatureEngine?, _ pairs: [Pair]) {
            keys = pairs.map { PublicKey.ec(.p256, point: $0.point.span)! }
            let tables = KeyTables(isEnabled: engine != nil, engine: engine ?? .openssl)
            for key in keys { tables.note(key, held: Limits.keyTableUses) }
            precondition(tables.buildPending() == (engine == nil ? 0 : keys.count))
            verifier = ES256BatchVerifier(tables: tables, engine: EngineInUse(tables.engine))
        }

        func holds(_ batch: [(key: Int, digest: SHA256Digest, signature: ES256Signature)]) -> [Bool]
        {
            verifier.clear()
            for (key, digest, signature) in batch {
                verifier.checks.append(
                    ES256Check(key: keys[key], digest: digest, signature: signature))
            }
            verifier.verify()
            return verifier.holds
        }
    }

    private let keys: [Pair]
    private let nonces: [Pair]
    private var random = SystemRandomNumberGenerator()

    /// Ends the process: with 0 if there was no disagreement.
    static func main(_ arguments: [String]) -> Never {
        var arguments = arguments
        func value<Value>(of option: String, _ read: (String) -> Value?) -> Value? {
            guard let index = arguments.firstIndex(of: option) else { return nil }
            guard index + 1 < arguments.count, let value = read(arguments[index + 1]) else {
                Bench.fail(usage)
            }
            arguments.removeSubrange(index...index + 1)
            return value
        }
        let engine = value(of: "--engine", SignatureEngine.init) ?? .best
        let reference = value(of: "--against", Reference.init) ?? .evp
        let wycheproof = value(of: "--wycheproof") { $0 }
        let curve = value(of: "--curve", Curve.init) ?? .p256
        guard arguments.count < 2, let count = arguments.first.map(Int.init) ?? standardCount,
            curve == .p256 || (engine, reference) == (.best, .evp)
        else { Bench.fail(usage) }
        if let wycheproof {
            do {
                guard try Wycheproof(folder: wycheproof).run() else { exit(1) }
            } catch {
                Bench.fail("\(wycheproof): \(error)")
            }
        }
        if curve == .p384 {
            var differential = CertificateDifferential()
            exit(differential.run(count) ? 0 : 1)
        }
        guard engine.isSupported, engine != .openssl, reference.engine != engine else {
            print("skipped: \(engine) against \(reference) compares nothing on this processor")
            exit(0)
        }
        var differential = Differential()
        exit(differential.run(count, engine, against: reference) ? 0 : 1)
    }

    private enum Curve: String { case p256, p384 }

    /// What has to give the engine's answers.
    private enum Reference: String {
        /// `EVP_PKEY_verify`, without tables.
        case evp
        case portable

        /// The engine whose tables it uses; nil without.
        var engine: SignatureEngine? { self == .portable ? .portable : nil }
    }

    private init() {
        keys = (0..<Self.keys).map { _ in Self.pair() }
        nonces = (0..<Self.nonces).map { _ in Self.pair() }
    }

    private mutating func run(
        _ count: Int, _ engine: SignatureEngine, against reference: Reference
    ) -> Bool {
        let (own, other) = (Implementation(engine, keys), Implementation(reference.engine, keys))
        var (done, valid, disagreements) = (0, 0, 0)
        while done < count {
            let size = min(Int.random(in: 1...Self.largestBatch, using: &random), count - done)
            let batch = (0..<size).map { _ in signature() }
            let (answers, expected) = (own.holds(batch), other.holds(batch))
            for index in batch.indices where answers[index] != expected[index] {
                disagreements += 1
                print("\(engine) says \(answers[index]): \(batch[index])")
            }
            valid += expected.count { $0 }
            done += size
        }
        print(
            "\(done) signatures, \(valid) valid; \(engine) against \(reference): "
                + "\(disagreements) disagreements")
        return disagreements == 0 && valid > done / 2
    }

    /// A signature in range, damaged in one of four cases.
    private mutating func signature() -> (
        key: Int, digest: SHA256Digest, signature: ES256Signature
    ) {
        while true {
            var key = Int.random(in: 0..<keys.count, using: &random)
            let nonce = nonces[Int.random(in: 0..<nonces.count, using: &random)]
            let s = P256Order(
                reducing: Words4(random.next(), random.next(), random.next(), random.next()))
            let e = s * nonce.scalar - nonce.x * keys[key].scalar
            var digest = e.number.bigEndian
            var octets = nonce.x.number.bigEndian + s.number.bigEndian
            let bit = UInt8(1) << UInt8.random(in: 0..<8, using: &random)
            let offset = Int.random(in: 0..<32, using: &random)
            switch Int.random(in: 0..<16, using: &random) {
            case 0: octets[offset] ^= bit
            case 1: octets[32 + offset] ^= bit
            case 2: digest[offset] ^= bit
            case 3: key = (key + 1) % keys.count
            default: break
            }
            guard let signature = ES256Signature(octets.span) else { continue }
            return (key, SHA256Digest(octets: .init { digest[$0] }), signature)
        }
    }

    private static func pair() -> Pair {
        let key = unsafe EC_KEY_new_by_curve_name(NID_X9_62_prime256v1)
        defer { unsafe EC_KEY_free(key) }
        unsafe precondition(EC_KEY_generate_key(key) == 1)
        var scalar = [UInt8](repeating: 0, count: 32)
        var point = [UInt8](repeating: 0, count: 65)
        unsafe BN_bn2binpad(EC_KEY_get0_private_key(key), &scalar, 32)
        unsafe EC_POINT_point2oct(
            EC_KEY_get0_group(key), EC_KEY_get0_public_key(key), POINT_CONVERSION_UNCOMPRESSED,
            &point, point.count, nil)
        return Pair(scalar: P256Order(bigEndian: scalar.span)!, point: point)
    }
}
