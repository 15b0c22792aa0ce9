import AssayIO
import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayServer

/// The end of an accepted request: its answer, and the memory that it held.
@Suite struct ReplyPortTests {
    enum End: CaseIterable {
        case refused, refusedTwice, afterMoreMemory, dropped, droppedElsewhere

        var isDropped: Bool { self == .dropped || self == .droppedElsewhere }
    }

    private let loop: EventLoop
    private let workers: WorkerPool
    private let server: LoopBound<ServerLoop>
    private let endpoint: Endpoint

    init() throws {
        let loop = try EventLoop(name: "test-loop")
        try loop.start()
        let workers = try WorkerPool(count: 1, name: "test-worker")
        let path = temporaryPath("port")
        let verifier = try Minted.verifier()
        server = try loop.call { () throws(LoopError) in
            let configuration = ServerConfiguration(
                listen: [.unix(path: path)],
                apps: ["game": AppEntry(verifier: verifier, policy: Minted.policy)],
                defaultApp: "game", workers: 1, version: "test", log: LogLines(),
                clock: { Minted.now })
            let server = try ServerLoop(
                configuration, on: loop, SystemTransport(), workers: workers
            ) { _ in }
            _ = try server.acceptor.listen(on: .unix(path: path))
            return LoopBound(server, to: loop)
        }
        (self.loop, self.workers, endpoint) = (loop, workers, .unix(path: path))
    }

    /// The requests in flight of the only connection, and the bytes that they hold.
    private func held() throws -> [Int] {
        let server = server
        return try loop.call { () throws(LoopError) in
            guard let connection = server.value.connections.all.first(where: { _ in true }) else {
                return []
            }
            return [connection.inFlight.count, connection.context.budget.evidence]
        }
    }

    @Test(
        "Each accepted request gets one answer and gives its memory back, also a lost one",
        arguments: End.allCases)
    func end(_ end: End) throws {
        let client = try RawClient(endpoint)
        try client.send(RawClient.ping(1))
        #expect(try client.receive()?.head.result == .pong)
        let kept = Locked<LoopBound<ReplyPort>?>(nil)
        let (server, loop) = (server, loop)
        try loop.call { () throws(LoopError) in
            guard let connection = server.value.connections.all.first(where: { _ in true }) else {
                return
            }
            let budget = connection.context.budget
            let cost = RequestCost(bytes: 100, state: 100, answer: 50)
            let port = ReplyPort(
                .verify, 7, from: connection, holding: Reservation(cost, of: budget))
            if end == .afterMoreMemory { port.hold(Reservation(cost, of: budget)) }
            kept.withLock { $0 = LoopBound(port, to: loop) }
        }
        #expect(try held() == [1, end == .afterMoreMemory ? 200 : 100])
        if end != .droppedElsewhere {
            try loop.call { () throws(LoopError) in
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
        loop.stop()
        loop.join()
        workers.stop()
    }
}
