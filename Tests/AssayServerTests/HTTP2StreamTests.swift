import AssayModels
import AssayWire
import Testing

@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry

/// Calls of gRPC with streams of messages, of a simulated server.
@Suite("Streams of gRPC") struct HTTP2StreamTests {
    typealias Bytes = HTTP2Bytes

    static let verifyStream = "/assay.v1.Verifier/VerifyStream"

    @Test("many requests on one stream, in any parts of DATA", arguments: [7, 100, 3_000, 16_384])
    func verifyStream(_ size: Int) throws {
        let server = try SimulatedServer(seed: UInt64(size))
        let peer = SimulatedHTTP2Peer(server)
        let token = try Minted.transaction.get()
        let receipt = try Minted.receipt(bytes: 200_000)
        let foreign = try Minted.token(.transaction, by: Minted.foreign.get())
        peer.send(Bytes.head(1, Bytes.fields(Self.verifyStream)))
        #expect(peer[1].status == 200 && !peer[1].hasEnded)
        var body: [UInt8] = []
        // A chain that is not known is answered later than what follows it.
        body += RPCBytes.streamRequest(9_000, foreign)
        for id in 1...100 as ClosedRange<UInt64> { body += RPCBytes.streamRequest(id, token) }
        body += RPCBytes.streamRequest(500, Minted.tampered(token))
        body += RPCBytes.streamRequest(501, token, app: "nowhere")
        body += RPCBytes.streamRequest(502, [])
        if size > 100 { body += RPCBytes.streamRequest(503, receipt, kind: .appReceipt) }
        body += RPCBytes.streamRequest(UInt64.max, token)
        peer.send(Bytes.data(1, body, ends: true, each: size))
        let (verdicts, codes) = RPCBytes.streamAnswers(peer[1])
        for id in 1...100 as ClosedRange<UInt64> { #expect(verdicts[id] == .valid, "\(id)") }
        #expect(verdicts[500] == .invalidSignature && verdicts[UInt64.max] == .valid)
        #expect(verdicts[9_000] == .untrustedChain)
        #expect(codes == [501: 5, 502: 3])
        if size > 100 { #expect(verdicts[503] == .valid) }
        #expect(peer[1].hasEnded && peer[1].grpcStatus == 0 && peer[1].code == nil)
        #expect(
            server.heldResources.evidenceBytes == 0 && server.heldResources.requestsInFlight == 0)
    }

    @Test("answers come as they are made, while the stream is open")
    func open() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        let token = try Minted.transaction.get()
        peer.send(Bytes.head(1, Bytes.fields(Self.verifyStream)))
        for id in 1...5 as ClosedRange<UInt64> {
            peer.send(Bytes.data(1, RPCBytes.streamRequest(id, token)))
            #expect(peer[1].messages.count == Int(id))
            // Between requests nothing is late.
            server.pass(milliseconds: 20_000)
        }
        peer.send(Bytes.data(1, [], ends: true))
        #expect(peer[1].grpcStatus == 0 && peer[1].hasEnded)
    }

    @Test(
        "a client with an open stream is asked for a sign of life after the time of idleness",
        arguments: ["/assay.v1.Verifier/VerifyStream", "/grpc.health.v1.Health/Watch"],
        [true, false])
    func silent(_ path: String, isAlive: Bool) throws {
        let server = try SimulatedServer { $0.limits.idleMilliseconds = 5_000 }
        let peer = SimulatedHTTP2Peer(server)
        peer.send(Bytes.head(1, Bytes.fields(path)))
        if path != Self.verifyStream { peer.send(Bytes.data(1, RPCBytes.frame([]))) }
        peer.isPolite = isAlive
        server.pass(milliseconds: 4_500)
        peer.receive()
        #expect(!peer[1].hasEnded && peer.pings == 0)
        for second in 5...60 {
            server.pass(milliseconds: 1_000)
            peer.receive()
            if !isAlive, second == 14 { #expect(!peer[1].hasEnded && peer.pings == 1) }
        }
        #expect(peer[1].hasEnded != isAlive)
        #expect(server.heldResources.connections == (isAlive ? 1 : 0))
        if !isAlive { #expect(peer[1].grpcStatus == 14 && peer.pings == 1) }
    }

    @Test("what ends a stream of requests, and its code")
    func faults() throws {
        let server = try SimulatedServer()
        let token = try Minted.transaction.get()
        let good = RPCBytes.streamRequest(1, token)
        let table: [(name: String, body: [UInt8], ends: Bool, code: Int)] = [
            ("flags", good + [9, 0, 0, 0, 1, 0], false, 13),
            (
                "a message above the limit",
                good + [0, 0xFF, 0, 0, 0, 0xA2, 1, 0xF0, 0xFF, 0xFF, 7], false, 8
            ),
            ("half a message", good + good.dropLast(), true, 13),
            ("half a prefix", good + [0, 0], true, 13),
            ("nothing", [], true, 0),
        ]
        for (name, body, ends, code) in table {
            let peer = SimulatedHTTP2Peer(server)
            peer.send(Bytes.head(1, Bytes.fields(Self.verifyStream)))
            peer.send(Bytes.data(1, body, ends: ends))
            #expect(peer[1].grpcStatus == code, "\(name)")
            #expect(peer[1].hasEnded, "\(name)")
            #expect(peer.ask(3, Bytes.get(3, "/v1/health")).status == 200, "\(name)")
        }
        // A message that is slow, or whose stream's time is over.
        for (fields, pass, code) in [
            ([], 7_000, 4), ([("grpc-timeout", "500m")], 1_000, 4),
        ] as [([Bytes.Field], UInt64, Int)] {
            let peer = SimulatedHTTP2Peer(server)
            peer.send(
                Bytes.head(1, Bytes.fields(Self.verifyStream, fields))
                    + Bytes.data(1, Array(good.dropLast())))
            server.pass(milliseconds: pass)
            peer.receive()
            #expect(peer[1].grpcStatus == code)
        }
        // A text that is no message is answered, without an id.
        let peer = SimulatedHTTP2Peer(server)
        peer.send(
            Bytes.head(1, Bytes.fields(Self.verifyStream))
                + Bytes.data(1, RPCBytes.frame([0xFF, 0xFF]) + good))
        #expect(RPCBytes.streamAnswers(peer[1]).codes == [0: 3])
        #expect(RPCBytes.streamAnswers(peer[1]).verdicts == [1: .valid])
        #expect(
            server.heldResources.evidenceBytes == 0 && server.heldResources.requestsInFlight == 0)
    }

    @Test("a stream that is given up drops its requests; others of the connection go on")
    func resets() throws {
        let server = try SimulatedServer { $0.workers = 1 }
        let peer = SimulatedHTTP2Peer(server)
        let token = try Minted.transaction.get()
        let body = (1...50 as ClosedRange<UInt64>).flatMap { RPCBytes.streamRequest($0, token) }
        peer.peer.send(
            Bytes.head(1, Bytes.fields(Self.verifyStream))
                + Bytes.data(1, body, ends: false, each: 16_000))
        while server.heldResources.requestsInFlight == 0, server.step() {}
        peer.send(Bytes.reset(1) + Bytes.call(3, RPCBytes.request(token)))
        #expect(peer[3].grpcStatus == 0)
        #expect(
            server.heldResources.requestsInFlight == 0 && server.heldResources.evidenceBytes == 0)
    }

    @Test("after the last stream is known, a message is refused with its number")
    func refusedByDrain() throws {
        let server = try RPCReceiptTests.streaming(1)
        let peer = SimulatedHTTP2Peer(server)
        let receipt = RPCBytes.streamRequest(
            1, try Minted.receipt(bytes: 200_000), kind: .appReceipt)
        let (start, rest) = (Array(receipt.prefix(30_000)), Array(receipt.dropFirst(30_000)))
        peer.send(
            Bytes.head(1, Bytes.fields(Self.verifyStream))
                + Bytes.data(1, start, ends: false, each: 16_000))
        server.drain()
        server.runUntilIdle()
        peer.receive()
        #expect(!peer[1].hasEnded && !peer.ends.isEmpty)
        let next = RPCBytes.streamRequest(2, try Minted.transaction.get())
        peer.send(Bytes.data(1, rest + next, ends: true, each: 16_000))
        let answers = RPCBytes.streamAnswers(peer[1])
        #expect(answers.verdicts == [1: .valid] && answers.codes == [2: 14])
        #expect(peer[1].hasEnded)
    }

    @Test("a drain answers what it has accepted, and ends the stream")
    func drain() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        let token = try Minted.transaction.get()
        peer.send(
            Bytes.head(1, Bytes.fields(Self.verifyStream))
                + Bytes.data(1, RPCBytes.streamRequest(1, token)))
        server.drain()
        server.runUntilIdle()
        peer.receive()
        #expect(RPCBytes.streamAnswers(peer[1]).verdicts == [1: .valid])
        // UNAVAILABLE: the client goes on elsewhere.
        #expect(peer[1].hasEnded && peer[1].grpcStatus == 14)
        server.pass(milliseconds: 100)
        #expect(peer.isAtEnd)
    }

    @Test("Watch says when the state changes")
    func watch() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        let watch = "/grpc.health.v1.Health/Watch"
        func service(_ name: String) -> [UInt8] {
            var message = MessageBuilder()
            message.set(1, text: name)
            return message.bytes
        }
        peer.send(Bytes.call(1, service("assay.v1.Verifier"), path: watch))
        peer.send(Bytes.call(3, service("other"), path: watch))
        peer.send(Bytes.head(5, Bytes.fields(watch), ends: true))
        #expect(peer[1].messages == [[8, 1]] && !peer[1].hasEnded)
        #expect(peer[3].messages == [[8, 3]] && !peer[3].hasEnded)
        #expect(peer[5].grpcStatus == 12)
        // It answers the PINGs that it is sent.
        for _ in 0..<120 {
            server.pass(milliseconds: 5_000)
            peer.receive()
        }
        #expect(peer[1].messages == [[8, 1]] && !peer[1].hasEnded)
        server.drain()
        server.runUntilIdle()
        peer.receive()
        #expect(peer[1].messages == [[8, 1], [8, 2]])
        #expect(peer[1].grpcStatus == 14 && peer[3].grpcStatus == 14)
    }

    @Test("reflection, in both versions", arguments: ["v1", "v1alpha"])
    func reflection(_ version: String) throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        let path = "/grpc.reflection.\(version).ServerReflection/ServerReflectionInfo"
        func ask(_ number: Int, _ text: String) -> [UInt8] {
            var message = MessageBuilder()
            message.set(1, text: "host")
            message.set(number, text: text)
            return RPCBytes.frame(message.bytes)
        }
        let table: [(number: Int, text: String, result: Int)] = [
            (7, "", 6), (4, "assay.v1.Verifier", 4), (4, "assay.v1.Verifier.VerifyStream", 4),
            (4, "assay.v1.VerifyRequest.evidence", 4), (3, "assay/v1/assay.proto", 4),
            (4, "grpc.health.v1.HealthCheckResponse.ServingStatus", 4),
            (4, "google.rpc.RetryInfo", 4), (4, "google.rpc.ErrorInfo", 4),
            (4, "google.rpc.Status", 4), (4, "google.protobuf.Any", 4),
            (4, "google.rpc.BadRequest", 7),
            (3, "nowhere.proto", 7), (4, "assay.v1.Other", 7), (5, "assay.v1.VerifyRequest", 7),
            (6, "assay.v1.VerifyRequest", 5), (6, "other", 7),
        ]
        peer.send(
            Bytes.head(1, Bytes.fields(path))
                + Bytes.data(1, table.flatMap { ask($0.number, $0.text) }, ends: true))
        server.pass(milliseconds: 10)
        peer.receive()
        let messages = peer[1].messages
        #expect(messages.count == table.count && peer[1].grpcStatus == 0)
        for (message, expected) in zip(messages, table) {
            #expect(RPCBytes.bytes(expected.result, of: message) != nil, "\(expected)")
            #expect(RPCBytes.bytes(1, of: message) == Array("host".utf8))
        }
        let list = String(decoding: messages.first ?? [], as: UTF8.self)
        #expect(list.contains("assay.v1.Verifier") && list.contains("grpc.health.v1.Health"))
        // Of a file its imports are there as well.
        let found = String(decoding: messages[1], as: UTF8.self)
        #expect(found.contains("assay/v1/service.proto") && found.contains("EvidenceKind"))
        let details = String(decoding: messages[6], as: UTF8.self)
        #expect(details.contains("error_details.proto") && details.contains("duration.proto"))
    }

    @Test("streams need gRPC, or Connect's streams over HTTP/2")
    func otherForms() throws {
        let server = try SimulatedServer()
        let peer = SimulatedHTTP2Peer(server)
        for (index, type) in [
            "application/proto", "application/json", "text/plain", "application/connect",
        ].enumerated() {
            let stream = Int32(2 * index + 1)
            let answer = peer.ask(
                stream, Bytes.post(stream, Self.verifyStream, [1], type: type))
            #expect(answer.status == 415)
        }
        let web = peer.ask(9, Bytes.post(9, Self.verifyStream, [1], type: "application/grpc-web"))
        #expect(web.status == 200 && RPCBytes.frames(web.data)?.trailers["grpc-status"] == "12")
        let caller = SimulatedCaller(server)
        for type in ["application/grpc", "application/connect+proto"] {
            let response = caller.ask(HTTPClient.post(Self.verifyStream, [1], type: type))
            #expect(response?.status == 415)
        }
        // A call with one message has other forms.
        let unary = "application/connect+proto"
        #expect(peer.ask(11, Bytes.post(11, RPCBytes.verify, [1], type: unary)).status == 415)
    }
}
