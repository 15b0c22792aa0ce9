import Assay
import AssayCurves
import COpenSSL
import Foundation

/// Compares the signature engine with OpenSSL on random P-384 signatures as certificates have
/// them, by keys with a table and by the same keys without one. A quarter of them is damaged: a
/// bit of r, s or the message is changed, or the key is another one.
struct CertificateDifferential {
    private static let keys = 8
    private static let nonces = 256

    /// A key pair, as a key with a table and as one without.
    private struct Key {
        let d: P384Order
        let withTable: PublicKey
        let withoutTable: PublicKey
    }

    private struct Nonce {
        let inverse: P384Order
        let r: P384Order
    }

    private let keys: [Key]
    private let nonces: [Nonce]
    private let tables: IssuerTables
    private var random = SystemRandomNumberGenerator()

    init() {
        let engine = EngineInUse()
        let tables = IssuerTables(.onRequest, engine: engine)
        keys = (0..<Self.keys).map { _ in
            let (d, point) = Self.pair()
            let key = Key(
                d: d, withTable: PublicKey.ec(.p384, point: point.span)!,
                withoutTable: PublicKey.ec(.p384, point: point.span)!)
            tables.didPin(key.withTable)
            return key
        }
        // Runs the self-test as well, which keys without a table wait for.
        precondition(tables.buildPending() == Self.keys && engine.current != .openssl)
        self.tables = tables
        nonces = (0..<Self.nonces).map { _ in
            let (k, point) = Self.pair()
            let x = Words6(bigEndian: point.span.extracting(1..<49))
            return Nonce(inverse: k.inverted(), r: P384Order(reducing: x))
        }
    }

    /// - Returns: whether there was no disagreement.
    mutating func run(_ count: Int) -> Bool {
        var (valid, disagreements) = (0, 0)
        for _ in 0..<count {
            let (key, message, signature) = signature()
            func verifies(_ key: PublicKey) -> Bool {
                tables.verifies(
                    signature.span, over: message.span, digest: .sha384, by: key)
            }
            let holds = key.withTable.verifiesECDSA(
                signature.span, over: message.span, digest: .sha384)
            let answers = [verifies(key.withTable), verifies(key.withoutTable)]
            if answers != [holds, holds] {
                disagreements += 1
                print("with a table and without: \(answers): \(message), \(signature)")
            }
            valid += holds ? 1 : 0
        }
        print(
            "\(count) signatures on P-384, \(valid) valid; with a table and without, against "
                + "openssl: \(disagreements) disagreements")
        return disagreements == 0 && valid > count / 2
    }

    /// A signature, damaged in one of four cases.
    private mutating func signature() -> (key: Key, message: [UInt8], signature: [UInt8]) {
        var key = Int.random(in: 0..<keys.count, using: &random)
        let nonce = nonces[Int.random(in: 0..<nonces.count, using: &random)]
        var message = (0..<16).map { _ in UInt8.random(in: 0...255, using: &random) }
        let e = P384Order(
            reducing: Words6(bigEndian: SHA384.digest(message.span).span))
        let s = (e + nonce.r * keys[key].d) * nonce.inverse
        var (r, t) = (nonce.r.number.bigEndian, s.number.bigEndian)
        let bit = UInt8(1) << UInt8.random(in: 0..<8, using: &random)
        let offset = Int.random(in: 0..<48, using: &random)
        switch Int.random(in: 0..<16, using: &random) {
        case 0: r[offset] ^= bit
        case 1: t[offset] ^= bit
        case 2: message[offset % 16] ^= bit
        case 3: key = (key + 1) % keys.count
        default: break
        }
        return (keys[key], message, Self.encoded(r, t))
    }

    /// `SEQUENCE { r INTEGER, s INTEGER }`.
    private static func encoded(_ r: [UInt8], _ s: [UInt8]) -> [UInt8] {
        let integers = [r, s].flatMap { number -> [UInt8] in
            let digits = Array(number.drop { $0 == 0 })
            let octets = digits.first.map { $0 < 0x80 } == true ? digits : [0] + digits
            return [2, UInt8(octets.count)] + octets
        }
        return [0x30, UInt8(integers.count)] + integers
    }

    /// A random scalar and the point scalar·G, by OpenSSL.
    private static func pair() -> (P384Order, [UInt8]) {
        let key = unsafe EC_KEY_new_by_curve_name(NID_secp384r1)
        defer { unsafe EC_KEY_free(key) }
        unsafe precondition(EC_KEY_generate_key(key) == 1)
        var scalar = [UInt8](repeating: 0, count: 48)
        var point = [UInt8](repeating: 0, count: 97)
        unsafe BN_bn2binpad(EC_KEY_get0_private_key(key), &scalar, 48)
        unsafe EC_POINT_point2oct(
            EC_KEY_get0_group(key), EC_KEY_get0_public_key(key), POINT_CONVERSION_UNCOMPRESSED,
            &point, point.count, nil)
        return (P384Order(bigEndian: scalar.span)!, point)
    }
}
