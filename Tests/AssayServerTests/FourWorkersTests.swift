import AssayClient
import AssayIO
import AssayLocks
import AssayModels
import AssayServer
import Glibc
import TestSupport
import Testing

/// A server of four workers, in a process of its own, while clients of all its listeners send.
@Suite(.ownThread, .serialized, .timeLimit(.minutes(3))) struct FourWorkersTests {
    private let pki: TestPKI
    private let root = temporaryPath("root")
    private let file = temporaryPath("toml")
    private let unix = temporaryPath("four")

    /// All calls wait from the beginning, so the last one has to be answered in its deadline.
    private static let calls = Sanitizer.isOn ? 150 : 1500

    init() throws {
        pki = try TestPKI()
        try Present.writeRoot(root)
    }

    /// A slow processor is neither an overload nor the end of a drain.
    private func configure(_ listeners: [String]) throws {
        let settings = """
            workers = 4
            limits.queue-delay-ms = 30000
            limits.longest-timeout-ms = 60000
            limits.drain-seconds = 120
            """
        try Present.writeConfiguration(file, listeners, pki, root: root, settings)
    }

    /// - Parameter isResent: whether the client repeats a call that a draining server refused.
    private func client(_ endpoint: Endpoint, isResent: Bool = false) throws -> AssayClient {
        let options = ClientOptions(
            timeout: .seconds(60), connectTimeout: .seconds(60), retriesOnce: isResent,
            waitsForServer: true, inFlightLimit: 16, longestWait: nil, tls: try pki.client())
        return try AssayClient(address: endpoint, options: options)
    }

    /// Sends calls on all clients; reports the number of the answers so far.
    ///
    /// - Returns: the calls without the verdict VALID, with what they got.
    private func load(
        _ clients: [AssayClient], onAnswer: @escaping @Sendable (_ count: Int) -> Void
    ) async throws -> [String] {
        let token = try Present.token.get()
        let answered = Locked(0)
        return await withTaskGroup(of: String?.self) { group in
            for number in 0..<Self.calls {
                let client = clients[number % clients.count]
                group.addTask {
                    do {
                        let answer = try await client.verify(token, as: .transaction)
                        let count = answered.withLock { count in
                            count += 1
                            return count
                        }
                        onAnswer(count)
                        let verification = answer.verification
                        return verification.verdict == .valid
                            ? nil : "\(number): \(verification.verdict) \(verification.detail)"
                    } catch {
                        return "\(number): \(error)"
                    }
                }
            }
            return await group.reduce(into: []) { lost, error in
                if let error { lost.append(error) }
            }
        }
    }

    @Test("Reloads under load on a Unix socket, TCP and TLS lose no call")
    func reload() async throws {
        try configure(["unix:\(unix)", "tcp://127.0.0.1:0", "tls://127.0.0.1:0"])
        let server = try ServerProcess(["--config", file])
        try #require(!server.ready.isEmpty, "\(server.log)")
        let clients = try [
            client(.unix(path: unix)), client(try Endpoint(server.tcp)),
            client(try Endpoint(server.address("tls://"))),
        ]
        defer { for client in clients { client.close() } }
        let lost = try await load(clients) { answers in
            if answers % (Self.calls / 6) == 0 { server.signal(SIGHUP) }
        }
        #expect(lost == [], "\(server.log)")
        #expect(server.log.contains("\"event\":\"reloaded\""))
        #expect(server.end() == 0, "\(server.log)")
    }

    /// The sockets outlive the servers, as under systemd: a new connection waits for the next one.
    @Test(
        "SIGTERM under load on inherited sockets, with and without TLS, loses no call",
        arguments: [false, true])
    func restart(isTLS: Bool) async throws {
        try configure([isTLS ? "systemd+tls:assay" : "systemd:assay"])
        let (socket, endpoint) = try listeningSocket()
        defer { close(socket) }
        guard case .tcp(let host, let port) = endpoint else { return }
        let clients = try (0..<3).map { _ in
            try client(isTLS ? .tls(host: host, port: port) : endpoint, isResent: true)
        }
        defer { for client in clients { client.close() } }
        // The client repeats a call once, so a third server could refuse it again.
        let servers = 2
        let lastHasStarted = Latch()
        let current = Locked<ServerProcess?>(nil)
        let exits = Locked<[Int32]>([])
        let isGivenUp = Locked(false)
        let manager = try WorkerPool(count: 1, name: "manager")
        let options = ["--config", file]
        manager.submit {
            for number in 1...servers {
                guard let server = try? ServerProcess(options, passing: socket) else { return }
                current.withLock { $0 = server }
                if number == servers { lastHasStarted.open() }
                if isGivenUp.withLock({ $0 }) { server.signal(SIGKILL) }
                let exit = server.wait()
                exits.withLock { $0.append(exit) }
            }
        }
        let lost = try await load(clients) { answers in
            if answers == Self.calls / servers { current.withLock { $0 }?.signal(SIGTERM) }
        }
        #expect(lost == [], "\(current.withLock { $0 }?.log ?? "")")
        if lost.isEmpty, await lastHasStarted.opens() {
            current.withLock { $0 }?.signal(SIGTERM)
        } else {
            isGivenUp.withLock { $0 = true }
            current.withLock { $0 }?.signal(SIGKILL)
        }
        manager.stop()
        #expect(exits.withLock { $0 } == [Int32](repeating: 0, count: servers))
    }
}
