import AssayIO
import AssayModels
import AssayWire
import Foundation
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry

/// Line 274 of the hostile inputs: what one client sends over each protocol costs itself alone.
@Suite("Hostile clients") struct HostileClientTests {
    /// A way to cost much with little.
    enum Generator: CaseIterable {
        /// Sends a byte now and then.
        case trickle
        /// Sends the beginning of something that does not end.
        case noEnd
        /// Sends little that becomes much.
        case expansion
        /// Asks and leaves, again and again.
        case churn
        /// Asks for long answers, and reads none.
        case noReading
        /// Connects, and asks for nothing more.
        case idle
    }

    /// Each session of the server, which reads and holds in its own way.
    enum Wire: CaseIterable {
        case frames, http1, http2

        var endpoint: Endpoint { self == .frames ? SimulatedServer.frames : SimulatedServer.http }
    }

    private static let hostile = PeerKey.user(1)
    private static let memory = 4 << 20
    private static let connections = 200

    private static func makeServer(memory: Int = Self.memory) throws -> SimulatedServer {
        try SimulatedServer {
            $0.workers = 1
            $0.limits.evidenceBytes = memory
        }
    }

    // MARK: What is sent

    /// What a connection sends at once.
    private static func bytes(_ generator: Generator, _ wire: Wire) throws -> [UInt8] {
        switch wire {
        case .frames: try frames(generator)
        case .http1: try http1(generator)
        case .http2: HTTP2Bytes.start + (try http2(generator))
        }
    }

    private static func frames(_ generator: Generator) throws -> [UInt8] {
        let evidence = try SimulatedEvidence.all.get()
        switch generator {
        case .trickle: return Array(RawClient.verify(1, .transaction, evidence.genuine).prefix(40))
        case .noEnd:
            return Array(
                RawClient.verify(1, .notification, [UInt8](repeating: 65, count: 60_000)).dropLast()
            )
        case .expansion: return RawClient.verify(1, .appReceipt, evidence.receipt)
        case .churn:
            return (1...20).flatMap { RawClient.verify($0, .transaction, evidence.genuine) }
        case .noReading:
            return (1...50).flatMap { RawClient.frame(RequestHead(id: $0, call: .info)) }
        case .idle: return RawClient.ping(1)
        }
    }

    private static func http1(_ generator: Generator) throws -> [UInt8] {
        let evidence = try SimulatedEvidence.all.get()
        let verify = "/v1/verify?kind=transaction"
        switch generator {
        case .trickle: return Array(HTTPClient.post(verify, evidence.genuine).prefix(40))
        case .noEnd:
            return Array("GET / HTTP/1.1\r\nhost: localhost\r\nx: ".utf8)
                + [UInt8](repeating: 65, count: 12_000)
        case .expansion:
            let values = String(repeating: "1,", count: 50_000)
            return Array(HTTPClient.post("/v1/verify", json: #"{"evidence":[\#(values)1]}"#))
        case .churn:
            return Array(
                repeatElement(HTTPClient.post(verify, evidence.genuine), count: 20).joined())
        case .noReading:
            return Array(repeatElement(HTTPClient.get("/openapi.json"), count: 50).joined().utf8)
        case .idle: return Array(HTTPClient.get("/v1/health").utf8)
        }
    }

    private static func http2(_ generator: Generator) throws -> [UInt8] {
        let evidence = try SimulatedEvidence.all.get()
        let call = HTTP2Bytes.call(1, RPCBytes.request(evidence.genuine, kind: .transaction))
        switch generator {
        case .trickle: return Array(call.prefix(40))
        case .noEnd:
            let field = HTTP2Bytes.block([("x", String(repeating: "a", count: 15_000))])
            return HTTP2Bytes.frame(
                1, 0, 1, HTTP2Bytes.block(HTTP2Bytes.fields("/")) + field.dropLast(100))
        case .expansion:
            // A field of the dynamic table, and a byte each time it is named.
            let field: [UInt8] =
                [0x40, 1, 120] + HTTP2Bytes.length(3_900) + [UInt8](repeating: 97, count: 3_900)
            let head = HTTP2Bytes.block(HTTP2Bytes.fields("/v1/health", method: "GET", type: nil))
            return HTTP2Bytes.frame(1, 5, 1, head + field)
                + HTTP2Bytes.frame(1, 5, 3, head + [UInt8](repeating: 0xBE, count: 8_000))
        case .churn:
            return (0..<20).flatMap {
                HTTP2Bytes.call(
                    2 * $0 + 1, RPCBytes.request(evidence.genuine, kind: .transaction))
            }
        case .noReading:
            return (0..<50).flatMap { HTTP2Bytes.get(2 * $0 + 1, "/openapi.json") }
        case .idle:
            return HTTP2Bytes.head(1, HTTP2Bytes.fields("/grpc.health.v1.Health/Watch"))
                + HTTP2Bytes.data(1, RPCBytes.frame([]))
        }
    }

    // MARK: What others notice

    @Test(
        "line 274: a hostile client does not affect another one, over any protocol",
        arguments: Wire.allCases, Generator.allCases)
    func othersAreServed(_ wire: Wire, _ generator: Generator) throws {
        let server = try Self.makeServer()
        let evidence = try SimulatedEvidence.all.get()
        let ledger = MemoryLedger()
        func honest() -> SimulatedFrameClient {
            SimulatedFrameClient(server.connect(from: .user(2)), evidence)
        }
        let earlier = honest()
        let bytes = try Self.bytes(generator, wire)
        var peers: [SimulatedPeer] = []
        for index in 1...Self.connections {
            let peer = server.connect(to: wire.endpoint, from: Self.hostile)
            peer.send(bytes)
            if generator == .churn {
                for _ in 0..<3 { server.step() }
                peer.reset()
            } else {
                server.runUntilIdle()
                peers.append(peer)
            }
            guard index % 20 == 0 else { continue }
            let held = server.heldResources.heldBytes
            try #require(held <= Self.memory + Self.lastRead)
            let problem = ledger.problem(of: server)
            try #require(problem == nil)
        }
        for (index, client) in [earlier, honest()].enumerated() {
            for _ in 0..<5 { client.ask(.genuine) }
            server.pass(milliseconds: 200)
            if generator == .trickle { for peer in peers { peer.send([1]) } }
            #expect(client.receive(upTo: .max) == nil)
            let statuses = client.answers.map(\.status)
            #expect(statuses == Array(repeating: .ok, count: 5), "\(index)")
        }
        #expect(ledger.problem(of: server) == nil)
    }

    /// What a connection can bring in one read before its memory is counted.
    private static let lastRead = 128 << 10

    @Test(
        "line 275: while memory is low, silent connections of the client with the most are closed"
    )
    func silent() throws {
        let memory = 1 << 20
        for wire in Wire.allCases {
            let server = try Self.makeServer(memory: memory)
            let idle = try Self.bytes(.idle, wire)
            func connect(_ peer: PeerKey) -> SimulatedPeer {
                let client = server.connect(to: wire.endpoint, from: peer)
                client.send(idle)
                server.runUntilIdle()
                return client
            }
            let other = connect(.user(2))
            server.pass(milliseconds: ServerLimits.silenceMilliseconds + 200)
            var count = 0
            while count < 5_000, server.heldResources.heldBytes < memory / 16 * 13 {
                _ = connect(Self.hostile)
                count += 1
            }
            #expect(count < 5_000, "\(wire)")
            #expect(server.heldResources.connections == count + 1, "\(wire)")
            server.pass(milliseconds: ServerLimits.silenceMilliseconds + 200)
            // Those that are being closed are counted until their peers have closed, too.
            var open: [PeerKey: Int] = [:]
            server.forEachWorker { _, worker in
                for connection in worker.connections.all where connection.isOpen {
                    open[connection.peer.key, default: 0] += 1
                }
            }
            #expect(open[.user(2)] == 1 && !other.isAtEnd, "\(wire)")
            let left = open[Self.hostile] ?? 0
            #expect(left < count && left > count / 2, "\(wire): \(left) of \(count)")
        }
    }

    @Test("Each session of the server is attacked")
    func sessions() throws {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../Sources/AssaySessions").standardized
        let files = FileManager.default.enumerator(at: folder, includingPropertiesForKeys: nil)
        var sessions: Set<Substring> = []
        while let file = files?.nextObject() as? URL {
            guard file.pathExtension == "swift" else { continue }
            let text = try String(contentsOf: file, encoding: .utf8)
            for match in text.matches(of: /class (\w+): (?:Request)?Session\b/) {
                sessions.insert(match.1)
            }
        }
        let server = try Self.makeServer()
        var attacked: Set<Substring> = []
        for wire in Wire.allCases {
            server.connect(to: wire.endpoint, from: Self.hostile).send(
                try Self.bytes(.idle, wire))
            server.runUntilIdle()
        }
        server.forEachWorker { _, worker in
            for connection in worker.connections.all {
                attacked.insert(Substring("\(type(of: connection.session))"))
            }
        }
        #expect(sessions == attacked && !sessions.isEmpty)
    }
}
