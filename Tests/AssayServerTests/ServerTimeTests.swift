import AssayIO
import AssayModels
import AssayWire
import Glibc
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry

@Suite struct ArrivalPaceTests {
    private var limits: ServerLimits {
        var limits = ServerLimits()
        limits.frameGraceMilliseconds = 5_000
        limits.frameBytesPerSecond = 1_000
        return limits
    }

    /// Rows: the times of received bytes, the current time, the bytes that arrived, and whether the
    /// peer is slow.
    @Test(
        arguments: [
            // Within the grace period no peer is slow.
            ([], 5_000, 0, false), ([4_000], 5_000, 1, false),
            // Silence longer than the grace period.
            ([], 5_001, 1_000_000, true), ([1_000], 6_001, 1_000_000, true),
            ([1_000], 6_000, 1_000_000, false),
            // 1,000 bytes for each second beyond the grace period.
            ([5_500], 6_000, 999, true), ([5_500], 6_000, 1_000, false),
            ([9_000], 10_000, 4_999, true), ([9_000], 10_000, 5_000, false),
        ] as [([UInt64], UInt64, Int, Bool)])
    func judges(received: [UInt64], now: UInt64, arrived: Int, isSlow: Bool) {
        var pace = ArrivalPace(began: 0, at: 0)
        for time in received { pace.didReceive(at: time) }
        #expect(pace.isSlow(arrived, at: now, limits) == isSlow)
        // What arrived before a pause does not count after it.
        pace = ArrivalPace(began: 0, at: 0)
        pace.didPause(100_000, at: 1_000_000)
        for time in received { pace.didReceive(at: 1_000_000 + time) }
        #expect(pace.isSlow(100_000 + arrived, at: 1_000_000 + now, limits) == isSlow)
    }

    @Test func timeSpentByTheServerDoesNotCount() {
        var pace = ArrivalPace(began: 0, at: 0)
        pace.didPause(0, at: 100_000)
        #expect(!pace.isSlow(0, at: 105_000, limits))
        #expect(pace.isSlow(0, at: 105_001, limits))
        #expect(pace.began == 0)
        // The server had read of the frame long before it came to it.
        pace = ArrivalPace(began: 0, at: 100_000)
        #expect(!pace.isSlow(0, at: 105_000, limits))
        #expect(pace.isSlow(0, at: 105_001, limits))
        #expect(pace.began == 0)
    }
}

/// Time limits.
@Suite(.ownThread, .serialized, .timeLimit(.minutes(2))) struct ServerTimeTests {
    @Test("line 61: an idle connection ends, half open or not")
    func idleConnectionsEnd() throws {
        try withServer {
            $0.limits.idleMilliseconds = 40_000
        } _: { test in
            let client = try RawClient(test.unix)
            for id in 1...5 as ClosedRange<UInt64> {
                try client.expectPong(id)
                test.server.advanceClock(byMilliseconds: 20_000)
            }
            test.server.advanceClock(byMilliseconds: 20_100)
            try client.expectEnd(.unavailable)
        }
    }

    @Test("line 61: a slow frame ends its connection")
    func aSlowFrameEndsItsConnection() throws {
        let token = try Minted.transaction.get()
        let receipt = try Minted.receipt(bytes: 100_000)
        for frame in [
            RawClient.ping(1), RawClient.verify(1, .transaction, token),
            RawClient.verify(1, .appReceipt, receipt),
            RawClient.verify(1, .transaction, token, app: "no such"),
        ] {
            try withServer {
                $0.limits.useDefaultTimeLimits()
            } _: { test in
                let silent = try RawClient(test.unix)
                try silent.send(Array(frame.prefix(frame.count / 2)))
                let slow = try RawClient(test.unix)
                try slow.send(Array(frame.prefix(4)))
                for byte in frame[4..<min(24, frame.count - 1)] {
                    try test.pass(milliseconds: 1_000)
                    if (try? slow.send([byte])) == nil { break }
                }
                for client in [silent, slow] {
                    var head = try client.receive()?.head
                    if head?.status == .notFound { head = try client.receive()?.head }
                    #expect(head?.id == 0 && head?.status == .deadlineExceeded, "\(head as Any)")
                    #expect(try client.receive() == nil)
                }
            }
        }
    }

    @Test func aFrameThatKeepsThePaceIsAccepted() throws {
        let receipt = try Minted.receipt(bytes: 400_000)
        try withServer {
            // Ten times the defaults, so that the test's own time does not count.
            $0.limits.frameGraceMilliseconds = 50_000
            $0.limits.frameBytesPerSecond = 6_400
        } _: { test in
            let client = try RawClient(test.unix)
            let frame = RawClient.verify(1, .appReceipt, receipt)
            // 5.5 KB a second, for longer than the grace period: the limit counts after it.
            for start in stride(from: 0, to: frame.count, by: 16 << 10) {
                try client.send(Array(frame[start..<min(start + 16 << 10, frame.count)]))
                try test.pass(milliseconds: 3_000)
            }
            #expect(try client.receive()?.head.status == .ok)
        }
    }

    /// A sender that the server has stopped reading from is not slow, nor one whose incomplete
    /// frame lay in the server's buffer behind others.
    @Test func aPausedSenderIsNotSlow() throws {
        let clock = HeldBackground()
        let token = try Minted.transaction.get()
        try withServer(heldBy: clock) {
            $0.limits.requestsInFlight = 4
            $0.limits.frameGraceMilliseconds = 50_000
        } _: { test in
            let client = try RawClient(test.unix)
            try client.expectPong()
            clock.arm()
            var bytes: [UInt8] = []
            for id in 1...8 as ClosedRange<UInt64> {
                bytes += RawClient.verify(id, .transaction, token, mayWait: true)
            }
            let last = RawClient.verify(9, .transaction, token, mayWait: true)
            let first = bytes.count / 8
            try client.send(Array(bytes[..<first]))
            clock.isHeld.wait()
            // The rest arrives while the server does not look.
            try client.send(Array(bytes[first...]) + last.prefix(100))
            // Longer than the grace period.
            try test.pass(milliseconds: 90_000)
            clock.release.open()
            try client.expectAnswers(1...8)
            try test.pass(milliseconds: 100)
            try client.send(Array(last.dropFirst(100)))
            try client.expectAnswers(9...9)
        }
    }

    @Test("line 63: accepting pauses at the limit; open connections are served")
    func tooManyConnectionsWait() throws {
        try withServer {
            $0.limits.connections = 3
        } _: { test in
            let clients = try (0..<3).map { _ in try RawClient(test.unix) }
            for client in clients { try client.expectPong() }
            let waiting = try [test.tcp, test.unix, test.tcp, test.unix].map { try RawClient($0) }
            for client in waiting { try client.send(RawClient.ping(9)) }
            for client in clients { try client.expectPong() }
            try test.pass(milliseconds: 100)
            #expect(test.server.heldResources?.connections == 3)
            let reason = "the limit of connections is reached: more wait"
            #expect(test.server.metrics?.faults[reason] == 1)
            // Each closed connection makes way for a waiting one.
            for client in clients { client.socket.close() }
            var served: Set<Int> = []
            while served.count < 3 {
                for (index, client) in waiting.enumerated() where !served.contains(index) {
                    guard client.socket.hasMore(milliseconds: 20) else { continue }
                    #expect(try client.receive()?.head.id == 9)
                    served.insert(index)
                }
            }
            #expect(test.server.heldResources?.connections == 3)
            for index in served { waiting[index].socket.close() }
            let last = try #require((0..<4).first { !served.contains($0) })
            #expect(try waiting[last].receive()?.head.id == 9)
        }
    }
}
