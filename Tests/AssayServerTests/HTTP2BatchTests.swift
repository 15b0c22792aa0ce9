import AssayModels
import AssayWire
import Testing

@testable import AssayServer
@testable import AssayTelemetry

/// Batches over HTTP/2: lines of one stream, each a request.
@Suite struct HTTP2BatchTests {
    private static let line =
        #"{"kind":"transaction","evidence":"e30.e30.e30"}"#

    /// What is answered after a part of a batch that stays silent.
    private static func answer(
        _ parts: [String], ends: Bool = false
    ) throws -> SimulatedHTTP2Peer.Answer {
        let server = try SimulatedServer(seed: 1) { configuration in
            configuration.limits.frameGraceMilliseconds = 1_000
        }
        let http2 = SimulatedHTTP2Peer(server)
        let fields = HTTP2Bytes.fields(
            SimulatedBatch.path, method: "POST", type: SimulatedBatch.type)
        http2.peer.send(HTTP2Bytes.head(1, fields, ends: false))
        for (index, part) in parts.enumerated() {
            let isLast = ends && index == parts.count - 1
            http2.peer.send(HTTP2Bytes.data(1, Array(part.utf8), ends: isLast))
        }
        for _ in 0..<60 { server.pass(milliseconds: 100) }
        http2.read(http2.peer.receive(upTo: .max))
        return http2[1]
    }

    @Test(
        "between lines the client is asked for a sign of life after the time of idleness",
        arguments: [true, false])
    func silent(isAlive: Bool) throws {
        let server = try SimulatedServer(seed: 1) { $0.limits.idleMilliseconds = 5_000 }
        let http2 = SimulatedHTTP2Peer(server)
        let fields = HTTP2Bytes.fields(
            SimulatedBatch.path, method: "POST", type: SimulatedBatch.type)
        http2.send(HTTP2Bytes.head(1, fields, ends: false))
        http2.send(HTTP2Bytes.data(1, Array("\(Self.line)\n".utf8)))
        http2.isPolite = isAlive
        for second in 1...60 {
            server.pass(milliseconds: 1_000)
            http2.receive()
            if !isAlive, second == 10 { #expect(http2.pings == 1) }
        }
        #expect(http2[1].text.split(separator: "\n").count == 1)
        #expect(server.heldResources.connections == (isAlive ? 1 : 0))
    }

    @Test("a line that does not end in time is refused, and ends the batch")
    func late() throws {
        // The parts, the statuses of the answers, and whether the answer has ended.
        let cases: [([String], Bool, [String], Bool)] = [
            ([Self.line + "\n"], true, ["verdict"], true),
            ([Self.line], true, ["verdict"], true),
            ([#"{"kind":"#], false, ["too slowly"], true),
            ([Self.line + "\n", #"{"kind":"#], false, ["verdict", "too slowly"], true),
            // Between lines nothing is late.
            ([Self.line + "\n"], false, ["verdict"], false),
        ]
        for (parts, ends, expected, hasEnded) in cases {
            let answer = try Self.answer(parts, ends: ends)
            let lines = answer.text.split(separator: "\n")
            #expect(lines.count == expected.count, "\(parts)")
            for (line, text) in zip(lines, expected) {
                #expect(line.contains(text), "\(parts)")
            }
            #expect(answer.hasEnded == hasEnded, "\(parts)")
        }
    }

    @Test("the lines of a batch that is given up are dropped; others of the connection go on")
    func resets() throws {
        let server = try SimulatedServer { $0.workers = 1 }
        let http2 = SimulatedHTTP2Peer(server)
        let fields = HTTP2Bytes.fields(
            SimulatedBatch.path, method: "POST", type: SimulatedBatch.type)
        let token = try Minted.transaction.get()
        // A chain that is not known waits for its validation.
        let foreign = try Minted.token(.transaction, by: Minted.foreign.get())
        let text = String(decoding: foreign, as: UTF8.self)
        let line = #"{"kind":"transaction","evidence":"\#(text)"}"#
        let body = Array([String](repeating: line, count: 20).joined(separator: "\n").utf8)
        http2.peer.send(
            HTTP2Bytes.head(1, fields, ends: false)
                + HTTP2Bytes.data(1, body + [0x0A], ends: false, each: 16_000))
        while server.heldResources.requestsInFlight == 0, server.step() {}
        http2.send(HTTP2Bytes.reset(1) + HTTP2Bytes.call(3, RPCBytes.request(token)))
        #expect(server.metrics.handled(.verify, .cancelled) > 0)
        #expect(http2[3].grpcStatus == 0)
        #expect(
            server.heldResources.requestsInFlight == 0 && server.heldResources.evidenceBytes == 0)
    }
}
