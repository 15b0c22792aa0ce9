import AssayModels
import AssayWire
import Glibc
import Synchronization
import TestSupport
import Testing

@testable import AssayServer

/// Connections that ask for more than their share of the queue are refused first.
@Suite("Greedy connections", .ownThread, .serialized, .timeLimit(.minutes(3)))
struct GreedyQueueTests {
    @Test("line 120: a light connection has twice the limit, one without requests the whole one")
    func limits() {
        var limit = QueueLimit()
        limit.didReject(at: 5_000)
        // Milliseconds of delay and age, the share, the time, and whether it is refused.
        let cases: [(UInt64, UInt64, QueueShare, UInt64, Bool)] = [
            (100, 0, .queued, 5_000, false), (101, 0, .queued, 5_000, true),
            (60, 40, .queued, 5_000, false), (60, 41, .queued, 5_000, true),
            (20, 0, .queued, 6_000, false), (21, 0, .queued, 6_000, true),
            (100, 0, .none, 6_000, false), (101, 0, .none, 6_000, true),
            (100, 500, .none, 6_000, false), (101, 500, .none, 6_000, true),
            (200, 0, .light, 5_000, false), (201, 0, .light, 5_000, true),
            (200, 500, .light, 6_000, false), (201, 500, .light, 6_000, true),
        ]
        for (delay, age, share, now, isRefused) in cases {
            #expect(
                limit.isExceeded(by: delay, after: age, share, of: 100, at: now) == isRefused,
                "\(delay) ms after \(age), \(share), at \(now)")
        }
    }

    @Test("line 120: beside eight greedy connections, one with a single request is not refused")
    func greedyConnections() throws {
        let token = try Minted.transaction.get()
        let clock = HeldClock()
        let isMeasured = Atomic(true)
        try withServer {
            $0.workers = 1
            $0.handsOver = true
            $0.limits.requestsPerSlice = 1
            $0.limits.queueDelayMilliseconds = 400
            $0.clock = {
                if isMeasured.load(ordering: .relaxed) { usleep(10_000) }
                return clock.now()
            }
        } _: { test in
            let honest = try RawClient(test.unix)
            for id in 1...15 as ClosedRange<UInt64> {
                try honest.send(RawClient.verify(id, .transaction, token, mayWait: true))
            }
            try honest.expectAnswers(1...15)
            isMeasured.store(false, ordering: .relaxed)
            clock.arm()
            try honest.send(RawClient.verify(100, .notification, token))
            clock.isHeld.wait()
            defer { clock.release.open() }
            var burst: [UInt8] = []
            for id in 1...60 as ClosedRange<UInt64> {
                burst += RawClient.verify(id, .transaction, token, timeout: 30_000)
            }
            // Each has its share of the queue, and the rest is refused. Their shares together
            // are longer than the limit of any connection.
            let greedy = try (0..<8).map { _ in
                let client = try RawClient(test.unix)
                try client.send(burst)
                let first = try #require(try client.receive()?.head)
                #expect(first.status == .resourceExhausted, "\(first)")
                return client
            }
            try honest.send(RawClient.verify(101, .transaction, token, timeout: 30_000))
            clock.release.open()
            let answers = try (0..<2).map { _ in try #require(try honest.receive()?.head) }
            #expect(answers.allSatisfy { $0.status == .ok }, "\(answers)")
            for client in greedy {
                let rest = try (0..<59).map { _ in try #require(try client.receive()?.head) }
                #expect(rest.contains { $0.status == .ok })
            }
        }
    }
}
