import AssayClient
import AssayIO
import AssayWire
import TestSupport
import Testing

/// Tests of clients with several addresses.
@Suite(.timeLimit(.minutes(1)))
struct FailoverTests {
    private static let nowhere = Endpoint.unix(path: "/tmp/assay-no-such.sock")

    /// Answers pings, and drains if `drains` says so.
    private func server(drains: Bool = false) throws -> FakeServer {
        try FakeServer { peer, head, _ in
            peer.pong(head.id)
            if drains {
                peer.answer(ResponseHead(id: ResponseHead.connectionId, status: .unavailable))
            }
        }
    }

    @Test("an address that fails is skipped")
    func skips() async throws {
        let server = try server()
        defer { server.stop() }
        let client = try AssayClient(
            addresses: [Self.nowhere, Self.nowhere, server.endpoint], options: .longTimeout)
        defer { client.close() }
        for _ in 0..<3 { try await client.ping() }
        #expect(server.connectionCount == 1)
    }

    @Test("calls fail when all addresses have failed, and succeed when one is back")
    func comesBack() async throws {
        let early = try server()
        early.stop()
        let client = try AssayClient(
            addresses: [Self.nowhere, early.endpoint], options: .longTimeout)
        defer { client.close() }
        let error = await #expect(throws: ClientError.self) { try await client.ping() }
        #expect(error == .connectFailed(.connectionRefused))
        let server = try FakeServer(at: early.endpoint) { peer, head, _ in peer.pong(head.id) }
        defer { server.stop() }
        try await client.ping()
    }

    @Test(
        "after a drain the next address gets the calls, and after the last one the first",
        .enabled(if: TimedTests.areEnabled)
    )
    func drains() async throws {
        let first = try server(drains: true)
        let second = try server(drains: true)
        defer {
            first.stop()
            second.stop()
        }
        let client = try AssayClient(
            addresses: [first.endpoint, second.endpoint], options: .longTimeout)
        defer { client.close() }
        for (one, other) in [(1, 0), (1, 1), (2, 1)] {
            try await client.ping()
            #expect(first.connectionCount == one)
            #expect(second.connectionCount == other)
            // The drain arrives after the answer.
            try await Task.sleep(for: .milliseconds(50))
        }
    }

    @Test func addressesOfTheEnvironment() throws {
        let table: [(String?, [Endpoint])] = [
            (nil, []), ("", []), (" , ", []),
            ("unix:/a", [.unix(path: "/a")]),
            (
                "unix:/a,tcp://h:1 tls://h:2",
                [
                    .unix(path: "/a"), .tcp(host: "h", port: 1), .tls(host: "h", port: 2),
                ]
            ),
        ]
        for (text, addresses) in table {
            let environment = text.map { ["ASSAY_ADDRESS": $0] } ?? ["ASSAY_LISTEN": "unix:/b"]
            #expect(try AssayClient.addresses(in: environment) == addresses)
        }
        #expect(throws: EndpointError.self) {
            try AssayClient.addresses(in: ["ASSAY_ADDRESS": "unix:/a,nonsense"])
        }
    }

    @Test("a client needs addresses that it can connect to")
    func unusable() {
        let schemes = "tcp://HOST:PORT, tls://HOST:PORT or unix:PATH"
        let table: [([Endpoint], String)] = [
            ([], "no address: name one, "),
            (
                [.http(host: "127.0.0.1", port: 1)],
                "http://127.0.0.1:1 is for HTTP: a client needs "
            ),
            (
                [Self.nowhere, .unixHTTP(path: "/tmp/a")],
                "unix-http:/tmp/a is for HTTP: a client needs "
            ),
            (
                [.inherited(name: "assay")],
                "systemd:assay is of a server's service manager: a client needs "
            ),
        ]
        for (addresses, text) in table {
            #expect(throws: ClientError(.invalidAddress, text + schemes)) {
                try AssayClient(addresses: addresses)
            }
        }
    }

    @Test func retryableErrors() {
        func status(_ status: AssayWire.Status, _ pause: UInt32) -> ClientError {
            .status(status, message: "", retryAfterMilliseconds: pause)
        }
        let table: [(ClientError, Bool, Duration?)] = [
            (.connectFailed(.connectionRefused), true, nil),
            (.connectFailed(.tls(.peerClosed)), false, nil), (.connectionLost, true, nil),
            (.deadlineExceeded, true, nil), (.tooManyWaiting, true, nil), (.cancelled, false, nil),
            (.closed, false, nil), (.requestTooLarge, false, nil),
            (.protocolViolation(""), false, nil), (status(.unavailable, 0), true, nil),
            (status(.resourceExhausted, 0), false, nil),
            (status(.resourceExhausted, 250), true, .milliseconds(250)),
            (status(.notFound, 0), false, nil),
        ]
        for (error, isRetryable, pause) in table {
            #expect(error.isRetryable == isRetryable, "\(error)")
            #expect(error.retryAfter == pause, "\(error)")
        }
    }
}
