import Assay
import AssayBytes
import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayServer

/// Calls of Connect and gRPC-Web over HTTP/1.1, of a simulated server.
@Suite("Connect and gRPC-Web") struct RPCServerTests {
    /// The forms of a call: the media type, and how a message is its body.
    enum Form: String, CaseIterable {
        case proto = "application/proto"
        case json = "application/json"
        case web = "application/grpc-web+proto"
        case webJSON = "application/grpc-web+json"
        case text = "application/grpc-web-text"

        func body(_ evidence: [UInt8], bundleId: String? = nil) -> [UInt8] {
            let kind = "EVIDENCE_KIND_TRANSACTION"
            let proto = RPCBytes.request(evidence, bundleId: bundleId)
            let json = RPCBytes.json(evidence, kind: kind, bundleId: bundleId)
            switch self {
            case .proto: return proto
            case .json: return json
            case .web: return RPCBytes.frame(proto)
            case .webJSON: return RPCBytes.frame(json)
            case .text: return Base64.encode(RPCBytes.frame(proto).span)
            }
        }

        /// The message and the code of an answer.
        func answer(_ response: HTTPClient.Response?) -> (message: [UInt8]?, code: Int?) {
            guard let response else { return (nil, nil) }
            switch self {
            case .proto, .json:
                if response.status == 200 { return (response.body, 0) }
                let name = response.member("code")
                return (
                    nil, Status.allCases.first { $0.connectName == name }.map { Int($0.rawValue) }
                )
            case .web, .webJSON, .text:
                let body =
                    self == .text
                    ? (try? Base64.decode(response.body.span)) ?? [] : response.body
                let frames = RPCBytes.frames(body)
                return (frames?.message, frames?.trailers["grpc-status"].flatMap { Int($0) })
            }
        }

        func verdict(_ message: [UInt8]) -> String? {
            switch self {
            case .json, .webJSON:
                guard let json = try? JSONDocument.parse(message, limit: .max).root else {
                    return nil
                }
                return json["verification"]?["verdict"]?.string
            case .proto, .web, .text:
                return RPCBytes.verification(message).map { "VERDICT_\($0.verdict.name)" }
            }
        }
    }

    private static func post(
        _ form: Form, _ body: [UInt8], _ fields: String = "", path: String = RPCBytes.verify
    ) -> [UInt8] {
        HTTPClient.post(path, body, type: form.rawValue, fields)
    }

    @Test("a verdict, and a refusal that is an answer, in every form", arguments: Form.allCases)
    func verdicts(_ form: Form) throws {
        let caller = SimulatedCaller(try SimulatedServer())
        let token = try Minted.transaction.get()
        for (evidence, bundleId, verdict) in [
            (token, nil, "VERDICT_VALID"), (token, Minted.bundleId, "VERDICT_VALID"),
            (token, "com.example.other", "VERDICT_WRONG_BUNDLE"),
            (Minted.tampered(token), nil, "VERDICT_INVALID_SIGNATURE"),
        ] as [([UInt8], String?, String)] {
            let response = caller.ask(Self.post(form, form.body(evidence, bundleId: bundleId)))
            let (message, code) = form.answer(response)
            #expect(code == 0 && response?.status == 200)
            #expect(form.verdict(message ?? []) == verdict)
            let type = response?.field("content-type")
            #expect(type == (form == .text ? form.rawValue + "+proto" : form.rawValue))
        }
    }

    @Test("errors have the code of each protocol", arguments: Form.allCases)
    func errors(_ form: Form) throws {
        let caller = SimulatedCaller(try SimulatedServer())
        let token = try Minted.transaction.get()
        let good = form.body(token)
        let limit = form == .proto || form == .json ? "Connect-Timeout-Ms" : "Grpc-Timeout"
        let coding = form == .proto || form == .json ? "Content-Encoding" : "Grpc-Encoding"
        let isFramed = form == .web || form == .webJSON
        // A message that says that it is compressed.
        let broken = isFramed ? [1] + good.dropFirst() : good
        let cases: [(String, [UInt8], Status)] = [
            ("compressed", Self.post(form, good, "\(coding): br\r\n"), .unimplemented),
            ("compressed", Self.post(form, good, "Content-Encoding: br\r\n"), .unimplemented),
            (
                "not compressed", Self.post(form, broken, "\(coding): gzip\r\n"),
                form == .text ? .unimplemented : .invalidArgument
            ),
            ("no time limit", Self.post(form, good, "\(limit): soon\r\n"), .invalidArgument),
            ("no evidence", Self.post(form, form.body([])), .invalidArgument),
            ("no message", Self.post(form, Array("*".utf8)), .invalidArgument),
            ("half a message", Self.post(form, Array(good.dropLast(3))), .invalidArgument),
            (
                "no fetch", Self.post(form, good, path: "/assay.v1.Verifier/Fetch"),
                .failedPrecondition
            ),
        ]
        for (name, request, code) in cases {
            let response = caller.ask(request)
            #expect(form.answer(response).code == Int(code.rawValue), "\(name)")
        }
        // The connection goes on.
        #expect(
            form.answer(
                caller.ask(
                    Self.post(
                        form, good,
                        "\(limit): 1000\r\n".replacing(
                            "1000", with: limit == "Grpc-Timeout" ? "1000m" : "1000")))
            ).code == 0)
    }

    @Test("refusals of the admission: an unknown app, no kind, evidence above its limit")
    func refusals() throws {
        let caller = SimulatedCaller(try SimulatedServer())
        let token = try Minted.transaction.get()
        for (message, code) in [
            (RPCBytes.request(token, app: "nowhere"), "not_found"),
            (RPCBytes.request(token, kind: nil), "unimplemented"),
            (RPCBytes.request([UInt8](repeating: 0x41, count: 300_000)), "resource_exhausted"),
        ] {
            let response = caller.ask(Self.post(.proto, message))
            #expect(response?.member("code") == code)
            #expect(response?.field("content-type") == "application/json")
        }
        #expect(caller.ask(Self.post(.proto, RPCBytes.request(token, app: "game")))?.status == 200)
    }

    @Test("requests that no client of a protocol sends")
    func otherRequests() throws {
        let caller = SimulatedCaller(try SimulatedServer())
        let token = RPCBytes.request(try Minted.transaction.get())
        func status(_ request: [UInt8]) -> Int? { caller.ask(request)?.status }
        #expect(status(HTTPClient.post(RPCBytes.verify, token)) == 415)
        #expect(status(HTTPClient.post(RPCBytes.verify, token, type: "application/grpc")) == 415)
        #expect(status(Array(HTTPClient.get(RPCBytes.verify).utf8)) == 405)
        #expect(
            status(Self.post(.proto, token, path: "/assay.v1.Verifier/Guess")) == 404)
        #expect(
            status(Self.post(.proto, token, "Connect-Protocol-Version: 2\r\n")) == 400)
        #expect(status(Self.post(.proto, token, "Connect-Protocol-Version: 1\r\n")) == 200)
    }

    @Test("the signed JSON is a field of the answer, if it was asked for")
    func payloadJSON() throws {
        let caller = SimulatedCaller(try SimulatedServer())
        let token = try Minted.transaction.get()
        for returnsJSON in [true, false] {
            let request = RPCBytes.request(token, returnsJSON: returnsJSON)
            let body = caller.ask(Self.post(.proto, request))?.body ?? []
            let json = RPCBytes.bytes(RPCBytes.evidenceField, of: body)
            #expect(
                (json.map { String(decoding: $0, as: UTF8.self) }?
                    .hasPrefix(#"{"payload":{"#) ?? false) == returnsJSON)
        }
    }

    @Test("compressed messages, up to the limit of JSON bodies")
    func compressed() throws {
        let caller = SimulatedCaller(try Self.streaming(1))
        /// A member with one stored block.
        func gzip(_ bytes: [UInt8], states size: Int? = nil) -> [UInt8] {
            var sum: UInt32 = 0xFFFF_FFFF
            for byte in bytes {
                sum ^= UInt32(byte)
                for _ in 0..<8 { sum = (sum & 1) * 0xEDB8_8320 ^ (sum >> 1) }
            }
            let count = UInt16(truncatingIfNeeded: bytes.count)
            let lengths = [count, ~count].flatMap {
                [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)]
            }
            let end = [~sum, UInt32(size ?? bytes.count)].flatMap { number in
                [0, 8, 16, 24].map { UInt8(truncatingIfNeeded: number >> UInt32($0)) }
            }
            return [0x1F, 0x8B, 8, 0, 0, 0, 0, 0, 0, 0xFF, 1] + lengths + bytes + end
        }
        let token = try Minted.transaction.get()
        let message = RPCBytes.request(token)
        func code(_ form: Form, _ body: [UInt8], _ fields: String) -> Int? {
            let (answer, code) = form.answer(caller.ask(Self.post(form, body, fields)))
            if code == 0 { #expect(form.verdict(answer ?? []) == "VERDICT_VALID") }
            return code
        }
        let (whole, each) = ("Content-Encoding: gzip\r\n", "Grpc-Encoding: gzip\r\n")
        let json = Form.json.body(token)
        #expect(code(.proto, gzip(message), whole) == 0)
        #expect(code(.json, gzip(json), whole) == 0)
        #expect(code(.web, RPCBytes.frame(gzip(message), flags: 1), each) == 0)
        #expect(code(.web, RPCBytes.frame(message), each) == 0)
        #expect(code(.webJSON, RPCBytes.frame(gzip(json), flags: 1), each) == 0)
        let invalid = Int(Status.invalidArgument.rawValue)
        #expect(code(.web, RPCBytes.frame(gzip(message), flags: 1), "") == invalid)
        #expect(code(.proto, message, whole) == invalid)
        // More than the limit, by what it states and by what it has.
        let long = gzip(message, states: (64 << 10) + 1)
        #expect(code(.proto, long, whole) == Int(Status.resourceExhausted.rawValue))
        #expect(code(.proto, gzip(message, states: 10), whole) == invalid)
        // No message is none, however it is compressed.
        #expect(code(.proto, [], whole) == Int(Status.invalidArgument.rawValue))
    }

    // MARK: Receipts

    /// A server that holds 64 KB of a message: a larger one is verified as it arrives, or refused.
    private static func streaming(_ seed: UInt64) throws -> SimulatedServer {
        try SimulatedServer(seed: seed) { $0.limits.httpJSONBytes = 64 << 10 }
    }

    @Test(
        "a receipt above the limit of JSON is verified as it arrives",
        arguments: 1...8 as ClosedRange<UInt64>)
    func receipts(_ seed: UInt64) throws {
        let receipt = try Minted.receipt(bytes: 200_000)
        let message = RPCBytes.request(receipt, kind: .appReceipt)
        #expect(message.count > 128 << 10)
        let server = try Self.streaming(seed)
        let caller = SimulatedCaller(server)
        for form in [Form.proto, .web] {
            let body = form == .web ? RPCBytes.frame(message) : message
            let requests = [
                Self.post(form, body),
                HTTPClient.post(RPCBytes.verify, body, type: form.rawValue, chunk: 10_000),
                HTTPClient.post(RPCBytes.verify, body, type: form.rawValue, chunk: 61),
                HTTPClient.post(RPCBytes.verify, body, type: form.rawValue, chunk: 1 << 20),
            ]
            for (index, request) in requests.enumerated() {
                let (answer, code) = form.answer(caller.ask(request))
                #expect(code == 0, "\(form) \(index)")
                #expect(form.verdict(answer ?? []) == "VERDICT_VALID", "\(form) \(index)")
            }
        }
        #expect(server.holdings.evidenceBytes == 0)
    }

    @Test("the evidence is not last: the message is read whole, up to the limit of JSON")
    func otherOrder() throws {
        let caller = SimulatedCaller(try Self.streaming(1))
        for (bytes, code) in [(20_000, 0), (200_000, Int(Status.resourceExhausted.rawValue))] {
            let receipt = try Minted.receipt(bytes: bytes)
            let message = RPCBytes.request(receipt, kind: .appReceipt, isLast: false)
            #expect(Form.proto.answer(caller.ask(Self.post(.proto, message))).code == code)
        }
    }

    @Test("bytes after a receipt, and a receipt without its end, in chunks")
    func brokenReceipts() throws {
        let message = RPCBytes.request(try Minted.receipt(bytes: 200_000), kind: .appReceipt)
        let server = try Self.streaming(3)
        for (name, body) in [
            ("more", message + [0x20, 0x01]), ("less", Array(message.dropLast(1_000))),
        ] {
            for chunk in [5_000, 1 << 20] {
                let caller = SimulatedCaller(server)
                let request = HTTPClient.post(
                    RPCBytes.verify, body, type: Form.proto.rawValue, chunk: chunk)
                let code = Form.proto.answer(caller.ask(request)).code
                #expect(code == Int(Status.invalidArgument.rawValue), "\(name) \(chunk)")
                // The connection goes on.
                let next = caller.ask(HTTPClient.get("/v1/health"))
                #expect(next?.status == 200, "\(name) \(chunk)")
            }
        }
        #expect(server.holdings.evidenceBytes == 0)
    }

    // MARK: Other calls

    @Test("Resolve: each item of evidence, with a description of each or without any")
    func resolve() throws {
        let caller = SimulatedCaller(try SimulatedServer())
        let token = try Minted.transaction.get()
        func request(_ labels: [String]) -> [UInt8] {
            var call = MessageBuilder()
            for label in labels {
                var item = MessageBuilder()
                item.set(3, text: label)
                call.set(1, bytes: item.bytes)
            }
            var message = MessageBuilder()
            message.set(10, bytes: call.bytes)
            message.set(RPCBytes.evidenceField, bytes: token)
            message.set(RPCBytes.evidenceField, bytes: Minted.tampered(token))
            return message.bytes
        }
        let path = "/assay.v1.Verifier/Resolve"
        for labels in [["a", "b"], []] {
            let body = caller.ask(Self.post(.proto, request(labels), path: path))?.body ?? []
            guard
                case .resolution(let resolution) = try MessageCodec().decodeResponse(body.span)
                    .result
            else {
                Issue.record("no resolution")
                return
            }
            #expect(resolution.items.map(\.verification.verdict) == [.valid, .invalidSignature])
            #expect(resolution.items.compactMap(\.label) == labels)
        }
        let one = caller.ask(Self.post(.proto, request(["a"]), path: path))
        #expect(one?.member("code") == "invalid_argument")
        let none = caller.ask(Self.post(.proto, [], path: path))
        #expect(none?.member("code") == "invalid_argument")
    }

    @Test("Info and Health, by POST and by Connect's GET")
    func reading() throws {
        let server = try SimulatedServer()
        let caller = SimulatedCaller(server)
        let info = "/assay.v1.Verifier/Info"
        let health = "/grpc.health.v1.Health/Check"
        func text(_ request: [UInt8]) -> String? { caller.ask(request)?.text }
        func get(_ target: String) -> String? {
            text(Array(HTTPClient.get(target, "Connect-Protocol-Version: 1\r\n").utf8))
        }
        #expect(
            get("\(info)?connect=v1&encoding=json&message=%7B%7D")?
                .hasPrefix(#"{"info":{"version":"test","kinds":["EVIDENCE_KIND_TRANSACTION""#)
                == true)
        let proto = caller.ask(Self.post(.proto, [], path: info))?.body ?? []
        guard case .info(let facts) = try MessageCodec().decodeResponse(proto.span).result else {
            Issue.record("no facts")
            return
        }
        #expect(facts.version == "test")

        let serving = #"{"status":"SERVING"}"#
        #expect(text(Self.post(.json, Array("{}".utf8), path: health)) == serving)
        #expect(
            get("\(health)?encoding=json&message=%7B%22service%22:%22assay.v1.Verifier%22%7D")
                == serving)
        // HealthCheckRequest { service: "assay.v1.Verifier" }
        var request = MessageBuilder()
        request.set(1, text: "assay.v1.Verifier")
        let base64 = String(decoding: Base64URL.encode(request.bytes.span), as: UTF8.self)
        for message in [base64, base64 + "%3D"] {
            #expect(get("\(health)?encoding=proto&base64=1&message=\(message)") == "\u{8}\u{1}")
        }
        request = MessageBuilder()
        request.set(1, text: "assay.v2.Verifier")
        #expect(
            Form.web.answer(
                caller.ask(Self.post(.web, RPCBytes.frame(request.bytes), path: health))
            ).code == 5)
        for query in [
            "", "?encoding=json", "?encoding=xml&message=", "?encoding=json&message=",
            "?encoding=json&message=%7B%7D&connect=v2", "?encoding=proto&message=*&base64=1",
            "?encoding=json&message=%7B%7D&compression=gzip", "?encoding=json&message=%zz",
        ] {
            let status = caller.ask(HTTPClient.get(health + query))?.status ?? 0
            #expect((400...501).contains(status), "\(query) \(status)")
        }
        server.drain()
        let late = SimulatedCaller(server)
        #expect(late.ask(Self.post(.json, Array("{}".utf8), path: health)) == nil)
        let draining = text(Self.post(.json, Array("{}".utf8), path: health))
        #expect(draining == #"{"status":"NOT_SERVING"}"#)
        let token = try Minted.transaction.get()
        let refusal = caller.ask(Self.post(.json, Form.json.body(token)))
        #expect(refusal?.status == 503 && refusal?.member("code") == "unavailable")
        #expect(refusal?.text.contains("google.rpc.RetryInfo") == true)
    }

    @Test("a page of an allowed origin can call, and read the status; another one can't")
    func origins() throws {
        let server = try SimulatedServer { $0.http.allowedOrigins = ["https://app.example.com"] }
        let caller = SimulatedCaller(server)
        let origin = "Origin: https://app.example.com\r\n"
        let options = "OPTIONS \(RPCBytes.verify) HTTP/1.1\r\nHost: localhost\r\n\(origin)\r\n"
        let preflight = caller.ask(options)
        #expect(preflight?.status == 204)
        #expect(preflight?.field("access-control-allow-methods") == "post, options")
        let fields = preflight?.field("access-control-allow-headers") ?? ""
        for field in [
            "connect-protocol-version", "connect-timeout-ms", "grpc-timeout", "x-grpc-web",
        ] {
            #expect(fields.contains(field))
        }
        let token = try Minted.transaction.get()
        let answer = caller.ask(Self.post(.web, Form.web.body(token), origin))
        #expect(answer?.field("access-control-allow-origin") == "https://app.example.com")
        #expect(
            answer?.field("access-control-expose-headers")
                == "grpc-status, grpc-message, grpc-status-details-bin")
        let other = caller.ask(
            Self.post(.web, Form.web.body(token), "Origin: https://evil.example\r\n"))
        #expect(Form.web.answer(other).code == Int(Status.permissionDenied.rawValue))
        #expect(other?.field("access-control-allow-origin") == nil)
    }

    @Test("the deadline of a call ends it")
    func deadlines() throws {
        let server = try SimulatedServer()
        let caller = SimulatedCaller(server)
        let message = RPCBytes.request(try Minted.receipt(bytes: 200_000), kind: .appReceipt)
        let request = Self.post(.proto, message, "Connect-Timeout-Ms: 300\r\n")
        caller.peer.send(Array(request.prefix(100_000)))
        server.runUntilIdle()
        server.pass(milliseconds: 1_000)
        #expect(Form.proto.answer(caller.receive()).code == Int(Status.deadlineExceeded.rawValue))
    }
}
