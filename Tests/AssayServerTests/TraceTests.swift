import AssayBytes
import AssayEntitlements
import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayKeepers
@testable import AssayServer
@testable import AssayService
@testable import AssayTelemetry

/// `traceparent` of requests, in each protocol: in errors, and in the audit log.
@Suite("Traces", .ownThread, .serialized, .timeLimit(.minutes(3))) struct TraceTests {
    static let trace = "0af7651916cd43dd8448eb211c80319c"
    static let text = "00-\(trace)-b7ad6b7169203331-01"
    private static let field = "Traceparent: \(text)\r\n"

    /// A request of frames.
    private static func frame(
        _ id: UInt64, _ call: RequestHead.Call, _ body: [UInt8] = [], app: String = "",
        timeout: UInt32 = RawClient.patience, trace: String? = text
    ) -> [UInt8] {
        RawClient.frame(
            RequestHead(
                id: id, call: call, app: app, timeoutMilliseconds: timeout,
                trace: trace.flatMap { TraceContext($0) }), body)
    }

    private static let verify = RequestHead.Call.verify(
        VerifyCall(kind: .transaction, returnsTypedPayload: false))

    /// The traces in the lines of an audit log.
    private static func traces(_ log: AuditLog) throws -> [String?] {
        try String(decoding: log.take().flatMap(\.bytes), as: UTF8.self).split(separator: "\n")
            .map { try JSONDocument.parse(Array($0.utf8)).root["trace"]?.string }
    }

    private static func withAudit(
        _ change: (inout ServerConfiguration) -> Void = { _ in },
        _ body: (TestServer) throws -> Void
    ) throws -> [String?] {
        let log = AuditLog()
        try withServer {
            $0.listen.append(SimulatedServer.http)
            $0.limits.defaultTimeoutMilliseconds = RawClient.patience
            $0.audit = AuditService(writtenElsewhere: log)
            change(&$0)
        } _: {
            try body($0)
        }
        return try traces(log)
    }

    @Test("a frame's trace is in refusals and in lines, and in no answer with a result")
    func frames() throws {
        let token = try Minted.transaction.get()
        let traces = try Self.withAudit { test in
            let client = try RawClient(test.unix)
            func ask(_ frame: [UInt8]) throws -> ResponseHead? {
                try client.send(frame)
                return try client.receive()?.head
            }
            let answer = try ask(Self.frame(1, Self.verify, token))
            #expect(answer?.status == .ok && answer?.traceId == nil)
            let pong = try ask(Self.frame(2, .ping))
            #expect(pong?.result == .pong && pong?.traceId == nil)
            let unknown = try ask(Self.frame(3, Self.verify, token, app: "unknown"))
            #expect(unknown?.status == .notFound && unknown?.traceId == Self.trace)
            let again = try ask(Self.frame(4, Self.verify, token, app: "unknown", trace: nil))
            #expect(again?.status == .notFound && again?.traceId == nil)
            let resolve = ResolveCall(items: [.init(.detected, length: UInt32(token.count))])
            #expect(try ask(Self.frame(5, .resolve(resolve), token))?.status == .ok)
            let empty = try ask(Self.frame(6, .resolve(ResolveCall(items: []))))
            #expect(empty?.status == .invalidArgument && empty?.traceId == Self.trace)
        }
        let trace = Self.trace
        #expect(traces == [trace, trace, nil, trace, trace, trace])
    }

    @Test("an accepted request that has no result names its trace")
    func accepted() throws {
        let clock = HeldBackground()
        let log = AuditLog()
        try withServer(heldBy: clock) {
            $0.audit = AuditService(writtenElsewhere: log)
        } _: { test in
            let client = try test.holdWorker(1, by: clock)
            let token = try Minted.transaction.get()
            try client.send(Self.frame(2, Self.verify, token, timeout: 50))
            try test.pass(milliseconds: 1_000)
            let head = try client.receive()?.head
            #expect(head?.status == .deadlineExceeded && head?.traceId == Self.trace)
            clock.release.open()
            _ = try client.receive()
        }
        #expect(try Set(Self.traces(log)) == [nil, Self.trace])
    }

    @Test("a Fetch names its trace, also where its evidence is parsed first")
    func fetches() throws {
        let fetcher = ScriptedFetcher { _ throws(FetchError) in
            throw FetchError(.unknownTransaction, "because")
        }
        let traces = try Self.withAudit({ $0.ask(fetcher) }) { test in
            let client = try RawClient(test.unix)
            let junk = [UInt8](repeating: UInt8(ascii: "x"), count: 200_000)
            let requests: [(FetchCall, [UInt8])] = [
                (FetchCall(of: "0"), []), (FetchCall(of: ""), junk),
            ]
            for (call, evidence) in requests {
                try client.send(Self.frame(7, .fetch(call), evidence))
                let head = try client.receive()?.head
                #expect(head?.status != .ok && head?.traceId == Self.trace)
            }
        }
        #expect(traces == [Self.trace, Self.trace])
    }

    /// Fields of a request, and whether they name a trace.
    private static let fields: [(String, Bool)] = [
        (field, true), ("TRACEPARENT:\(text)\r\nTracestate: a=b\r\n", true), ("", false),
        ("Tracestate: a=b\r\n", false), ("Traceparent:\r\n", false),
        ("Traceparent: \(text)0\r\n", false), (field + field, false),
        (field + "Traceparent:\r\n", false), ("Traceparent:\r\n" + field, false),
        (field + field + field, false),
        ("Traceparent: \(String(repeating: "0", count: 10_000))\r\n", false),
    ]

    @Test("of HTTP the field is read that is there once, and no value is a reason for a refusal")
    func http() throws {
        let token = try Minted.transaction.get()
        let traces = try Self.withAudit { test in
            let http = try HTTPClient(test.addresses[2])
            for (fields, isTrace) in Self.fields {
                let path = "/v1/verify?kind=transaction"
                let valid = try http.ask(HTTPClient.post(path, token, fields))
                #expect(valid.member("verdict") == "VALID" && valid.member("traceId") == nil)
                let refused = try http.ask(HTTPClient.post(path + "&app=x", token, fields))
                #expect(refused.status == 404)
                #expect(refused.member("traceId") == (isTrace ? Self.trace : nil), "\(fields)")
                let other = try http.ask(HTTPClient.get("/v1/verify", fields))
                #expect(other.status == 405)
                #expect(other.member("traceId") == (isTrace ? Self.trace : nil))
            }
        }
        #expect(
            traces == Self.fields.flatMap { Array(repeating: $0.1 ? Self.trace : nil, count: 3) })
    }

    @Test("each line of a batch has the trace of the batch")
    func batch() throws {
        let token = String(decoding: try Minted.transaction.get(), as: UTF8.self)
        let lines = [#"{"kind":"transaction","evidence":"\#(token)"}"#, "{}"]
        let traces = try Self.withAudit { test in
            let http = try HTTPClient(test.addresses[2])
            try http.send(
                HTTPClient.post(
                    "/v1/verify/batch", Array(lines.joined(separator: "\n").utf8),
                    type: "application/x-ndjson", Self.field))
            #expect(try http.receive()?.status == 200)
            let chunks = [try http.receiveChunk(), try http.receiveChunk()]
            #expect(chunks[0]?.contains("VALID") == true && chunks[0]?.contains("trace") == false)
            #expect(chunks[1]?.contains(#""traceId":"\#(Self.trace)""#) == true)
        }
        #expect(traces == [Self.trace, Self.trace])
    }

    @Test("Connect, gRPC-Web and gRPC have RequestInfo among the details of an error")
    func calls() throws {
        let token = try Minted.transaction.get()
        let traces = try Self.withAudit { test in
            let http = try HTTPClient(test.addresses[2])
            let body = RPCBytes.request(token, app: "x")
            let connect = try http.ask(RPCBytes.post(.proto, body, Self.field))
            #expect(connect.member("code") == "not_found")
            #expect(connect.text.contains("google.rpc.RequestInfo"))
            let web = try http.ask(RPCBytes.post(.web, RPCBytes.frame(body), Self.field))
            #expect(web.text.contains("grpc-status-details-bin"))
            let http2 = SimulatedHTTP2Peer(test.simulated)
            for (stream, value) in [(1, Self.text), (3, Self.text), (5, nil)] as [(Int32, String?)]
            {
                let more = value.map { [("traceparent", $0)] } ?? []
                let grpc = http2.ask(stream, HTTP2Bytes.call(stream, body, more))
                #expect(grpc.grpcStatus == 5)
                #expect((grpc.fields["grpc-status-details-bin"] != nil) == (value != nil))
            }
            let twice = [("traceparent", Self.text), ("traceparent", Self.text)]
            #expect(http2.ask(7, HTTP2Bytes.call(7, body, twice)).grpcStatus == 5)
            #expect(http2[7].fields["grpc-status-details-bin"] == nil)
            http2.peer.close()
        }
        let trace = Self.trace
        #expect(traces == [trace, trace, trace, trace, nil, nil])
    }

    @Test("a stream of messages that ends with an error names its trace")
    func streams() throws {
        _ = try Self.withAudit { test in
            let http2 = SimulatedHTTP2Peer(test.simulated)
            let path = "/assay.v1.Verifier/VerifyStream"
            let head = HTTP2Bytes.fields(path, [("traceparent", Self.text)])
            // The beginning of a message.
            let data: [UInt8] = [0, 0, 0, 0, 9, 1]
            let answer = http2.ask(
                1, HTTP2Bytes.head(1, head) + HTTP2Bytes.data(1, data, ends: true))
            #expect(answer.grpcStatus == 13)
            #expect(answer.fields["grpc-status-details-bin"] != nil)
            http2.peer.close()
        }
    }

    @Test("an HTTP fault in a request that has a trace names it")
    func fault() throws {
        try withHTTPServer { _, address in
            let http = try HTTPClient(address)
            let head =
                "POST /v1/verify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "Transfer-Encoding: chunked\r\n\(Self.field)\r\n"
            try http.send(head + "x\r\n")
            let answer = try http.receive()
            #expect(answer?.status == 400 && answer?.member("traceId") == Self.trace)
        }
    }
}
