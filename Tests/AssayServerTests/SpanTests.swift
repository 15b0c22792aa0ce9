import AssayBytes
import AssayEntitlements
import AssayIO
import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayKeepers
@testable import AssayServer
@testable import AssayService
@testable import AssayTelemetry

/// Spans of requests whose client records their trace.
@Suite("Spans", .ownThread, .serialized, .timeLimit(.minutes(3))) struct SpanTests {
    private static let trace = TraceTests.trace
    private static let field = "traceparent: \(TraceTests.text)\r\n"
    private static let unsampled = String(TraceTests.text.dropLast()) + "0"

    /// The spans that a server has written while `body` ran.
    private static func spans(
        _ change: (inout ServerConfiguration) -> Void = { _ in },
        _ body: (TestServer) throws -> Void
    ) throws -> [JSONValue] {
        let queue = RecordQueue()
        try withServer {
            $0.listen.append(SimulatedServer.http)
            $0.limits.defaultTimeoutMilliseconds = RawClient.patience
            $0.spans = SpanService(writtenElsewhere: queue)
            change(&$0)
        } _: {
            try body($0)
        }
        let chunks = queue.take()
        let spans = try chunks.flatMap { chunk in
            let list = Array("[".utf8) + chunk.bytes + Array("]".utf8)
            return try JSONDocument.parse(list).root.elements.map(Array.init) ?? []
        }
        #expect(spans.count == chunks.map(\.records).reduce(0, +))
        return spans
    }

    private static func attributes(_ span: JSONValue) -> [String: String] {
        var found: [String: String] = [:]
        for pair in span["attributes"]?.elements.map(Array.init) ?? [] {
            let value = pair["value"]?["stringValue"]?.string ?? pair["value"]?["intValue"]?.string
            found[pair["key"]?.string ?? ""] = value
        }
        return found
    }

    private static func verify(
        _ id: UInt64, _ token: [UInt8], app: String = "", _ text: String? = TraceTests.text
    ) -> [UInt8] {
        let call = VerifyCall(kind: .transaction, returnsTypedPayload: false)
        return RawClient.frame(
            RequestHead(
                id: id, call: .verify(call), app: app, timeoutMilliseconds: RawClient.patience,
                trace: text.flatMap { TraceContext($0) }), token)
    }

    @Test("a traced request has a span, and one that its client does not record has none")
    func frames() throws {
        let token = try Minted.transaction.get()
        let spans = try Self.spans { test in
            let client = try RawClient(test.unix)
            let frames = [
                Self.verify(1, token), Self.verify(2, Minted.tampered(token)),
                Self.verify(3, token, app: "a-name"), Self.verify(4, token, nil),
                Self.verify(5, token, Self.unsampled), RawClient.ping(6),
            ]
            for frame in frames {
                try client.send(frame)
                _ = try client.receive()
            }
        }
        try #require(spans.count == 3)
        #expect(Set(spans.compactMap { $0["spanId"]?.string }).count == 3)
        for span in spans {
            #expect(span["traceId"]?.string == Self.trace && span["name"]?.string == "Verify")
            #expect(span["parentSpanId"]?.string == "b7ad6b7169203331")
            #expect(span["spanId"]?.string?.utf8.count == 16 && span["kind"]?.int64 == 2)
            let start = try #require(span["startTimeUnixNano"]?.string.flatMap { UInt64($0) })
            let end = try #require(span["endTimeUnixNano"]?.string.flatMap { UInt64($0) })
            #expect(end == UInt64(Minted.now.milliseconds) * 1_000_000 && start <= end)
            #expect(span["status"]?["code"] == nil)
        }
        let call = ["rpc.system": "assay", "rpc.method": "Verify"]
        let game = ["assay.app": "game", "assay.kind": "transaction"]
        var expected = [call, call, call]
        for index in 0...1 { expected[index].merge(game) { $1 } }
        expected[0]["assay.verdict"] = "VALID"
        expected[1]["assay.verdict"] = "INVALID_SIGNATURE"
        expected[2]["assay.status"] = "NotFound"
        #expect(spans.map(Self.attributes) == expected)
    }

    @Test("a span says how its request came")
    func protocols() throws {
        let token = try Minted.transaction.get()
        let spans = try Self.spans { test in
            let http = try HTTPClient(test.addresses[2])
            let path = "/v1/verify?kind=transaction"
            #expect(try http.ask(HTTPClient.post(path, token, Self.field)).status == 200)
            #expect(try http.ask(HTTPClient.get("/v1/health", Self.field)).status == 200)
            let body = RPCBytes.request(token)
            #expect(try http.ask(RPCBytes.post(.proto, body, Self.field)).status == 200)
            _ = try http.ask(RPCBytes.post(.web, RPCBytes.frame(body), Self.field))
            let http2 = SimulatedHTTP2Peer(test.simulated)
            let fields = [("traceparent", TraceTests.text)]
            #expect(http2.ask(1, HTTP2Bytes.call(1, body, fields)).grpcStatus == 0)
            let unknown = RPCBytes.request(token, app: "x")
            #expect(http2.ask(3, HTTP2Bytes.call(3, unknown, fields)).grpcStatus == 5)
            http2.peer.close()
        }
        #expect(
            spans.map { $0["name"]?.string }
                == ["Verify", "Health", "Verify", "Verify", "Verify", "Verify"])
        let attributes = spans.map(Self.attributes)
        let system = "rpc.system"
        #expect(
            attributes.map { $0["http.request.method"] } == ["POST", "GET", nil, nil, nil, nil])
        #expect(
            attributes.map { $0[system] } == [nil, nil, "connect_rpc", "grpc", "grpc", "grpc"])
        #expect(
            attributes.map { $0["rpc.grpc.status_code"] } == [nil, nil, nil, "0", "0", "5"])
    }

    @Test("a Resolve and a Fetch have a span with their app; a failure of the server is an error")
    func decisions() throws {
        let token = try Minted.transaction.get()
        let fetcher = ScriptedFetcher { question throws(FetchError) in
            guard question.query.transactionId != "0" else {
                throw FetchError(.unavailable, "because")
            }
            return try ScriptedFetcher.answer(question)
        }
        let spans = try Self.spans({ $0.ask(fetcher) }) { test in
            let client = try RawClient(test.unix)
            let trace = TraceContext(TraceTests.text)
            let resolve = ResolveCall(items: [.init(.detected, length: UInt32(token.count))])
            let calls: [(RequestHead.Call, [UInt8])] = [
                (.resolve(resolve), token), (.fetch(FetchCall(of: "1")), []),
                (.fetch(FetchCall(of: "0")), []),
            ]
            for (call, body) in calls {
                try client.send(
                    RawClient.frame(
                        RequestHead(
                            id: 9, call: call, timeoutMilliseconds: RawClient.patience,
                            trace: trace), body))
                _ = try client.receive()
            }
        }
        #expect(spans.map { $0["name"]?.string } == ["Resolve", "Fetch", "Fetch"])
        let attributes = spans.map(Self.attributes)
        #expect(attributes.map { $0["assay.app"] } == ["game", "game", "game"])
        #expect(attributes.map { $0["assay.outcome"] } == ["valid", nil, nil])
        #expect(attributes.map { $0["error.type"] } == [nil, nil, "Unavailable"])
        #expect(spans.map { $0["status"]?["code"]?.int64 } == [nil, nil, 2])
    }

    // MARK: Export

    /// Takes what it is sent, and answers as its script says.
    private final class ScriptedCollector: SpanTransport {
        let bodies = Locked<[[UInt8]]>([])
        let answers = Locked<[String?]>([])

        func post(
            _ body: [UInt8], timeout: UInt64, completion: @escaping @Sendable (String?) -> Void
        ) {
            bodies.withLock { $0.append(body) }
            completion(answers.withLock { $0.isEmpty ? nil : $0.removeFirst() })
        }

        func close() {}
    }

    @Test("a chunk of spans is one request of OTLP, which is sent again until it is accepted")
    func exports() throws {
        let queue = RecordQueue()
        let batch = SpanBatch(queue)
        let context = try #require(TraceContext(TraceTests.text))
        for _ in 0..<2 {
            batch.add(
                ServerSpan(
                    id: .random, trace: RequestTrace(context, via: .frames), call: .ping,
                    status: .ok, start: 1, end: 2))
        }
        batch.flush()
        let collector = ScriptedCollector()
        let writer = RecordWriter(queue, clock: { 0 }) { _ in }
        try writer.use(SpanExporter(collector, version: "1.2.3"))
        collector.answers.withLock { $0 = ["the status 503"] }
        writer.turn(at: 0)
        #expect(queue.counts == RecordQueue.Counts())
        writer.turn(at: 1_000)
        #expect(queue.counts == RecordQueue.Counts(written: 2, lost: 0))
        let bodies = collector.bodies.withLock { $0 }
        #expect(bodies.count == 2 && bodies[0] == bodies[1])
        let root = try JSONDocument.parse(bodies[1]).root
        let resource = try #require(root["resourceSpans"]?.elements.map(Array.init)?.first)
        let names = Self.attributes(try #require(resource["resource"]))
        #expect(names == ["service.name": "assay", "service.version": "1.2.3"])
        let scope = try #require(resource["scopeSpans"]?.elements.map(Array.init)?.first)
        #expect(scope["scope"]?["name"]?.string == "assay")
        #expect(scope["spans"]?.elements.map(Array.init)?.count == 2)
    }
}
