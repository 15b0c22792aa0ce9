import AssayClient
import AssayIO
import AssayModels
import AssayServer
import AssayWire
import Glibc
import TestSupport
import Testing

/// TLS and mutual TLS: the clients that the server accepts, and attacks by peers.
@Suite(.ownThread, .serialized, .timeLimit(.minutes(3))) struct HostileTLSTests {
    /// A server on a TLS port and a Unix socket.
    private static func with(
        _ tls: TLSContext, _ change: (inout ServerConfiguration) -> Void = { _ in },
        _ body: (SocketServer, Endpoint) async throws -> Void
    ) async throws {
        let test = try SocketServer {
            $0.listen.append(.tls(host: "127.0.0.1", port: 0))
            $0.tls = tls
            change(&$0)
        }
        let result: Result<Void, any Error>
        do { result = .success(try await body(test, test.server.endpoints[2])) } catch {
            result = .failure(error)
        }
        test.eventually {
            $0.connections == 0 && $0.handshakes == 0 && $0.evidenceBytes == 0
                && $0.bufferedBytes == 0
        }
        test.server.drain()
        test.server.wait()
        try result.get()
    }

    /// Returns the client's error; nil for an answer.
    private static func ask(_ endpoint: Endpoint, _ tls: TLSContext) async throws -> ClientError? {
        let client = try AssayClient(
            address: endpoint, options: ClientOptions(timeout: .seconds(20), tls: tls))
        defer { client.close() }
        do throws(ClientError) {
            let token = try? Minted.transaction.get()
            let answer = try await client.verify(token ?? [], as: .transaction)
            return answer.verification.verdict == .valid ? nil : .protocolViolation("verdict")
        } catch {
            return error
        }
    }

    @Test("line 67: the server's identity must match")
    func serverIdentity() async throws {
        let pki = try TestPKI(), other = try TestPKI()
        try await Self.with(pki.server(ofClients: false)) { test, endpoint in
            #expect(try await Self.ask(endpoint, pki.client()) == nil)
            #expect(try await Self.ask(endpoint, pki.client(serverName: "localhost")) == nil)
            let wrongName = try await Self.ask(endpoint, pki.client(serverName: "example.com"))
            #expect(wrongName == .connectFailed(.tls(.untrustedPeer("hostname mismatch"))))
            let foreign = try await Self.ask(endpoint, pki.client(trusting: other))
            guard case .tls(let cause)? = foreign?.cause, cause.reason == .untrustedPeer else {
                Issue.record("a foreign authority passed")
                return
            }
            // A peer that refuses is gone before the server has read its alert.
            test.eventually { _ in test.log.count(of: "the peer refused: ") == 2 }
        }
    }

    @Test("line 67: clients without a certificate, of another authority, expired")
    func clientCertificates() async throws {
        let pki = try TestPKI(), other = try TestPKI()
        let good = try pki.issue("backend")
        let table: [(identity: (String, String)?, logged: String?)] = [
            (good, nil),
            (nil, "the peer sent no certificate"),
            (try other.issue("backend"), "certificate is not trusted: "),
            (
                try pki.issue("backend", days: -9 ... -1),
                "certificate is not trusted: certificate has expired"
            ),
            (
                try pki.issue("backend", days: 1...9),
                "certificate is not trusted: certificate is not yet valid"
            ),
        ]
        try await Self.with(pki.server()) { test, endpoint in
            for (identity, logged) in table {
                let error = try await Self.ask(endpoint, pki.client(identity))
                guard let logged else {
                    #expect(error == nil)
                    continue
                }
                guard case .tls(let cause)? = error?.cause, cause.reason == .refusedByPeer else {
                    Issue.record("\(logged): \(String(describing: error))")
                    continue
                }
                test.eventually { _ in test.log.count(of: logged) > 0 }
            }
            #expect(try await Self.ask(endpoint, pki.client(good)) == nil)
        }
    }

    @Test("line 67: SPIFFE ids and names without permission get PERMISSION_DENIED")
    func clientNames() async throws {
        let pki = try TestPKI()
        let allowed = "spiffe://example.org/backend", foreign = "spiffe://example.org/other"
        let table: [(commonName: String, names: [TestPKI.Name], isAllowed: Bool)] = [
            ("x", [.uri(allowed)], true),
            ("x", [.uri(foreign)], false),
            ("x", [.uri(allowed + "/below")], false),
            ("x", [.uri("spiffe://Example.org/backend")], false),
            ("x", [.uri(allowed), .uri(foreign)], false),
            ("x", [.uri(foreign), .dns("backend.example.org")], true),
            ("x", [.dns("Backend.Example.org")], true),
            ("x", [.dns("backend.example.org.evil.test")], false),
            ("x", [.dns("*.example.org")], false),
            ("x", [.dns(allowed)], false),
            ("billing job", [], true),
            ("billing job", [.dns("other.example.org")], false),
            (allowed, [], false),
            ("billing", [], false),
        ]
        let names = [allowed, "backend.example.org", "billing job"]
        try await Self.with(pki.server(names: names)) { test, endpoint in
            for row in table {
                let identity = try pki.issue(row.commonName, row.names)
                let error = try await Self.ask(endpoint, pki.client(identity))
                if row.isAllowed {
                    #expect(error == nil, "\(row)")
                } else if error?.status?.code == .permissionDenied {
                    continue
                } else {
                    Issue.record("\(row): \(String(describing: error))")
                }
            }
            test.eventually { _ in test.log.count(of: "a peer without permission") > 0 }
        }
    }

    @Test(
        "line 67: certificates change without a dropped connection, for new connections")
    func rotation() async throws {
        let old = try TestPKI(), new = try TestPKI()
        var first: ServerConfiguration?
        try await Self.with(old.server(ofClients: false), { first = $0 }) { test, endpoint in
            let early = try AssayClient(
                address: endpoint,
                options: ClientOptions(retriesOnce: false, tls: try old.client()))
            try await early.ping()
            var second = try #require(first)
            second.tls = try new.server(ofClients: false)
            #expect(try test.server.reload(second) == [])
            for _ in 0..<20 { try await early.ping() }
            #expect(try await Self.ask(endpoint, old.client()) != nil)
            #expect(try await Self.ask(endpoint, new.client()) == nil)
            // The TLS listener could not continue without TLS settings.
            var without = second
            without.tls = nil
            #expect(throws: ServerError.noTLS(endpoint)) { try test.server.reload(without) }
            early.close()
        }
    }

    @Test("line 86: a reload ends connections of clients that lost their permission")
    func revocation() async throws {
        let pki = try TestPKI(), other = try TestPKI()
        let both = temporaryPath("both.pem")
        let authorities = try [pki, other].flatMap {
            try SystemFile.read($0.authority, limit: 1 << 20) ?? []
        }
        try SystemFile.create(both, authorities, mode: 0o600)
        let identity = try pki.issue("localhost", [.loopback, .dns("localhost")])
        func serving(_ authority: String?, _ names: [String] = []) throws -> TLSContext {
            try TLSContext(
                server: TLSServerSettings(
                    certificate: identity.certificate, key: identity.key,
                    clientAuthority: authority, clientNames: names))
        }
        var first: ServerConfiguration?
        try await Self.with(serving(both), { first = $0 }) { test, endpoint in
            func connect(_ identity: (String, String)?) async throws -> AssayClient {
                let client = try AssayClient(
                    address: endpoint,
                    options: ClientOptions(retriesOnce: false, tls: try pki.client(identity)))
                try await client.ping()
                return client
            }
            let backend = try await connect(pki.issue("backend"))
            let billing = try await connect(pki.issue("billing"))
            let foreign = try await connect(other.issue("backend"))
            var configuration = try #require(first)
            // Rows: authorities and names of a reload, and the connections that it closes.
            for (authority, names, ended) in [
                (both, [], []), (both, ["backend"], ["billing"]),
                (pki.authority, ["backend"], ["foreign"]), (pki.authority, [], []),
            ] as [(String, [String], [String])] {
                let closed = test.log.count(of: "a peer that lost its permission")
                configuration.tls = try serving(authority, names)
                #expect(try test.server.reload(configuration) == [])
                test.eventually { _ in
                    test.server.metrics?.faults["a peer that lost its permission"] ?? 0
                        >= UInt64(closed + ended.count)
                }
                for (name, client) in [("billing", billing), ("foreign", foreign)]
                where ended.contains(name) {
                    await #expect(throws: ClientError.self) { try await client.ping() }
                    client.close()
                }
                try await backend.ping()
            }
            // From here on clients need a certificate. Connections without one are closed.
            backend.close()
            configuration.tls = try serving(nil)
            #expect(try test.server.reload(configuration) == [])
            let anonymous = try await connect(nil)
            configuration.tls = try serving(both)
            #expect(try test.server.reload(configuration) == [])
            test.eventually { $0.connections == 0 }
            anonymous.close()
        }
    }

    // MARK: Peers that misbehave

    @Test("line 67: plain bytes at a TLS address get an answer, and TLS at a plain one")
    func plainBytes() async throws {
        let pki = try TestPKI()
        try await Self.with(pki.server()) { test, endpoint in
            let plain = try RawClient(endpoint)
            try plain.send(RawClient.ping(1))
            try plain.expectEnd(.invalidArgument)
            // TLS to a plain listener: an answer that no TLS client can read, and the end of the
            // stream.
            guard case .tcp(let host, let port) = test.tcp else { return }
            let error = try await Self.ask(.tls(host: host, port: port), pki.client())
            #expect(error == .connectFailed(.tls(.noTLS)))
            #expect("\(error!)".contains("does not speak TLS: write tcp://HOST:PORT, or"))
        }
    }

    @Test("line 67: garbage and partial handshakes end with a reason in the log")
    func garbage() async throws {
        let pki = try TestPKI()
        var random = SystemRandomNumberGenerator()
        try await Self.with(pki.server()) { test, endpoint in
            for count in [1, 5, 6, 100, 20_000] {
                let client = try BlockingClient(endpoint)
                // The bytes begin like a handshake record.
                let noise = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
                try? client.send(Array([22, 3, 1, 0, 200].prefix(count)) + noise.dropFirst(5))
                client.finishWriting()
                _ = try? client.receiveToEnd()
            }
            for count in [0, 1] {
                let client = try BlockingClient(endpoint)
                try client.send([UInt8](repeating: 22, count: count))
                client.reset()
            }
            test.eventually { _ in test.log.count(of: "TLS protocol error: ") > 0 }
            test.eventually { _ in
                test.log.count(of: "closed the connection during the TLS handshake") > 0
            }
            #expect(try await Self.ask(endpoint, pki.client(pki.issue("backend"))) == nil)
        }
    }

    @Test(
        "line 61: silent and slow handshakes end in time and do not block others",
        .enabled(if: TimedTests.areEnabled)
    )
    func slowHandshakes() async throws {
        let pki = try TestPKI()
        // Longer than the test, which moves the clock itself.
        let handshakeMilliseconds: UInt64 = 120_000
        try await Self.with(pki.server(ofClients: false)) {
            $0.limits.handshakes = 8
            $0.limits.handshakeMilliseconds = handshakeMilliseconds
        } _: { test, endpoint in
            let slow = try (0..<8).map { _ in try BlockingClient(endpoint) }
            for client in slow[..<4] { try client.send([22]) }
            test.eventually { $0.handshakes == 8 }
            #expect(test.server.heldResources?.connections == 0)
            // The oldest handshake is closed for a new one.
            #expect(try await Self.ask(endpoint, pki.client()) == nil)
            #expect(test.log.count(of: "too many simultaneous TLS handshakes") == 1)
            test.server.advanceClock(byMilliseconds: handshakeMilliseconds + 100)
            for client in slow { #expect((try? client.receiveToEnd()) != nil) }
            test.eventually { _ in test.log.count(of: "the TLS handshake took too long") == 7 }
        }
    }

    /// A connected peer reads nothing: its unwritten answers stay bounded, and the server closes
    /// it.
    @Test(
        "line 61: a TLS peer that does not read its answers",
        .enabled(if: TimedTests.areEnabled)
    )
    func writeStall() async throws {
        let pki = try TestPKI()
        try await Self.with(pki.server(ofClients: false)) {
            $0.limits.useDefaultTimeLimits()
        } _: { test, endpoint in
            let loop = try EventLoop(name: "stalled")
            try loop.start()
            let context = try pki.client()
            let requests = (1...2000 as ClosedRange<UInt64>).flatMap {
                RawClient.frame(RequestHead(id: $0, call: .info))
            }
            try loop.call { () throws(LoopError) in
                var kept: AssayIO.Stream?
                kept = try AssayIO.Stream.connect(to: endpoint, on: loop, tls: context) { event in
                    guard case .connected = event, let stream = kept else { return }
                    stream.pauseReading()
                    stream.write(requests)
                }
            }
            test.eventually { $0.requestsInFlight == 0 && $0.unwrittenBytes > 0 }
            #expect(test.server.heldResources?.unwrittenBytes ?? 0 < 4 << 20)
            test.server.advanceClock(byMilliseconds: 2 * ServerLimits().writeStallMilliseconds)
            test.eventually { $0.connections == 0 }
            #expect(test.log.count(of: "the peer does not read its answers") == 1)
            loop.stop()
            loop.join()
        }
    }

    // MARK: Load

    @Test("a deep pipeline over TLS", .timeLimit(.minutes(2)))
    func pipeline() async throws {
        let pki = try TestPKI()
        let token = try Minted.transaction.get()
        try await Self.with(pki.server(ofClients: false)) { test, endpoint in
            let client = try AssayClient(
                address: endpoint,
                options: ClientOptions(timeout: .seconds(30), tls: try pki.client()))
            defer { client.close() }
            try await withThrowingTaskGroup(of: Verdict.self) { group in
                for _ in 0..<3_000 {
                    group.addTask {
                        try await client.verify(
                            token, VerifyCall(kind: .transaction), mayWait: true
                        ).verification.verdict
                    }
                }
                var valid = 0
                for try await verdict in group where verdict == .valid { valid += 1 }
                #expect(valid == 3_000)
            }
        }
    }

    @Test("a receipt of several megabytes over TLS")
    func receipt() async throws {
        let pki = try TestPKI()
        let receipt = try Minted.receipt(bytes: 3_000_000)
        try await Self.with(pki.server(ofClients: false)) { test, endpoint in
            let client = try AssayClient(
                address: endpoint,
                options: ClientOptions(timeout: .seconds(30), tls: try pki.client()))
            defer { client.close() }
            for _ in 0..<3 {
                let answer = try await client.verify(
                    receipt, VerifyCall(kind: .appReceipt, returnsTypedPayload: true, inApp: .all))
                #expect(answer.verification.verdict == .valid, "\(answer.verification.detail)")
            }
        }
    }
}
