import AssayIO
import AssayModels
@testable import AssayServer
@testable import AssayService
@testable import AssayTelemetry
import AssayWire
import TestSupport
import Testing

/// Lines 78 and 88 of the catalogue of hostile input: more requests than the server can answer
/// in time.
@Suite("Hostile overload", .ownThread, .serialized, .timeLimit(.minutes(5)))
struct OverloadTests {
    private static let second: UInt64 = 1_000_000_000

    private static func load(_ kind: EvidenceKind, bytes: Int = 5_000, _ count: Int) -> WorkLoad {
        var load = WorkLoad()
        for _ in 0..<count { load.add(WorkClass(kind, bytes: bytes)) }
        return load
    }

    private static func milliseconds(_ delay: QueueDelay, _ load: WorkLoad) -> UInt64 {
        delay.milliseconds(ofNanoseconds: delay.nanoseconds(of: load), threads: 1)
    }

    // MARK: Line 78

    @Test("line 78: the cost of receipts depends on their size and does not affect tokens")
    func classes() {
        let delay = QueueDelay()
        let receipts = Self.load(.appReceipt, bytes: 2 << 20, 10)
        for step in 1...10 as ClosedRange<UInt64> {
            delay.didVerify(receipts, took: Self.second, at: step * Self.second)
            delay.didFinish(receipts, isBacklogged: true, threads: 1, at: step * Self.second)
        }
        #expect((900...1_100).contains(Self.milliseconds(delay, receipts)))
        #expect(Self.milliseconds(delay, Self.load(.transaction, 1_000)) <= 50)
        #expect(Self.milliseconds(delay, Self.load(.appReceipt, bytes: 5_000, 100)) <= 50)
        // Each class gets its share of a mixed slice's time: the tokens' share is small.
        var mixed = receipts
        mixed.add(WorkClass(.transaction, bytes: 5_000))
        delay.didVerify(mixed, took: Self.second, at: 11 * Self.second)
        #expect(Self.milliseconds(delay, Self.load(.transaction, 1_000)) <= 50)
    }

    @Test("line 78: estimates expire, and a new measurement replaces an old one")
    func age() {
        let tokens = Self.load(.transaction, 100)
        /// On a machine that stalled for a second.
        func stalled() -> QueueDelay {
            let delay = QueueDelay()
            delay.didVerify(tokens, took: Self.second, at: Self.second)
            return delay
        }
        let delay = stalled()
        #expect(Self.milliseconds(delay, tokens) >= 900)
        let replaced = stalled()
        replaced.didVerify(tokens, took: Self.second / 100, at: 3 * Self.second)
        #expect((9...11).contains(Self.milliseconds(replaced, tokens)))
        // One outlier among other measurements has little weight.
        replaced.didVerify(tokens, took: Self.second, at: 3 * Self.second + 1)
        #expect(Self.milliseconds(replaced, tokens) <= 40)
        // One other measurement does not replace a recent one.
        let fresh = stalled()
        fresh.didVerify(tokens, took: Self.second / 100, at: Self.second * 3 / 2)
        #expect(Self.milliseconds(fresh, tokens) >= 600)
        for tenth in 11...160 as ClosedRange<UInt64> { delay.age(at: tenth * Self.second / 10) }
        #expect(Self.milliseconds(delay, tokens) <= 10)
    }

    @Test("the throughput of the whole process counts while requests wait, and expires")
    func pace() {
        let delay = QueueDelay()
        let tokens = Self.load(.transaction, 100)
        for step in 1...40 as ClosedRange<UInt64> {
            let now = step * Self.second / 10
            // Another process has the processor half of the time.
            delay.didVerify(tokens, took: Self.second / 20, at: now)
            delay.didFinish(tokens, isBacklogged: true, threads: 1, at: now)
        }
        #expect((90...110).contains(Self.milliseconds(delay, tokens)))
        for tenth in 41...200 as ClosedRange<UInt64> { delay.age(at: tenth * Self.second / 10) }
        for tenth in 200...240 as ClosedRange<UInt64> {
            delay.didVerify(tokens, took: Self.second / 20, at: tenth * Self.second / 10)
        }
        #expect((49...55).contains(Self.milliseconds(delay, tokens)))
    }

    @Test("line 78: after large receipts an idle server accepts a burst of small requests")
    func burstAfterReceipts() throws {
        let token = try Minted.transaction.get()
        let receipt = try Minted.receipt(bytes: 500_000)
        try withServer {
            $0.workers = 1
            $0.handsOver = true
            $0.limits.requestsPerSlice = 1
            // A receipt takes a twentieth of this limit, as below; 64 receipts exceed it.
            $0.limits.queueDelayMilliseconds = 2_000
        } _: { test in
            // Far more than a token takes.
            let sliceNanoseconds = test.simulated.sliceNanoseconds
            test.simulated.sliceNanoseconds = 100_000_000
            let client = try RawClient(test.unix)
            for id in 1...12 as ClosedRange<UInt64> {
                try client.send(RawClient.verify(id, .appReceipt, receipt))
            }
            for _ in 1...12 { _ = try client.receive() }
            test.simulated.sliceNanoseconds = sliceNanoseconds
            var burst: [UInt8] = []
            for id in 1...64 as ClosedRange<UInt64> {
                burst += RawClient.verify(id, .transaction, token)
            }
            try client.send(burst)
            try client.expectAnswers(1...64)
        }
    }

    // MARK: Line 88

    /// One worker that takes 10 ms per request.
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

    private static func statuses(
        _ count: Int, from client: RawClient
    ) throws -> [(id: UInt64, status: AssayWire.Status)] {
        try (0..<count).map { _ in
            let head = try #require(try client.receive()?.head)
            return (head.id, head.status)
        }
    }

    @Test("line 88: requests above the limit in flight are read and refused at once")
    func refusedAboveInFlight() throws {
        let token = try Minted.transaction.get()
        let clock = HeldBackground()
        try withServer(heldBy: clock) {
            $0.limits.requestsInFlight = 20
        } _: { test in
            let client = try RawClient(test.unix)
            try client.expectPong()
            clock.arm()
            var bytes: [UInt8] = []
            for id in 1...200 as ClosedRange<UInt64> {
                bytes += RawClient.verify(id, .transaction, token)
            }
            try client.send(bytes)
            clock.isHeld.wait()
            // Answered while the worker is held: none of these wait in the socket.
            let refused = try Self.statuses(180, from: client)
            #expect(refused.allSatisfy { $0.status == .resourceExhausted })
            #expect(test.server.heldResources?.requestsInFlight == 20)
            #expect(test.server.metrics?.refused(.overloaded) == 180)
            clock.release.open()
            let accepted = try Self.statuses(20, from: client)
            #expect(accepted.allSatisfy { $0.status == .ok })
            #expect(Set((refused + accepted).map(\.id)).count == 200)
        }
    }

    @Test("the queue's limit is a fifth after rejections for that long")
    func queueLimit() {
        var limit = QueueLimit()
        #expect(limit.milliseconds(of: 100, at: 5_000) == 100)
        limit.didReject(at: 5_000)
        limit.didReject(at: 5_090)
        #expect(limit.milliseconds(of: 100, at: 5_100) == 100)
        #expect(limit.milliseconds(of: 100, at: 5_101) == 20)
        #expect(limit.milliseconds(of: 4, at: 5_101) == 1)
        limit.queueIsEmpty()
        #expect(limit.milliseconds(of: 100, at: 5_102) == 100)
        limit.didReject(at: 6_000)
        #expect(limit.milliseconds(of: 100, at: 6_050) == 100)
    }

    @Test("line 88: a burst fills the queue, a lasting overload does not")
    func standingQueue() throws {
        try withSlowWorker {
            $0.limits.queueDelayMilliseconds = 400
        } _: { test, client, token in
            // Five times the capacity, for longer than the 400 ms of a burst and their work.
            let sent = 960
            var waiting: [Int] = []
            for first in stride(from: 100, to: 100 + sent, by: 8) {
                var bytes: [UInt8] = []
                for id in first..<first + 8 {
                    bytes += RawClient.verify(UInt64(id), .transaction, token)
                }
                try client.send(bytes)
                waiting.append(try #require(test.server.heldResources).waiting)
                test.work(milliseconds: 15)
            }
            // Each takes 10 ms, so at most 40 wait, and then 8.
            #expect(waiting.allSatisfy { $0 <= 40 }, "\(waiting)")
            let full = try #require(waiting.firstIndex { $0 > 16 }, "\(waiting)")
            #expect(waiting[full...].contains { $0 <= 8 }, "\(waiting)")
            let answers = try Self.statuses(sent, from: client)
            #expect(answers.contains { $0.status == .ok })
            // The queue is empty, so a burst fills it again.
            var burst: [UInt8] = []
            for id in 1...100 as ClosedRange<UInt64> {
                burst += RawClient.verify(id, .transaction, token)
            }
            try client.send(burst)
            let accepted = try Self.statuses(100, from: client).count { $0.status == .ok }
            #expect(accepted > 8, "\(accepted)")
        }
    }

    @Test("line 88: one decision rejects a run of frames, except unrelated ones")
    func runOfRejections() throws {
        let token = try Minted.transaction.get()
        let clock = HeldBackground()
        try withServer(heldBy: clock) {
            $0.limits.requestsInFlight = 2
        } _: { test in
            let client = try RawClient(test.unix)
            try client.expectPong()
            clock.arm()
            var bytes: [UInt8] = []
            for id in 1...2 as ClosedRange<UInt64> {
                bytes += RawClient.verify(id, .transaction, token)
            }
            bytes += RawClient.verify(3, .transaction, token)
            // In flight already, and a call that needs no worker.
            bytes += RawClient.verify(1, .transaction, token)
            bytes += RawClient.verify(4, .transaction, token)
            bytes += RawClient.ping(5)
            bytes += RawClient.verify(6, .transaction, token)
            try client.send(bytes)
            clock.isHeld.wait()
            let answers = try Self.statuses(5, from: client)
            #expect(answers.map(\.id) == [3, 1, 4, 5, 6])
            #expect(
                answers.map(\.status) == [
                    .resourceExhausted, .alreadyExists, .resourceExhausted, .ok,
                    .resourceExhausted,
                ])
            let metrics = try #require(test.server.metrics)
            #expect(metrics.refused(.overloaded) == 3 && metrics.refused(.duplicateId) == 1)
            #expect(metrics.started(.verify) == 6 && metrics.requestsReceived == 8)
            clock.release.open()
            try client.expectAnswers(1...2)
        }
    }

    @Test("line 88: the metrics of the documented alerts show an overload")
    func alerts() throws {
        let (simulated, client) = try SimulatedServer.slow {
            $0.limits.queueDelayMilliseconds = 400
        }
        for _ in 0..<300 { client.ask(.genuine) }
        simulated.runUntilIdle()
        #expect(client.receive(upTo: .max) == nil && client.unanswered == 0)
        #expect(client.answers.suffix(300).contains { $0.status == .ok })
        #expect(simulated.metrics.refused(.overloaded) > 0)
        let p99 = try #require(simulated.metrics.queueDelay.quantile(0.99))
        #expect(p99 > 200 * 1e6, "\(p99 / 1e6) ms")
    }

    @Test("an accepted request is not verified after its deadline")
    func droppedBeforeWork() throws {
        let token = try Minted.transaction.get()
        try withHeldWorker(100) { test, client, clock in
            for id in 1...10 as ClosedRange<UInt64> {
                try client.send(RawClient.verify(id, .transaction, token, timeout: 100))
            }
            let late = try Self.statuses(10, from: client)
            #expect(late.allSatisfy { $0.status == .deadlineExceeded })
            clock.release.open()
            #expect(try client.receive()?.head.status == .ok)
            #expect(test.server.metrics?.allVerdicts.total == 1)
        }
    }

    // MARK: Requests that can wait

    @Test("the queue refuses requests, but not those with mayWait")
    func mayWait() throws {
        let (simulated, client) = try SimulatedServer.slow {
            $0.limits.queueDelayMilliseconds = 50
        }
        for id in 1...100 { client.ask(id % 2 == 0 ? .mayWait : .genuine) }
        simulated.runUntilIdle()
        #expect(client.receive(upTo: .max) == nil && client.unanswered == 0)
        let answers = client.answers.suffix(100)
        let (waiting, others) = (
            answers.filter { $0.question == .mayWait }, answers.filter { $0.question == .genuine }
        )
        #expect(waiting.count == 50 && waiting.allSatisfy { $0.status == .ok })
        #expect(others.contains { $0.status == .resourceExhausted })
    }

    @Test("requests with mayWait are served after the others, and do not starve")
    func order() throws {
        let token = try Minted.transaction.get()
        let clock = HeldBackground()
        try withServer(heldBy: clock) {
            $0.limits.requestsPerSlice = 1
        } _: { test in
            let client = try RawClient(test.unix)
            // The chain is known from here on, so no request is deferred.
            try client.send(RawClient.verify(999, .transaction, token))
            #expect(try client.receive()?.head.status == .ok)
            clock.arm()
            // Notifications have no known chain: the worker takes this one and is held.
            try client.send(RawClient.verify(1_000, .notification, token))
            clock.isHeld.wait()
            for id in 1...10 as ClosedRange<UInt64> {
                try client.send(RawClient.verify(id, .transaction, token, mayWait: true))
            }
            for id in 101...200 as ClosedRange<UInt64> {
                try client.send(RawClient.verify(id, .transaction, token))
            }
            test.eventually { $0.waiting == 110 }
            clock.release.open()
            let order = try Self.statuses(111, from: client).map(\.id)
            let first = try #require(order.firstIndex { $0 <= 10 })
            // After the first of the others, before the last of the others, and mostly at the
            // end.
            #expect(first > 10 && first < 40, "\(order)")
            #expect(order.prefix(101).count { $0 <= 10 } <= 8)
            #expect(order.suffix(3).allSatisfy { $0 <= 10 }, "\(order)")
        }
    }

    @Test("a request with mayWait is answered when its deadline passes")
    func patienceEnds() throws {
        let token = try Minted.transaction.get()
        try withHeldWorker(100) { _, client, clock in
            try client.send(RawClient.verify(1, .transaction, token, timeout: 200, mayWait: true))
            let answer = try client.receive()?.head
            #expect(answer?.id == 1 && answer?.status == .deadlineExceeded)
            clock.release.open()
            #expect(try client.receive()?.head.id == 100)
        }
    }
}
