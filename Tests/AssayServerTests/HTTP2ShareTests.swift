import AssayHTTP
import AssayModels
import AssayWire
import Testing

@testable import AssayServer
@testable import AssayTelemetry

/// What many connections of HTTP/2 take together of the server's memory and of its turns, so that
/// others are served.
@Suite("Shares of HTTP/2") struct HTTP2ShareTests {
    typealias Bytes = HTTP2Bytes

    private static func many(_ count: Int, _ bytes: (Int) -> [UInt8]) -> [UInt8] {
        (0..<count).flatMap(bytes)
    }

    @Test("line 252: answers behind windows count in the memory of all answers, and end there")
    func heldBackAnswers() throws {
        let server = try SimulatedServer { $0.limits.evidenceBytes = 16 << 20 }
        // A quarter of it is for answers.
        let limit = 4 << 20
        let message = RPCBytes.frame([8, 1])
        let part = Self.many(1_400) { _ in message }
        let attacks: [(name: String, bytes: [UInt8])] = [
            ("documents", Self.many(50) { Bytes.get(Int32(2 * $0 + 1), "/v1/openapi.json") }),
            (
                "messages",
                Bytes.head(1, Bytes.fields("/assay.v1.Verifier/VerifyStream"))
                    + Self.many(8) { _ in Bytes.data(1, part) }
            ),
        ]
        for (name, bytes) in attacks {
            let peers = (0..<40).map { _ in
                let peer = SimulatedHTTP2Peer(server, starts: false)
                peer.isPolite = false
                peer.send(HTTP2Connection.preface + Bytes.settings([(4, 0)]) + bytes)
                return peer
            }
            let held = server.heldResources
            // Streams of messages end at their share, and hold nothing then.
            #expect(name == "messages" || held.unwrittenBytes > limit / 4, "\(name)")
            #expect(held.unwrittenBytes <= limit, "\(name)")
            #expect(held.heldBytes >= held.unwrittenBytes, "\(name)")
            // A client that reads gets a verdict.
            let honest = SimulatedHTTP2Peer(server)
            let token = RPCBytes.request(try Minted.transaction.get())
            #expect(honest.ask(1, Bytes.call(1, token)).grpcStatus == 0, "\(name)")
            for peer in peers { peer.peer.reset() }
            honest.peer.reset()
            server.pass(milliseconds: 100)
            #expect(server.heldResources.unwrittenBytes == 0, "\(name)")
        }
        #expect(SimulatedHTTP2Peer(server).ask(1, Bytes.get(1, "/v1/openapi.json")).status == 200)
    }

    @Test("line 253: a document is not made without memory for it")
    func documents() throws {
        let server = try SimulatedServer { $0.limits.evidenceBytes = 1 << 20 }
        // They connect while memory is free: later ones would wait before they are read.
        let peers = (0..<40).map { _ in SimulatedHTTP2Peer(server, starts: false) }
        server.runUntilIdle()
        for peer in peers {
            peer.isPolite = false
            peer.send(
                HTTP2Connection.preface + Bytes.settings([(4, 0)])
                    + Bytes.get(1, "/v1/openapi.json"))
        }
        #expect(server.heldResources.unwrittenBytes <= 1 << 20)
        #expect(peers.filter { $0[1].status == 429 }.count > 20)
        #expect(peers.filter { $0[1].status == 200 }.count > 5)
    }

    @Test("line 254: streams count in the server's memory; a connection always has a few")
    func openStreams() throws {
        let server = try SimulatedServer { $0.limits.evidenceBytes = 4 << 20 }
        let rpc = Bytes.fields(RPCBytes.verify)
        // nghttp2's memory for more of them would fill the server's.
        let peers = (0..<60).map { _ in
            let peer = SimulatedHTTP2Peer(server)
            peer.send(Self.many(100) { Bytes.head(Int32(2 * $0 + 1), rpc) })
            return peer
        }
        let open = peers.map { peer in
            (0..<100).count { !peer[Int32(2 * $0 + 1)].hasEnded }
        }
        // A sixteenth of what is free of 1 MB, at 2 KB each.
        #expect(open[0] > 25 && open[0] <= 33 && open[59] == 7, "\(open)")
        #expect(open.reduce(0, +) <= 512 + 7 * 60, "\(open)")
        #expect(peers[59][199].grpcStatus == 8)
        // Others are served, also several answers in one turn.
        let honest = SimulatedHTTP2Peer(server)
        honest.send(Self.many(5) { Bytes.get(Int32(2 * $0 + 3), "/v1/health") })
        #expect((0..<5).allSatisfy { honest[Int32(2 * $0 + 3)].status == 200 })
        let token = RPCBytes.request(try Minted.transaction.get())
        #expect(honest.ask(15, Bytes.call(15, token)).grpcStatus == 0)
        for peer in peers { peer.peer.reset() }
        honest.peer.reset()
        server.pass(milliseconds: 100)
        #expect(server.heldResources.heldBytes == 0)
        let last = SimulatedHTTP2Peer(server)
        last.send(Self.many(30) { Bytes.head(Int32(2 * $0 + 1), rpc) })
        #expect((0..<30).allSatisfy { !last[Int32(2 * $0 + 1)].hasEnded })
    }

    @Test("line 255: refused messages of many streams take a bounded part of each turn")
    func refusedMessages() throws {
        // By their number alone: no time passes.
        let server = try SimulatedServer(sliceNanoseconds: 0) { $0.workers = 1 }
        let message = RPCBytes.frame([8, 1])
        for _ in 0..<150 {
            SimulatedHTTP2Peer(server).peer.send(
                Bytes.head(1, Bytes.fields("/assay.v1.Verifier/VerifyStream"))
                    + Bytes.data(1, Self.many(400) { _ in message }))
        }
        var (most, turns) = (UInt64(0), server.heldResources.turns)
        var refused = server.metrics.refused
        for _ in 0..<200 where server.step() {
            let now = (server.heldResources.turns, server.metrics.refused)
            most = max(most, (now.1 - refused) / max(now.0 - turns, 1))
            (turns, refused) = now
        }
        // Of 4,096 frames each in the shares of connections that arrive and of those that wait.
        #expect(most > 500 && most <= 2_048, "\(most)")
    }

    @Test("an event of data is small: a peer makes thousands with 32 KB")
    func events() {
        #expect(MemoryLayout<HTTP2Event>.size <= 32)
    }
}
