import AssayIO
import AssayModels
import AssayServer
import AssayWire
import Glibc
import TestSupport
import Testing

@Suite(.ownThread, .serialized, .timeLimit(.minutes(3))) struct DrainTests {
    @Test(.enabled(if: TimedTests.areEnabled))
    func aServerWithNothingConnectedEndsAtOnce() throws {
        let test = try SocketServer()
        guard case .unix(let path) = test.unix else { return }
        #expect(unsafe access(path, F_OK) == 0)
        let before = ContinuousClock.now
        test.server.drain()
        test.server.drain()
        test.server.wait()
        #expect(ContinuousClock.now - before < .seconds(2))
        #expect(unsafe access(path, F_OK) != 0, "the socket file is left behind")
        test.server.drain()
        test.server.wait()
        #expect(throws: BlockingClient.Failure.self) { try RawClient(test.tcp) }
    }

    /// A drain is announced, accepted requests are answered, and later ones refused.
    @Test func aDrainIsAnnounced() throws {
        let clock = HeldBackground()
        let token = try Minted.transaction.get()
        let test = try TestServer(heldBy: clock)
        let client = try test.holdWorker(1, by: clock)
        test.server.drain()
        let drain = try client.receive()?.head
        #expect(drain?.id == 0 && drain?.status == .unavailable)
        test.server.drain()
        try client.send(
            RawClient.verify(2, .transaction, token)
                + RawClient.frame(RequestHead(id: 3, call: .health)))
        let refused = try client.receive()?.head
        #expect(refused?.id == 2 && refused?.status == .unavailable)
        #expect(refused?.retryAfterMilliseconds ?? 0 > 0)
        #expect(try client.receive()?.head.result == .health(serving: false))
        #expect(throws: BlockingClient.Failure.self) { try RawClient(test.tcp) }
        clock.release.open()
        let answer = try client.receive()?.head
        #expect(answer?.id == 1 && answer?.status == .ok)
        #expect(try client.receive() == nil)
        client.socket.close()
        test.server.wait()
    }

    /// A peer that never closes does not keep a server from ending.
    @Test func aDrainEndsInTime() throws {
        let test = try TestServer {
            $0.limits.drainMilliseconds = 100_000
        }
        let client = try RawClient(test.unix)
        try client.send(RawClient.ping(1) + [0, 0])
        #expect(try client.receive() != nil)
        test.server.drain()
        test.server.advanceClock(byMilliseconds: 50_000)
        #expect(test.server.heldResources?.connections == 1)
        test.server.advanceClock(byMilliseconds: 50_100)
        test.server.wait()
    }

    /// Every request is answered or was never read. The answers are OK up to some request and
    /// UNAVAILABLE after it, without a gap, and then the stream ends.
    @Test(.enabled(if: TimedTests.areEnabled), arguments: 0..<20)
    func aDrainUnderLoadLosesNothing(round: Int) throws {
        let token = try Minted.transaction.get()
        let receipt = try Minted.receipt(bytes: 80_000)
        let test = try SocketServer()
        let clients = try (0..<8).map { index in
            SharedClient(try BlockingClient(index % 2 == 0 ? test.unix : test.tcp))
        }
        let pool = try WorkerPool(count: 8, name: "load")
        let sent = Locked([Int](repeating: 0, count: 8))
        for (index, client) in clients.enumerated() {
            pool.submit {
                for id in 1...60 as ClosedRange<UInt64> {
                    let frame =
                        index == 7
                        ? RawClient.verify(id, .appReceipt, receipt)
                        : RawClient.verify(id, .transaction, token)
                    guard (try? client.client.send(frame)) != nil else { break }
                    sent.withLock { $0[index] += 1 }
                }
                client.client.finishWriting()
            }
        }
        usleep(UInt32(round) * 3_000)
        test.server.drain()
        var (answered, refused) = (0, 0)
        for (index, client) in clients.enumerated() {
            let answers = try Self.answers(RawClient(client.client))
            let ids = answers.map(\.id).filter { $0 != 0 }
            #expect(Set(ids).count == ids.count, "an answer came twice")
            // No gap: the missing requests were never read.
            #expect(Set(ids) == Set((0..<UInt64(ids.count)).map { $0 + 1 }), "client \(index)")
            for answer in answers where answer.id != 0 {
                #expect(answer.status == .ok || answer.status == .unavailable, "\(answer)")
                if answer.status == .ok { answered += 1 } else { refused += 1 }
            }
        }
        for client in clients { client.client.shutDown() }
        pool.stop()
        test.server.wait()
        print("drain \(round): \(answered) answered, \(refused) refused")
    }

    private static func answers(_ client: RawClient) throws -> [ResponseHead] {
        var answers: [ResponseHead] = []
        while let head = try client.receive()?.head { answers.append(head) }
        return answers
    }
}

@Suite(.ownThread, .serialized, .timeLimit(.minutes(1))) struct ServerStartTests {
    @Test func startErrorsAreReported() throws {
        try withSocketServer { test in
            #expect(throws: ServerError.listen(test.tcp, .addressInUse)) {
                try SocketServer { $0.listen = [test.tcp] }
            }
            #expect(throws: ServerError.listen(test.unix, .addressInUse)) {
                try SocketServer { $0.listen = [test.unix] }
            }
            // The first server still serves.
            try RawClient(test.unix).expectPong()
        }
        #expect(throws: ServerError.noListener) { try SocketServer { $0.listen = [] } }
        #expect(throws: ServerError.noApp) { try SocketServer { $0.apps = [:] } }
        #expect(throws: ServerError.noWorker) { try SocketServer { $0.workers = 0 } }
        #expect(throws: ServerError.unknownDefaultApp("x")) {
            try SocketServer { $0.defaultApp = "x" }
        }
    }

    @Test func aStaleSocketFileIsReplaced() throws {
        let path = temporaryPath("stale")
        leaveSocket(at: path)
        try withSocketServer {
            $0.listen = [.unix(path: path)]
        } _: { test in
            try RawClient(test.unix).expectPong()
        }
    }

    /// A server keeps running without references to it.
    @Test(.enabled(if: TimedTests.areEnabled))
    func aServerNeedsNoReference() throws {
        var test: SocketServer? = try SocketServer()
        let endpoint = try #require(test?.unix)
        test = nil
        for _ in 0..<3 {
            try RawClient(endpoint).expectPong()
            usleep(150_000)
        }
    }
}
