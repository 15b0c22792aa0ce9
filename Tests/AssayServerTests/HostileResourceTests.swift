import AssayIO
import AssayModels
import AssayServer
import AssayWire
import Glibc
import TestSupport
import Testing

/// Lines 62 to 65 and 70 of the catalogue of hostile input: more load than memory or time
/// allows.
@Suite("Hostile use of resources", .ownThread, .serialized, .timeLimit(.minutes(5)))
struct HostileResourceTests {
    /// Receives `count` responses.
    private static func receive(_ count: Int, from client: RawClient) throws -> [ResponseHead] {
        try (0..<count).map { _ in try #require(try client.receive()?.head) }
    }

    // MARK: Descriptors

    @Test("line 128: the limit of connections is what the descriptors allow, and a start warns")
    func effectiveLimit() throws {
        for (configured, isLimited) in [(Descriptors.limit, true), (10, false)] {
            let monitor = ServerMonitor()
            try withSocketServer {
                $0.limits.connections = configured
                $0.monitor = monitor
            } _: { test in
                test.eventually { _ in monitor.latest?.state.phase == .serving }
                let limit = try #require(monitor.latest?.state.connectionLimit)
                #expect(limit == configured || isLimited && limit < configured - 16)
                #expect(test.log.count(of: "few_descriptors") == (isLimited ? 1 : 0))
            }
        }
    }

    // MARK: Memory

    @Test("lines 64, 79: 1,000 heads that declare 32 MiB do not block other clients")
    func amplification() throws {
        let token = try Minted.transaction.get()
        let receipt = try Minted.receipt(bytes: 2_000_000)
        Descriptors.raiseLimit()
        try withServer {
            $0.limits.evidenceBytes = 128 << 20
            $0.limits.frameBytes = 33 << 20
            $0.limits.connections = 2000
            $0.limits.frameGraceMilliseconds = 600_000
        } _: { test in
            let declared = [UInt8](repeating: 0x30, count: 32 << 20)
            let begin = RawClient.verify(7, .appReceipt, declared).prefix(30_000)
            let clients = try (0..<1000).map { _ in try RawClient(test.unix) }
            for client in clients { try client.send(Array(begin)) }
            test.eventually { $0.connections == 1000 && $0.requestsInFlight == 1000 }
            test.eventually { $0.bufferedBytes == 0 }
            let heldResources = try #require(test.server.heldResources)
            #expect(heldResources.evidenceBytes < 1000 * 8 << 10, "\(heldResources)")
            #expect(heldResources.heldBytes < 16 << 20, "\(heldResources)")
            // Other clients are served meanwhile, with receipts and tokens.
            let other = try RawClient(test.tcp)
            try other.send(
                RawClient.verify(1, .transaction, token)
                    + RawClient.verify(2, .appReceipt, receipt, inApp: .all))
            try other.expectAnswers(1...2)
            for client in clients { client.socket.reset() }
        }
    }

    @Test("line 64: incomplete frames and incomplete heads count against the limit")
    func collectedFrames() throws {
        let body = [UInt8](repeating: 97, count: 250_000)
        try withServer {
            $0.limits.evidenceBytes = 1 << 20
            // Enough time to send the other requests on a slow machine.
            $0.limits.frameGraceMilliseconds = 60_000
        } _: { test in
            let frame = RawClient.verify(3, .notification, body)
            var clients: [RawClient] = []
            for _ in 0..<12 {
                let client = try RawClient(test.unix)
                try client.send(Array(frame.dropLast()))
                clients.append(client)
            }
            // The last ones exceeded the memory limit.
            test.eventually { _ in test.server.metrics?.refused(.overloaded) ?? 0 >= 6 }
            #expect(try #require(test.server.heldResources).bufferedBytes <= 5 << 18)

            let heads = try RawClient(test.unix)
            try heads.send([0, 2, 0, 0, 0, 0, 0xFF, 0xFF] + body.prefix(60_000))
            // Small frames fill the buffer up to its limit and no further.
            try heads.send(Array(body.prefix(5_000)))
            if test.server.heldResources?.bufferedBytes ?? 0 > 1 << 20 {
                // If one read took all of that, the next byte triggers the refusal.
                try? heads.send([97])
                try heads.expectEnd(.resourceExhausted)
            }
            for client in clients { client.socket.reset() }
            heads.socket.reset()
        }
    }

    @Test("a receipt past its deadline releases its memory")
    func lateReceipt() throws {
        let receipt = try Minted.receipt(bytes: 200_000)
        try withServer { test in
            let client = try RawClient(test.unix)
            let frame = RawClient.verify(1, .appReceipt, receipt, timeout: 200)
            try client.send(Array(frame.dropLast(1)))
            let answer = try client.receive()?.head
            #expect(answer?.id == 1 && answer?.status == .deadlineExceeded)
            #expect(test.server.heldResources?.evidenceBytes == 0)
            try client.send(Array(frame.suffix(1)))
            try client.expectPong()
        }
    }

    // MARK: Time

    /// One worker that takes 10 ms per request, so that the queue's delay is known.
    private func withSlowWorker(
        _ change: (inout ServerConfiguration) -> Void,
        _ body: (TestServer, RawClient, _ token: [UInt8]) throws -> Void
    ) throws {
        let token = try Minted.transaction.get()
        try withServer {
            $0.workers = 1
            $0.handsOver = true
            $0.limits.requestsPerSlice = 1
            change(&$0)
        } _: { test in
            test.simulated.sliceNanoseconds = 10_000_000
            let client = try RawClient(test.unix)
            // Sent together, so that one slice measures the worker's time.
            var first: [UInt8] = []
            for id in 1...15 as ClosedRange<UInt64> {
                first += RawClient.verify(id, .transaction, token, mayWait: true)
            }
            try client.send(first)
            try client.expectAnswers(1...15)
            try body(test, client, token)
        }
    }

    @Test(
        "line 65: requests that would wait too long are refused at once; accepted ones are in time")
    func overload() throws {
        try withSlowWorker {
            $0.limits.queueDelayMilliseconds = 200
        } _: { test, client, token in
            // Measures the rate.
            for id in 1...12 as ClosedRange<UInt64> {
                try client.send(RawClient.verify(id, .transaction, token))
            }
            #expect(try Self.receive(12, from: client).allSatisfy { $0.status == .ok })
            // Requests above the rate are refused before the accepted ones are answered.
            var burst: [UInt8] = []
            for id in 1...300 as ClosedRange<UInt64> {
                burst += RawClient.verify(id, .transaction, token)
            }
            let start = test.simulated.world.nanoseconds
            try client.send(burst)
            let heads = try Self.receive(300, from: client)
            let refused = heads.filter { $0.status == .resourceExhausted }
            let accepted = heads.filter { $0.status == .ok }
            #expect(refused.count + accepted.count == 300)
            // 20 fit into 200 ms, and some requests are answered while the burst arrives.
            #expect(refused.count >= 200 && accepted.count >= 3, "\(accepted.count) accepted")
            #expect(refused.allSatisfy { $0.retryAfterMilliseconds >= 100 })
            #expect(test.server.metrics?.refused(.overloaded) == UInt64(refused.count))
            // 300 would have taken at least 3 s.
            #expect(test.simulated.world.nanoseconds - start < 3_000_000_000)
            try client.expectPong()
        }
    }

    @Test(
        "line 65: a request with a deadline shorter than the queue is refused; a longer one is not")
    func shortDeadline() throws {
        try withSlowWorker { _ in
        } _: { _, client, token in
            for id in 1...100 as ClosedRange<UInt64> {
                try client.send(RawClient.verify(id, .transaction, token))
            }
            // The rest takes most of a second.
            for _ in 1...10 { #expect(try client.receive()?.head.status == .ok) }
            try client.send(
                RawClient.verify(201, .transaction, token, timeout: 100)
                    + RawClient.verify(202, .transaction, token, timeout: 30_000))
            var statuses: [UInt64: AssayWire.Status] = [:]
            for head in try Self.receive(92, from: client) { statuses[head.id] = head.status }
            #expect(statuses[201] == .resourceExhausted && statuses[202] == .ok)
        }
    }

    // MARK: Workers

    @Test("line 70: invalid items of a slice fail alone, at any position")
    func badItems() throws {
        let token = try Minted.transaction.get()
        let bad: [([UInt8], Verdict)] = [
            (Minted.tampered(token), .invalidSignature), ([], .malformed),
            (Array("a.b.c".utf8), .malformed),
            (try Minted.token(.transaction, bundleId: "com.example.other"), .wrongBundle),
            (try Minted.token(.renewalInfo), .wrongKind),
            (try Minted.token(.transaction, by: Minted.foreign.get()), .untrustedChain),
        ]
        for offset in 0..<bad.count {
            func evidence(_ id: Int) -> (bytes: [UInt8], expected: Verdict) {
                let index = id + offset
                return index % 3 == 0 ? bad[index / 3 % bad.count] : (token, .valid)
            }
            try withHeldWorker(100) { test, client, clock in
                // The worker is held, so the following requests become one slice.
                for id in 1...60 {
                    try client.send(
                        RawClient.verify(UInt64(id), .transaction, evidence(id).bytes))
                }
                test.eventually { $0.waiting == 60 }
                clock.release.open()
                for head in try Self.receive(61, from: client) {
                    guard case .verification(let answer) = head.result else {
                        Issue.record("\(head)")
                        continue
                    }
                    let expected = head.id == 100 ? .valid : evidence(Int(head.id)).expected
                    #expect(answer.verdict == expected, "\(head.id): \(answer.detail)")
                }
            }
        }
    }

    @Test(
        "line 60: a head counts by its size in a connection's turn",
        arguments: [(0, 1), (300, 1), (2_047, 1), (2_048, 2), (65_536, 33)])
    func headsCountBySize(bytes: Int, frames: Int) {
        #expect(Work.frame(headBytes: bytes).requests == frames)
    }

    @Test("line 70: the log and health report a stalled worker, until it continues")
    func hang() throws {
        let clock = HeldBackground()
        let token = try Minted.transaction.get()
        try withServer(heldBy: clock) {
            $0.limits.workerStallMilliseconds = 100_000
        } _: { test in
            let client = try RawClient(test.unix)
            let health = try RawClient(test.tcp)
            func isServing() throws -> Bool {
                try health.send(RawClient.frame(RequestHead(id: 5, call: .health)))
                let head = try health.receive()?.head
                return head == ResponseHead(id: 5, result: .health(serving: true))
            }
            #expect(try isServing())
            clock.arm()
            try client.send(RawClient.verify(1, .transaction, token))
            clock.isHeld.wait()
            test.server.advanceClock(byMilliseconds: 50_000)
            #expect(try isServing())
            test.server.advanceClock(byMilliseconds: 50_100)
            #expect(test.log.count(of: "worker_stalled") == 1)
            #expect(try !isServing())
            clock.release.open()
            #expect(try client.receive()?.head.status == .ok)
            test.eventually { _ in test.log.count(of: "worker_is_back") > 0 }
            #expect(try isServing())
            #expect(test.log.count(of: "worker_is_back") == 1)
        }
    }
}
