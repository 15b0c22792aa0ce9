import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssayTelemetry

/// Connections that ask for more than their share of the queue are refused first.
@Suite("Greedy connections", .ownThread, .serialized, .timeLimit(.minutes(3)))
struct GreedyQueueTests {
    @Test("line 120: a light connection has twice the limit, one without requests the whole one")
    func limits() {
        var limit = QueueLimit()
        limit.didReject(at: 5_000)
        // Milliseconds of delay and age, the share, the time, and whether it is refused.
        let cases: [(UInt64, UInt64, FlowBacklog, UInt64, Bool)] = [
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

    @Test("line 120: beside eight greedy connections, one with two requests is not refused")
    func greedyConnections() throws {
        let (simulated, honest) = try SimulatedServer.slow {
            $0.handsOver = true
            $0.limits.queueDelayMilliseconds = 400
        }
        // Each has its share of the queue, and the rest is refused. Their shares together are
        // longer than the limit of any connection.
        simulated.holdsBackground = true
        let greedy = try (0..<8).map { _ in try simulated.frameClient() }
        for client in greedy { for _ in 0..<60 { client.ask(.genuine) } }
        simulated.runUntilIdle()
        for client in greedy {
            #expect(client.receive(upTo: .max) == nil)
            // More than a connection has that is refused for the requests of others.
            #expect(client.unanswered > 2)
            #expect(client.answers.contains { $0.status == .resourceExhausted })
        }
        for _ in 0..<2 { honest.ask(.genuine) }
        simulated.runUntilIdle()
        simulated.holdsBackground = false
        simulated.runUntilIdle()
        #expect(honest.receive(upTo: .max) == nil)
        #expect(honest.answers.suffix(2).map(\.status) == [.ok, .ok])
        for client in greedy {
            #expect(client.receive(upTo: .max) == nil && client.unanswered == 0)
            #expect(client.lastStatus == .ok)
        }
    }
}
