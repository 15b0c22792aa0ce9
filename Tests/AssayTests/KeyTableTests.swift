import Assay
import AssayLocks
import Testing

/// Tests when a key's table is built and when it is released.
@Suite struct KeyTableTests {
    private struct Signer: Sendable {
        let d: [UInt8]
        let point: [UInt8]
        let digest: [UInt8]
        let signature: [UInt8]

        init(seed: UInt64) {
            let forge = P256Forge()
            var random = SeededGenerator(seed: seed)
            d = forge.random(&random)
            point = forge.publicKey(d)
            digest = forge.random(&random)
            signature = forge.sign(digest, d: d, k: forge.random(&random))
        }

        func key() -> PublicKey { PublicKey.ec(.p256, point: point.span)! }
    }

    @Test func requestedAfterEnoughUses() {
        let signer = Signer(seed: 11)
        let key = signer.key()
        let tables = KeyTables(isEnabled: true, engine: .bestWithTables)
        let verifier = ES256BatchVerifier(tables: tables)
        let good = Batches.check(key, signer.digest, signer.signature)!
        let bad = Batches.check(key, P256Forge.number(1), signer.signature)!
        // Invalid signatures do not count as uses.
        _ = Batches.holds([ES256Check](repeating: bad, count: Limits.keyTableUses), by: verifier)
        #expect(!tables.hasPending)
        _ = Batches.holds(
            [ES256Check](repeating: good, count: Limits.keyTableUses - 1), by: verifier)
        #expect(!tables.hasPending)
        #expect(Batches.holds([good], by: verifier) == [true])
        #expect(tables.hasPending)
        #expect(tables.buildPending() == 1)
        #expect(!tables.hasPending)
        #expect(tables.tables == 1)
        #expect(Batches.holds([good, bad, good], by: verifier) == [true, false, true])
    }

    @Test func neverWhenDisabled() {
        let key = Signer(seed: 12).key()
        let tables = KeyTables(isEnabled: false)
        tables.note(key, held: Limits.keyTableUses * 3)
        #expect(!tables.hasPending)
        #expect(tables.buildPending() == 0)
        #expect(tables.tables == 0)
    }

    @Test func boundedAndReleased() {
        let tables = KeyTables(isEnabled: true, engine: .bestWithTables)
        let forge = P256Forge()
        var keys = (1...UInt64(Limits.keyTables)).map {
            PublicKey.ec(.p256, point: forge.publicKey(P256Forge.number($0)).span)!
        }
        for key in keys { Batches.build(for: key, in: tables) }
        #expect(tables.tables == Limits.keyTables)
        let next = Signer(seed: 13).key()
        tables.note(next, held: Limits.keyTableUses)
        #expect(!tables.hasPending)
        // A released key frees its table. The next key takes the slot on its next uses.
        keys.removeLast()
        #expect(tables.tables == Limits.keyTables - 1)
        tables.note(next, held: Limits.keyTableUses)
        #expect(tables.buildPending() == 1)
        #expect(tables.tables == Limits.keyTables)
    }

    @Test func keyReleasedWhileQueued() {
        let tables = KeyTables(isEnabled: true, engine: .bestWithTables)
        var key: PublicKey? = Signer(seed: 14).key()
        tables.note(key!, held: Limits.keyTableUses)
        key = nil
        #expect(tables.hasPending)
        #expect(tables.buildPending() == 0)
        #expect(tables.tables == 0)
    }

    /// A table that cannot be built costs speed, never a verdict.
    @Test func worksWithoutATable() {
        let tables = KeyTables(isEnabled: true, build: { _, _ in nil })
        let signer = Signer(seed: 16)
        let key = signer.key()
        tables.note(key, held: Limits.keyTableUses)
        #expect(tables.buildPending() == 0)
        #expect(tables.tables == 0)
        // The build is not retried.
        tables.note(key, held: Limits.keyTableUses)
        #expect(!tables.hasPending)
        let good = Batches.check(key, signer.digest, signer.signature)!
        #expect(Batches.holds([good], by: ES256BatchVerifier(tables: tables)) == [true])
    }

    @Test func noTableForAnotherCurve() {
        let tables = KeyTables(isEnabled: true, engine: .bestWithTables)
        // The generator of P-384 (SEC 2, section 2.5.1).
        let point = P256Forge.octets(
            "04aa87ca22be8b05378eb1c71ef320ad746e1d3b628ba79b9859f741e082542a38"
                + "5502f25dbf55296c3a545e3872760ab73617de4a96262c6f5d9e98bf9292dc29f8"
                + "f41dbd289a147ce9da3113b5f0b8c00a60b1ce1d7e819d7a431d7c90ea0e5f")
        guard let key = PublicKey.ec(.p384, point: point.span) else {
            Issue.record("not a point")
            return
        }
        tables.note(key, held: Limits.keyTableUses)
        #expect(!tables.hasPending)
    }

    /// Threads verify while the table is built and while keys come and go.
    @Test func buildingRacesWithVerifyingAndEviction() async {
        let tables = KeyTables(isEnabled: true, engine: .bestWithTables)
        let verifiers = ES256Verifiers(tables: tables)
        let signer = Signer(seed: 15)
        let current = CurrentKey(signer.key())
        await withTaskGroup(of: Int.self) { group in
            for worker in 0..<3 {
                group.addTask {
                    var wrong = 0
                    for round in 0..<60 {
                        let key = current.key.withLock { $0 }
                        let good = Batches.check(key, signer.digest, signer.signature)!
                        let bad = Batches.check(key, P256Forge.number(1), signer.signature)!
                        let checks = [good, good, bad, good, good, good, good]
                        let holds = verifiers.withVerifier { verifier in
                            verifier.checks += checks
                            verifier.verify()
                            return verifier.holds
                        }
                        if holds != [true, true, false, true, true, true, true] { wrong += 1 }
                        // Simulates many more verifications.
                        tables.note(key, held: Limits.keyTableUses / 4)
                        if worker == 0, round % 20 == 19 {
                            current.key.withLock { $0 = signer.key() }
                        }
                    }
                    return wrong
                }
            }
            group.addTask {
                for _ in 0..<50 {
                    tables.buildPending()
                    try? await Task.sleep(for: .milliseconds(1))
                }
                return 0
            }
            for await wrong in group { #expect(wrong == 0) }
        }
        #expect(tables.tables <= 1)
    }
}

/// The current key, held as a chain cache holds it.
private final class CurrentKey: Sendable {
    let key: Locked<PublicKey>

    init(_ key: PublicKey) { self.key = Locked(key) }
}
