import AssayHTTP
import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry

/// Line 264 of the hostile inputs, and 265: what a connection costs before it is read and after its
/// peer has left, and how long its turn is.
@Suite("First reads and turns") struct FirstReadTests {
    /// A server in which connections of a client have filled its part of the memory.
    private static func full() throws -> (SimulatedServer, [SimulatedHTTP2Peer]) {
        let server = try SimulatedServer {
            $0.workers = 1
            $0.limits.evidenceBytes = 4 << 20
        }
        var peers: [SimulatedHTTP2Peer] = []
        var isFull = false
        while !isFull, peers.count < 1_000 {
            let peer = SimulatedHTTP2Peer(server)
            peer.send([])
            peers.append(peer)
            server.forEachWorker {
                isFull = isFull || $1.connections.allPeers.contains(where: \.isFull)
            }
        }
        return (server, peers)
    }

    @Test("line 264: a connection that begins while memory is full is read when memory is free")
    func firstRead() throws {
        let (server, peers) = try Self.full()
        let client = try server.frameClient()
        for _ in 0..<5 { client.ask(.genuine) }
        server.runUntilIdle()
        #expect(server.heldResources.bufferedBytes == 0)
        #expect(client.receive(upTo: .max) == nil && client.answered == 0)
        for peer in peers { peer.peer.reset() }
        server.pass(milliseconds: 100)
        #expect(client.receive(upTo: .max) == nil && client.unanswered == 0)
        #expect(client.lastStatus == .ok)
    }

    @Test("line 264: connections that begin while memory is full are refused, a few at a time")
    func refusedFirstReads() throws {
        let (server, _) = try Self.full()
        let clients = try (0..<9).map { _ in try server.frameClient() }
        for client in clients { client.ask(.genuine) }
        server.runUntilIdle()
        var answered: [Int] = []
        for _ in 0..<3 {
            server.pass(milliseconds: 100)
            for client in clients { #expect(client.receive(upTo: .max) == nil) }
            answered.append(clients.count { $0.answered > 0 })
        }
        #expect(answered == [4, 8, 9])
        #expect(clients.allSatisfy { $0.lastStatus == .resourceExhausted })
    }

    @Test("line 264: a peer that has left before its first read is not read")
    func leftBeforeFirstRead() throws {
        let (server, peers) = try Self.full()
        let client = try server.frameClient()
        client.ask(.genuine)
        server.runUntilIdle()
        client.peer.reset()
        server.pass(milliseconds: 100)
        #expect(server.heldResources.connections == peers.count)
        #expect(server.metrics.requestsReceived == 0)
    }

    @Test("line 264: requests of a peer that has left do not get a turn")
    func leftBeforeTurn() throws {
        let server = try SimulatedServer { $0.workers = 1 }
        let client = try server.frameClient()
        client.ask(.genuine)
        server.runUntilIdle()
        for _ in 0..<2_000 { client.ask(.ping) }
        // A step takes what a turn admits, and the rest waits for the next turn.
        var (before, taken) = (server.metrics.requestsReceived, server.metrics.requestsReceived)
        repeat {
            before = taken
            try #require(server.step())
            taken = server.metrics.requestsReceived
        } while taken - before < ServerLimits().framesPerTurn
        client.peer.reset()
        server.runUntilIdle()
        #expect(server.metrics.requestsReceived == taken)
        #expect(server.heldResources.connections == 0)
    }

    @Test(
        "line 265: a turn ends when its time is over, however few its requests are",
        arguments: [(0, 32), (4_000, 32), (40_000, 8), (400_000, 8)] as [(UInt64, UInt64)])
    func turnsOfTime(nanoseconds: UInt64, most: UInt64) throws {
        // A look at the clock for the date of each answer takes the time of a request. The turn's
        // time is compared with its limit once in eight requests.
        let server = try SimulatedServer(sliceNanoseconds: nanoseconds) { $0.workers = 1 }
        let client = SimulatedHTTPClient(
            server.connect(to: SimulatedServer.http), try SimulatedEvidence.all.get())
        for _ in 0..<200 { client.ask(.ping) }
        var mostInTurn: UInt64 = 0
        while client.unanswered > 0 {
            let before = server.metrics.requestsReceived
            #expect(server.step())
            mostInTurn = max(mostInTurn, server.metrics.requestsReceived - before)
            #expect(client.receive(upTo: .max) == nil)
        }
        #expect(mostInTurn <= most, "\(mostInTurn)")
        #expect(client.answered == 200)
    }
}
