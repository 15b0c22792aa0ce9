import AssayIO
import AssayMint
import AssayModels
import AssayServer
import AssayWire
import Glibc
import TestSupport
import Testing

/// Line 81: the server's memory accounting, compared with the resident memory of its process.
@Suite(
    "Resident memory", .ownThread, .serialized, .timeLimit(.minutes(5)),
    .disabled(if: Sanitizer.isOn, "a sanitizer has memory of its own for each allocation"))
struct ResidentMemoryTests {
    /// Memory that is not counted: caches, threads, and the C library's free memory.
    fileprivate static let apart = 20.0 * 1024 * 1024
    /// What a server may keep of a flood: that memory, and the ends of its threads' heaps.
    private static let left = 32.0 * 1024 * 1024

    /// A server in a process of its own, and its metrics.
    private struct Subject {
        let server: ServerProcess
        let endpoint: Endpoint
        let admin: Endpoint
        let before: Double

        init() throws {
            let (root, path) = (temporaryPath("root"), temporaryPath("resident"))
            let (configuration, admin) = (temporaryPath("toml"), temporaryPath("admin"))
            try Present.writeRoot(root)
            let limits = """
                [limits]
                unseen-chains-per-second = 1
                queue-delay-ms = 30000
                frame-grace-seconds = 60
                write-stall-seconds = 60
                longest-timeout-ms = 300000

                [[app]]
                name = "game"
                bundle-id = "\(Minted.bundleId)"
                environments = ["Sandbox"]
                default = true
                """
            try SystemFile.create(configuration, Array(limits.utf8), mode: 0o600)
            server = try ServerProcess([
                "--listen", "unix:\(path)", "--root", root, "--config", configuration,
                "--admin", "unix:\(admin)", "--workers", "2",
            ])
            try #require(!server.ready.isEmpty, "\(server.log)")
            endpoint = .unix(path: path)
            self.admin = .unix(path: admin)
            // Fills the caches that the first requests need.
            let client = try RawClient(endpoint)
            let sandbox = Expectations(environments: [.sandbox])
            let token = try Present.token.get()
            try client.send(RawClient.verify(1, .transaction, token, expecting: sandbox))
            try client.expectAnswers(1...1)
            before = try Self.metric("process_resident_memory_bytes", self.admin)
        }

        private static func metric(_ name: String, _ admin: Endpoint) throws -> Double {
            let client = try BlockingClient(admin)
            try client.send(Array("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n".utf8))
            let page = AdminTest.answer(try client.receiveToEnd()).body
            // The server has not published its state yet.
            guard page != "starting\n" else {
                usleep(50_000)
                return try metric(name, admin)
            }
            // Not by `Scrape`, which checks the whole page: in a debug build, at the rate of these
            // tests, that takes most of a processor.
            let line = page.split(separator: "\n").first { $0.hasPrefix(name + " ") }
            let value = line.flatMap { Double($0.dropFirst(name.utf8.count + 1)) }
            return try #require(value, "\(name)")
        }

        var counted: Double { get throws { try Self.metric("assay_held_bytes", admin) } }
        var grown: Double {
            get throws { try Self.metric("process_resident_memory_bytes", admin) - before }
        }

        /// Waits until the counted memory reaches a minimum, and compares it with the resident
        /// memory.
        func compare(
            _ state: String, atLeast least: Double,
            _ sourceLocation: SourceLocation = #_sourceLocation
        ) throws {
            for _ in 0..<300 where try counted < least { usleep(100_000) }
            // The server publishes its metrics several times a second.
            usleep(500_000)
            let (counted, grown) = (try counted, try grown)
            print("\(state): counted \(Int(counted) >> 20) MiB, grown \(Int(grown) >> 20) MiB")
            #expect(counted >= least, "\(state)", sourceLocation: sourceLocation)
            #expect(
                grown <= counted * 1.2 + ResidentMemoryTests.apart
                    && counted <= grown * 1.2 + ResidentMemoryTests.apart,
                "\(state): \(counted) counted, \(grown) grown", sourceLocation: sourceLocation)
        }

        func release(_ clients: [RawClient]) throws {
            for client in clients { client.socket.reset() }
            for _ in 0..<200 where try counted > 1_000_000 { usleep(50_000) }
        }
    }

    /// A server for each state: one that has had another flood keeps some of its memory.
    @Test(
        "lines 64, 80, 81: counted and resident bytes differ by at most a fifth",
        .enabled(if: TimedTests.areEnabled)
    )
    func states() throws {
        Descriptors.raiseLimit()
        let mega = 1024.0 * 1024
        let notification = [UInt8](repeating: 97, count: 250_000)
        let frame = Array(RawClient.verify(1, .notification, notification).dropLast())
        try flood("frames", 250, atLeast: 55 * mega) { _ in frame }

        let info = RawClient.frame(RequestHead(id: 1, call: .info))
        let infos = Array(repeatElement(info, count: 40).joined())
        try flood("unread answers", 300, atLeast: 40 * mega) { _ in infos }

        let receipt = try Minted.receipt(bytes: 4_000_000)
        // The server drops a receipt at its deadline, whose default is too early on a busy machine.
        let start = Array(RawClient.verify(1, .appReceipt, receipt, timeout: 300_000).dropLast())
        try flood("receipts", 24, atLeast: 24 * mega) { _ in start }
        try flood("waiting requests", 16, atLeast: 20 * mega, waiting)
    }

    /// Compares the memory of a server with this number of clients, each of which sends `bytes`.
    private func flood(
        _ state: String, _ count: Int, atLeast least: Double, _ bytes: (Int) throws -> [UInt8],
        _ sourceLocation: SourceLocation = #_sourceLocation
    ) throws {
        let subject = try Subject()
        let clients = try (0..<count).map {
            let client = try RawClient(subject.endpoint, receiveBuffer: 4096)
            try client.send(bytes($0))
            return client
        }
        try subject.compare(state, atLeast: least, sourceLocation)
        try subject.release(clients)
        // Most of the flood goes back to the system.
        for _ in 0..<60 where try subject.grown > Self.left { sleep(1) }
        print("\(state): left \(Int(try subject.grown) >> 20) MiB")
        #expect(try subject.grown <= Self.left, "\(state)", sourceLocation: sourceLocation)
        #expect(subject.server.end() == 0)
    }

    /// Requests under unknown chains, of which the server validates one a second. They are many,
    /// so that most requests still wait after the minute that all this may take on a busy machine.
    /// Each is followed by filler that is discarded at once.
    private func waiting(_ index: Int) throws -> [UInt8] {
        let validity = Validity.around(Present.now, days: 300)
        let tokens = try (0..<20).map { _ in
            try Minter(Present.authority.get().issueChain(validity: validity)).mint(
                .transaction, index: index, bundleId: Minted.bundleId, appAppleId: 1_234_567_890,
                environment: .sandbox, signedDate: Present.now)
        }
        let filler = RawClient.verify(9_999, nil, [UInt8](repeating: 0, count: 12_000))
        let sandbox = Expectations(environments: [.sandbox])
        return (0..<400).flatMap { (id: Int) -> [UInt8] in
            let request = RawClient.verify(
                UInt64(id) + 1, .transaction, tokens[id % tokens.count], timeout: 300_000,
                expecting: sandbox)
            return request + filler
        }
    }
}
