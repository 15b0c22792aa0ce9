import AssayClient
import AssayIO
import AssayWire
import Synchronization
import TestSupport
import Testing

@Suite(.timeLimit(.minutes(1))) struct InFlightWindowTests {
    @Test("a refusal takes a quarter, those of the same moment nothing more")
    func shrinks() {
        var window = InFlightWindow(limit: 32, adapts: true)
        #expect(window.count == 32)
        for (now, count) in [(1000, 24), (1000, 24), (1049, 24), (1050, 18), (1100, 13)] {
            window.shrink(at: UInt64(now))
            #expect(window.count == count, "at \(now)")
        }
        for step in 0..<20 { window.shrink(at: 2000 + 50 * UInt64(step)) }
        #expect(window.count == 8)
    }

    @Test("a window of answers adds one, up to the limit")
    func grows() {
        var window = InFlightWindow(limit: 32, adapts: true)
        window.grow()
        #expect(window.count == 32)
        window.shrink(at: 1000)
        for _ in 0..<24 { window.grow() }
        #expect(window.count == 24)
        window.grow()
        #expect(window.count == 25)
        for _ in 0..<1000 { window.grow() }
        #expect(window.count == 32)
    }

    @Test("a full window of calls that queue at the server shrinks")
    func queueing() {
        struct Answer { let delay: UInt64, wasFull: Bool, at: UInt64, count: Int }
        var window = InFlightWindow(limit: 32, adapts: true)
        for answer in [
            // A path of 20 ms: a queue of 5 ms is none.
            Answer(delay: 20, wasFull: true, at: 1000, count: 32),
            Answer(delay: 25, wasFull: true, at: 1000, count: 32),
            Answer(delay: 26, wasFull: false, at: 1000, count: 32),
            Answer(delay: 26, wasFull: true, at: 1000, count: 24),
            Answer(delay: 26, wasFull: true, at: 1049, count: 24),
            Answer(delay: 26, wasFull: true, at: 1050, count: 18),
            // A shorter path than before.
            Answer(delay: 10, wasFull: true, at: 1100, count: 18),
            Answer(delay: 16, wasFull: true, at: 1100, count: 13),
        ] {
            window.grow(after: answer.delay, wasFull: answer.wasFull, at: answer.at)
            #expect(window.count == answer.count, "\(answer)")
        }
    }

    @Test("a delay that the smallest window does not shorten is the path's own")
    func longerPath() {
        var window = InFlightWindow(limit: 32, adapts: true)
        window.grow(after: 1, wasFull: true, at: 1000)
        for (step, count) in [24, 18, 13, 10, 8, 8].enumerated() {
            window.grow(after: 40, wasFull: true, at: UInt64(2000 + 50 * step))
            #expect(window.count == count)
        }
        for _ in 0..<1000 { window.grow(after: 40, wasFull: true, at: 4000) }
        #expect(window.count == 32)
        // Shorter once more, it counts from there.
        window.grow(after: 1, wasFull: true, at: 5000)
        window.grow(after: 40, wasFull: true, at: 5000)
        #expect(window.count == 24)
    }

    @Test("a limit below the smallest window stays, and so does a window that does not adapt")
    func stays() {
        for (limit, adapts) in [(4, true), (32, false)] {
            var window = InFlightWindow(limit: limit, adapts: adapts)
            window.shrink(at: 1000)
            #expect(window.count == limit)
            window.grow()
            window.grow(after: 1, wasFull: true, at: 2000)
            window.grow(after: 100, wasFull: true, at: 2000)
            #expect(window.count == limit)
        }
    }

    @Test(
        "after a refusal for load the server gets fewer calls at once",
        .enabled(if: TimedTests.areEnabled),
        arguments: [
            (Status.resourceExhausted, 100, true, 24), (.resourceExhausted, 100, false, 32),
            (.resourceExhausted, 0, true, 32), (.notFound, 100, true, 32),
        ] as [(Status, UInt32, Bool, Int)])
    func refusals(_ status: Status, pause: UInt32, hasLongestWait: Bool, expected: Int) async throws
    {
        var options = ClientOptions(timeout: ClientOptions.longestTimeout, inFlightLimit: 32)
        options.longestWait = hasLongestWait ? .seconds(20) : nil
        let kept = Locked(0)
        let areRefused = Latch()
        let hasRefused = Atomic(false)
        let answers = Atomic(false)
        try await withServer(options) { peer, head, _ in
            if answers.load(ordering: .relaxed) { return peer.pong(head.id) }
            peer.kept.append(head.id)
            if hasRefused.load(ordering: .relaxed) {
                return kept.withLock { $0 = peer.kept.count }
            }
            guard peer.kept.count == 32 else { return }
            hasRefused.store(true, ordering: .relaxed)
            areRefused.open()
            // In one write, so that they arrive at one moment.
            peer.write(
                peer.kept.flatMap { id in
                    peer.frame(
                        ResponseHead(id: id, status: status, retryAfterMilliseconds: pause))
                })
            peer.kept = []
        } _: { server, client in
            await withTaskGroup { group in
                for _ in 0..<100 { group.addTask { try? await client.ping() } }
                #expect(await areRefused.opens())
                while kept.withLock({ $0 }) < expected {
                    try? await Task.sleep(for: .milliseconds(5))
                }
                // More would come at once.
                try? await Task.sleep(for: .milliseconds(100))
                #expect(kept.withLock { $0 } == expected)
                server.forEachPeer { peer in
                    answers.store(true, ordering: .relaxed)
                    peer.kept.forEach(peer.pong)
                }
            }
        }
    }
}
