import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import Testing

/// Lines 14 to 17 of the catalogue of hostile input: the signature of a JWS.
@Suite struct HostileSignatureTests: HostileTokens {
    @Test("line 14: signatures of another size or form")
    func signatureForm() throws {
        for size in [0, 1, 32, 63, 65, 96, 128, 4096] {
            let token = Fixture.token(signature: { signature in
                let source = signature
                signature = (0..<size).map { source[$0 % 64] }
            })
            expect(token, .invalidSignature, comment: "\(size) octets")
        }
        let parts = Fixture.segments(Fixture.token())
        let der = try Fixture.ca.leafKey.sign(
            Fixture.join(Array(parts[..<2])), digest: .sha256)
        expect(Fixture.token(signature: { $0 = der }), .invalidSignature)
        let changes: [(inout [UInt8]) -> Void] = [
            { $0.reverse() }, { $0 = Array($0[32...] + $0[..<32]) }, { $0.insert(0, at: 0) },
            { $0 = [0] + $0[..<32] + [0] + $0[32...] },
            { $0 = Array($0[..<32].reversed()) + $0[32...] },
        ]
        for change in changes { expect(Fixture.token(signature: change), .invalidSignature) }
    }

    private static let order: [UInt8] = bytes(
        "ffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551")
    private static let prime: [UInt8] = bytes(
        "ffffffff00000001000000000000000000000000ffffffffffffffffffffffff")

    private static func bytes(_ hexadecimal: String) -> [UInt8] {
        let digits = hexadecimal.compactMap { UInt8($0.hexDigitValue ?? 0) }
        return stride(from: 0, to: digits.count, by: 2).map { digits[$0] << 4 | digits[$0 + 1] }
    }

    /// Returns a − b modulo 2²⁵⁶.
    private static func subtract(_ a: [UInt8], _ b: [UInt8]) -> [UInt8] {
        var result = a
        var borrow = 0
        for index in a.indices.reversed() {
            let digit = Int(a[index]) - Int(b[index]) - borrow
            result[index] = UInt8(truncatingIfNeeded: digit)
            borrow = digit < 0 ? 1 : 0
        }
        return result
    }

    @Test("line 15: r and s out of range")
    func signatureRange() {
        let zero = [UInt8](repeating: 0, count: 32)
        let one = Array(zero.dropLast() + [1])
        let ones = [UInt8](repeating: 0xFF, count: 32)
        let beyond = Self.order.dropLast() + [0x52]
        let below = Self.order.dropLast() + [0x50]
        let values = [zero, one, Self.order, Array(beyond), Array(below), Self.prime, ones]
        for r in values {
            for s in values {
                expect(Fixture.token(signature: { $0 = r + s }), .invalidSignature)
            }
            expect(Fixture.token(signature: { $0 = r + $0[32...] }), .invalidSignature)
            expect(Fixture.token(signature: { $0 = $0[..<32] + r }), .invalidSignature)
        }
        // r + n modulo 2²⁵⁶. Where the sum fits 32 octets, the new r is above n.
        let shifted = Fixture.token(signature: { signature in
            let negative = Self.subtract([UInt8](repeating: 0, count: 32), Self.order)
            signature = Self.subtract(Array(signature[..<32]), negative) + signature[32...]
        })
        expect(shifted, .invalidSignature)
    }

    @Test("line 16: the twin (r, n - s) verifies, with the same key for deduplication")
    func highS() throws {
        let token = Fixture.token()
        var parts = Fixture.segments(token)
        let text = parts[2]
        let signature = try Base64URL.decode(text.span)
        let twin = signature[..<32] + Self.subtract(Self.order, Array(signature[32...]))
        let twinOctets = Array(twin)
        parts[2] = Base64URL.encode(twinOctets.span)
        let answers = [token, Fixture.join(parts)].map { Fixture.verify($0) }
        #expect(token != Fixture.join(parts))
        #expect(answers.allSatisfy { $0.verdict == .valid })
        #expect(answers[0] == answers[1])
        let key = try #require(answers[0].dedupKey)
        #expect(key.hasPrefix("Production/com.example.app/"))
        let other = Fixture.verify(Fixture.token(Fixture.payload(index: 2)))
        #expect(other.dedupKey != key)
    }

    @Test("line 17: segments of several tokens mixed")
    func mixedSegments() throws {
        let other = try Fixture.ca.issueChain(validity: Fixture.validity)
        let tokens = [
            Fixture.token(), Fixture.token(Fixture.payload(index: 2)),
            Fixture.token(Fixture.payload(index: 3), other),
        ].map(Fixture.segments)
        for header in tokens.indices {
            for payload in tokens.indices {
                for signature in tokens.indices {
                    let mixed = Fixture.join([
                        tokens[header][0], tokens[payload][1], tokens[signature][2],
                    ])
                    // The first two tokens have the same header.
                    let whole =
                        payload == signature && (header == payload || header + payload == 1)
                    expect(mixed, whole ? .valid : .invalidSignature)
                }
            }
        }
    }
}
