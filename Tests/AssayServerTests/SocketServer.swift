import AssayClient
import AssayIO
import AssayModels
import AssayServer
import TestSupport
import Testing

/// A server for the duration of a test, on a Unix socket and a TCP port of the system. For what
/// needs them, or a client with threads of its own; other tests use `TestServer`.
struct SocketServer {
    let server: Server
    let log: LogLines
    let verifier: Verifier

    var unix: Endpoint { server.endpoints[0] }
    var tcp: Endpoint { server.endpoints[1] }

    init(_ change: (inout ServerConfiguration) -> Void = { _ in }) throws {
        verifier = try Minted.verifier()
        log = LogLines()
        var configuration = ServerConfiguration(
            listen: [
                .unix(path: temporaryPath("server")), .tcp(host: "127.0.0.1", port: 0),
            ],
            apps: ["game": AppEntry(verifier: verifier, policy: Minted.policy)],
            defaultApp: "game", workers: 4, version: "test", log: log, clock: { Minted.now })
        configuration.limits.setPatience()
        change(&configuration)
        server = try Server(configuration)
    }

    /// Holds the one worker with a transaction of this id until the clock's `release` opens.
    ///
    /// - Returns: the client that sent it.
    func holdWorker(_ id: UInt64, by clock: HeldClock) throws -> RawClient {
        let token = try Minted.transaction.get()
        let client = try RawClient(unix)
        try client.expectPong()
        clock.arm()
        try client.send(RawClient.verify(id, .transaction, token))
        clock.isHeld.wait()
        return client
    }

    /// Lets time pass for the server's timeouts, after it has read what was sent so far: its answer
    /// on another connection comes at the end of a turn.
    func pass(milliseconds: UInt64) throws {
        try RawClient(unix).expectPong()
        server.advanceClock(byMilliseconds: milliseconds)
    }

    /// Waits until what the server holds matches, or the server ends; records an issue when it
    /// never does.
    func eventually(
        seconds: Int = 20, sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: (HeldResources) -> Bool
    ) {
        let changes = Changes()
        let latest = Locked<[Int: HeldResources]>([:])
        let isServing = server.followHeldResources { worker, heldResources in
            latest.withLock { $0[worker] = heldResources }
            changes.note()
        }
        guard isServing else { return }
        defer { server.followHeldResources(nil) }
        func sum() -> HeldResources {
            latest.withLock { $0.values.reduce(into: HeldResources()) { $0.add($1) } }
        }
        if changes.wait(seconds: seconds, until: { condition(sum()) }) { return }
        Issue.record("never: \(sum())", sourceLocation: sourceLocation)
    }
}

/// Runs a test against a server, then waits until the server holds nothing and ends it.
func withSocketServer(
    _ change: (inout ServerConfiguration) -> Void = { _ in }, _ body: (SocketServer) throws -> Void
) throws {
    let test = try SocketServer(change)
    defer {
        test.eventually { heldResources in
            var heldResources = heldResources
            heldResources.turns = 0
            return heldResources == .none
        }
        test.server.drain()
        test.server.wait()
    }
    try body(test)
}

/// Runs a test against a server with Assay's client.
func withClient(
    _ change: (inout ServerConfiguration) -> Void = { _ in },
    _ body: (SocketServer, AssayClient) async throws -> Void
) async throws {
    let test = try SocketServer(change)
    let client = try AssayClient(
        address: test.unix,
        options: ClientOptions(timeout: .seconds(30), retriesOnce: false, longestWait: nil))
    let result: Result<Void, any Error>
    do { result = .success(try await body(test, client)) } catch { result = .failure(error) }
    client.close()
    test.eventually { $0.connections == 0 && $0.evidenceBytes == 0 && $0.bufferedBytes == 0 }
    test.server.drain()
    test.server.wait()
    try result.get()
}
