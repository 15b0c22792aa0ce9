import AssayIO
import AssayModels
import AssayServer
import AssayWire
import Glibc
import Synchronization
import TestSupport
import Testing

/// The server in a process of its own, ended by signals.
@Suite(.ownThread, .serialized, .timeLimit(.minutes(5))) struct HostileLifeCycleTests {
    private let root = temporaryPath("root")

    init() throws {
        try Present.writeRoot(root)
    }

    private func start(_ options: String...) throws -> (server: ServerProcess, [Endpoint]) {
        let (path, configuration) = (temporaryPath("life"), temporaryPath("toml"))
        // A debug build on a busy machine can work on one batch for longer than the usual 10 s.
        let settings = """
            [limits]
            drain-seconds = 120

            [[app]]
            name = "game"
            bundle-id = "\(Minted.bundleId)"
            environments = ["Sandbox"]
            default = true
            """
        try SystemFile.create(configuration, Array(settings.utf8), mode: 0o600)
        let server = try ServerProcess(
            [
                "--listen", "tcp://127.0.0.1:0", "--listen", "unix:\(path)", "--root", root,
                "--config", configuration, "--workers", "4",
            ] + options)
        try #require(!server.ready.isEmpty, "\(server.log)")
        return (server, [try Endpoint(server.tcp), .unix(path: path)])
    }

    /// Requests without an answer, though later ones have one.
    private struct Gap: Error {
        let ids: [UInt64]
    }

    /// A client of the load: its requests and their responses.
    private final class Caller: @unchecked Sendable {
        let client: RawClient
        let shared: SharedClient
        let sent = Atomic(0)
        let isAnnounced = Atomic(false)

        init(_ endpoint: Endpoint) throws {
            shared = SharedClient(try BlockingClient(endpoint))
            client = RawClient(shared.client)
        }

        func send(_ token: [UInt8], while isOn: () -> Bool) {
            var id: UInt64 = 0
            while isOn(), !isAnnounced.load(ordering: .relaxed) {
                id += 1
                guard (try? shared.client.send(Self.frame(id, token))) != nil else { break }
                sent.store(Int(id), ordering: .relaxed)
                // Paced like a client that pipelines, not one that only writes: a debug build
                // verifies what was accepted for seconds before it ends.
                if id % 16 == 0 { usleep(20_000) }
            }
            shared.client.finishWriting()
        }

        private static func frame(_ id: UInt64, _ token: [UInt8]) -> [UInt8] {
            let expecting = Expectations(environments: [.sandbox])
            return RawClient.verify(id, .transaction, token, expecting: expecting)
        }

        /// Reads to the end. The answered ids have no gap, and every request is answered unless
        /// the server announced its drain.
        func check() throws -> (valid: Int, refused: Int, unanswered: Int) {
            var (valid, refused) = (0, 0)
            var ids: Set<UInt64> = []
            while let head = try client.receive()?.head {
                if head.id == 0 {
                    #expect(head.status == .unavailable, "\(head)")
                    isAnnounced.store(true, ordering: .relaxed)
                    continue
                }
                #expect(ids.insert(head.id).inserted, "an answer came twice")
                if head.status == .ok {
                    guard case .verification(let answer) = head.result else { continue }
                    #expect(answer.verdict == .valid, "\(answer)")
                    valid += 1
                } else {
                    // A busy server can refuse requests before the drain, and take too long.
                    let busy: [Status] = [.resourceExhausted, .deadlineExceeded]
                    #expect(head.status == .unavailable || busy.contains(head.status), "\(head)")
                    refused += 1
                }
            }
            let gap = Set(1...(ids.max() ?? 1)).subtracting(ids).sorted()
            guard ids.isEmpty || gap.isEmpty else { throw Gap(ids: gap) }
            let missing = sent.load(ordering: .relaxed) - ids.count
            return (valid, refused, isAnnounced.load(ordering: .relaxed) ? 0 : missing)
        }
    }

    /// Clients that pipeline, and clients that reconnect repeatedly, while the process gets
    /// SIGTERM. Accepted requests are answered, every connection gets an answer or the drain
    /// notice, and no connection is reset.
    @Test(
        "line 66: SIGTERM under load loses no request",
        .enabled(if: TimedTests.areEnabled),
        arguments: 0..<(Sanitizer.isOn ? 5 : 20))
    func termination(round: Int) throws {
        let token = try Present.token.get()
        let (server, endpoints) = try start()
        let callers = try (0..<6).map { try Caller(endpoints[$0 % 2]) }
        let pool = try WorkerPool(count: 2 * callers.count + 2, name: "load")
        let isOn = Flag(true)
        let results = Results()
        for caller in callers {
            pool.submit { caller.send(token) { isOn.value } }
            pool.submit { results.note { try caller.check() } }
        }
        for endpoint in endpoints {
            pool.submit {
                // Until connections are refused: no listener is left.
                while isOn.value, let caller = try? Caller(endpoint) {
                    var first = true
                    caller.send(token) {
                        defer { first = false }
                        return first
                    }
                    results.note { try caller.check() }
                }
            }
        }
        usleep(100_000 + UInt32(round) * 7_000)
        server.signal(SIGTERM)
        #expect(server.wait() == 0, "\(server.log)")
        isOn.value = false
        pool.stop()
        let counts = results.counts
        #expect(results.failures == [], "\(server.log)")
        #expect(counts.unanswered == 0)
        #expect(counts.valid > 0)
        print("SIGTERM \(round): \(counts.valid) valid, \(counts.refused) refused, 0 lost")
    }

    @Test(
        "line 66: readiness ends first, and the server serves for its drain delay",
        .enabled(if: TimedTests.areEnabled)
    )
    func delay() throws {
        let (server, endpoints) = try start("--drain-delay", "2")
        let early = try RawClient(endpoints[0])
        try early.send(RawClient.frame(RequestHead(id: 1, call: .health)))
        #expect(try early.receive()?.head.result == .health(serving: true))
        let before = ContinuousClock.now
        server.signal(SIGTERM)
        let announcement = try early.receive()?.head
        #expect(announcement?.id == 0 && announcement?.status == .unavailable)
        // Both the notified connection and a new one are served.
        let late = try RawClient(endpoints[1])
        for client in [early, late] {
            try client.send(RawClient.frame(RequestHead(id: 2, call: .health)))
            #expect(try client.receive()?.head.result == .health(serving: false))
            let expecting = Expectations(environments: [.sandbox])
            try client.send(
                RawClient.verify(
                    3, .transaction, try Present.token.get(), expecting: expecting))
            let answer = try client.receive()?.head
            #expect(answer?.id == 3 && answer?.status == .ok)
        }
        try late.expectEnd(.unavailable)
        #expect(try early.receive() == nil)
        #expect(server.wait() == 0)
        #expect(ContinuousClock.now - before > .seconds(1.9))
        #expect(throws: BlockingClient.Failure.self) { try RawClient(endpoints[0]) }
    }

    @Test("line 66: a second signal ends the process at once", arguments: [SIGTERM, SIGINT])
    func secondSignal(number: Int32) throws {
        let (server, endpoints) = try start("--drain-delay", "3600")
        let client = try RawClient(endpoints[0])
        try client.expectPong()
        server.signal(SIGTERM)
        #expect(try client.receive()?.head.status == .unavailable)
        #expect(server.logs("\"event\":\"draining\""))
        server.signal(number)
        #expect(server.wait() == 128 + number)
        #expect(server.log.contains("\"event\":\"stopped_at_once\",\"connections\":1"))
    }

    /// Connections that the kernel has completed and the server has not accepted yet. A storm
    /// always has many.
    @Test(
        "line 66: connections in the accept queue get an answer, not a reset",
        .enabled(if: TimedTests.areEnabled),
        arguments: 0..<5
    )
    func acceptQueue(round: Int) throws {
        let test = try SocketServer()
        let endpoints = [test.tcp, test.unix]
        let results = Results()
        let pool = try WorkerPool(count: 8, name: "storm")
        let token = try Minted.transaction.get()
        for index in 0..<8 {
            pool.submit {
                while let caller = try? Caller(endpoints[index % 2]) {
                    var first = true
                    caller.send(token) {
                        defer { first = false }
                        return first
                    }
                    results.note { try caller.check() }
                }
            }
        }
        usleep(50_000 + UInt32(round) * 11_000)
        test.server.drain()
        test.server.wait()
        pool.stop()
        #expect(results.failures == [])
        #expect(results.counts.unanswered == 0)
        #expect(results.counts.valid > 0)
    }
}

/// The results of a test's callers.
private final class Results: Sendable {
    private let state = Locked<
        (counts: (valid: Int, refused: Int, unanswered: Int), failures: [String])
    >(
        ((0, 0, 0), []))

    func note(_ check: () throws -> (valid: Int, refused: Int, unanswered: Int)) {
        let result = Result { try check() }
        state.withLock { state in
            switch result {
            case .success(let counts):
                state.counts.valid += counts.valid
                state.counts.refused += counts.refused
                state.counts.unanswered += counts.unanswered
            case .failure(let error): state.failures.append("\(error)")
            }
        }
    }

    var counts: (valid: Int, refused: Int, unanswered: Int) { state.withLock { $0.counts } }
    var failures: [String] { state.withLock { $0.failures } }
}

private final class Flag: Sendable {
    private let state: Atomic<Bool>
    init(_ value: Bool) { state = Atomic(value) }
    var value: Bool {
        get { state.load(ordering: .relaxed) }
        set { state.store(newValue, ordering: .relaxed) }
    }
}
