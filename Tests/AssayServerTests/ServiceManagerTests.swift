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

/// Evidence with current dates: servers in processes of their own use the machine's clock.
enum Present {
    static let now = Timestamp(milliseconds: SystemClock.wallMilliseconds)
    static let authority = Result { () throws -> DevelopmentCA in
        try DevelopmentCA.make(at: now)
    }
    static let token = Result { () throws -> [UInt8] in
        try Minter(authority.get().chain).mint(
            .transaction, index: 0, bundleId: Minted.bundleId, appAppleId: 1_234_567_890,
            environment: .sandbox, signedDate: now)
    }

    static func writeRoot(_ path: String) throws {
        let pem = PEM.encode(try authority.get().rootCertificate, label: "CERTIFICATE")
        try SystemFile.create(path, pem, mode: 0o600)
    }

    /// Writes the configuration of a server that verifies this evidence, with a certificate for
    /// its TLS listeners.
    static func writeConfiguration(
        _ path: String, _ listeners: [String], _ pki: TestPKI, root: String, _ settings: String = ""
    ) throws {
        let (certificate, key) = try pki.issue("localhost", [.loopback])
        let text = """
            \(settings)
            listen = ["\(listeners.joined(separator: "\", \""))"]
            [tls]
            certificate = "\(certificate)"
            key = "\(key)"
            [[app]]
            name = "game"
            bundle-id = "\(Minted.bundleId)"
            environments = ["Sandbox"]
            roots = ["\(root)"]
            """
        try SystemFile.create(path, Array(text.utf8), mode: 0o600)
    }
}

@Suite(.ownThread, .serialized, .timeLimit(.minutes(3))) struct ServiceManagerTests {
    /// The socket on which a service manager receives notifications.
    private final class NotifySocket {
        let name: String
        private let descriptor: Int32

        init(isAbstract: Bool) {
            name = (isAbstract ? "@" : "") + temporaryPath("notify")
            let type = Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue)
            descriptor = socket(AF_UNIX, type, 0)
            bindSocket(descriptor, name)
            var limit = timeval(tv_sec: 20, tv_usec: 0)
            _ = unsafe setsockopt(
                descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout<timeval>.size))
        }

        deinit { close(descriptor) }

        func next() -> String {
            var bytes = [UInt8](repeating: 0, count: 4096)
            let count = unsafe bytes.withUnsafeMutableBytes {
                unsafe recv(descriptor, $0.baseAddress!, $0.count, 0)
            }
            return String(decoding: bytes.prefix(max(count, 0)), as: UTF8.self)
        }

        /// Returns the next state that is not a watchdog ping.
        func nextState() -> String {
            while true {
                let state = next()
                if state != "WATCHDOG=1" { return state }
            }
        }
    }

    @Test(
        "READY, RELOADING, STOPPING and WATCHDOG are sent", .enabled(if: TimedTests.areEnabled),
        arguments: [false, true]
    )
    func notifications(isAbstract: Bool) throws {
        let manager = NotifySocket(isAbstract: isAbstract)
        let before = SystemClock.monotonicNanoseconds / 1000
        let server = try ServerProcess(
            ["--listen", "unix:" + temporaryPath("notified")],
            environment: ["NOTIFY_SOCKET": manager.name, "WATCHDOG_USEC": "100000"])
        #expect(!server.ready.isEmpty, "\(server.log)")
        #expect(manager.nextState() == "READY=1")
        for _ in 0..<3 { #expect(manager.next() == "WATCHDOG=1") }
        server.signal(SIGHUP)
        let reloading = manager.nextState().split(separator: "\n")
        #expect(reloading.first == "RELOADING=1")
        let moment = try #require(reloading.last?.split(separator: "=").last.flatMap { UInt64($0) })
        #expect(moment > before && moment <= SystemClock.monotonicNanoseconds / 1000)
        #expect(reloading.last?.hasPrefix("MONOTONIC_USEC=") == true)
        #expect(manager.nextState() == "READY=1")
        server.signal(SIGTERM)
        #expect(manager.nextState() == "STOPPING=1")
        #expect(server.wait() == 0)
    }

    @Test("another process's watchdog is ignored; without NOTIFY_SOCKET there is no manager")
    func others() {
        let path = "/run/notify"
        let table: [(environment: [String: String], watchdog: UInt64?, isThere: Bool)] = [
            ([:], nil, false),
            (["NOTIFY_SOCKET": ""], nil, false),
            (["NOTIFY_SOCKET": "relative"], nil, false),
            (["NOTIFY_SOCKET": "/" + String(repeating: "a", count: 200)], nil, false),
            (["NOTIFY_SOCKET": path], nil, true),
            (["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "x"], nil, true),
            (["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "20000000"], 10_000, true),
            (["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "1"], 1, true),
            (["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "9", "WATCHDOG_PID": "1"], nil, true),
            (
                ["NOTIFY_SOCKET": path, "WATCHDOG_USEC": "4000", "WATCHDOG_PID": "\(getpid())"], 2,
                true
            ),
        ]
        for row in table {
            let manager = ServiceManager(environment: row.environment)
            #expect((manager != nil) == row.isThere, "\(row)")
            #expect(manager?.watchdogMilliseconds == row.watchdog, "\(row)")
        }
    }

    /// A listening socket that outlives the servers, as a service manager keeps it.
    private static func listening(_ name: String) -> Int32 {
        let descriptor = socket(
            AF_UNIX, Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
        bindSocket(descriptor, name)
        _ = listen(descriptor, 511)
        return descriptor
    }

    @Test(
        "line 66: with an inherited socket a restart refuses no connection",
        .enabled(if: TimedTests.areEnabled),
        arguments: [SIGTERM, SIGKILL])
    func restart(number: Int32) throws {
        let root = temporaryPath("root"), path = temporaryPath("passed")
        try Present.writeRoot(root)
        let socket = Self.listening(path)
        defer { close(socket) }
        let pool = try WorkerPool(count: 4, name: "callers")
        let isOn = Atomic(true), state = Locked((served: 0, drained: 0, refused: 0, cut: 0))
        let token = try Present.token.get()
        for _ in 0..<4 {
            pool.submit {
                while isOn.load(ordering: .relaxed) {
                    guard let client = try? RawClient(.unix(path: path)) else {
                        state.withLock { $0.refused += 1 }
                        continue
                    }
                    let frame = RawClient.verify(
                        1, .transaction, token,
                        expecting: Expectations(environments: [.sandbox]))
                    let answer = try? {
                        try client.send(frame); return try client.receive()?.head
                    }()
                    state.withLock { state in
                        switch answer?.status {
                        case .ok?: state.served += 1
                        case .unavailable?: state.drained += 1
                        default: state.cut += 1
                        }
                    }
                }
            }
        }
        for round in 0..<5 {
            let server = try ServerProcess(["--root", root], passing: socket)
            #expect(server.ready == "assay ready systemd:assay\n", "\(server.log)")
            let served = state.withLock { $0.served }
            for _ in 0..<500 where state.withLock({ $0.served }) < served + 50 { usleep(10_000) }
            #expect(state.withLock { $0.served } >= served + 50, "round \(round)")
            server.signal(number)
            #expect(server.wait() == (number == SIGTERM ? 0 : -SIGKILL))
        }
        // The last server serves the clients that wait now.
        let last = try ServerProcess(["--root", root], passing: socket)
        isOn.store(false, ordering: .relaxed)
        pool.stop()
        let counts = state.withLock { $0 }
        #expect(counts.refused == 0)
        // A killed server cuts accepted connections; a server that gets SIGTERM does not.
        if number == SIGTERM { #expect(counts.cut == 0) }
        #expect(last.end() == 0)
        print("restarts by \(number): \(counts)")
    }

    @Test("an inherited socket with TLS, across a restart")
    func passedTLS() async throws {
        let pki = try TestPKI()
        let (root, file) = (temporaryPath("root"), temporaryPath("toml"))
        try Present.writeRoot(root)
        try Present.writeConfiguration(file, ["systemd+tls:assay"], pki, root: root)
        let (socket, endpoint) = try listeningSocket()
        defer { close(socket) }
        guard case .tcp(let host, let port) = endpoint else { return }
        let client = try AssayClient(
            address: .tls(host: host, port: port),
            options: ClientOptions(
                timeout: .seconds(30), connectTimeout: .seconds(30), waitsForServer: true,
                tls: pki.client()))
        defer { client.close() }
        for _ in 0..<2 {
            // A client that connects now waits for the server.
            let plain = try RawClient(endpoint)
            try plain.send(RawClient.ping(1))
            let server = try ServerProcess(["--config", file], passing: socket)
            #expect(server.ready == "assay ready systemd+tls:assay\n", "\(server.log)")
            try plain.expectEnd(.invalidArgument)
            plain.socket.close()
            let answer = try await client.verify(
                Present.token.get(), VerifyCall(kind: .transaction))
            #expect(answer.verification.verdict == .valid, "\(answer.verification.detail)")
            #expect(server.end() == 0)
        }
    }

    @Test("an inherited socket with TLS needs a certificate and a unique name")
    func unusableTLS() throws {
        let (socket, _) = try listeningSocket()
        defer { close(socket) }
        for (addresses, problem) in [
            (["systemd+tls:assay"], "systemd+tls:assay needs a certificate and a key: name"),
            (["systemd:assay", "systemd:assay"], "systemd:assay names sockets that another"),
        ] {
            let options = addresses.flatMap { ["--listen", $0] }
            for options in [options, options + ["--check"]] {
                let server = try ServerProcess(options, passing: socket)
                #expect(server.ready.isEmpty && server.wait() == 2)
                #expect(server.log.contains(problem), "\(server.log)")
            }
        }
    }

    @Test("an inherited socket that can't be served fails the start")
    func unusable() throws {
        let datagrams = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue), 0)
        defer { close(datagrams) }
        let server = try ServerProcess([], passing: datagrams)
        #expect(server.ready.isEmpty && server.wait() == 2)
        #expect(server.log.contains("is not a listening stream socket"), "\(server.log)")
        let none = try ServerProcess(["--listen", "systemd:assay"])
        #expect(none.ready.isEmpty && none.wait() == 2)
        #expect(none.log.contains("has passed no such socket"), "\(none.log)")
        let path = temporaryPath("both")
        let socket = Self.listening(path)
        defer { close(socket) }
        // An inherited socket without a `--listen` address is served too. Otherwise its
        // connections would wait for ever.
        let other = temporaryPath("other")
        let both = try ServerProcess(["--listen", "unix:\(other)"], passing: socket)
        #expect(both.ready == "assay ready unix:\(other) systemd:assay\n")
        for endpoint in [path, other] { try RawClient(.unix(path: endpoint)).expectPong() }
        #expect(both.end() == 0)
    }
}

/// Binds a socket to a path, or to `@` and an abstract name.
func bindSocket(_ descriptor: Int32, _ name: String) {
    var address = sockaddr_un()
    address.sun_family = sa_family_t(AF_UNIX)
    unsafe withUnsafeMutableBytes(of: &address.sun_path) {
        unsafe $0.copyBytes(from: name.utf8)
        if name.hasPrefix("@") { unsafe $0[0] = 0 }
    }
    let length = MemoryLayout<sa_family_t>.size + name.utf8.count
    unsafe withUnsafeBytes(of: &address) { bytes in
        let code = unsafe bind(
            descriptor, bytes.assumingMemoryBound(to: sockaddr.self).baseAddress!,
            socklen_t(length + (name.hasPrefix("@") ? 0 : 1)))
        precondition(code == 0, "bind: errno \(errno)")
    }
}
