import AssayServer
import AssayWire
import TestSupport
import Testing

/// A server in an async program.
@Suite(.ownThread) struct ServerRunTests {
    @Test("A cancelled run answers the accepted request, then ends")
    func cancelled() async throws {
        let clock = HeldClock()
        let test = try SocketServer {
            $0.hold(by: clock)
            $0.workers = 1
        }
        let client = try test.holdWorker(1, by: clock)
        let events = test.server.events
        #expect(test.server.isReady)
        // A child runs on a thread of the test's own, as the test does.
        let (end, followed) = await withTaskGroup(of: ServerEnd.self) { group in
            group.addTask { await test.server.run() }
            group.cancelAll()
            var followed: [ServerEvent] = []
            for await event in events {
                followed.append(event)
                if event == .draining { clock.release.open() }
            }
            return (await group.next(), followed)
        }
        #expect(end == .drained)
        #expect(followed == [.draining, .ended(.drained)])
        // The worker reads of the drain after the event, so the answer may come before its notice.
        let frames = try [client.receive(), client.receive()].map { try #require($0?.head) }
        #expect(frames.contains { $0.id == 0 && $0.status == .unavailable })
        #expect(frames.contains { $0.id == 1 && $0.status == .ok })
        // One who comes late gets the end, and so does one who waits.
        var late: [ServerEvent] = []
        for await event in test.server.events { late.append(event) }
        #expect(late == [.ended(.drained)])
        #expect(await test.server.run() == .drained)
        #expect(test.server.wait() == .drained)
    }
}
