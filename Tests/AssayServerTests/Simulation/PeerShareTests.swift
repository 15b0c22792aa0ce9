import AssayIO
import AssayModels
import AssayWire
import Testing

@testable import AssayServer
@testable import AssayTelemetry

/// Line 266 of the hostile inputs: shares count by client above those by connection.
@Suite("Shares of clients") struct PeerShareTests {
    /// The requests of 64 connections of one client that are answered before 30 requests of another
    /// connection.
    ///
    /// - Parameter peer: the client of that connection; the others are of user 1.
    private static func answered(before peer: PeerKey) throws -> UInt64 {
        // Slices of a millisecond, so that requests wait in the queue.
        let server = try SimulatedServer(sliceNanoseconds: 1_000_000) {
            $0.workers = 1
            $0.limits.requestsPerSlice = 4
            $0.limits.queueDelayMilliseconds = 10_000
        }
        let evidence = try SimulatedEvidence.all.get()
        func client(_ peer: PeerKey) -> SimulatedFrameClient {
            let client = SimulatedFrameClient(server.connect(from: peer), evidence)
            client.ask(.mayWait)
            server.runUntilIdle()
            #expect(client.receive(upTo: .max) == nil && client.unanswered == 0)
            return client
        }
        let greedy = (0..<64).map { _ in client(.user(1)) }
        let honest = client(peer)
        let before = server.metrics.handled(.verify, .ok)
        for client in greedy + [honest] { for _ in 0..<30 { client.ask(.genuine) } }
        while honest.unanswered > 0, server.step() {
            #expect(honest.receive(upTo: .max) == nil)
        }
        let others = server.metrics.handled(.verify, .ok) - before - 30
        server.runUntilIdle()
        for client in greedy + [honest] {
            #expect(client.receive(upTo: .max) == nil && client.unanswered == 0)
        }
        return others
    }

    @Test("line 266: the queue is shared by clients, however many connections one has")
    func queue() throws {
        let same = try Self.answered(before: .user(1))
        let other = try Self.answered(before: .user(2))
        // Slices that were verified before the other client was read are among them.
        #expect(same > 1_500 && other < 300, "\(same) and \(other)")
    }

    @Test("line 276: the fetches of one client leave a slot to another")
    func fetches() throws {
        let held = HeldFetches()
        let fetcher = held.fetcher
        let server = try SimulatedServer {
            $0.workers = 1
            $0.ask(fetcher)
            $0.limits.fetches = 8
        }
        defer { held.release() }
        let evidence = try SimulatedEvidence.all.get()
        func ask(_ peer: PeerKey) -> SimulatedFrameClient {
            let client = SimulatedFrameClient(server.connect(from: peer), evidence)
            client.ask(.fetch)
            server.runUntilIdle()
            #expect(client.receive(upTo: .max) == nil)
            return client
        }
        let many = (0..<12).map { _ in ask(.user(1)) }
        #expect(many.map(\.unanswered) == Array(repeating: 1, count: 7) + [0, 0, 0, 0, 0])
        let other = ask(.user(2))
        #expect(other.unanswered == 1 && server.heldResources.fetches == 8)
    }
}
