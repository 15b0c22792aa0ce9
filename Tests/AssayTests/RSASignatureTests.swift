import Assay
import AssayBytes
import AssayKeys
import Testing

/// RSASSA-PKCS1-v1_5 by libcrypto's arithmetic, beside signatures that EVP makes.
@Suite struct RSASignatureTests {
    /// A key, and the octets of its modulus: the key ends with the modulus and the INTEGER 65537.
    private static func key(bits: Int) throws -> (SigningKey, modulus: [UInt8], RSAPublicKey) {
        let key = try SigningKey(generating: .rsa(bits: bits))
        let modulus = Array(key.subjectPublicKeyInfo.dropLast(5).suffix(bits / 8))
        let exponent: [UInt8] = [1, 0, 1]
        let made = RSAPublicKey(
            modulus: modulus.span, exponent: exponent.span, smallestBits: 1024)
        return (key, modulus, try #require(made))
    }

    /// A sum of numbers of equal length; nil if it is longer.
    private static func sum(_ left: [UInt8], _ right: [UInt8]) -> [UInt8]? {
        var (sum, carry) = (left, 0)
        for index in left.indices.reversed() {
            let value = Int(left[index]) + Int(right[index]) + carry
            sum[index] = UInt8(truncatingIfNeeded: value)
            carry = value >> 8
        }
        return carry == 0 ? sum : nil
    }

    @Test(
        "signatures of each size hold, and changed ones and other numbers do not",
        arguments: [1024, 1032, 2048, 3072])
    func sizes(bits: Int) throws {
        let (key, modulus, made) = try Self.key(bits: bits)
        for (digest, algorithm) in [
            (SigningKey.Digest.sha1, DigestAlgorithm.sha1), (.sha256, .sha256),
        ] {
            for index in 0..<8 {
                let message = Array("message \(index)".utf8)
                let signature = try key.sign(message, digest: digest)
                func holds(_ signature: [UInt8], _ message: [UInt8], _ algorithm: DigestAlgorithm)
                    -> Bool
                {
                    made.verifies(
                        signature: signature.span, over: message.span, algorithm: algorithm)
                }
                #expect(holds(signature, message, algorithm))
                #expect(!holds(signature, message + [0], algorithm))
                #expect(!holds(signature, message, algorithm == .sha1 ? .sha256 : .sha1))
                #expect(!holds([0] + signature, message, algorithm))
                #expect(!holds(Array(signature.dropFirst()), message, algorithm))
                for offset in [0, 1, signature.count / 2, signature.count - 1] {
                    var changed = signature
                    changed[offset] ^= 1
                    #expect(!holds(changed, message, algorithm))
                }
                let zero = [UInt8](repeating: 0, count: modulus.count)
                for number in [zero, Array(zero.dropLast()) + [1], modulus] {
                    #expect(!holds(number, message, algorithm))
                }
                #expect(holds(signature, message, algorithm))
            }
        }
    }

    @Test("a signature plus the modulus, whose power is the same, is refused")
    func aboveModulus() throws {
        let (key, modulus, made) = try Self.key(bits: 1024)
        var count = 0
        for index in 0..<64 {
            let message = Array("message \(index)".utf8)
            let signature = try key.sign(message, digest: .sha256)
            guard let sum = Self.sum(signature, modulus) else { continue }
            count += 1
            let holds = made.verifies(
                signature: sum.span, over: message.span, algorithm: .sha256)
            #expect(!holds)
        }
        // The modulus is below three quarters of the largest number, or almost at it.
        if modulus[0] < 0xE0 { #expect(count > 0) }
    }
}
