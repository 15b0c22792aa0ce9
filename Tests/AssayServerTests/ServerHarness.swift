import Assay
import AssayClient
import AssayIO
import AssayMint
import AssayModels
import AssayServer
import AssayWire
import Glibc
import Synchronization
import TestSupport
import Testing

/// Evidence of this process's own authorities: one item of each kind, and some invalid items.
enum Minted {
    static let bundleId = "com.example.game"
    static let now = Timestamp(milliseconds: 1_795_219_200_000)
    static let authority = Result { () throws -> DevelopmentCA in try DevelopmentCA.make(at: now) }
    static let foreign = Result { () throws -> DevelopmentCA in try DevelopmentCA.make(at: now) }
    static let receiptCA = Result { () throws -> ReceiptCA in try ReceiptCA.make(at: now) }
    static let policy = Policy(bundleId: bundleId, environments: [.sandbox])

    static let jwsKinds: [EvidenceKind] = [
        .transaction, .renewalInfo, .appTransaction, .notification, .realtimeRequest,
    ]

    static func verifier(keyTables: KeyTableBuilding = .never) throws -> Verifier {
        let trust = try TrustStore.apple
            .pinning(authority.get().rootCertificate, development: true)
            .pinning(receiptCA.get().rootCertificate, development: true)
        return Verifier(trust: trust, keyTables: keyTables)
    }

    static func token(
        _ kind: EvidenceKind, index: Int = 0, bundleId: String = bundleId,
        environment: StoreEnvironment = .sandbox, by authority: DevelopmentCA? = nil
    ) throws -> [UInt8] {
        try Minter(authority?.chain ?? self.authority.get().chain).mint(
            kind, index: index, bundleId: bundleId, appAppleId: 1_234_567_890,
            environment: environment, signedDate: now)
    }

    /// A transaction: one period of a subscription. Each account has a subscription of its own.
    ///
    /// - Parameter number: the number of the period, from 0 on.
    /// - Parameter later: how long after now it is signed, in milliseconds.
    static func period(_ number: Int, account: Int = 1, later: Int64 = 0) throws -> [UInt8] {
        let original = 46_000 + account * 1_000
        let bought = now.milliseconds - 1_000
        let payload = """
            {"transactionId":"\(original + number)","originalTransactionId":"\(original)",\
            "bundleId":"\(bundleId)","environment":"Sandbox","productId":"premium",\
            "subscriptionGroupIdentifier":"2100","type":"Auto-Renewable Subscription",\
            "appAccountToken":"00000000-0000-0000-0000-00000000000\(account)",\
            "purchaseDate":\(bought),"expiresDate":\(bought + Int64(number + 1) * 60_000),\
            "signedDate":\(now.milliseconds + later)}
            """
        return try Minter(authority.get().chain).sign(Array(payload.utf8))
    }

    static let transaction = Result { () throws -> [UInt8] in try token(.transaction) }

    static func receipt(bytes: Int, bundleId: String = bundleId) throws -> [UInt8] {
        var sample = ReceiptSample(bundleId: bundleId, creationDate: now)
        sample.records = .bytes(bytes)
        return try ReceiptMinter(receiptCA.get().chain).sign(sample.payload)
    }

    /// Returns the token with one letter of its signature changed.
    static func tampered(_ token: [UInt8]) -> [UInt8] {
        var token = token
        let offset = token.count - 20
        token[offset] = token[offset] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
        return token
    }
}

/// Keeps the lines of a server's log.
final class LogLines: LogSink {
    private let lines = Locked<[String]>([])
    private let changes = Changes()

    func write(_ line: String) {
        lines.withLock { $0.append(line) }
        changes.note()
    }

    func count(of text: String) -> Int { lines.withLock { $0.count { $0.contains(text) } } }

    /// Waits for a line with this text; returns false when there is none.
    func gets(_ text: String) -> Bool { changes.wait { count(of: text) > 0 } }
}

/// A clock that can hold one worker: each slice of work begins with a call of the clock.
final class HeldClock: Sendable {
    private let isArmed = Atomic(false)
    let isHeld = Latch()
    let release = Latch()

    private let calls = Atomic(0)

    func arm() { isArmed.store(true, ordering: .releasing) }

    /// The number of calls: one per slice of work and one per log line.
    var count: Int { calls.load(ordering: .relaxed) }

    @Sendable func now() -> Timestamp {
        calls.add(1, ordering: .relaxed)
        if isArmed.exchange(false, ordering: .acquiringAndReleasing) {
            isHeld.open()
            release.wait()
        }
        return Minted.now
    }
}

extension ServerConfiguration {
    /// Has a clock hold a thread that verifies: one for long work, since a worker's own would keep
    /// its sockets waiting.
    mutating func hold(by clock: HeldClock) {
        self.clock = clock.now
        self.handsOver = true
    }
}

extension ServerLimits {
    /// What ends a connection because of its peer's pace.
    private static var timeLimits: [WritableKeyPath<ServerLimits, UInt64>] {
        [
            \.handshakeMilliseconds, \.frameGraceMilliseconds, \.writeStallMilliseconds,
            \.drainMilliseconds,
        ]
    }

    fileprivate mutating func setTimeLimits(to milliseconds: UInt64) {
        for limit in Self.timeLimits { self[keyPath: limit] = milliseconds }
    }

    /// Sets the defaults of the product, which a test server has not. For tests in which peers
    /// exceed them.
    mutating func useDefaultTimeLimits() {
        for limit in Self.timeLimits { self[keyPath: limit] = ServerLimits()[keyPath: limit] }
    }
}

/// A server for the duration of a test, on a Unix socket and a TCP port.
struct TestServer {
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
        configuration.limits.drainQuietMilliseconds = 20
        // A debug build on a busy machine can fall behind any load that a test sends.
        configuration.limits.queueDelayMilliseconds = UInt64(RawClient.patience)
        configuration.limits.longestTimeoutMilliseconds = RawClient.patience
        // Nor is a client slow that waits for its processor. A test of a time limit sets it.
        configuration.limits.setTimeLimits(to: UInt64(RawClient.patience))
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
func withServer(
    _ change: (inout ServerConfiguration) -> Void = { _ in }, _ body: (TestServer) throws -> Void
) throws {
    let test = try TestServer(change)
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

/// Runs a test against a server whose one worker is held with a transaction of this id until
/// `release` opens.
func withHeldWorker(
    _ id: UInt64, _ body: (TestServer, RawClient, HeldClock) throws -> Void
) throws {
    let clock = HeldClock()
    try withServer {
        $0.hold(by: clock)
        $0.workers = 1
    } _: { test in
        let client = try test.holdWorker(id, by: clock)
        defer { clock.release.open() }
        try body(test, client, clock)
    }
}

/// Runs a test against a server with Assay's client.
func withClient(
    _ change: (inout ServerConfiguration) -> Void = { _ in },
    _ body: (TestServer, AssayClient) async throws -> Void
) async throws {
    let test = try TestServer(change)
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

/// A client that can send any bytes.
final class RawClient {
    let socket: BlockingClient
    private let codec = MessageCodec()
    private var received: [UInt8] = []
    private var start = 0

    /// The timeout where a test is not about time, in milliseconds: under a sanitizer, seconds of
    /// the server's work can take minutes.
    static let patience: UInt32 = 600_000

    init(_ endpoint: Endpoint, receiveBuffer: Int32? = nil) throws {
        socket = try BlockingClient(endpoint, receiveBuffer: receiveBuffer)
    }

    init(_ socket: BlockingClient) { self.socket = socket }

    static func frame(_ head: RequestHead, _ body: [UInt8] = []) -> [UInt8] {
        var bytes: [UInt8] = []
        MessageCodec().encodeFrame(head, body: body, into: &bytes)
        return bytes
    }

    static func ping(_ id: UInt64) -> [UInt8] { frame(RequestHead(id: id, call: .ping)) }

    static func verify(
        _ id: UInt64, _ kind: EvidenceKind? = .transaction, _ body: [UInt8], app: String = "",
        timeout: UInt32 = patience, expecting: Expectations = .none, inApp: InAppSelection = .all,
        mayWait: Bool = false
    ) -> [UInt8] {
        let call = VerifyCall(
            kind: kind, expectations: expecting, returnsTypedPayload: false, inApp: inApp)
        return frame(
            RequestHead(
                id: id, call: .verify(call), app: app, timeoutMilliseconds: timeout,
                mayWait: mayWait), body)
    }

    /// A Resolve of these items; the server detects a kind that is nil.
    static func resolve(
        _ id: UInt64, _ items: [(kind: EvidenceKind?, evidence: [UInt8])],
        timeout: UInt32 = patience, mayWait: Bool = false,
        _ change: (inout ResolveCall) -> Void = { _ in }
    ) -> [UInt8] {
        var call = ResolveCall(
            items: items.map { item in
                ResolveCall.Item(
                    item.kind.map { .named($0) } ?? .detected,
                    length: UInt32(item.evidence.count))
            })
        change(&call)
        return frame(
            RequestHead(
                id: id, call: .resolve(call), timeoutMilliseconds: timeout, mayWait: mayWait),
            items.flatMap(\.evidence))
    }

    func send(_ bytes: [UInt8]) throws { try socket.send(bytes) }

    /// Receives the next response; nil at the end of the stream.
    func receive() throws -> (head: ResponseHead, body: [UInt8])? {
        let decoder = FrameDecoder(limits: .response)
        while true {
            switch decoder.next(in: received.span.extracting(start...)) {
            case .frame(let frame):
                let bytes = Array(
                    received[(start + frame.head.lowerBound)..<(start + frame.head.upperBound)])
                let head = try codec.decodeResponse(bytes.span)
                let body = received[(start + frame.body.lowerBound)..<(start + frame.end)]
                start += frame.end
                return (head, Array(body))
            case .needMore:
                received.removeFirst(start)
                start = 0
                let more = try socket.receive(upTo: 64 * 1024)
                if more.isEmpty {
                    if received.isEmpty { return nil }
                    throw BlockingClient.Failure(what: "the stream ended within an answer")
                }
                received += more
            case .head, .fault: throw BlockingClient.Failure(what: "no answer frame")
            }
        }
    }

    /// Receives responses until each of the ids has exactly one.
    func expectAnswers(
        _ ids: ClosedRange<UInt64>, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        var missing = Set(ids)
        while !missing.isEmpty {
            let head = try #require(try receive()?.head, sourceLocation: sourceLocation)
            #expect(head.status == .ok, "\(head)", sourceLocation: sourceLocation)
            #expect(missing.remove(head.id) != nil, "\(head)", sourceLocation: sourceLocation)
        }
    }

    /// Expects that the connection still answers.
    func expectPong(
        _ id: UInt64 = 77, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        try send(Self.ping(id))
        let head = try receive()?.head
        #expect(
            head == ResponseHead(id: id, result: .pong), sourceLocation: sourceLocation)
    }

    /// Expects a connection-level response, and then the end of the stream.
    func expectEnd(
        _ status: AssayWire.Status, sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let head = try receive()?.head
        #expect(
            head?.id == 0 && head?.status == status, "\(head as Any)",
            sourceLocation: sourceLocation)
        #expect(head?.message.isEmpty == false, sourceLocation: sourceLocation)
        #expect(try receive() == nil, sourceLocation: sourceLocation)
    }
}

/// A socket on which one thread sends while another receives.
final class SharedClient: @unchecked Sendable {
    let client: BlockingClient
    init(_ client: BlockingClient) { self.client = client }
}

extension AppEntry {
    func with(
        _ policy: Policy, unnamedEnvironments: [StoreEnvironment]? = nil
    ) -> AppEntry {
        AppEntry(verifier: verifier, policy: policy, unnamedEnvironments: unnamedEnvironments)
    }
}
