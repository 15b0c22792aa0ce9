import Assay
import AssayBytes
import AssayEntitlements
import AssayMint
import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayKeepers
@testable import AssayServer
@testable import AssayService
@testable import AssayTelemetry

/// The lines of the audit log: one for each answer, in whatever protocol.
@Suite("Audit log", .ownThread, .serialized, .timeLimit(.minutes(3))) struct AuditTests {
    private static let key = "0123456789abcdef0123"

    /// The lines that a server has written while `body` ran, without their ends.
    private static func lines(
        evidence: Bool = false, _ change: (inout ServerConfiguration) -> Void = { _ in },
        _ body: (TestServer) throws -> Void
    ) throws -> [String] {
        let log = AuditLog()
        log.includesEvidence = evidence
        try withServer {
            $0.listen.append(SimulatedServer.http)
            $0.limits.defaultTimeoutMilliseconds = RawClient.patience
            $0.audit = AuditService(writtenElsewhere: log)
            change(&$0)
        } _: { test in
            try body(test)
        }
        let chunks = log.take()
        #expect(log.counts.lost == 0)
        let text = String(decoding: chunks.flatMap(\.bytes), as: UTF8.self)
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false).map { "\($0)" }
        #expect(lines.last == "" && chunks.map(\.records).reduce(0, +) == lines.count - 1)
        return Array(lines.dropLast())
    }

    private static func text(_ log: AuditLog) -> String {
        String(decoding: log.take().flatMap(\.bytes), as: UTF8.self)
    }

    /// The numbers of the requests in the lines of a log.
    private static func requests(_ log: AuditLog) throws -> [Int64?] {
        try text(log).split(separator: "\n").map { try json(String($0))["request"]?.int64 }
    }

    private static func json(_ line: String) throws -> JSONValue {
        try JSONDocument.parse(Array(line.utf8)).root
    }

    /// The line from its call on: without its time and its place.
    private static func withoutPlace(_ line: String) -> String {
        let call = line.firstRange(of: #""call":"#)
        return String(line[(call?.lowerBound ?? line.startIndex)...])
    }

    @Test("frames, HTTP/1.1, gRPC-Web and gRPC have the same line for the same evidence")
    func protocols() throws {
        let token = try Minted.token(.notification)
        let lines = try Self.lines { test in
            let frames = try RawClient(test.unix)
            try frames.send(RawClient.verify(7, .notification, token))
            #expect(try frames.receive()?.head.status == .ok)
            let http = try HTTPClient(test.addresses[2])
            let answer = try http.ask(
                HTTPClient.post("/v1/verify?kind=notification&timeout=600", token))
            #expect(answer.status == 200)
            for form in RPCTestForm.allCases {
                let body = form.body(token, kind: .notification)
                #expect(try http.ask(RPCBytes.post(form, body)).status == 200)
            }
            let http2 = SimulatedHTTP2Peer(test.simulated)
            let message = RPCBytes.request(token, kind: .notification)
            #expect(http2.ask(1, HTTP2Bytes.call(1, message)).grpcStatus == 0)
            http2.peer.close()
        }
        #expect(lines.count == 8 && Set(lines.map(Self.withoutPlace)).count == 1)
        let line = try Self.json(lines[0])
        let names = line.members?.pairs.map(\.0)
        #expect(
            names == [
                "time", "connection", "request", "call", "app", "kind", "verdict", "environment",
                "dedupKey", "evidenceKey", "originalTransactionId", "appAccountToken",
                "appTransactionId", "notificationType", "subtype", "notificationUUID",
            ])
        #expect(line["time"]?.string == Minted.now.rfc3339Milliseconds)
        #expect(line["app"]?.string == "game" && line["verdict"]?.string == "VALID")
        #expect(line["request"]?.int64 == 7 && line["kind"]?.string == "notification")
    }

    @Test("refused evidence has a detail, and a request without a verdict a status and a reason")
    func refused() throws {
        let token = try Minted.transaction.get()
        let lines = try Self.lines { test in
            let client = try RawClient(test.unix)
            for frame in [
                RawClient.verify(1, .transaction, Minted.tampered(token)),
                RawClient.verify(2, .transaction, token, app: "unknown"),
                RawClient.verify(3, nil, token),
            ] {
                try client.send(frame)
                _ = try client.receive()
            }
            try client.expectPong()
            let http = try HTTPClient(test.addresses[2])
            #expect(try http.ask(HTTPClient.get("/v1/health")).status == 200)
            // It is POST that the path has.
            #expect(try http.ask(HTTPClient.get("/v1/verify")).status == 405)
        }
        let members = try lines.map(Self.json)
        #expect(members.map { $0["verdict"]?.string } == ["INVALID_SIGNATURE", nil, nil, nil])
        #expect(members[0]["detail"] != nil && members[0]["dedupKey"] == nil)
        #expect(
            members.map { $0["status"]?.string } == [
                nil, "NotFound", "Unimplemented", "Unimplemented",
            ])
        #expect(
            members.map { $0["reason"]?.string } == [
                nil, "unknown_app", "unimplemented", "unimplemented",
            ])
        // The name that a client made up.
        #expect(!lines.joined().contains("unknown\""))
    }

    @Test("an accepted request that ends without a verdict names its app and its kind")
    func dropped() throws {
        let clock = HeldBackground()
        let log = AuditLog()
        try withServer(heldBy: clock) {
            $0.audit = AuditService(writtenElsewhere: log)
        } _: { test in
            let client = try test.holdWorker(1, by: clock)
            let token = try Minted.transaction.get()
            try client.send(RawClient.verify(2, .transaction, token, timeout: 50))
            try test.pass(milliseconds: 1_000)
            #expect(try client.receive()?.head.status == .deadlineExceeded)
            clock.release.open()
            _ = try client.receive()
        }
        let line = Self.text(log).split(separator: "\n").first { $0.contains("\"request\":2,") }
        let end =
            #""call":"Verify","app":"game","kind":"transaction","status":"DeadlineExceeded","#
            + #""reason":"deadline"}"#
        #expect(line?.hasSuffix(end) == true)
    }

    @Test("a Resolve has a line for each item, and one with what the customer owns")
    func resolves() throws {
        let items: [(kind: EvidenceKind?, evidence: [UInt8])] = [
            (.transaction, try Minted.period(0)), (nil, try Minted.period(1)),
            (.transaction, Minted.tampered(try Minted.transaction.get())),
        ]
        let lines = try Self.lines { test in
            let client = try RawClient(test.unix)
            try client.send(RawClient.resolve(5, items))
            #expect(try client.receive()?.head.status == .ok)
        }
        let members = try lines.map(Self.json)
        #expect(members.map { $0["call"]?.string } == Array(repeating: "Resolve", count: 4))
        #expect(Set(members.map { $0["request"]?.int64 }) == [5])
        #expect(members.map { $0["item"]?.int64 } == [0, 1, 2, nil])
        #expect(members[1]["kind"]?.string == "transaction")
        #expect(
            lines[3].hasSuffix(
                #""items":3,"decision":{"outcome":"partly_refused","entitled":["premium"]}}"#))
    }

    /// Knows each transaction but 0.
    @Sendable private static func known(
        _ question: ScriptedFetcher.Question
    ) throws(FetchError) -> CustomerState {
        guard question.query.transactionId != "0" else {
            throw FetchError(.unknownTransaction, "because")
        }
        return try ScriptedFetcher.answer(question)
    }

    @Test("a Fetch has a line with what the customer owns, or with why there is none")
    func fetches() throws {
        let fetcher = ScriptedFetcher(Self.known)
        let lines = try Self.lines {
            $0.ask(fetcher)
        } _: { test in
            let client = try RawClient(test.unix)
            for id in ["1", "0"] {
                try client.send(RawClient.fetch(3, FetchCall(of: id)))
                _ = try client.receive()
            }
        }
        try #require(lines.count == 2)
        #expect(try Self.json(lines[0])["decision"]?["outcome"]?.string == "valid")
        #expect(
            lines[1].hasSuffix(
                #""call":"Fetch","app":"game","status":"NotFound","reason":"unknown_app"}"#))
    }

    @Test("no line has an API key, a password, a name that a client chose, or a signature")
    func secrets() throws {
        let signer = ScriptedSigner()
        let lines = try Self.lines(evidence: true) {
            guard let entry = $0.reloadable.apps["game"] else { return }
            $0.reloadable.apps["game"] = AppEntry(
                verifier: entry.verifier, policy: entry.policy,
                secrets: AppSecrets(
                    sharedSecret: "the-secret", apiKeys: ["p" + Self.key],
                    fetchKeys: ["f" + Self.key], signKeys: [Self.key]), signer: signer)
        } _: { test in
            let http = try HTTPClient(test.addresses[2])
            let field = "Authorization: Bearer \(Self.key)\r\n"
            let path = "/v1/sign/promotional-offer"
            #expect(try http.ask(HTTPClient.post(path, json: "{}", field)).status == 200)
            let octets = try Minted.receipt(bytes: 3_000)
            let receipt = String(decoding: Base64.encode(octets.span), as: UTF8.self)
            let body = #"{"receipt-data":"\#(receipt)","password":"the-secret"}"#
            #expect(try http.ask(HTTPClient.post("/verifyReceipt", json: body)).status == 200)
            let purchase = #"{"receipt":"\#(receipt)"}"#
            let key = "Authorization: Bearer p\(Self.key)\r\n"
            _ = try http.ask(HTTPClient.post("/v1/purchase/verify", json: purchase, key))
        }
        #expect(lines.count == 3 && lines[0].hasSuffix(#""call":"Sign","status":"OK"}"#))
        for secret in [Self.key, "the-secret", "password", "Bearer"] {
            #expect(!lines.contains { $0.contains(secret) }, "\(secret)")
        }
    }

    @Test("the evidence is in the line by option, unless it was verified as it arrived")
    func evidence() throws {
        let on = try Self.evidence(isOn: true)
        let token = String(decoding: try Minted.transaction.get(), as: UTF8.self)
        #expect(on[0]["evidence"]?.string == token)
        #expect(on[1]["evidenceOmitted"]?.string == "size")
        let off = try Self.evidence(isOn: false)
        #expect(off.count == 2 && !off.contains { $0["evidence"] != nil })
        #expect(!off.contains { $0["evidenceOmitted"] != nil })
    }

    private static func evidence(isOn: Bool) throws -> [JSONValue] {
        let token = try Minted.transaction.get()
        let receipt = try Minted.receipt(bytes: 300_000)
        let lines = try lines(evidence: isOn) { test in
            let client = try RawClient(test.unix)
            try client.send(RawClient.verify(1, .transaction, token))
            _ = try client.receive()
            try client.send(RawClient.verify(2, .appReceipt, receipt))
            _ = try client.receive()
        }
        return try lines.map(json)
    }

    @Test("a reload turns it on and off, and loses no line")
    func reloads() throws {
        let (first, second) = (AuditLog(), AuditLog())
        try withServer { test in
            let client = try RawClient(test.unix)
            var id: UInt64 = 0
            var configuration: ServerConfiguration = test.simulated.configuration
            let services = [first, second].map { AuditService(writtenElsewhere: $0) }
            let all: [AuditService?] = [nil, services[0], services[1], nil]
            for service in all {
                configuration.audit = service
                test.server.reload(configuration)
                for _ in 0..<3 {
                    id += 1
                    try client.send(
                        RawClient.verify(id, .transaction, try Minted.transaction.get()))
                    #expect(try client.receive()?.head.id == id)
                }
            }
        }
        let ids = try [first, second].map(Self.requests)
        #expect(ids == [[4, 5, 6], [7, 8, 9]])
    }
}
