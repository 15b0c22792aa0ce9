import AssayIO
import AssayModels
import AssayWire
import Glibc
import TestSupport
import Testing

@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry

/// When a request arrived: the start of every latency and queue delay that the server reports.
@Suite(.ownThread, .timeLimit(.minutes(1))) struct ArrivalTests {
    private static let limit = PollTimes.longestWithoutWait

    /// A loop whose last turn found its bytes at 1 ms and whose next poll begins at 3 ms.
    private static func secondPoll() -> PollTimes {
        var polls = PollTimes(since: 0)
        polls.willPoll(at: 500_000)
        polls.didReturn(at: 1_000_000)
        polls.willPoll(at: 3_000_000)
        return polls
    }

    @Test(
        "bytes that a poll waited for are new; others can be as old as the poll before",
        arguments: [
            (3_000_000, 1_000_000), (3_000_001, 1_000_000), (3_000_000 + limit - 1, 1_000_000),
            (3_000_000 + limit, 1_000_000), (3_000_000 + limit + 1, 3_000_000 + limit + 1),
            // A thousand requests a second on one connection: the loop waits for each.
            (3_960_000, 3_960_000), (103_000_000, 103_000_000),
        ] as [(UInt64, UInt64)])
    func poll(returned: UInt64, earliest: UInt64) {
        var polls = Self.secondPoll()
        polls.didReturn(at: returned)
        #expect(polls.earliestArrival == earliest)
        // The other sockets of this turn were polled at the same time.
        polls.didReturn(at: returned + 50_000_000)
        #expect(polls.earliestArrival == earliest)
        // The next poll finds bytes at once: they came after this one.
        polls.willPoll(at: returned + 60_000_000)
        polls.didReturn(at: returned + 60_000_000)
        #expect(polls.earliestArrival == returned)
    }

    @Test("no bytes are older than the loop") func first() {
        var polls = PollTimes(since: 7)
        #expect(polls.earliestArrival == 7)
        polls.willPoll(at: 8)
        polls.didReturn(at: 9)
        #expect(polls.earliestArrival == 7)
    }

    @Test("bytes in the socket when reading pauses age from then") func pause() {
        var arrival = ArrivalTime(began: 1)
        arrival.didRead(total: 10, earliest: 2)
        #expect(arrival.last == 2)
        arrival.didPause(total: 10, unread: 5, at: 3)
        // The read that brings them can bring newer ones too: the oldest counts.
        arrival.didRead(total: 20, earliest: 9)
        #expect(arrival.last == 3)
        arrival.didRead(total: 21, earliest: 10)
        #expect(arrival.last == 10)
    }

    /// Before arrivals were known in nanoseconds, the median of a thousand a second was the time
    /// between two requests.
    @Test(
        "the server's distribution is that of its client",
        .enabled(if: TimedTests.areEnabled), arguments: [100, 1_000, 20_000] as [UInt64])
    func distributions(rate: UInt64) throws {
        let monitor = ServerMonitor()
        let test = try SocketServer { $0.monitor = monitor }
        let token = try Minted.transaction.get()
        let client = try RawClient(test.unix)
        var clients = Distribution.times
        var sent: [UInt64: UInt64] = [:]
        let (count, mostInFlight): (UInt64, Int) = (500, 64)
        let start = SystemClock.monotonicNanoseconds
        var next: UInt64 = 1
        while clients.count < count {
            let now = SystemClock.monotonicNanoseconds
            let due = start + next * 1_000_000_000 / rate
            if next <= count, due <= now, sent.count < mostInFlight {
                sent[next] = now
                try client.send(RawClient.verify(next, .transaction, token))
                next += 1
            } else if sent.isEmpty {
                usleep(UInt32((due - now) / 1_000))
            } else {
                let id = try #require(try client.receive()?.head.id)
                let began = try #require(sent[id])
                sent[id] = nil
                clients.add(SystemClock.monotonicNanoseconds - began)
            }
        }
        test.server.drain()
        test.server.wait()
        let servers = try #require(monitor.latest?.state.metrics.handling)
        #expect(servers.count == count)
        for share in [0.5, 0.9, 0.99] {
            let own = try #require(servers.quantile(share))
            let limit = try #require(clients.quantile(share))
            print("\(rate) a second, \(share): server \(own / 1e6) ms, client \(limit / 1e6) ms")
        }
        // No request is longer in the server than in its client, but for the clock of the polls.
        for bound in clients.bounds {
            let own = servers.above(bound + PollTimes.longestWithoutWait)
            #expect(own <= clients.above(bound), "above \(bound)")
        }
    }

    @Test("the server's latency is within what its client measures") func withinTheClients() throws
    {
        let monitor = ServerMonitor()
        let test = try SocketServer { $0.monitor = monitor }
        let token = try Minted.transaction.get()
        let start = SystemClock.monotonicNanoseconds
        let client = try RawClient(test.unix)
        var longest: UInt64 = 0
        for id in 1...20 as ClosedRange<UInt64> {
            try client.send(RawClient.verify(id, .transaction, token))
            #expect(try client.receive()?.head.id == id)
            // The server knows no earlier time than that of the poll before.
            longest += SystemClock.monotonicNanoseconds - start
        }
        test.server.drain()
        test.server.wait()
        let metrics = try #require(monitor.latest?.state.metrics)
        #expect(metrics.handling.count == 20 && metrics.queueDelay.count == 20)
        #expect(metrics.handling.sum > 0 && metrics.handling.sum <= longest)
        #expect(metrics.queueDelay.sum <= metrics.handling.sum)
    }
}

extension Distribution {
    /// How many values are above the first bound that is not below the given one.
    fileprivate func above(_ least: UInt64) -> UInt64 {
        let index = bounds.firstIndex { $0 >= least } ?? bounds.count
        return counts[(index + 1)...].reduce(0, &+)
    }
}
