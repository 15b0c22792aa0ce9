import Assay
import AssayModels
import AssayServer
import AssayWire
import TestSupport
import Testing

/// The server's answers equal the verifier's, for every arrangement of work and split of bytes.
@Suite(.ownThread, .serialized, .timeLimit(.minutes(3))) struct SameAnswerTests {
    struct Arrangement: CustomTestStringConvertible, Sendable {
        var workers: Int
        var handsOver: Bool
        var keyTables: KeyTableBuilding
        /// The maximum bytes of one write.
        var cut: Int
        var testDescription: String {
            "\(workers) workers, \(handsOver ? "handed over" : "in place"), cut \(cut)"
        }
    }

    static let arrangements = [
        Arrangement(workers: 1, handsOver: false, keyTables: .onRequest, cut: 100_000),
        Arrangement(workers: 1, handsOver: false, keyTables: .never, cut: 3_000),
        Arrangement(workers: 1, handsOver: true, keyTables: .onRequest, cut: 20_000),
        Arrangement(workers: 2, handsOver: true, keyTables: .never, cut: 700),
        Arrangement(workers: 3, handsOver: false, keyTables: .onRequest, cut: 50_000),
        Arrangement(workers: 4, handsOver: true, keyTables: .onRequest, cut: 1_000_000),
    ]

    private struct Item {
        let kind: EvidenceKind
        let evidence: [UInt8]
    }

    private static func items() throws -> [Item] {
        var items: [Item] = []
        for (index, kind) in Minted.jwsKinds.enumerated() {
            for number in 0..<12 {
                let token = try Minted.token(kind, index: number * 10 + index)
                items.append(Item(kind: kind, evidence: token))
                items.append(Item(kind: kind, evidence: Minted.tampered(token)))
            }
            let token = try Minted.token(kind)
            items.append(Item(kind: kind, evidence: Array(token.dropLast())))
            items.append(Item(kind: kind, evidence: Array(token.prefix(100))))
            let foreign = try Minted.token(kind, by: Minted.foreign.get())
            items.append(Item(kind: kind, evidence: foreign))
            let live = try Minted.token(kind, environment: .production)
            items.append(Item(kind: kind, evidence: live))
        }
        return items
    }

    @Test(arguments: arrangements)
    func answersMatchTheVerifier(_ arrangement: Arrangement) throws {
        let items = try Self.items()
        let alone = try Minted.verifier()
        let expected = items.map {
            alone.verify($0.evidence.span, as: $0.kind, policy: Minted.policy, at: Minted.now)
        }
        let verifier = try Minted.verifier(keyTables: arrangement.keyTables)
        try withSocketServer { configuration in
            configuration.workers = arrangement.workers
            configuration.handsOver = arrangement.handsOver
            configuration.apps = [
                "game": AppEntry(verifier: verifier, policy: Minted.policy)
            ]
        } _: { test in
            // Often enough for the key to get its table on the way, where tables are enabled.
            for round in 0..<8 {
                var order = Array(items.indices)
                order.shuffle()
                var bytes: [UInt8] = []
                for index in order {
                    bytes += RawClient.verify(
                        UInt64(index + 1), items[index].kind, items[index].evidence)
                }
                let client = RawClient(
                    try BlockingClient(
                        round % 2 == 0 ? test.unix : test.tcp, patience: 150))
                try Self.send(bytes, in: arrangement.cut, on: client)
                for _ in items { try Self.check(client.receive()?.head, expected) }
            }
        }
    }

    private static func send(_ bytes: [UInt8], in cut: Int, on client: RawClient) throws {
        var start = 0
        while start < bytes.count {
            let end = min(start + Int.random(in: 1...cut), bytes.count)
            try client.send(Array(bytes[start..<end]))
            start = end
        }
    }

    private static func check(_ head: ResponseHead?, _ expected: [Verification]) throws {
        let head = try #require(head)
        var wanted = expected[Int(head.id) - 1]
        wanted.evidence = nil
        guard case .verification(let answer) = head.result else {
            Issue.record("\(head)")
            return
        }
        #expect(answer == wanted)
    }
}
