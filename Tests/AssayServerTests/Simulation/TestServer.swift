import Assay
import AssayIO
import AssayModels
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayTelemetry

/// An address of a simulated server.
struct TestAddress {
    let server: SimulatedServer
    let endpoint: Endpoint

    /// Connects a client: from this computer, or as a user of a Unix socket.
    ///
    /// - Parameter receiveBuffer: bytes that the client's system takes while the client does not
    ///   read.
    func connect(receiveBuffer: Int32? = nil) throws -> SimulatedConnection {
        let isUnix =
            switch endpoint {
            case .unix, .unixHTTP: true
            default: false
            }
        let peer = server.connect(
            to: endpoint, from: isUnix ? .user(1_000) : .address(0x7F00_0001),
            sendBuffer: receiveBuffer.map { Int($0) } ?? 64 << 10)
        if peer.isAtEnd { throw BlockingClient.Failure(what: "connect: refused") }
        return SimulatedConnection(peer, of: server)
    }
}

/// A client's end of a simulated connection, with the interface of a blocking socket: a call that
/// waits has the server work, and then time pass.
final class SimulatedConnection: ByteConnection {
    private let peer: SimulatedPeer
    private let server: SimulatedServer

    init(_ peer: SimulatedPeer, of server: SimulatedServer) {
        self.peer = peer
        self.server = server
    }

    deinit { close() }

    /// How long a receive waits, in simulated milliseconds, as `BlockingClient` does.
    private static let patience: UInt64 = 30_000

    /// Sends the bytes. Where the server comes to rest without reading all of them, they wait as
    /// with a client that has a thread for it.
    func send(_ bytes: [UInt8]) throws {
        guard peer.canSend else { throw BlockingClient.Failure(what: "send: closed") }
        peer.send(bytes)
        _ = server.run(until: { !peer.isSending }, within: 0)
    }

    func receive(upTo count: Int) throws -> [UInt8] {
        guard server.run(until: { peer.hasReceived || peer.isAtEnd }, within: Self.patience) else {
            throw BlockingClient.Failure(what: "receive: the server comes to rest")
        }
        if !peer.hasReceived, peer.isReset {
            throw BlockingClient.Failure(what: "receive: reset")
        }
        return peer.receive(upTo: count)
    }

    func receiveToEnd() throws -> [UInt8] {
        var bytes: [UInt8] = []
        while case let more = try receive(upTo: 64 << 10), !more.isEmpty { bytes += more }
        return bytes
    }

    func hasMore(milliseconds: Int32) -> Bool {
        server.run(
            until: { peer.hasReceived || peer.isAtEnd }, within: UInt64(max(milliseconds, 0)))
    }

    func finishWriting() { peer.finish() }
    func shutDown() { peer.close() }
    func close() { peer.close() }
    func reset() { peer.abort() }
}

/// A simulated server for the duration of a test, with a Unix socket and a TCP port, and the
/// interface of `SocketServer`. It runs while a client or `eventually` waits.
struct TestServer {
    let simulated: SimulatedServer
    let server: Handle

    var log: LogLines { simulated.log }
    var verifier: Verifier { simulated.verifier }
    var addresses: [TestAddress] {
        simulated.configuration.listen.map { TestAddress(server: simulated, endpoint: $0) }
    }
    var unix: TestAddress { addresses[0] }
    var tcp: TestAddress { addresses[1] }

    /// - Parameter clock: what can hold the server's background threads.
    init(
        heldBy clock: HeldBackground? = nil,
        _ change: (inout ServerConfiguration) -> Void = { _ in }
    ) throws {
        simulated = try SimulatedServer { configuration in
            configuration.listen = [
                .unix(path: "/simulated/server"), .tcp(host: "127.0.0.1", port: 0),
            ]
            configuration.workers = 4
            configuration.limits.setPatience()
            if let clock {
                configuration.workers = 1
                configuration.handsOver = true
                configuration.clock = clock.counting(configuration.clock)
            }
            change(&configuration)
        }
        server = Handle(simulated: simulated)
        clock?.server = simulated
    }

    /// What tests use of a `Server`.
    struct Handle {
        fileprivate let simulated: SimulatedServer

        var metrics: ServerMetrics? { simulated.metrics }
        var heldResources: HeldResources? { simulated.heldResources }

        func advanceClock(byMilliseconds milliseconds: UInt64) {
            simulated.pass(milliseconds: milliseconds)
        }

        @discardableResult
        func reload(_ configuration: ServerConfiguration) -> [String] {
            simulated.reload(configuration)
        }

        func noteFailedReload(_ problems: [String]) { simulated.noteFailedReload(problems) }
        func drain() { simulated.drain() }

        /// Waits for the end of the server.
        func wait(sourceLocation: SourceLocation = #_sourceLocation) {
            let hasEnded = simulated.run(
                until: { simulated.hasEnded }, within: UInt64(RawClient.patience))
            #expect(hasEnded, "the server does not end", sourceLocation: sourceLocation)
        }
    }

    /// Holds the one worker with a transaction of this id until the clock's `release` opens.
    ///
    /// - Returns: the client that sent it.
    func holdWorker(_ id: UInt64, by clock: HeldBackground) throws -> RawClient {
        let token = try Minted.transaction.get()
        let client = try RawClient(unix)
        try client.expectPong()
        clock.arm()
        try client.send(RawClient.verify(id, .transaction, token))
        clock.isHeld.wait()
        return client
    }

    /// Lets time pass for the server's timeouts, after it has read what was sent so far.
    func pass(milliseconds: UInt64) throws { simulated.pass(milliseconds: milliseconds) }

    /// Lets the server work for this long, as a client does that waits: with more to do than fits
    /// into it, the rest is left.
    func work(milliseconds: UInt64) {
        let world = simulated.world
        let end = world.nanoseconds + milliseconds * 1_000_000
        _ = simulated.run(until: { world.nanoseconds >= end }, within: milliseconds)
        if world.nanoseconds < end { world.pass(nanoseconds: end - world.nanoseconds) }
    }

    /// Runs the server until its log has a line with this text; returns false when there is none.
    func logs(_ text: String) -> Bool {
        simulated.run(until: { log.count(of: text) > 0 }, within: 20_000)
    }

    /// Runs the server until what it holds matches, or it ends; records an issue when it never
    /// does.
    func eventually(
        seconds: UInt64 = 20, sourceLocation: SourceLocation = #_sourceLocation,
        _ condition: (HeldResources) -> Bool
    ) {
        let matches = simulated.run(
            until: { simulated.hasEnded || condition(simulated.heldResources) },
            within: seconds * 1_000)
        if matches { return }
        Issue.record("never: \(simulated.heldResources)", sourceLocation: sourceLocation)
    }
}

/// Runs a test against a simulated server, then until the server holds nothing, and ends it.
func withServer(
    heldBy clock: HeldBackground? = nil,
    _ change: (inout ServerConfiguration) -> Void = { _ in }, _ body: (TestServer) throws -> Void
) throws {
    let test = try TestServer(heldBy: clock, change)
    defer {
        clock?.release.open()
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

/// Runs a test against a server whose one worker is held with a transaction of this id until
/// `release` opens.
func withHeldWorker(
    _ id: UInt64, _ body: (TestServer, RawClient, HeldBackground) throws -> Void
) throws {
    let clock = HeldBackground()
    try withServer(heldBy: clock) { test in
        try body(test, try test.holdWorker(id, by: clock), clock)
    }
}

/// Holds the background threads of a simulated server, which verify what its one worker hands
/// over. Has the interface of `HeldClock`.
final class HeldBackground {
    fileprivate(set) weak var server: SimulatedServer?
    private let calls = Locked(0)

    /// The number of calls of the server's clock: one per slice of work and one per log line.
    var count: Int { calls.withLock { $0 } }

    /// Has the background hold what comes next.
    func arm() { server?.holdsBackground = true }

    var isHeld: Arrival { Arrival(clock: self) }
    var release: Release { Release(clock: self) }

    struct Arrival {
        fileprivate let clock: HeldBackground
        /// Runs the server until all that is left waits for the background.
        func wait() { clock.server?.runUntilIdle() }
    }

    struct Release {
        fileprivate let clock: HeldBackground
        func open() { clock.server?.holdsBackground = false }
    }

    fileprivate func counting(
        _ clock: @escaping @Sendable () -> Timestamp
    ) -> @Sendable () -> Timestamp {
        { [calls] in
            calls.withLock { $0 += 1 }
            return clock()
        }
    }
}
