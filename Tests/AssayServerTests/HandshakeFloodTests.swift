import AssayClient
import AssayIO
import AssayModels
import AssayServer
import AssayWire
import Glibc
import Synchronization
import TestSupport
import Testing

/// More TLS handshakes than the server has time for.
@Suite(.ownThread, .serialized, .timeLimit(.minutes(5))) struct HandshakeFloodTests {
    /// A ClientHello: makes the server sign, and costs its sender nothing.
    private static func hello(_ pki: TestPKI) throws -> [UInt8] {
        let path = temporaryPath("hello")
        let listening = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        defer { close(listening) }
        bindSocket(listening, path)
        _ = listen(listening, 1)
        let loop = try EventLoop(name: "hello")
        try loop.start()
        defer {
            loop.stop()
            loop.join()
        }
        let context = try pki.client()
        try loop.call { () throws(LoopError) in
            var kept: AssayIO.Stream?
            kept = try .connect(to: .unix(path: path), on: loop) { event in
                if case .connected = event {
                    try? kept?.secure(context, host: "localhost")
                }
            }
        }
        let accepted = accept(listening, nil, nil)
        defer { close(accepted) }
        var bytes = [UInt8](repeating: 0, count: 4096)
        let count = unsafe bytes.withUnsafeMutableBytes {
            unsafe recv(accepted, $0.baseAddress!, $0.count, 0)
        }
        return Array(bytes.prefix(count))
    }

    /// A TLS server that gives handshakes little time.
    private static func with(
        _ pki: TestPKI, _ change: (inout ServerLimits) -> Void = { _ in },
        _ body: (SocketServer, Endpoint) async throws -> Void
    ) async throws {
        let test = try SocketServer {
            $0.listen.append(.tls(host: "127.0.0.1", port: 0))
            $0.tls = try? pki.server(ofClients: false)
            // 10 ms at once, and 10 ms more each second.
            $0.limits.handshakePercent = 1
            $0.limits.handshakeMilliseconds = 120_000
            change(&$0.limits)
        }
        let result: Result<Void, any Error>
        do { result = .success(try await body(test, test.server.endpoints[2])) } catch {
            result = .failure(error)
        }
        test.eventually(seconds: 60) { $0.connections == 0 && $0.handshakes == 0 }
        test.server.drain()
        test.server.wait()
        try result.get()
    }

    private static func client(_ endpoint: Endpoint, _ tls: TLSContext) throws -> AssayClient {
        try AssayClient(
            address: endpoint,
            options: ClientOptions(
                timeout: .seconds(30), connectTimeout: .seconds(30), retriesOnce: false,
                tls: tls))
    }

    private static func ping(_ endpoint: Endpoint, _ tls: TLSContext) async throws {
        let client = try client(endpoint, tls)
        defer { client.close() }
        try await client.ping()
    }

    /// Sends ClientHellos until the server has spent its handshake budget and some wait.
    private static func flood(
        _ test: SocketServer, _ endpoint: Endpoint, _ hello: [UInt8], waiting: Int
    ) throws -> [BlockingClient] {
        var flood: [BlockingClient] = []
        while flood.count < 5_000 {
            if try #require(test.server.heldResources).handshakesWaiting >= waiting { return flood }
            let client = try BlockingClient(endpoint)
            try client.send(hello)
            flood.append(client)
        }
        Issue.record("a flood of handshakes was processed without a queue")
        return flood
    }

    @Test(
        "line 61: a flood of handshakes waits while open connections are served",
        .enabled(if: TimedTests.areEnabled)
    )
    func flood() async throws {
        let pki = try TestPKI()
        let hello = try Self.hello(pki), tls = try pki.client()
        try await Self.with(pki) { test, endpoint in
            let connected = try Self.client(endpoint, tls)
            try await connected.ping()
            let flood = try Self.flood(test, endpoint, hello, waiting: 20)
            try await withThrowingTaskGroup(of: Void.self) { group in
                // These handshakes complete in the end, behind the flood.
                for _ in 0..<3 { group.addTask { try await Self.ping(endpoint, tls) } }
                let start = ContinuousClock.now
                var served = 0
                while try #require(test.server.heldResources).handshakesWaiting > 0 {
                    try await connected.ping()
                    served += 1
                }
                // Handled in order of arrival, all handshakes would have completed before the
                // second answer.
                let seconds = ContinuousClock.now - start
                #expect(served >= 5, "\(served) in \(seconds)")
                print("handshakes: \(flood.count) held back, \(served) answers in \(seconds)")
                try await group.waitForAll()
            }
            connected.close()
            for client in flood { client.close() }
        }
    }

    @Test(
        "line 61: with a full queue further TLS connections wait to be accepted; others are served")
    func full() async throws {
        let pki = try TestPKI()
        let hello = try Self.hello(pki), tls = try pki.client()
        try await Self.with(pki) {
            $0.handshakes = 12
        } _: { test, endpoint in
            let flood = try Self.flood(test, endpoint, hello, waiting: 12)
            let reason = "the queue of TLS handshakes is full: more connections wait"
            test.eventually { _ in test.server.metrics?.faults[reason] ?? 0 > 0 }
            async let late: Void = Self.ping(endpoint, tls)
            for _ in 0..<10 {
                let plain = try RawClient(test.tcp)
                try plain.expectPong()
            }
            try await late
            for client in flood { client.close() }
        }
    }

    @Test("a peer that disconnects in the queue costs no handshake")
    func gone() async throws {
        let pki = try TestPKI()
        let hello = try Self.hello(pki)
        try await Self.with(pki) { test, endpoint in
            let flood = try Self.flood(test, endpoint, hello, waiting: 300)
            for client in flood { client.close() }
            // Long before their deadline.
            test.eventually(seconds: 60) { $0.handshakes == 0 }
        }
    }

    @Test(
        "a peer that waits too long is closed",
        .enabled(if: TimedTests.areEnabled)
    )
    func late() async throws {
        let pki = try TestPKI()
        let hello = try Self.hello(pki)
        try await Self.with(pki) {
            $0.handshakeMilliseconds = 1_000
        } _: { test, endpoint in
            let flood = try Self.flood(test, endpoint, hello, waiting: 300)
            test.eventually { _ in test.log.count(of: "too many simultaneous TLS handshakes") > 0 }
            for client in flood { client.close() }
        }
    }

    @Test("a drain shortens the time of open handshakes")
    func drain() async throws {
        let pki = try TestPKI()
        let hello = try Self.hello(pki)
        try await Self.with(pki) { test, endpoint in
            let flood = try Self.flood(test, endpoint, hello, waiting: 50)
            test.server.drain()
            // All get their answer. At one percent of the time that would take a while.
            for client in flood { #expect(try client.receive(exactly: 5) != nil) }
            for client in flood { client.close() }
        }
    }
}
