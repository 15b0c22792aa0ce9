import AssayIO
import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry

/// The end of an accepted request: its answer, and the memory that it held.
@Suite struct ReplyPortTests {
    enum End: CaseIterable {
        case refused, refusedTwice, afterMoreMemory, replaced, dropped, droppedElsewhere

        var isDropped: Bool { self == .dropped || self == .droppedElsewhere }
    }

    private let server: Server
    private let worker: Worker

    init() throws {
        let verifier = try Minted.verifier()
        server = try Server(
            ServerConfiguration(
                listen: [.unix(path: temporaryPath("port"))],
                apps: ["game": AppEntry(verifier: verifier, policy: Minted.policy)],
                defaultApp: "game", workers: 1, version: "test", log: LogLines(),
                clock: { Minted.now }))
        worker = server.workers[0]
    }

    /// The requests in flight of the only connection, and the bytes that they hold.
    private func held() throws -> [Int] {
        try worker.call { worker in
            guard let connection = worker.connections.all.first(where: { _ in true }) else {
                return []
            }
            return [connection.flow.inFlight.count, worker.budget.evidence]
        }
    }

    @Test(
        "Each accepted request gets one answer and gives its memory back, also a lost one",
        arguments: End.allCases)
    func end(_ end: End) throws {
        let client = try RawClient(server.endpoints[0])
        try client.send(RawClient.ping(1))
        #expect(try client.receive()?.head.result == .pong)
        let kept = Locked<LoopBound<ReplyPort>?>(nil)
        try worker.call { worker in
            guard let connection = worker.connections.all.first(where: { _ in true }) else {
                return
            }
            let cost = RequestCost(bytes: 100, state: 100, answer: 50)
            var port = ReplyPort(
                .verify, 7, nil, from: connection.flow, on: worker.context.loop,
                holding: Reservation(cost, for: connection.peer))
            if end == .afterMoreMemory { port.hold(Reservation(cost, for: connection.peer)) }
            if end == .replaced { port = ReplyPort(replacing: port) }
            kept.withLock { [port] in $0 = LoopBound(port, to: worker.context.loop) }
        }
        #expect(try held() == [1, end == .afterMoreMemory ? 200 : 100])
        if end != .droppedElsewhere {
            try worker.call { _ in
                let refusal = ResponseHead(id: 7, status: .aborted, message: "ended")
                let times = end.isDropped ? 0 : end == .refusedTwice ? 2 : 1
                for _ in 0..<times { kept.withLock { $0 }?.value.refuse(refusal) }
                kept.withLock { $0 = nil }
            }
        }
        kept.withLock { $0 = nil }
        try client.send(RawClient.ping(2))
        let answer = try #require(try client.receive())
        #expect(answer.head.id == 7)
        #expect(answer.head.status == (end.isDropped ? .internal : .aborted))
        // One answer, and then that of the next request.
        #expect(try client.receive()?.head.id == 2)
        #expect(try held() == [0, 0])
        server.drain()
        server.wait()
    }
}
