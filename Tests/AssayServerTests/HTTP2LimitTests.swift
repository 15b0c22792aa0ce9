import AssayHTTP
import AssayModels
import AssayWire
import Testing

@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry

/// Limits of HTTP/2, its drain, and what a peer can do to a simulated server.
@Suite("Limits of HTTP/2") struct HTTP2LimitTests {
    typealias Bytes = HTTP2Bytes

    private static func token() throws -> [UInt8] { try Minted.transaction.get() }

    // MARK: Drain

    @Test("a drain announces the end, serves what is on its way, and says which stream is the last")
    func drain() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        peer.isPolite = false
        let message = RPCBytes.request(try Self.token())
        let body = RPCBytes.frame(message)
        peer.send(Bytes.head(1, Bytes.fields(RPCBytes.verify)))
        server.drain()
        server.runUntilIdle()
        peer.receive()
        #expect(peer.ends.map(\.last) == [.max] && peer.pings == 1)
        // A stream that was on its way, and one that had begun.
        peer.send(Bytes.call(3, message) + Bytes.data(1, body, ends: true))
        #expect(peer[1].grpcStatus == 0 && peer[3].grpcStatus == 0)
        peer.send(Bytes.ping(0, isAnswer: true))
        #expect(peer.ends.map(\.last) == [.max, 3] && peer.ends.last?.code == 0)
        #expect(peer.isAtEnd)
        peer.peer.finish()
        server.pass(milliseconds: 500)
        #expect(server.hasEnded)
    }

    @Test("a client that does not answer gets a second; an answer that is due is given")
    func drainWithoutAnswer() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        peer.isPolite = false
        peer.send(Bytes.head(1, Bytes.fields(RPCBytes.verify)))
        server.drain()
        server.pass(milliseconds: 1_500)
        peer.receive()
        #expect(peer.ends.map(\.last) == [.max, 1])
        #expect(!server.hasEnded)
        let message = RPCBytes.request(try Self.token())
        // A later stream is not taken: its client repeats it elsewhere.
        peer.send(Bytes.call(3, message))
        #expect(!peer[3].hasHead)
        peer.send(Bytes.data(1, RPCBytes.frame(message), ends: true))
        server.pass(milliseconds: 500)
        #expect(peer[1].grpcStatus == 0 && peer.isAtEnd)
        peer.peer.finish()
        server.pass(milliseconds: 500)
        #expect(server.hasEnded)
    }

    /// A connection of frames ends after 100 ms of quiet. Here the client has to learn which stream
    /// is the last: it could not repeat another one.
    @Test("an idle connection does not end before its client knows the last stream")
    func drainOfIdle() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        peer.isPolite = false
        let message = RPCBytes.request(try Self.token())
        peer.send(Bytes.call(1, message))
        server.drain()
        server.pass(milliseconds: 600)
        peer.receive()
        #expect(peer.ends.map(\.last) == [.max])
        #expect(!peer.isAtEnd)
        peer.send(Bytes.call(3, message))
        #expect(peer[1].grpcStatus == 0 && peer[3].grpcStatus == 0)
        server.pass(milliseconds: 1_000)
        peer.receive()
        #expect(peer.ends.map(\.last) == [.max, 3])
        #expect(peer.isAtEnd)
        peer.peer.finish()
        server.pass(milliseconds: 500)
        #expect(server.hasEnded)
    }

    @Test("a stream behind the last one gets no answer, also before the client knows which it is")
    func lateStream() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        peer.isPolite = false
        let json = Bytes.fields("/v1/verify", type: "application/json")
        peer.send(Bytes.head(1, json))
        server.drain()
        server.runUntilIdle()
        peer.receive()
        // More than is read at a time, so that the last call is received after the answer to PING.
        let body = [UInt8](repeating: 0x20, count: 40_000)
        let message = RPCBytes.request(try Self.token())
        peer.send(
            Bytes.ping(0, isAnswer: true) + Bytes.data(1, body, ends: true, each: 16_000)
                + Bytes.call(3, message))
        #expect(peer.ends.map(\.last) == [.max, 1])
        #expect(peer[1].status == 400 && !peer[3].hasHead)
        peer.peer.finish()
        server.pass(milliseconds: 500)
        #expect(server.hasEnded && server.heldResources.requestsInFlight == 0)
    }

    @Test("an idle connection ends with GOAWAY")
    func idle() throws {
        let server = try SimulatedServer { $0.limits.idleMilliseconds = 1_000 }
        let peer = SimulatedHTTP2Peer(server)
        #expect(peer.ask(1, Bytes.get(1, "/v1/health")).status == 200)
        server.pass(milliseconds: 2_000)
        peer.receive()
        #expect(peer.ends.map(\.code) == [0] && peer.isAtEnd)
    }

    // MARK: Requests that are given up

    @Test("a request that waits and is given up is not verified")
    func resets() throws {
        let server = try SimulatedServer { $0.workers = 1 }
        let peer = SimulatedHTTP2Peer(server)
        let message = RPCBytes.request(try Self.token())
        peer.send([])
        let (slices, received) = (
            server.slices.values.reduce(0, +), server.metrics.requestsReceived
        )
        // In one read: begun and given up.
        peer.send(Bytes.call(1, message) + Bytes.reset(1))
        #expect(server.heldResources.requestsInFlight == 0 && server.heldResources.waiting == 0)
        #expect(server.slices.values.reduce(0, +) == slices)
        #expect(server.metrics.requestsReceived == received)
        // A chain that is not known waits for its validation.
        let foreign = try Minted.token(.transaction, by: Minted.foreign.get())
        peer.peer.send(Bytes.call(3, RPCBytes.request(foreign)))
        while server.heldResources.requestsInFlight == 0, server.step() {}
        peer.send(Bytes.reset(3))
        #expect(
            server.heldResources.requestsInFlight == 0 && server.heldResources.evidenceBytes == 0)
        #expect(server.metrics.handled(.verify, .cancelled) == 1)
        #expect(peer.ask(5, Bytes.call(5, message)).grpcStatus == 0)
    }

    @Test("an answer to a request that is given up meanwhile holds no memory")
    func answerAfterReset() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        let requests: [(path: String, type: String, body: [UInt8])] = [
            ("/v1/verify", "application/json", [0x7B]),
            (RPCBytes.verify, "application/grpc", [1, 0, 0, 0, 0]),
            (RPCBytes.verify, "application/proto", [0xFF]),
        ]
        var stream: Int32 = 1
        for (path, type, body) in requests {
            peer.send(Bytes.head(stream, Bytes.fields(path, type: type)))
            // Refused at once, after the stream has ended.
            peer.send(Bytes.data(stream, body, ends: true) + Bytes.reset(stream))
            #expect(server.heldResources.unwrittenBytes == 0, "\(type)")
            #expect(peer[stream].status == nil)
            stream += 2
        }
        server.pass(milliseconds: 100)
        #expect(server.heldResources.requestsInFlight == 0)
        #expect(peer.ask(stream, Bytes.get(stream, "/v1/health")).status == 200)
    }

    // MARK: Slow peers

    @Test("requests that arrive slowly end their streams; a frame without an end, the connection")
    func slow() throws {
        let server = try SimulatedServer()
        let json = Bytes.fields("/v1/verify", type: "application/json")
        let peer = SimulatedHTTP2Peer(server)
        peer.send(Bytes.head(1, json) + Bytes.data(1, [0x7B]))
        server.pass(milliseconds: 6_000)
        peer.receive()
        #expect(peer[1].status == 408 && peer[1].code == 0)
        #expect(peer.ask(3, Bytes.get(3, "/v1/health")).status == 200)
        #expect(server.metrics.faults["a request arrived too slowly"] == 1)
        // Many bytes at first do not pay for silence afterwards.
        let (ahead, stream): (Int, Int32) = (3 * server.limits.frameBytesPerSecond, 5)
        peer.send(
            Bytes.head(stream, json)
                + Bytes.data(
                    stream, [UInt8](repeating: 0x20, count: ahead), ends: false, each: 16_000))
        server.pass(milliseconds: 6_000)
        peer.receive()
        #expect(peer[stream].status == 408)
        let parts: [[UInt8]] = [
            Array(Bytes.head(1, json).dropLast(1)), [0],
            Bytes.frame(1, 0, 1, Bytes.block(json)), Array(Bytes.ping().dropLast()),
        ]
        for part in parts {
            let other = SimulatedHTTP2Peer(server)
            other.send(part)
            server.pass(milliseconds: 7_000)
            other.receive()
            #expect(other.isAtEnd, "\(part.count)")
        }
    }

    @Test("an answer that the peer's window holds back ends its stream, and holds no memory then")
    func zeroWindow() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server, starts: false)
        peer.isPolite = false
        peer.send(
            HTTP2Connection.preface + Bytes.settings([(4, 0)]) + Bytes.get(1, "/v1/health")
                + Bytes.get(3, "/v1/openapi.json"))
        #expect(peer[1].status == 200 && peer[1].data.isEmpty)
        // A byte now and then is no progress.
        for _ in 0..<12 {
            server.pass(milliseconds: 1_000)
            peer.send(Bytes.window(3, 1))
        }
        server.pass(milliseconds: 2_000)
        peer.receive()
        #expect(peer[1].code == 8 && peer[3].code == 8)
        #expect(server.heldResources.unwrittenBytes == 0)
        #expect(server.metrics.faults["the peer does not read its answers"] == 2)
    }

    @Test("a client that reads none of its answers gets no more of them made")
    func unreadAnswers() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server, starts: false)
        peer.isPolite = false
        peer.send(HTTP2Connection.preface + Bytes.settings([(4, 0)]))
        let numbers = (0..<90).map { Int32(2 * $0 + 1) }
        for number in numbers { peer.send(Bytes.get(number, "/v1/openapi.json")) }
        let answered = numbers.count { peer[$0].hasHead }
        #expect(numbers.count { peer[$0].code == 7 } == numbers.count - answered)
        // The answer that reaches the limit is the last.
        let each = server.heldResources.unwrittenBytes / max(answered, 1)
        #expect(server.heldResources.unwrittenBytes <= HTTP2Session.unwrittenLimit + 2 * each)
        #expect((1..<numbers.count).contains(answered))
    }

    @Test("a client that widens its window gets the rest")
    func windows() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server, starts: false)
        peer.isPolite = false
        peer.send(
            HTTP2Connection.preface + Bytes.settings([(4, 10)]) + Bytes.get(1, "/v1/health"))
        #expect(peer[1].data.count == 10 && !peer[1].hasEnded)
        peer.send(Bytes.window(1, 100))
        #expect(peer[1].text == "{\"status\":\"SERVING\"}\n" && peer[1].hasEnded)
    }

    // MARK: Floods

    @Test("floods end their connection, are counted, and others are served")
    func floods() throws {
        let get = Bytes.fields("/v1/health", method: "GET", type: nil)
        let frames = "a flood of frames of HTTP/2"
        func many(_ count: Int, _ bytes: (Int) -> [UInt8]) -> [UInt8] {
            (0..<count).flatMap(bytes)
        }
        let attacks: [(name: String, reason: String?, bytes: [UInt8])] = [
            ("PING", nil, many(20_000) { _ in Bytes.ping() }),
            ("answers to PING", frames, many(5_000) { _ in Bytes.ping(isAnswer: true) }),
            ("SETTINGS", nil, many(20_000) { _ in Bytes.settings([]) }),
            ("answers to SETTINGS", nil, many(5_000) { _ in Bytes.frame(4, 1, 0, []) }),
            ("WINDOW_UPDATE", frames, many(5_000) { _ in Bytes.window(0, 1) }),
            (
                "PRIORITY", frames,
                many(5_000) { Bytes.frame(2, 0, Int32(2 * $0 + 1), [0, 0, 0, 0, 1]) }
            ),
            ("unknown frames", frames, many(5_000) { _ in Bytes.frame(0xFA, 0, 0, []) }),
            (
                "empty DATA", frames,
                Bytes.head(1, Bytes.fields(RPCBytes.verify))
                    + many(5_000) { _ in Bytes.data(1, []) }
            ),
            (
                "CONTINUATION", nil,
                Bytes.frame(1, 0, 1, Bytes.block(get))
                    + many(5_000) { _ in Bytes.frame(9, 0, 1, [0x10, 1, 0x78, 1, 0x79]) }
            ),
            (
                "empty CONTINUATION", nil,
                Bytes.frame(1, 0, 1, Bytes.block(get))
                    + many(5_000) { _ in Bytes.frame(9, 0, 1, []) }
            ),
            (
                "Rapid Reset", nil,
                many(4_000) {
                    Bytes.head(Int32(2 * $0 + 1), get, ends: true) + Bytes.reset(Int32(2 * $0 + 1))
                }
            ),
            (
                "resets that the server has to make", nil,
                many(4_000) {
                    let stream = Int32(2 * $0 + 1)
                    return Bytes.head(stream, Bytes.fields(RPCBytes.verify))
                        + Bytes.window(stream, 0)
                }
            ),
        ]
        let server = try SimulatedServer()
        let honest = SimulatedHTTP2Peer(server)
        var stream: Int32 = 1
        for (name, reason, bytes) in attacks {
            let before = server.metrics.faults.values.reduce(0, +)
            let peer = SimulatedHTTP2Peer(server)
            peer.isPolite = false
            peer.send(bytes)
            server.pass(milliseconds: 100)
            peer.receive()
            #expect(peer.isAtEnd, "\(name)")
            #expect(server.metrics.faults.values.reduce(0, +) > before, "\(name)")
            if let reason { #expect((server.metrics.faults[reason] ?? 0) > 0, "\(name)") }
            #expect(honest.ask(stream, Bytes.get(stream, "/v1/health")).status == 200, "\(name)")
            stream += 2
        }
        server.pass(milliseconds: 3_000)
        #expect(server.heldResources.connections == 1 && server.heldResources.requestsInFlight == 0)
    }

    @Test("heads: the limit of their bytes, and fields that no request has")
    func heads() throws {
        let get = Bytes.fields("/v1/health", method: "GET", type: nil)
        let long = String(repeating: "x", count: 4_000)
        let table: [(name: String, fields: [Bytes.Field], status: Int?)] = [
            ("none", get, 200), ("unknown", get + [("x-other", "1")], 200),
            ("12 KB", get + (0..<3).map { ("x-\($0)", long) }, 200),
            ("20 KB", get + (0..<5).map { ("x-\($0)", long) }, 431),
            ("400 fields", get + (0..<400).map { ("x-\($0)", "1") }, 200),
            ("connection", get + [("connection", "close")], nil),
            ("transfer-encoding", get + [("transfer-encoding", "chunked")], nil),
            ("upper case", get + [("X-Other", "1")], nil),
            ("a line break in a value", get + [("x-a", "1\r\nx-b: 2")], nil),
            ("NUL in a value", get + [("x-a", "\0")], nil),
            ("a pseudo-field after others", get + [("x-a", "1"), (":path", "/v1/info")], nil),
            ("two paths", [(":path", "/v1/info")] + get, nil),
            ("an unknown pseudo-field", get + [(":other", "1")], nil),
            ("no method", Array(get.dropFirst()), nil),
            ("no path", get.filter { $0.0 != ":path" }, nil),
            ("an empty path", get.map { $0.0 == ":path" ? ($0.0, "") : $0 }, nil),
            ("two types", get + [("content-type", "a"), ("content-type", "b")], nil),
            ("another Host", get + [("host", "other")], nil),
            (
                "no host", get.map { $0.0 == ":authority" ? ($0.0, "user@localhost") : $0 }, nil
            ),
            ("the same Host", get + [("host", "localhost")], 200),
        ]
        let server = try SimulatedServer()
        for (name, fields, status) in table {
            let peer = SimulatedHTTP2Peer(server)
            let block = Bytes.block(fields)
            var bytes = Bytes.frame(
                1, block.count <= 16_384 ? 5 : 1, 1, Array(block.prefix(16_384)))
            if block.count > 16_384 {
                bytes += Bytes.frame(9, 4, 1, Array(block.dropFirst(16_384)))
            }
            let answer = peer.ask(1, bytes)
            #expect(answer.status == status, "\(name)")
            #expect(answer.hasEnded || peer.isAtEnd, "\(name)")
            guard !peer.isAtEnd else { continue }
            #expect(peer.ask(3, Bytes.get(3, "/v1/health")).status == 200, "\(name)")
        }
    }

    @Test("bytes that are no frames end the connection")
    func faults() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        peer.send([UInt8](repeating: 0xFF, count: 100))
        server.pass(milliseconds: 10)
        #expect(peer.isAtEnd)
        // The preface after a request of HTTP/1.1 is no request.
        let caller = SimulatedCaller(server)
        #expect(caller.ask(HTTPClient.get("/v1/health"))?.status == 200)
        #expect(caller.ask(Bytes.start)?.status == 505)
    }
}
