import AssayIO
import AssayModels
import AssayServer
import AssayWire
import Glibc
import Synchronization
import TestSupport
import Testing

/// Lines 61 and 62 of the catalogue of hostile input, at their full numbers. The largest numbers
/// run in a process of their own and leave descriptors and time to the other tests.
@Suite("Hostile connections in large numbers", .ownThread, .serialized, .timeLimit(.minutes(5)))
struct HostileConnectionsTests {
    private static func lowerPriority() { _ = nice(5) }

    /// Records an error as an issue. An error thrown in a process of its own would end it
    /// silently.
    private static func noting(_ body: () throws -> Void) {
        do { try body() } catch { Issue.record(error) }
    }

    /// The number of connections that the descriptor limit allows, with both ends in this
    /// process.
    private static func connections(most: Int) -> Int {
        Descriptors.raiseLimit()
        var limit = rlimit()
        _ = unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        return min(most, (Int(clamping: limit.rlim_cur) - 800) / 2)
    }

    @Test(
        "line 61: 10,000 connections that send a byte per second are closed, with little memory",
        .enabled(if: TimedTests.areEnabled))
    func slowWriters() async {
        await #expect(processExitsWith: .success) { Self.noting { try Self.meetSlowWriters() } }
    }

    private static func meetSlowWriters() throws {
        lowerPriority()
        let count = connections(most: 10_000)
        try #require(count >= 200)
        var configuration: ServerConfiguration?
        try withSocketServer {
            $0.limits.connections = 20_000
            $0.limits.frameGraceMilliseconds = 600_000
            configuration = $0
        } _: { test in
            let frame = RawClient.ping(1)
            let clients = try (0..<count).map { _ in try RawClient(test.unix) }
            for (index, client) in clients.enumerated() {
                try client.send(Array(frame.prefix(1 + index % 4)))
            }
            test.eventually(seconds: 60) {
                $0.connections == count && $0.bufferedBytes == (0..<count).sum { 1 + $0 % 4 }
            }
            try RawClient(test.tcp).expectPong()
            // All clients are connected, however long that took. From here on the strict limits
            // apply.
            var strict = try #require(configuration)
            strict.limits.frameGraceMilliseconds = 2_000
            #expect(try test.server.reload(strict) == [])
            for round in 1...5 {
                for (index, client) in clients.enumerated() {
                    // The server can have refused and closed it.
                    try? client.send([frame[index % 4 + round]])
                }
                try RawClient(test.tcp).expectPong()
                test.server.advanceClock(byMilliseconds: 1_000)
            }
            for (index, client) in clients.enumerated() {
                if index % 10 == 0 {
                    client.socket.reset()
                } else {
                    // The stream can end with a reset: bytes in flight when the server closes.
                    let head = try client.receive()?.head
                    #expect(head?.id == 0 && head?.status == .deadlineExceeded)
                    client.socket.close()
                }
            }
        }
    }

    @Test(
        "line 61: 100 connections that read a byte per second are closed, within their share")
    func slowReaders() throws {
        try withServer {
            $0.limits.framesPerTurn = 4
            $0.limits.writeStallMilliseconds = 100_000
        } _: { test in
            let info = RawClient.frame(RequestHead(id: 1, call: .info))
            let requests = Array(repeatElement(info, count: 100).joined())
            let clients = try (0..<100).map { _ in
                try RawClient(test.unix, receiveBuffer: 4096)
            }
            for client in clients { try client.send(requests) }
            test.eventually { $0.unwrittenBytes > 1 << 20 }
            // The limit, and the answers of one turn, 40 KB, before the check. All answers would
            // be 4 MB for each client.
            let each = ServerLimits().outputBytes + 4 * (64 << 10)
            for _ in 0..<3 {
                let unwritten = try #require(test.server.heldResources).unwrittenBytes
                #expect(unwritten < clients.count * each)
                try RawClient(test.tcp).expectPong()
                for client in clients { _ = try? client.socket.receive(upTo: 1) }
                test.server.advanceClock(byMilliseconds: 30_000)
            }
            test.server.advanceClock(byMilliseconds: 100_000)
            test.eventually(seconds: 60) { $0.connections == 0 }
        }
    }

    @Test("line 61: a connection reset inside a frame leaks nothing")
    func resetWithinAFrame() throws {
        let token = try Minted.transaction.get()
        let receipt = try Minted.receipt(bytes: 100_000)
        try withServer { test in
            for frame in [
                RawClient.ping(1), RawClient.verify(2, .transaction, token),
                RawClient.verify(3, .appReceipt, receipt),
            ] {
                for address in [test.tcp, test.unix] {
                    let client = try RawClient(address)
                    try client.expectPong()
                    try client.send(Array(frame.dropLast()))
                    client.socket.reset()
                }
            }
            test.eventually {
                $0.connections == 0 && $0.bufferedBytes == 0 && $0.evidenceBytes == 0
            }
        }
    }

    @Test(
        "line 62: 1,000,000 small frames on one connection do not starve others",
        .enabled(if: TimedTests.areEnabled)
    )
    func aMillionFrames() async {
        await #expect(processExitsWith: .success) { Self.noting { try Self.meetAMillionFrames() } }
    }

    private static func meetAMillionFrames() throws {
        lowerPriority()
        let framesPerWrite = 10_000
        // A sanitizer checks each read and write, for which a tenth of the frames suffices.
        let writes = Sanitizer.isOn ? 10 : 100
        let pong = {
            var bytes: [UInt8] = []
            MessageCodec().encodeFrame(
                ResponseHead(id: 1, result: .pong), body: [], into: &bytes)
            return bytes.count
        }()
        try withSocketServer { test in
            let flood = SharedClient(try BlockingClient(test.unix))
            let pings = Array(repeatElement(RawClient.ping(1), count: framesPerWrite).joined())
            let pool = try WorkerPool(count: 2, name: "flood")
            let answered = Locked(0)
            let isOver = Atomic(false)
            pool.submit {
                for _ in 0..<writes {
                    guard (try? flood.client.send(pings)) != nil else { break }
                }
                flood.client.finishWriting()
            }
            pool.submit {
                while let more = try? flood.client.receive(upTo: 1 << 20), !more.isEmpty {
                    answered.withLock { $0 += more.count }
                }
                isOver.store(true, ordering: .releasing)
            }
            let client = try RawClient(test.tcp)
            var (others, longest) = (0, Duration.zero)
            while !isOver.load(ordering: .acquiring) {
                let before = ContinuousClock.now
                try client.expectPong(UInt64(others + 1))
                longest = max(longest, ContinuousClock.now - before)
                others += 1
                if others % 10 == 0 {
                    let heldResources = try #require(test.server.heldResources)
                    #expect(heldResources.bufferedBytes < 256 << 10, "\(heldResources)")
                }
            }
            pool.stop()
            #expect(answered.withLock { $0 } == writes * framesPerWrite * pong)
            #expect(longest < .seconds(20) && others >= 20, "\(longest), \(others)")
        }
    }
}

extension Sequence where Element == Int {
    fileprivate func sum(_ value: (Int) -> Int) -> Int { reduce(0) { $0 + value($1) } }
}
