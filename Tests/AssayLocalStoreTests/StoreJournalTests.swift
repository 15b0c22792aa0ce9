import Assay
import AssayIO
import AssayMint
import AssayModels
import Glibc
import TestSupport
import Testing

@testable import AssayLocalStore

/// A store that is kept in a folder.
@Suite("local store: journal")
struct StoreJournalTests {
    private static let all: [StoreInput] = [
        .initialCustomer(Array("{\"name\":\"ü\",\n\"steps\":[]}".utf8), .sandbox),
        .began(notifying: []), .began(notifying: [.production, .sandbox]),
        .request(
            StoreRequest(
                method: .put, path: "/inApps/v1/x\"\\", query: [("a", "1"), ("a", ""), ("ä", "&")],
                contentType: "image/png", body: [0, 10, 13, 255], time: 1),
            bundleId: "com.example.game"),
        .request(StoreRequest(method: .get, path: "", time: .min), bundleId: nil),
        .moved(to: Timestamp(milliseconds: .max)),
        .sent(3, .timedOut, isLast: false), .sent(4, .unsuccessfulStatus, isLast: true),
    ]

    @Test("each input is one line, and comes back from it", arguments: all)
    func lines(input: StoreInput) throws {
        #expect(input.line.count { $0 == UInt8(ascii: "\n") } == 1 && input.line.last == 10)
        let read = try #require(StoreInput(line: input.line.dropLast()))
        #expect("\(read)" == "\(input)")
    }

    @Test("no line has a token")
    func secrets() {
        let token = Array("Bearer secret".utf8)
        let request = StoreRequest(
            method: .post, path: "/x", authorization: token, acceptedBundleId: "b", time: 0)
        let line = String(decoding: StoreInput.request(request, bundleId: "b").line, as: UTF8.self)
        #expect(!line.contains("ecret") && !line.contains("uthorization"))
    }

    @Test(
        "what is no input is refused",
        arguments: [
            "", "{}", "[]", "{\"type\":\"sent\"}", "{\"type\":\"sent\",\"id\":1,\"result\":\"OK\"}",
            "{\"type\":\"moved\",\"to\":\"1\"}", "{\"type\":\"other\"}", "{\"type\":\"began\"",
            "{\"type\":\"resident\",\"environment\":\"Xcode\",\"scenario\":\"\"}",
            "{\"type\":\"resident\",\"environment\":\"Sandbox\",\"scenario\":\"?\"}",
            "{\"type\":\"request\",\"method\":\"POST\"}",
        ])
    func malformed(line: String) {
        #expect(StoreInput(line: ArraySlice(line.utf8)) == nil)
    }

    // MARK: A store on a socket

    /// Opens the store of a folder. Its notifications go where nothing listens.
    private static func open(
        _ folder: String?, appAppleId: Int64 = 1, notifies: Bool = true
    ) throws -> LocalStoreServer {
        let target = notifies ? try NotificationTarget("http://127.0.0.1:9/") : nil
        return try LocalStoreServer(
            StoreSettings(
                authority: TestStore.authority.get(), appAppleId: appAppleId,
                start: TestStore.start, production: target),
            at: .http(host: "127.0.0.1", port: 0),
            initialCustomers: [
                .init(Scenario.builtInSource("grace-period") ?? [], isSandbox: false)
            ],
            folder: folder)
    }

    /// The body of an answer, without the signatures, which differ each time.
    private static func send(
        _ method: String, _ path: String, _ body: String = "", to server: LocalStoreServer
    ) throws -> String {
        let client = try BlockingClient(server.endpoint)
        let token = StoreToken.bearer(
            "com.example.game", at: SystemClock.wallMilliseconds / 1000)
        try client.send(
            Array(
                ("\(method) \(path) HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
                    + "Content-Type: application/json\r\n"
                    + "Authorization: \(String(decoding: token, as: UTF8.self))\r\n"
                    + "Content-Length: \(body.utf8.count)\r\n\r\n\(body)").utf8))
        let text = String(decoding: try client.receiveToEnd(), as: UTF8.self)
        return text.split(separator: "\r\n\r\n", maxSplits: 1).last.map(String.init) ?? ""
    }

    /// What a store says of itself.
    private static func state(_ server: LocalStoreServer) throws -> [String] {
        try ["/customers", "/notifications", "/faults"].map { try send("GET", $0, to: server) }
    }

    @Test("a store that is opened again goes on where it was, however it ended")
    func goesOn() throws {
        let folder = temporaryPath("store")
        let id = "470001000000100"
        var expected: [String] = []
        do {
            let first = try Self.open(folder)
            defer { first.stop() }
            _ = try Self.send("POST", "/advance", "{\"duration\":\"31d\"}", to: first)
            _ = try Self.send(
                "POST", "/customers", "{\"scenario\":\"refund\",\"environment\":\"Sandbox\"}",
                to: first)
            _ = try Self.send(
                "POST", "/faults", "{\"endpoint\":\"history\",\"code\":5000001,\"count\":3}",
                to: first)
            let failed = try Self.send("GET", "/inApps/v2/history/\(id)", to: first)
            #expect(failed.contains("5000001"))
            let finished = try Self.send(
                "POST", "/inApps/v1/transactions/\(id)/finish", to: first)
            #expect(!finished.contains("errorCode"), "\(finished)")
            expected = try Self.state(first)
            #expect(throws: LocalStoreError.self) { try Self.open(folder) }
        }
        #expect(expected[0].contains("grace-period") && expected[0].contains("refund"))
        #expect(expected[1].contains("SOCKET_ISSUE") && expected[2].contains("\"left\":2"))
        let path = folder + "/store.jsonl"
        let kept = try #require(try SystemFile.read(path, limit: 1 << 20))
        let token = StoreToken.bearer("com.example.game", at: 0).dropFirst(7).prefix(40)
        #expect(!kept.contains(sequence: token))
        do {
            let second = try Self.open(folder)
            defer { second.stop() }
            #expect(try Self.state(second) == expected)
        }
        // A process that was killed while it wrote.
        let torn = temporaryPath("torn")
        try SystemFile.createFolder(torn, mode: 0o700)
        let part = Array("{\"type\":\"mo".utf8)
        try SystemFile.create(torn + "/store.jsonl", kept + part, mode: 0o600)
        for _ in 0..<2 {
            let third = try Self.open(torn)
            defer { third.stop() }
            #expect(try Self.state(third) == expected)
        }
    }

    @Test("a notification that was sent for the last time stays so, whatever the setting is later")
    func lastAttempts() throws {
        let scenario = Scenario.builtInSource("subscribe") ?? []
        for isLast in [true, false] {
            var replay = StoreReplay(try TestStore().store)
            for input in [
                .initialCustomer(scenario, .production), .began(notifying: [.production]),
                .sent(1, .unsuccessfulStatus, isLast: isLast),
            ] as [StoreInput] {
                try replay.take(try #require(StoreInput(line: input.line.dropLast())))
            }
            let entry = try #require(replay.store.notifications.entries.first)
            #expect(entry.attempts.count == 1 && (entry.next == nil) == isLast)
        }
    }

    @Test("notifications that nobody was sent stay unsent when there is a URL later")
    func laterURL() throws {
        let folder = temporaryPath("store")
        do {
            let first = try Self.open(folder, notifies: false)
            defer { first.stop() }
            _ = try Self.send("POST", "/advance", "{\"duration\":\"31d\"}", to: first)
        }
        let second = try Self.open(folder)
        defer { second.stop() }
        let list = try Self.send("GET", "/notifications", to: second)
        #expect(list.contains("SUBSCRIBED") && !list.contains("SOCKET_ISSUE"))
        let answer = try Self.send("POST", "/advance", "{\"duration\":\"1d\"}", to: second)
        #expect(answer.contains("\"sent\":[]"))
    }

    @Test("a journal of another store, and what is none, are refused")
    func otherJournals() throws {
        let folder = temporaryPath("store")
        try Self.open(folder).stop()
        let path = folder + "/store.jsonl"
        let kept = try #require(try SystemFile.read(path, limit: 1 << 20))
        #expect(throws: LocalStoreError.self) { try Self.open(folder, appAppleId: 2) }
        for content in [Array("hello\n".utf8), kept + Array("{}\n".utf8)] {
            let other = temporaryPath("other")
            try SystemFile.createFolder(other, mode: 0o700)
            try SystemFile.create(other + "/store.jsonl", content, mode: 0o600)
            #expect(throws: LocalStoreError.self) { try Self.open(other) }
        }
        #expect(throws: LocalStoreError.self) { try Self.open("/proc/none/store") }
    }
}

extension [UInt8] {
    fileprivate func contains(sequence: ArraySlice<UInt8>) -> Bool {
        indices.contains { self[$0...].starts(with: sequence) }
    }
}

/// A folder that does not exist.
private func temporaryPath(_ name: String) -> String {
    "/tmp/assay-test-\(getpid())-\(UInt32.random(in: 0 ... .max))-\(name)"
}
