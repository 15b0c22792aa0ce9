@testable import Assay
import AssayMint
import COpenSSL
import TestSupport
import Testing

/// Signatures by keys with an `IssuerTable`, and by the same keys without one: the answers are
/// EVP's for every input.
@Suite struct IssuerTableTests {
    private typealias Octets = [UInt8]

    /// One curve with a key and its table.
    private struct Case {
        let curve: SubjectPublicKey.Curve
        let forge: P256Forge
        let d: Octets
        let key: PublicKey
        let table: IssuerTable
        let evp: VerifyContext

        init(_ curve: SubjectPublicKey.Curve) {
            let forge = P256Forge(curve)
            var random = SeededGenerator(seed: 1)
            let d = forge.random(&random)
            self.init(
                curve, point: forge.publicKey(d), d: d,
                table: curve == .p256 ? Self.p256Table : Self.p384Table)
        }

        init(_ curve: SubjectPublicKey.Curve, d: Octets) {
            self.init(curve, point: P256Forge(curve).publicKey(d), d: d)
        }

        /// - Parameter d: the private key, if it is known.
        init(
            _ curve: SubjectPublicKey.Curve, point: Octets, d: Octets = [],
            table: IssuerTable? = nil
        ) {
            key = PublicKey.ec(curve, point: point.span)!
            self.curve = curve
            self.d = d
            forge = P256Forge(curve)
            self.table = table ?? IssuerTable(key)!
            evp = unsafe VerifyContext(key.key)
        }

        // In a debug build a table takes seconds, so the tests share that of the first key.
        private static let p256Table = firstTable(.p256)
        private static let p384Table = firstTable(.p384)

        private static func firstTable(_ curve: SubjectPublicKey.Curve) -> IssuerTable {
            let forge = P256Forge(curve)
            var random = SeededGenerator(seed: 1)
            let point = forge.publicKey(forge.random(&random))
            return IssuerTable(PublicKey.ec(curve, point: point.span)!)!
        }

        /// Compares the table's answer, and that without a table, with EVP's. Returns the first.
        @discardableResult
        func check(_ der: Octets, _ digest: Octets, _ comment: String) -> Bool? {
            let own = table.verifies(der.span, overDigest: digest.span)
            let holds = evp.verifies(der.span, overDigest: digest.span)
            if let own { #expect(own == holds, "\(curve): \(comment)") }
            let other = key.verifiesWithoutTable(der.span, overDigest: digest.span)
            if let other { #expect(other == holds, "\(curve), no table: \(comment)") }
            if curve == .p384, own != nil { #expect(other != nil, "no table: \(comment)") }
            return own
        }

        /// The signature with which the sum of points is u₁·G + u₂·Q, and its digest.
        func signature(u1: Octets, u2: Octets) -> (der: Octets, digest: Octets) {
            let r = forge.r(forge.add(u1, forge.multiply(u2, d)))
            let s = forge.divide(r, u2)
            return (ECDSADER.encoded(r, s), forge.multiply(u1, s))
        }
    }

    @Test(arguments: [SubjectPublicKey.Curve.p256, .p384])
    func randomAndDamaged(curve: SubjectPublicKey.Curve) {
        var random = SeededGenerator(seed: 51)
        var counts = [false: 0, true: 0]
        let each = Case(curve)
        for index in 0..<80 {
            // SHA-256 and SHA-384, for both curves.
            let length = index % 2 == 0 ? 32 : 48
            let digest = (0..<length).map { _ in UInt8.random(in: 0...255, using: &random) }
            // The leftmost octets of the digest, as a number mod n.
            let e = each.forge.add(
                Octets(digest.prefix(each.forge.size)), P256Forge.number(0))
            let octets = each.forge.sign(e, d: each.d, k: each.forge.random(&random))
            var der = ECDSADER.encoded(
                Octets(octets.prefix(each.forge.size)), Octets(octets.suffix(each.forge.size)))
            var damaged = digest
            switch index % 8 {
            case 0: der[Int.random(in: 0..<der.count, using: &random)] ^= 1
            case 1: der[Int.random(in: 4..<der.count, using: &random)] ^= 0x80
            case 2: damaged[Int.random(in: 0..<32, using: &random)] ^= 4
            case 3: der.removeLast()
            case 4: der.append(0)
            default: break
            }
            let holds = each.check(der, damaged, "\(index)")
            #expect(holds == (index % 8 > 4), "\(index)")
            counts[holds == true, default: 0] += 1
        }
        #expect(counts == [false: 50, true: 30])
    }

    @Test(arguments: [SubjectPublicKey.Curve.p256, .p384])
    func limitsOfTheRange(curve: SubjectPublicKey.Curve) throws {
        let each = Case(curve)
        let (order, field) = ECDSADER.moduli(curve)
        let one = each.forge.plain([0], plus: 1)
        let digest = Octets(repeating: 0x5A, count: each.forge.size)
        let genuine = each.signature(u1: P256Forge.number(3), u2: P256Forge.number(5))
        #expect(each.check(genuine.der, genuine.digest, "genuine") == true)
        let numbers = [
            [0], one, each.forge.negate(one), order, each.forge.plain(order, plus: 1), field,
            Octets(repeating: 0xFF, count: each.forge.size),
            [1] + Octets(repeating: 0, count: each.forge.size), [0, 0] + one,
        ]
        for r in numbers {
            for s in numbers {
                for digest in [digest, Octets(repeating: 0, count: each.forge.size), order, field] {
                    #expect(each.check(ECDSADER.encoded(r, s), digest, "\(r) \(s)") == false)
                }
            }
        }
    }

    /// u₁ and u₂ whose digits are all equal, extreme, or next to a multiple of a window.
    @Test(arguments: [SubjectPublicKey.Curve.p256, .p384])
    func digits(curve: SubjectPublicKey.Curve) {
        let each = Case(curve)
        let size = each.forge.size
        var scalars: [Octets] = [0, 0x7F, 0x80, 0xFE].map {
            // Below the order, whose first octets are 0xFF.
            Octets(repeating: $0, count: size)
        }
        for window in [0, size - 1] {
            var octets = Octets(repeating: 0, count: size)
            octets[size - 1 - window] = 0x80
            let power = octets
            scalars += [power, each.forge.plain(power, plus: 1)]
            scalars.append(each.forge.subtract(power, P256Forge.number(1)))
            octets[size - 1 - window] = 1
            scalars += [octets, each.forge.negate(octets)]
        }
        scalars.append(each.forge.negate(P256Forge.number(1)))
        var undecided = 0
        for u1 in scalars {
            for u2 in scalars where u2.contains(where: { $0 != 0 }) {
                let (der, digest) = each.signature(u1: u1, u2: u2)
                guard let holds = each.check(der, digest, "\(u1) \(u2)") else {
                    undecided += 1
                    continue
                }
                #expect(holds, "\(u1) \(u2)")
                let holdsWithoutTable = each.key.verifiesWithoutTable(
                    der.span, overDigest: digest.span)
                #expect(holdsWithoutTable == (curve == .p384 ? true : nil), "\(u1) \(u2)")
                var other = digest
                other[0] ^= 1
                #expect(each.check(der, other, "another digest") == false)
            }
        }
        #expect(undecided == 0)
    }

    /// Q = G and −G, where many sums are doubles or at infinity: EVP may have to decide, and
    /// no answer differs from its.
    @Test(arguments: [SubjectPublicKey.Curve.p256, .p384])
    func equalAndOppositePoints(curve: SubjectPublicKey.Curve) {
        var random = SeededGenerator(seed: 53)
        var undecided = 0
        for d in [1, -1] {
            let forge = P256Forge(curve)
            let magnitude = P256Forge.number(UInt64(abs(d)))
            let each = Case(curve, d: d < 0 ? forge.negate(magnitude) : forge.add(magnitude, [0]))
            if d == 1 {
                // 1·G + 1·G: without a table a sum of equal points.
                let first = each.signature(u1: magnitude, u2: magnitude)
                let sum = each.key.verifiesWithoutTable(
                    first.der.span, overDigest: first.digest.span)
                #expect(sum == nil)
            }
            for _ in 0..<6 {
                let u2 = forge.random(&random)
                let product = forge.multiply(u2, each.d)
                // u₁·G = u₂·Q: the sum is a double.
                let double = each.signature(u1: product, u2: u2)
                if each.check(double.der, double.digest, "double \(d)") == nil { undecided += 1 }
                let isValid = each.evp.verifies(double.der.span, overDigest: double.digest.span)
                #expect(isValid)
                // u₁·G = −u₂·Q: the sum is at infinity, for any r and the fitting digest.
                let r = forge.random(&random)
                let s = forge.divide(r, u2)
                let digest = forge.multiply(forge.negate(product), s)
                let infinity = ECDSADER.encoded(r, s)
                if each.check(infinity, digest, "infinity \(d)") == nil { undecided += 1 }
                let isAccepted = each.evp.verifies(infinity.span, overDigest: digest.span)
                #expect(!isAccepted)
                let other = each.key.verifiesWithoutTable(
                    infinity.span, overDigest: digest.span)
                #expect(other == nil)
            }
        }
        // The sum at infinity is never decided.
        #expect(undecided >= 12, "\(undecided)")
    }

    /// x of the sum is r + n, for the smallest r for which there is such a point.
    @Test(arguments: [SubjectPublicKey.Curve.p256, .p384])
    func secondX(curve: SubjectPublicKey.Curve) throws {
        let forge = P256Forge(curve)
        let (order, _) = ECDSADER.moduli(curve)
        let digest = Octets(repeating: 0xA5, count: forge.size)
        var found = 0
        for small in 1...12 as ClosedRange<UInt64> where found == 0 {
            let r = forge.add(P256Forge.number(small), [0])
            let s = forge.plain(r, plus: 7)
            let x = forge.plain(order, plus: small)
            guard let point = forge.publicKey(x: x, r: r, s: s, e: forge.add(digest, [0])) else {
                continue
            }
            found += 1
            let each = Case(curve, point: point)
            #expect(each.check(ECDSADER.encoded(r, s), digest, "r + n") == true)
            let next = forge.plain(r, plus: 1)
            #expect(each.check(ECDSADER.encoded(next, s), digest, "r + 1 + n") == false)
        }
        #expect(found == 1)
    }

    /// Encodings that EVP refuses or accepts, with valid numbers inside.
    @Test(arguments: [SubjectPublicKey.Curve.p256, .p384])
    func encodings(curve: SubjectPublicKey.Curve) {
        let each = Case(curve)
        let size = UInt8(each.forge.size)
        // r and s with and without the octet for the sign.
        for seed in 1...6 as ClosedRange<UInt64> {
            let (der, digest) = each.signature(u1: P256Forge.number(seed), u2: P256Forge.number(9))
            #expect(each.check(der, digest, "DER") == true)
            let content = Octets(der.dropFirst(2))
            let rSize = Int(content[1]) + 2
            let (r, s) = (Octets(content.prefix(rSize)), Octets(content.dropFirst(rSize)))
            func padded(_ integer: Octets) -> Octets {
                [2, integer[1] + 1, 0] + integer.dropFirst(2)
            }
            func sequence(_ content: Octets) -> Octets { [0x30, UInt8(content.count)] + content }
            var others: [Octets] = [
                [], [0x30], [0x30, 0], sequence(r), sequence(r + s + [5, 0]), der + [0],
                sequence(padded(r) + s), sequence(r + padded(s)), sequence(s + r),
                [0x30, 0x81, UInt8(content.count)] + content,
                [0x30, 0x82, 0, UInt8(content.count)] + content,
                [0x30, 0x80] + content + [0, 0], [0x31] + der.dropFirst(),
                sequence([0x22] + r.dropFirst() + s), sequence([2, 0] + s),
                sequence([2, 0x81, r[1]] + r.dropFirst(2) + s), sequence([2, 1, 0xFF] + s),
                sequence([2, size] + Octets(repeating: 0x80, count: Int(size)) + s),
            ]
            // Negative numbers with the octets of r and s.
            if r[2] == 0 { others.append(sequence([2, r[1] - 1] + r.dropFirst(3) + s)) }
            if s[2] == 0 { others.append(sequence(r + [2, s[1] - 1] + s.dropFirst(3))) }
            for other in others { #expect(each.check(other, digest, "\(other)") == false) }
        }
    }
}

/// DER of ECDSA signatures with numbers of any size.
enum ECDSADER {
    static func encoded(_ r: [UInt8], _ s: [UInt8]) -> [UInt8] {
        Tag.sequence.encoding([r, s].flatMap { Tag.integer.encoding(magnitude($0)) })
    }

    private static func magnitude(_ number: [UInt8]) -> [UInt8] {
        let digits = Array(number.drop { $0 == 0 })
        return digits.first.map { $0 & 0x80 == 0 } == true ? digits : [0] + digits
    }

    /// The order and the field's modulus of a curve (SEC 2).
    static func moduli(_ curve: SubjectPublicKey.Curve) -> (order: [UInt8], field: [UInt8]) {
        if curve == .p256 { return (P256Forge.order, P256Forge.field) }
        let ones = String(repeating: "f", count: 48)
        return (
            P256Forge.octets(
                ones + "c7634d81f4372ddf581a0db248b0a77aecec196accc52973"),
            P256Forge.octets(ones + "fffffffffffffffeffffffff0000000000000000ffffffff")
        )
    }
}
