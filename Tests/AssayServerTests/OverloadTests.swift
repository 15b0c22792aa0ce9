import AssayIO
import AssayModels
@testable import AssayServer
import AssayWire
import Glibc
import Synchronization
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
        delay.milliseconds(ofNanoseconds: delay.nanoseconds(of: load), workers: 1)
    }

    // MARK: Line 78

    @Test("line 78: what receipts take says nothing of tokens, and their size counts")
    func classes() {
        var delay = QueueDelay()
        let receipts = Self.load(.appReceipt, bytes: 2 << 20, 10)
        for step in 1...10 as ClosedRange<UInt64> {
            delay.didVerify(receipts, took: Self.second, at: step * Self.second)
            delay.didFinish(receipts, isBacklogged: true, workers: 1, at: step * Self.second)
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

    @Test("line 78: estimates age, and the next measurement replaces an old one")
    func age() {
        var delay = QueueDelay()
        let tokens = Self.load(.transaction, 100)
        // A machine that stalled for a second.
        delay.didVerify(tokens, took: Self.second, at: Self.second)
        #expect(Self.milliseconds(delay, tokens) >= 900)
        var replaced = delay
        replaced.didVerify(tokens, took: Self.second / 100, at: 3 * Self.second)
        #expect((9...11).contains(Self.milliseconds(replaced, tokens)))
        // One outlier among other measurements has little weight.
        var outlier = replaced
        outlier.didVerify(tokens, took: Self.second, at: 3 * Self.second + 1)
        #expect(Self.milliseconds(outlier, tokens) <= 40)
        // One other measurement does not replace a recent one.
        var fresh = delay
        fresh.didVerify(tokens, took: Self.second / 100, at: Self.second * 3 / 2)
        #expect(Self.milliseconds(fresh, tokens) >= 600)
        for tenth in 11...160 as ClosedRange<UInt64> { delay.age(at: tenth * Self.second / 10) }
        #expect(Self.milliseconds(delay, tokens) <= 10)
    }

    @Test("the pace of the whole process counts while requests wait, and is forgotten")
    func pace() {
        var delay = QueueDelay()
        let tokens = Self.load(.transaction, 100)
        for step in 1...40 as ClosedRange<UInt64> {
            let now = step * Self.second / 10
            // Another process has the processor half of the time.
            delay.didVerify(tokens, took: Self.second / 20, at: now)
            delay.didFinish(tokens, isBacklogged: true, workers: 1, at: now)
        }
        #expect((90...110).contains(Self.milliseconds(delay, tokens)))
        for tenth in 41...200 as ClosedRange<UInt64> { delay.age(at: tenth * Self.second / 10) }
        for tenth in 200...240 as ClosedRange<UInt64> {
            delay.didVerify(tokens, took: Self.second / 20, at: tenth * Self.second / 10)
        }
        #expect((49...55).contains(Self.milliseconds(delay, tokens)))
    }

    @Test("line 78: after large receipts an idle server takes a burst of small requests")
    func burstAfterReceipts() throws {
        let token = try Minted.transaction.get()
        let receipt = try Minted.receipt(bytes: 500_000)
        let isSlow = Atomic(true)
        try withServer {
            $0.workers = 1
            $0.hasOneProcessor = false
            $0.limits.requestsPerSlice = 1
            // A receipt takes a twentieth of this limit, as below; 64 receipts exceed it.
            $0.limits.queueDelayMilliseconds = 2_000
            // Far more than a token takes on any machine.
            $0.clock = {
                if isSlow.load(ordering: .relaxed) { usleep(100_000) }
                return Minted.now
            }
        } _: { test in
            let client = try RawClient(test.unix)
            for id in 1...12 as ClosedRange<UInt64> {
                try client.send(RawClient.verify(id, .appReceipt, receipt))
            }
            for _ in 1...12 { _ = try client.receive() }
            isSlow.store(false, ordering: .relaxed)
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
            $0.hasOneProcessor = false
            $0.limits.requestsPerSlice = 1
            $0.clock = {
                usleep(10_000)
                return Minted.now
            }
            change(&$0)
        } _: { test in
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

    @Test("line 88: above the requests in flight what comes is read, and refused at once")
    func refusedAboveInFlight() throws {
        let token = try Minted.transaction.get()
        let clock = HeldClock()
        try withServer {
            $0.clock = clock.now
            $0.workers = 1
            $0.limits.requestsInFlight = 20
        } _: { test in
            let client = try RawClient(test.unix)
            try client.expectPong()
            clock.arm()
            var bytes: [UInt8] = []
            for id in 1...200 as ClosedRange<UInt64> {
                bytes += RawClient.verify(id, .transaction, token)
            }
            let (all, socket) = (bytes, SharedClient(client.socket))
            let sender = try WorkerPool(count: 1, name: "send")
            sender.submit { try? socket.client.send(all) }
            clock.isHeld.wait()
            // Answered while the worker is held: none of these wait in the socket.
            let refused = try Self.statuses(180, from: client)
            #expect(refused.allSatisfy { $0.status == .resourceExhausted })
            #expect(test.server.holdings?.requestsInFlight == 20)
            #expect(test.server.metrics?.refused(.overloaded) == 180)
            clock.release.open()
            let accepted = try Self.statuses(20, from: client)
            #expect(accepted.allSatisfy { $0.status == .ok })
            #expect(Set((refused + accepted).map(\.id)).count == 200)
            sender.stop()
        }
    }

    @Test("line 88: overload is seen by the metrics that the README's alerts look at")
    func alerts() throws {
        try withSlowWorker {
            $0.limits.queueDelayMilliseconds = 400
        } _: { test, client, token in
            var burst: [UInt8] = []
            for id in 1...300 as ClosedRange<UInt64> {
                burst += RawClient.verify(id, .transaction, token)
            }
            try client.send(burst)
            let answers = try Self.statuses(300, from: client)
            #expect(answers.contains { $0.status == .ok })
            test.settles { _ in test.server.metrics?.refused(.overloaded) ?? 0 > 0 }
            let metrics = try #require(test.server.metrics)
            let p99 = try #require(metrics.queueDelay.quantile(0.99))
            #expect(p99 > 200 * 1e6, "\(p99 / 1e6) ms")
        }
    }

    @Test("accepted work whose time passes while it waits is not worked on")
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
            #expect(test.server.metrics?.verifications() == 1)
        }
    }

    // MARK: Requests that can wait

    @Test("what may wait is not refused for the queue; its neighbours are")
    func mayWait() throws {
        try withSlowWorker {
            $0.limits.queueDelayMilliseconds = 50
        } _: { _, client, token in
            var burst: [UInt8] = []
            for id in 1...100 as ClosedRange<UInt64> {
                burst += RawClient.verify(id, .transaction, token, mayWait: id % 2 == 0)
            }
            try client.send(burst)
            let answers = try Self.statuses(100, from: client)
            for answer in answers where answer.id % 2 == 0 {
                #expect(answer.status == .ok, "\(answer)")
            }
            #expect(answers.contains { $0.id % 2 == 1 && $0.status == .resourceExhausted })
        }
    }

    @Test("what may wait is served after the others, and does not starve")
    func order() throws {
        let token = try Minted.transaction.get()
        let clock = HeldClock()
        try withServer {
            $0.clock = clock.now
            $0.workers = 1
            $0.hasOneProcessor = false
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
            test.settles { $0.waiting == 110 }
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

    @Test("what may wait is told when its own time is over")
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

    // MARK: Times

    @Test("what a turn finds may have come since the last look, unless the loop waited for it")
    func arrival() {
        let look = SocketLook(began: 1_000, ended: 1_050)
        #expect(look.earliestArrival(at: 1_050) == 1_000)
        #expect(look.earliestArrival(at: 1_051) == 1_000)
        #expect(look.earliestArrival(at: 1_060) == 1_060)
    }
}
