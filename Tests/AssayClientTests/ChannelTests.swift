import AssayClient
import AssayIO
import AssayWire
import Synchronization
import TestSupport
import Testing

/// A load generator's loop: no tasks, and each answer triggers the next request.
private final class ClosedLoop: Sendable {
    let channel: Channel
    let done = Latch()
    let failures = Atomic(0)
    let offLoop = Atomic(0)
    private let left: Atomic<Int>

    init(_ channel: Channel, count: Int) {
        self.channel = channel
        left = Atomic(count)
    }

    func step() {
        channel.send(ClientRequest(.ping), id: channel.newId()) { [self] result in
            if case .failure = result { failures.add(1, ordering: .relaxed) }
            if !channel.loop.isCurrent { offLoop.add(1, ordering: .relaxed) }
            if left.subtract(1, ordering: .relaxed).newValue <= 0 { done.open() } else { step() }
        }
    }
}

/// Runs `body` with a channel to the server on a loop of its own, and stops all three.
private func withChannel(
    to server: FakeServer, _ options: ClientOptions = .longTimeout,
    _ body: (Channel) async throws -> Void
) async throws {
    let loop = try EventLoop(name: "channel")
    try loop.start()
    let channel = Channel(to: server.endpoint, options: options, on: loop)
    defer {
        channel.close()
        loop.stop()
        loop.join()
        server.stop()
    }
    try await body(channel)
}

@Suite(.timeLimit(.minutes(1))) struct ChannelTests {
    @Test func answersBringFurtherRequests() async throws {
        let server = try FakeServer { peer, head, _ in peer.pong(head.id) }
        try await withChannel(to: server) { channel in
            let load = ClosedLoop(channel, count: 5_000)
            for _ in 0..<32 { load.step() }
            #expect(await load.done.opens())
            #expect(load.failures.load(ordering: .relaxed) == 0)
            #expect(load.offLoop.load(ordering: .relaxed) == 0)
        }
    }

    /// Many times the bytes that the system takes at once, from one turn of the loop.
    @Test func largeCallsFollowEachOther() async throws {
        let (count, size) = (400, 50_000)
        let arrived = Locked<[UInt64]>([])
        let server = try FakeServer { peer, head, body in
            #expect(body == [UInt8](repeating: UInt8(head.id & 0xFF), count: size))
            arrived.withLock { $0.append(head.id) }
            peer.pong(head.id)
        }
        try await withChannel(to: server) { channel in
            let done = Latch()
            let left = Atomic(count)
            channel.loop.post {
                for _ in 0..<count {
                    let id = channel.newId()
                    let body = [UInt8](repeating: UInt8(id & 0xFF), count: size)
                    let request = ClientRequest(
                        .ping, body: body, timeout: ClientOptions.longestTimeout)
                    channel.send(request, id: id) { result in
                        if case .failure(let error) = result { Issue.record(error) }
                        if left.subtract(1, ordering: .relaxed).newValue == 0 { done.open() }
                    }
                }
            }
            #expect(await done.opens())
            #expect(arrived.withLock { $0 } == (1...UInt64(count)).map(\.self))
        }
    }

    /// Two calls are made, of which one waits for the other's answer. The wait counts only while
    /// the connection is open. The wait that is not exceeded is longer than the test: beside other
    /// tests, its pause of 200 ms can take as long as their calculations.
    @Test(
        "a call whose turn comes late fails, unless it may wait",
        .enabled(if: TimedTests.areEnabled),
        arguments: [
            (Duration.milliseconds(50), false, false), (.milliseconds(50), true, true),
            (ClientOptions.longestTimeout, false, true), (nil, false, true),
        ] as [(Duration?, Bool, Bool)])
    func longestWait(_ longestWait: Duration?, mayWait: Bool, isSent: Bool) async throws {
        let arrived = Latch()
        let server = try FakeServer { peer, head, _ in
            guard head.id == 1 else { return peer.pong(head.id) }
            peer.kept = [head.id]
            arrived.open()
        }
        var options = ClientOptions(timeout: ClientOptions.longestTimeout, inFlightLimit: 1)
        options.longestWait = longestWait
        try await withChannel(to: server, options) { channel in
            let results = Locked<[UInt64: Bool]>([:])
            let done = Latch()
            for id in 1...2 as ClosedRange<UInt64> {
                channel.send(ClientRequest(.ping, mayWait: mayWait), id: channel.newId()) {
                    result in
                    switch result {
                    case .success: results.withLock { $0[id] = true }
                    case .failure(.tooManyWaiting): results.withLock { $0[id] = false }
                    case .failure(let error): Issue.record(error)
                    }
                    if results.withLock({ $0.count }) == 2 { done.open() }
                }
            }
            #expect(await arrived.opens())
            try await Task.sleep(for: .milliseconds(200))
            server.forEachPeer { peer in peer.kept.forEach { peer.pong($0) } }
            #expect(await done.opens())
            #expect(results.withLock { $0 } == [1: true, 2: isSent])
        }
    }

    @Test("a call fails after the longest wait although the server answers nothing")
    func silence() async throws {
        let options = ClientOptions(
            timeout: ClientOptions.longestTimeout, inFlightLimit: 1,
            longestWait: .milliseconds(50))
        try await withServer(options) { _, _, _ in
        } _: { _, client in
            let ends = await withTaskGroup(of: ClientError?.self) { group in
                for _ in 1...2 {
                    group.addTask {
                        do throws(ClientError) { try await client.ping() } catch { return error }
                        return nil
                    }
                }
                let first = await group.next()
                // One of the two is in flight; closing the client ends it.
                client.close()
                return [first, await group.next()]
            }
            #expect(ends == [.tooManyWaiting, .closed])
        }
    }

    @Test("a client limits itself by default")
    func defaults() {
        #expect(ClientOptions().inFlightLimit == 256)
        #expect(ClientOptions().longestWait == .seconds(1))
    }

    @Test func aStoppedLoopEndsPendingCalls() async throws {
        let arrived = Latch()
        let server = try FakeServer { _, _, _ in arrived.open() }
        let loop = try EventLoop(name: "channel")
        try loop.start()
        let client = AssayClient(addresses: [server.endpoint], options: .longTimeout, loop: loop)
        let call = Task {
            _ = await #expect(throws: ClientError.closed) { try await client.ping() }
        }
        #expect(await arrived.opens())
        loop.stop()
        loop.join()
        await call.value
        await #expect(throws: ClientError.closed) { try await client.ping() }
        server.stop()
    }
}
