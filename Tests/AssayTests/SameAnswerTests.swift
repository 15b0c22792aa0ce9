@testable import Assay
import AssayMint
import AssayModels
import Testing

/// The same bytes and options always give the same answer, payload and detail included.
@Suite struct SameAnswerTests {
    struct Item: Sendable {
        let kind: EvidenceKind
        let evidence: [UInt8]
        let expectations: Expectations
        /// The answer of a fresh verifier that builds no tables.
        let answer: Verification
    }

    private static let kinds: [EvidenceKind] = [
        .transaction, .renewalInfo, .appTransaction, .notification, .realtimeRequest,
    ]

    /// Genuine evidence of each kind, and copies with each part damaged.
    static let items = Fixture.made { () throws -> [Item] in
        var random = SeededGenerator(seed: 41)
        var items: [Item] = []
        for (index, kind) in (kinds + kinds).enumerated() {
            let token = try Minter(Fixture.ca.chain).mint(
                kind, index: index, bundleId: Fixture.bundle, appAppleId: Fixture.app,
                environment: .production, signedDate: Fixture.now)
            for evidence in [token] + damaged(token, &random) {
                for expectations in [.none, Expectations(bundleId: "com.example.other")] {
                    items.append(item(evidence, kind, expectations))
                }
            }
            items.append(item(token, kinds[(index + 1) % kinds.count], .none))
        }
        let foreign = Fixture.token(Fixture.payload(), Fixture.foreignCA.chain)
        items.append(item(foreign, .transaction, .none))
        return items
    }

    private static func item(
        _ evidence: [UInt8], _ kind: EvidenceKind, _ expectations: Expectations
    ) -> Item {
        let verifier = Verifier(trust: Fixture.verifier.trust, keyTables: .never)
        let answer = Fixture.verify(
            evidence, as: kind, expecting: expectations, by: verifier)
        return Item(kind: kind, evidence: evidence, expectations: expectations, answer: answer)
    }

    /// Changes a letter in each segment, truncates the signature and drops segments.
    private static func damaged(
        _ token: [UInt8], _ random: inout SeededGenerator
    ) -> [[UInt8]] {
        let segments = Fixture.segments(token)
        var all: [[UInt8]] = [Array(token.dropLast()), Array(token.dropLast(87)), []]
        for index in segments.indices {
            for _ in 0..<3 {
                var changed = segments
                let offset = Int.random(in: 0..<changed[index].count, using: &random)
                changed[index][offset] ^= 1
                all.append(Fixture.join(changed))
            }
            var without = segments
            without.remove(at: index)
            all.append(Fixture.join(without))
        }
        return all
    }

    @Test func sampleHasBoth() {
        let verdicts = Set(Self.items.map(\.answer.verdict))
        #expect(verdicts.isSuperset(of: [.valid, .malformed, .invalidSignature, .wrongBundle]))
        #expect(verdicts.isSuperset(of: [.wrongKind, .untrustedChain]))
    }

    /// Any order, any batch size, a cold or a warm cache, with and without a key's table.
    @Test(arguments: [1, 2, 3, 4, 5, 6] as [UInt64])
    func inAnyOrderAndBatch(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        let building: KeyTableBuilding = seed % 2 == 0 ? .withSignatures : .never
        let verifier = Verifier(trust: Fixture.verifier.trust, keyTables: building)
        if seed % 2 == 0 { Self.buildTable(verifier) }
        for _ in 0..<3 {
            var rest = Self.items.shuffled(using: &random)[...]
            while !rest.isEmpty {
                let size = Int.random(in: 1...(seed < 4 ? 9 : 150), using: &random)
                let items = rest.prefix(size)
                rest = rest.dropFirst(size)
                let batch = items.map { item in
                    Verifier.BatchItem(
                        item.evidence, as: item.kind, policy: Fixture.policy,
                        expecting: item.expectations)
                }
                #expect(verifier.verify(batch, at: Fixture.now) == items.map(\.answer))
            }
        }
    }

    /// Uses the leaf's key until its table is built.
    private static func buildTable(_ verifier: Verifier) {
        let good = items.first { $0.answer.verdict == .valid }!
        for _ in 0...Limits.keyTableUses / 64 {
            var batch = (0..<64).map { _ in prepared(good, verifier) }
            verifier.verifySignatures(&batch)
        }
    }

    private static func prepared(_ item: Item, _ verifier: Verifier) -> PreparedVerification {
        verifier.prepare(
            item.evidence.span, as: item.kind, policy: Fixture.policy,
            expecting: item.expectations, at: Fixture.now)
    }

    /// Threads verify while the table is built and other chains sweep the cache.
    @Test func whileTableIsBuiltAndCacheSwept() async {
        let verifier = Verifier(trust: Fixture.verifier.trust, keyTables: .onRequest)
        let others = (0..<12).map { _ in Fixture.token(Fixture.payload(), Fixture.chain()) }
        await withTaskGroup(of: Int.self) { group in
            for seed in 1...3 as ClosedRange<UInt64> {
                group.addTask {
                    var random = SeededGenerator(seed: seed)
                    var wrong = 0
                    for round in 0..<40 {
                        let items = (0..<20).map { _ in Self.items.randomElement(using: &random)! }
                        var batch = items.map { Self.prepared($0, verifier) }
                        verifier.verifySignatures(&batch)
                        for (item, prepared) in zip(items, batch)
                        where prepared.verification != item.answer { wrong += 1 }
                        let other = Fixture.verify(others[round % others.count], by: verifier)
                        if other.verdict != .valid { wrong += 1 }
                    }
                    return wrong
                }
            }
            group.addTask {
                for _ in 0..<60 {
                    verifier.performMaintenance()
                    try? await Task.sleep(for: .milliseconds(2))
                }
                return 0
            }
            for await wrong in group { #expect(wrong == 0) }
        }
    }
}
