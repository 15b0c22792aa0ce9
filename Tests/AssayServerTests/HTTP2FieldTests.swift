import AssayHTTP
import AssayModels
import AssayWire
import Testing

@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry

/// The fields of HTTP/2: what they cost, hold and say, in heads and in trailers.
@Suite("Fields of HTTP/2") struct HTTP2FieldTests {
    typealias Bytes = HTTP2Bytes

    /// Heads that name a field of the table: a byte each is 1,000 decoded.
    private static func namedHeads(_ count: Int) -> [UInt8] {
        let value = [UInt8](repeating: 0x78, count: 1_000)
        let entry = [0x40, 1, 0x61] + Bytes.length(value.count) + value
        let block = Bytes.block(Bytes.fields("/v1/health", method: "GET", type: nil))
        return Bytes.frame(1, 5, 1, block + entry)
            + (1..<count).flatMap { index in
                Bytes.frame(1, 5, Int32(2 * index + 1), block + [UInt8](repeating: 0xBE, count: 10))
            }
    }

    @Test("a request over a Unix socket has any authority: gRPC's clients send a path or nothing")
    func authorities() throws {
        for (authority, isHost) in [
            ("localhost", true), ("tmp%2Fs.sock", true), ("[::1]:1", true),
            ("user@localhost", false), ("%zz", false),
        ] {
            for needsHost in [true, false] {
                var limits = HTTP2Limits()
                limits.needsHost = needsHost
                let connection = HTTP2Connection(limits)
                let fields = Bytes.fields(RPCBytes.verify).map {
                    $0.0 == ":authority" ? ($0.0, authority) : $0
                }
                let bytes = HTTP2Bytes.start + Bytes.head(1, fields)
                var events: [HTTP2Event] = []
                _ = try connection.receive(bytes.span, into: &events)
                var (isHead, fault): (Bool, HTTPFault?) = (false, nil)
                for event in events {
                    if case .head = event { isHead = true }
                    if case .refusedHead(let found) = event { fault = found }
                }
                let isAccepted = isHost || !needsHost
                #expect(isHead == isAccepted, "\(authority), \(needsHost)")
                #expect(fault == (isAccepted ? nil : .invalidHost), "\(authority), \(needsHost)")
            }
        }
    }

    @Test("streams that were passed over can't be used, others go on")
    func order() throws {
        let get = Bytes.fields("/v1/health", method: "GET", type: nil)
        let post = Bytes.fields("/v1/verify", type: nil)
        func open(_ stream: Int32) -> [UInt8] { Bytes.head(stream, get, ends: true) }
        func priority(_ stream: Int32) -> [UInt8] { Bytes.frame(2, 0, stream, [0, 0, 0, 1, 16]) }
        let trailers = Bytes.frame(1, 5, 3, Bytes.block([("a", "b")]))
        let table: [(name: String, bytes: [UInt8], isBroken: Bool)] = [
            ("an earlier one", open(5) + open(3), true),
            ("the first", open(3) + open(1), true),
            ("in a later step of many", open(1) + open(101) + open(201) + open(51), true),
            ("trailers", Bytes.head(3, post) + trailers, false),
            ("trailers after a later stream", Bytes.head(3, post) + open(7) + trailers, false),
            (
                "trailers after a reset",
                Bytes.head(3, post) + Bytes.reset(3) + open(5) + trailers, false
            ),
            ("numbers that are passed over", open(1) + open(9) + open(99), false),
            ("PRIORITY on stream 0", priority(0), true),
            ("PRIORITY on an earlier stream", open(5) + priority(3), false),
            ("PRIORITY on a later stream", priority(9) + open(3), false),
        ]
        for (name, bytes, isBroken) in table {
            let peer = SimulatedHTTP2Peer(try SimulatedServer())
            // What follows the error is not answered.
            peer.send(bytes + open(301))
            #expect(peer.isAtEnd == isBroken, "\(name)")
            #expect(peer.ends.map(\.code) == (isBroken ? [1] : []), "\(name)")
            #expect(peer[301].status == (isBroken ? nil : 200), "\(name)")
        }
    }

    @Test("a step decodes a bounded number of bytes of fields, and the next one goes on there")
    func steps() throws {
        let bytes = HTTP2Bytes.start + Self.namedHeads(50)
        func heads(_ limits: HTTP2Limits) throws -> (heads: [[UInt8]], steps: Int, most: Int) {
            let connection = HTTP2Connection(limits)
            var (start, steps, most) = (0, 0, 0)
            var heads: [[UInt8]] = []
            while start < bytes.count {
                var events: [HTTP2Event] = []
                let before = connection.decodedBytes
                start += try connection.receive(bytes.span.extracting(start...), into: &events)
                steps += 1
                most = max(most, connection.decodedBytes - before)
                for case .head(_, let head) in events where head.fault == nil {
                    heads.append(head.bytes)
                }
            }
            return (heads, steps, most)
        }
        var limits = HTTP2Limits()
        let (divided, steps, most) = try heads(limits)
        // At most a field above it.
        #expect(most > limits.decodedBytes && most < limits.decodedBytes + 1_100)
        // 520 KB in all.
        #expect((8...9).contains(steps))
        limits.decodedBytes = .max
        let whole = try heads(limits)
        #expect(whole.steps == 1 && whole.heads == divided && divided.count == 50)
    }

    @Test("what fields decode to counts in the turn of their connection")
    func costOfFields() throws {
        let server = try SimulatedServer { $0.workers = 1 }
        let peer = SimulatedHTTP2Peer(server)
        peer.send([])
        peer.peer.send(Self.namedHeads(90))
        let turns = server.heldResources.turns
        server.runUntilIdle()
        peer.receive()
        #expect((0..<90).allSatisfy { peer[Int32(2 * $0 + 1)].status == 200 })
        // 900 KB are decoded, of which a unit of a turn has 512.
        #expect(server.heldResources.turns - turns >= 5)
    }

    @Test("a head above its limit is answered, for gRPC by RESOURCE_EXHAUSTED, and logged once")
    func largeHeads() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        let field = [("x-a", String(repeating: "x", count: 9_000))]
        func large(_ stream: Int32, _ fields: [Bytes.Field]) -> [UInt8] {
            Bytes.frame(1, 1, stream, Bytes.block(fields + field))
                + Bytes.frame(9, 4, stream, Bytes.block(field))
        }
        let rpc = peer.ask(1, large(1, Bytes.fields(RPCBytes.verify)))
        #expect(rpc.status == 200 && rpc.grpcStatus == 8)
        let json = Bytes.fields("/v1/verify", type: "application/json")
        let answer = peer.ask(3, large(3, json))
        #expect(answer.status == 431 && answer.text.contains("more than 16384 bytes"))
        #expect(server.metrics.faults["an HTTP head above its limits"] == 2)
        #expect(peer.ask(5, Bytes.get(5, "/v1/health")).status == 200)
    }

    @Test("heads that do not end count in the server's memory, and end when it is full")
    func unfinishedHeads() throws {
        let server = try SimulatedServer { $0.limits.evidenceBytes = 4 << 20 }
        let field = [0x10, 1, 0x61] + Bytes.length(30 << 10)
        let rest = [UInt8](repeating: 0x78, count: 14_000)
        let peers = (0..<200).map { _ in
            let peer = SimulatedHTTP2Peer(server)
            peer.isPolite = false
            peer.send(Bytes.frame(1, 0, 1, Bytes.block(Bytes.fields(RPCBytes.verify)) + field))
            return peer
        }
        let held = server.heldResources.heldBytes
        for peer in peers { peer.send(Bytes.frame(9, 0, 1, rest)) }
        #expect(held > 200 * (30 << 10) / 2, "\(held)")
        #expect(peers.count { $0.isAtEnd } > 50)
        #expect(server.heldResources.heldBytes <= 4 << 20)
        let token = RPCBytes.request(try Minted.transaction.get())
        let honest = SimulatedHTTP2Peer(server)
        #expect(honest.ask(1, Bytes.call(1, token)).grpcStatus == 0)
        for peer in peers + [honest] { peer.peer.reset() }
        server.pass(milliseconds: 100)
        #expect(server.heldResources.heldBytes == 0)
    }
}
