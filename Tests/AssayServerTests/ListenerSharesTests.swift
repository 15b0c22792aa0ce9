import AssayClient
import AssayIO
import AssayWire
import Glibc
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssayTelemetry

/// Clients of one listener leave sockets for the other listeners.
@Suite("Hostile silence at a listener", .ownThread, .serialized, .timeLimit(.minutes(3)))
struct ListenerSharesTests {
    /// Rows: the socket limit, the sockets of each listener's clients, and whether each listener
    /// can accept another one.
    @Test(
        "line 84: half of the sockets are reserved for the listeners, the rest are shared",
        arguments: [
            (8, [7], [true]), (8, [8], [false]), (1, [0], [true]), (1, [1], [false]),
            // Two listeners: a quarter each.
            (8, [0, 0], [true, true]), (8, [5, 0], [true, true]), (8, [6, 0], [false, true]),
            (8, [6, 1], [false, true]), (8, [6, 2], [false, false]), (8, [5, 1], [true, true]),
            (8, [5, 2], [true, true]), (8, [4, 4], [false, false]), (8, [0, 6], [true, false]),
            (9, [6, 0], [true, true]), (9, [7, 0], [false, true]),
            // Three listeners: a sixth each.
            (12, [7, 0, 0], [true, true, true]), (12, [8, 0, 0], [false, true, true]),
            (12, [8, 2, 0], [false, false, true]), (12, [8, 1, 1], [false, true, true]),
            (12, [8, 2, 1], [false, false, true]), (12, [8, 2, 2], [false, false, false]),
            (12, [7, 2, 2], [true, true, true]), (12, [6, 2, 2], [true, true, true]),
            // Too few sockets to share, and a limit lowered by a reload.
            (1, [0, 0], [true, true]), (1, [1, 0], [false, false]),
            (4, [6, 0], [false, false]), (8, [8, 0], [false, false]),
        ] as [(Int, [Int], [Bool])])
    func shares(limit: Int, counts: [Int], expected: [Bool]) {
        var shares = ListenerSockets(limit: limit)
        for count in counts {
            let listener = shares.addListener()
            for _ in 0..<count { shares.didOpen(listener) }
        }
        #expect(shares.total == counts.reduce(0, +))
        #expect(counts.indices.map { shares.canAccept($0) } == expected)
        // Opening and closing a socket restores the previous state.
        for listener in counts.indices {
            shares.didOpen(listener)
            shares.didClose(listener)
        }
        #expect(counts.indices.map { shares.canAccept($0) } == expected)
    }

    @Test("line 84: no order of connections takes a listener's share")
    func anyOrder() {
        var random = SystemRandomNumberGenerator()
        var shares = ListenerSockets(limit: 20)
        var counts = (0..<3).map { _ in shares.addListener() }.map { _ in 0 }
        for _ in 0..<20_000 {
            let listener = Int.random(in: 0..<3, using: &random)
            if Int.random(in: 0..<3, using: &random) > 0 {
                if shares.canAccept(listener) {
                    shares.didOpen(listener)
                    counts[listener] += 1
                }
            } else if counts[listener] > 0 {
                shares.didClose(listener)
                counts[listener] -= 1
            }
            #expect(shares.total == counts.reduce(0, +) && shares.total <= 20)
            for other in 0..<3 where counts[other] < 3 {
                #expect(shares.canAccept(other), "\(counts)")
            }
        }
    }

    /// A server with 24 sockets, four of which are reserved for each of its three listeners.
    private static func withFewSockets(
        _ pki: TestPKI, _ body: (SocketServer, _ tls: Endpoint) throws -> Void
    ) throws {
        let test = try SocketServer {
            $0.listen.append(.tls(host: "127.0.0.1", port: 0))
            $0.tls = try? pki.server(ofClients: false)
            $0.limits.connections = 24
            // Each worker has its part of the limit of handshakes.
            $0.workers = 1
            $0.limits.handshakeMilliseconds = 120_000
        }
        defer {
            test.eventually { $0.connections == 0 && $0.handshakes == 0 }
            test.server.drain()
            test.server.wait()
        }
        try body(test, test.server.endpoints[2])
    }

    @Test("line 84: silent TLS handshakes count, the oldest are closed, and others are served")
    func silentHandshakes() throws {
        try Self.withFewSockets(TestPKI()) { test, tls in
            let silent = try (0..<40).map { _ in try BlockingClient(tls) }
            defer { for client in silent { client.close() } }
            // The most recent handshakes stay, in a quarter of the sockets.
            test.eventually {
                $0.handshakes == 6
                    && test.log.count(of: "too many simultaneous TLS handshakes") > 0
            }
            for client in silent.prefix(20) { #expect(try client.receive(upTo: 1).isEmpty) }
            #expect(!silent[39].hasMore(milliseconds: 0))
            let clients = try [test.unix, test.tcp, test.unix, test.tcp].map { try RawClient($0) }
            for client in clients { try client.expectPong() }
            // Clients of the same listener are not kept out either.
            let plain = try RawClient(tls)
            try plain.send(RawClient.ping(1))
            try plain.expectEnd(.invalidArgument)
        }
    }

    @Test(
        "line 84: one listener can use all but the others' shares; a close frees a slot")
    func silentConnections() throws {
        try Self.withFewSockets(TestPKI()) { test, tls in
            let flood = try (0..<20).map { _ in try BlockingClient(test.tcp) }
            defer { for client in flood { client.close() } }
            for client in flood { try client.send(RawClient.ping(1)) }
            test.eventually { $0.connections == 16 }
            // Four sockets for each of the two other listeners. Their fifth client waits like
            // the flood's.
            let others = try (0..<4).map { _ in try RawClient(test.unix) }
            for client in others { try client.expectPong() }
            let fifth = try RawClient(test.unix)
            try fifth.send(RawClient.ping(5))
            let silent = try (0..<4).map { _ in try BlockingClient(tls) }
            defer { for client in silent { client.close() } }
            test.eventually { $0.connections == 20 && $0.handshakes == 4 }
            #expect(!flood[16].hasMore(milliseconds: 50) && !fifth.socket.hasMore(milliseconds: 0))

            others[0].socket.close()
            #expect(try fifth.receive()?.head == ResponseHead(id: 5, result: .pong))
            // Waiting clients of the flood get the sockets that the flood frees.
            #expect(!flood[16].hasMore(milliseconds: 50))
            for client in flood.prefix(4) { client.close() }
            for client in flood.suffix(4) { #expect(try !client.receive(upTo: 100).isEmpty) }
        }
    }

    /// The process's descriptor limit, and the number of silent sockets.
    private static let (descriptors, silentClients) = (100, 200)

    @Test(
        "line 84: silent clients of one listener, up to the descriptor limit: others are served",
        .enabled(if: TimedTests.areEnabled),
        arguments: ["tls", "tcp", "unix", "admin"])
    func descriptors(of flooded: String) async throws {
        let pki = try TestPKI()
        let files = try pki.issue("localhost", [.loopback, .dns("localhost")])
        let (config, root) = (temporaryPath("shares"), temporaryPath("root"))
        let admin = "unix:" + temporaryPath("admin")
        try Present.writeRoot(root)
        let text = """
            listen = ["unix:\(temporaryPath("s"))", "tcp://127.0.0.1:0", "tls://127.0.0.1:0"]
            [tls]
            certificate = "\(files.certificate)"
            key = "\(files.key)"
            [admin]
            listen = "\(admin)"
            [[app]]
            name = "one"
            bundle-id = "\(Minted.bundleId)"
            environments = ["Sandbox"]
            development-roots = ["\(root)"]

            """
        try SystemFile.create(config, Array(text.utf8), mode: 0o600)
        let server = try ServerProcess(["--config", config], descriptors: Self.descriptors)
        try #require(!server.ready.isEmpty, "\(server.log)")
        let own = server.descriptors
        let address = flooded == "admin" ? admin : server.address(flooded)
        let silent = try (0..<Self.silentClients).map { _ in
            try BlockingClient(Endpoint(address))
        }
        if flooded == "admin" {
            let most = ServerLimits.adminConnections(ofDescriptors: Self.descriptors)
            for _ in 0..<20 * 100 where server.descriptors < own + most { usleep(10_000) }
            // Time to accept more than the limit, if that were possible.
            usleep(300_000)
            // A file can be open for a moment.
            #expect(server.descriptors <= own + most + 2)
        }
        // Silent connections can use up their listener's share. Silent handshakes can't.
        for scheme in ["tls", "tcp", "unix"] where scheme != flooded || scheme == "tls" {
            let options = ClientOptions(
                timeout: .seconds(20), connectTimeout: .seconds(20), retriesOnce: false,
                tls: scheme == "tls" ? try pki.client() : nil)
            for _ in 0..<20 {
                let client = try AssayClient(
                    address: Endpoint(server.address(scheme)), options: options)
                defer { client.close() }
                try await client.ping()
            }
        }
        for client in silent { client.close() }
        #expect(server.end() == 0, "\(server.log)")
    }
}
