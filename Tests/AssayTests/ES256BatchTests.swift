import Assay
import AssayBytes
import Synchronization
import TestSupport
import Testing

/// The batch gives the same results as EVP, with each engine.
@Suite struct ES256BatchTests {
    struct Case {
        let name: String
        let point: [UInt8]
        let digest: [UInt8]
        let r: [UInt8]
        let s: [UInt8]
        /// The expected result, or nil to expect EVP's result.
        var expected: Bool?
    }

    private func checkCase(_ test: Case, engine: SignatureEngine) {
        let evp = P256Forge.evpVerifies(
            point: test.point, digest: test.digest, r: test.r, s: test.s)
        let key = Batches.key(test.point, engine: engine)
        let check = Batches.check(key, test.digest, test.r + test.s)
        let holds = check.map { Batches.holds([$0], by: Batches.verifier(engine))[0] } ?? false
        #expect(holds == evp, "\(test.name), \(engine)")
        if let expected = test.expected {
            #expect(evp == expected, "\(test.name), \(engine)")
        }
    }

    @Test(arguments: Batches.engines)
    func boundsOfRAndS(engine: SignatureEngine) {
        let forge = P256Forge()
        var random = SeededGenerator(seed: 1)
        let (d, e, k) = (
            forge.random(&random), forge.random(&random), forge.random(&random)
        )
        let point = forge.publicKey(d)
        let signature = forge.sign(e, d: d, k: k)
        let (r, s) = (Array(signature[..<32]), Array(signature[32...]))
        let n = P256Forge.order
        var bounds = [0, 1, 2].map(P256Forge.number)
        bounds += [forge.negate(P256Forge.number(1)), n, forge.plain(n, plus: 1), P256Forge.field]
        bounds.append([UInt8](repeating: 0xFF, count: 32))
        for bound in bounds {
            let name = hexadecimal(bound.span)
            checkCase(
                Case(name: "r = \(name)", point: point, digest: e, r: bound, s: s),
                engine: engine)
            checkCase(
                Case(name: "s = \(name)", point: point, digest: e, r: r, s: bound),
                engine: engine)
            for other in bounds {
                checkCase(
                    Case(
                        name: "r, s = \(name), \(other)", point: point, digest: e, r: bound,
                        s: other, expected: false),
                    engine: engine)
            }
        }
    }

    /// Sums u1·G + u2·Q with exceptional values: u1 is zero, or the two points are equal or
    /// opposite.
    @Test(arguments: Batches.engines)
    func exceptionalSums(engine: SignatureEngine) {
        let forge = P256Forge()
        var random = SeededGenerator(seed: 2)
        for round in 0..<4 {
            let (d, k, s) = (
                forge.random(&random), forge.random(&random), forge.random(&random)
            )
            let point = forge.publicKey(d)
            let r = forge.r(k)
            func signed(_ name: String, _ e: [UInt8], expected: Bool = true) -> Case {
                let signature = forge.sign(e, d: d, k: k)
                return Case(
                    name: "\(name) \(round)", point: point, digest: e, r: r,
                    s: Array(signature[32...]), expected: expected)
            }
            var cases = [
                signed("u1 zero", P256Forge.number(0)),
                signed("u1 zero, digest n", P256Forge.order),
                signed("digest n + 1", forge.plain(P256Forge.order, plus: 1)),
                signed("digest all ones", [UInt8](repeating: 0xFF, count: 32)),
                signed("doubling", forge.multiply(r, d)),
            ]
            let plain = signed("plain", forge.random(&random))
            cases.append(plain)
            cases.append(
                Case(
                    name: "high s twin", point: point, digest: plain.digest, r: r,
                    s: forge.negate(plain.s), expected: true))
            cases.append(
                Case(
                    name: "infinity", point: point, digest: forge.negate(forge.multiply(r, d)),
                    r: r, s: s, expected: false))
            for test in cases { checkCase(test, engine: engine) }
        }
    }

    /// Keys close to the generator: d·G for small d, and their negatives.
    @Test(arguments: Batches.engines)
    func keysNearTheGenerator(engine: SignatureEngine) {
        let forge = P256Forge()
        var random = SeededGenerator(seed: 3)
        for small: UInt64 in [1, 2, 3, 64, 128] {
            for d in [P256Forge.number(small), forge.negate(P256Forge.number(small))] {
                for k in [P256Forge.number(1), P256Forge.number(2), forge.random(&random)] {
                    let e = forge.random(&random)
                    let signature = forge.sign(e, d: d, k: k)
                    checkCase(
                        Case(
                            name: "d = ±\(small)", point: forge.publicKey(d), digest: e,
                            r: Array(signature[..<32]), s: Array(signature[32...]),
                            expected: true),
                        engine: engine)
                }
            }
        }
    }

    /// For x between n and p, r is x − n. The comparison must also try r + n.
    @Test(arguments: Batches.engines)
    func xAboveTheOrder(engine: SignatureEngine) {
        let forge = P256Forge()
        var random = SeededGenerator(seed: 4)
        var found = 0
        for small in 1..<UInt64(40) where found < 6 {
            let r = P256Forge.number(small)
            let (s, e) = (forge.random(&random), forge.random(&random))
            for x in [forge.plain(P256Forge.order, plus: small), r] {
                guard let point = forge.publicKey(x: x, r: r, s: s, e: e) else { continue }
                found += x == r ? 0 : 1
                if x != r {
                    checkCase(
                        Case(
                            name: "x as r, \(small)", point: point, digest: e, r: x, s: s,
                            expected: false),
                        engine: engine)
                }
                checkCase(
                    Case(
                        name: "r = \(small)", point: point, digest: e, r: r, s: s, expected: true),
                    engine: engine)
                checkCase(
                    Case(
                        name: "r = \(small + 1)", point: point, digest: e,
                        r: P256Forge.number(small + 1), s: s, expected: false),
                    engine: engine)
            }
        }
        #expect(found == 6)
    }

    /// For small x and r = x + p − n, r + n equals x modulo p. It is not a candidate because it
    /// is p or more.
    @Test(arguments: Batches.engines)
    func rThatReachesXOnlyModuloP(engine: SignatureEngine) {
        let forge = P256Forge()
        var random = SeededGenerator(seed: 8)
        let fieldMinusOrder = forge.subtract(P256Forge.field, P256Forge.order)
        var found = 0
        for small in 1..<UInt64(20) {
            let x = P256Forge.number(small)
            let r = forge.add(x, fieldMinusOrder)
            let (s, e) = (forge.random(&random), forge.random(&random))
            guard let point = forge.publicKey(x: x, r: r, s: s, e: e) else { continue }
            found += 1
            checkCase(
                Case(name: "x = \(small)", point: point, digest: e, r: r, s: s, expected: false),
                engine: engine)
        }
        #expect(found > 4)
    }

    /// G + G and G − G, in batches that are large enough for the formulas that know neither.
    @Test(arguments: Batches.engines)
    func equalAndOppositePoints(engine: SignatureEngine) throws {
        let forge = P256Forge()
        let one = P256Forge.number(1)
        // With e = r = s the sum is G + Q.
        let r = forge.r(P256Forge.number(2))
        let verifier = Batches.verifier(engine)
        for (d, holds) in [(one, true), (forge.negate(one), false)] {
            let key = Batches.key(forge.publicKey(d), engine: engine)
            let check = try #require(Batches.check(key, r, r + r))
            let count = 100
            let all = Batches.holds([ES256Check](repeating: check, count: count), by: verifier)
            #expect(all == [Bool](repeating: holds, count: count))
        }
    }

    /// Makes checks for several keys, some with tables. About one check in three has one changed
    /// bit, in its signature or digest.
    private func mixedChecks(
        _ count: Int, seed: UInt64, _ engine: SignatureEngine
    ) -> (checks: [ES256Check], valid: [Bool]) {
        let forge = P256Forge()
        var random = SeededGenerator(seed: seed)
        let signers = (0..<8).map { index in
            let d = forge.random(&random)
            return (d, Batches.key(forge.publicKey(d), engine: index > 0 ? engine : nil))
        }
        var checks: [ES256Check] = []
        var valid: [Bool] = []
        while checks.count < count {
            let (d, key) = signers.randomElement(using: &random)!
            var e = forge.random(&random)
            var signature = forge.sign(e, d: d, k: forge.random(&random))
            let isDamaged = UInt8.random(in: 0..<3, using: &random) == 0
            if isDamaged {
                let bit = Int.random(in: 0..<768, using: &random)
                if bit < 512 {
                    signature[bit / 8] ^= 1 << (bit % 8)
                } else {
                    e[(bit - 512) / 8] ^= 1 << (bit % 8)
                }
            }
            guard let check = Batches.check(key, e, signature) else { continue }
            checks.append(check)
            valid.append(!isDamaged)
        }
        return (checks, valid)
    }

    @Test(arguments: Batches.engines)
    func batchesOfEverySize(engine: SignatureEngine) {
        let (checks, valid) = mixedChecks(512 + 64, seed: 5, engine)
        let verifier = Batches.verifier(engine)
        // All sizes of a slice that shares inversions and of the next one, and some larger.
        for size in Array(1...66) + [127, 128, 129, 255, 256, 257, 512] {
            let start = size % 61
            let range = start..<start + size
            let holds = Batches.holds(Array(checks[range]), by: verifier)
            #expect(holds == Array(valid[range]), "batch of \(size)")
        }
    }

    /// One bad signature at each position of a batch, then one good among bad.
    @Test(arguments: Batches.engines)
    func goodAndBadAtEveryPosition(engine: SignatureEngine) throws {
        let forge = P256Forge()
        var random = SeededGenerator(seed: 6)
        let d = forge.random(&random)
        let key = Batches.key(forge.publicKey(d), engine: engine)
        let e = forge.random(&random)
        let good = try #require(
            Batches.check(key, e, forge.sign(e, d: d, k: forge.random(&random))))
        let bad = try #require(
            Batches.check(key, P256Forge.number(7), forge.sign(e, d: d, k: forge.random(&random))))
        let verifier = Batches.verifier(engine)
        let size = 65
        for position in 0..<size {
            for (one, others) in [(good, bad), (bad, good)] {
                var checks = [ES256Check](repeating: others, count: size)
                checks[position] = one
                let holds = Batches.holds(checks, by: verifier)
                let expected = (0..<size).map {
                    ($0 == position) == (one.digest.text == good.digest.text)
                }
                #expect(holds == expected, "position \(position)")
            }
        }
    }

    @Test(arguments: Batches.engines)
    func randomDifferences(engine: SignatureEngine) {
        let forge = P256Forge()
        var random = SeededGenerator(seed: 7)
        let d = forge.random(&random)
        let point = forge.publicKey(d)
        let key = Batches.key(point, engine: engine)
        let verifier = Batches.verifier(engine)
        var held = 0
        for _ in 0..<300 {
            let e = forge.random(&random)
            var signature = forge.sign(e, d: d, k: forge.random(&random))
            if Bool.random(using: &random) {
                signature[Int.random(in: 0..<64, using: &random)] ^=
                    1 << UInt8.random(in: 0..<8, using: &random)
            }
            let evp = P256Forge.evpVerifies(
                point: point, digest: e, r: Array(signature[..<32]), s: Array(signature[32...]))
            let check = Batches.check(key, e, signature)
            let holds = check.map { Batches.holds([$0], by: verifier)[0] } ?? false
            #expect(holds == evp)
            held += holds ? 1 : 0
        }
        #expect(held > 100 && held < 200)
    }
}
