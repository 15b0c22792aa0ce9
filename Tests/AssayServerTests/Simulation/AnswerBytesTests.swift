import Assay
import AssayBytes
import AssayModels
import Foundation
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry

/// Compares each answer over HTTP with `Tests/Answers`, byte for byte.
///
/// An answer that is meant to change: run the tests with `ASSAY_WRITE_ANSWERS=1`, and read the
/// difference.
@Suite("Bytes of answers over HTTP") struct AnswerBytesTests {
    /// A request, in either version of HTTP.
    private struct Request {
        let name: String
        var method = "POST"
        let path: String
        var type: String?
        var fields: [HTTP2Bytes.Field] = []
        var body: [UInt8] = []
        /// Whether the body is random, such as that with the root's fingerprint.
        var hidesBody = false

        /// The request of HTTP/1.1.
        var text: [UInt8] {
            var head = "\(method) \(path) HTTP/1.1\r\nHost: localhost\r\n"
            if let type { head += "Content-Type: \(type)\r\n" }
            for (name, value) in fields { head += "\(name): \(value)\r\n" }
            if method == "POST" { head += "Content-Length: \(body.count)\r\n" }
            return Array((head + "\r\n").utf8) + body
        }

        /// The request of HTTP/2.
        func frames(_ stream: Int32) -> [UInt8] {
            let head = HTTP2Bytes.head(
                stream, HTTP2Bytes.fields(path, method: method, type: type, fields),
                ends: body.isEmpty)
            return body.isEmpty
                ? head : head + HTTP2Bytes.data(stream, body, ends: true, each: 16_000)
        }
    }

    private static let key = "0123456789abcdef0123"
    private static let origin = ("origin", "https://a.example")

    private static func server() throws -> SimulatedServer {
        let verifier = try Minted.verifier()
        return try SimulatedServer {
            $0.workers = 1
            $0.http.allowedOrigins = ["https://a.example"]
            $0.apps["game"] = AppEntry(
                verifier: verifier, policy: Minted.policy,
                secrets: AppSecrets(apiKeys: [key], signKeys: [key]), signer: ScriptedSigner())
        }
    }

    // MARK: Requests

    /// Paths that verify, decide or sign.
    private static func questions() throws -> [Request] {
        let token = try Minted.transaction.get()
        let receipt = try Minted.receipt(bytes: 1_000)
        let verify = "/v1/verify?kind=transaction"
        let authorization = ("authorization", "Bearer \(key)")
        let quoted = "\"\(String(decoding: token, as: UTF8.self))\""
        let purchase = "{\"store\":\"apple\",\"jws\":\(quoted)}"
        let jose = "application/jose"
        return [
            Request(name: "a verification", path: verify, type: jose, body: token),
            Request(
                name: "of a kind that is detected", path: "/v1/verify?kind=auto", type: jose,
                body: token),
            Request(
                name: "for a page", path: verify, type: jose, fields: [origin], body: token),
            Request(
                name: "refused evidence", path: verify, type: jose, body: Minted.tampered(token)),
            Request(name: "an empty body", path: verify, type: jose),
            Request(name: "an unknown parameter", path: verify + "&x=1", type: jose, body: token),
            Request(name: "another app", path: verify + "&app=other", type: jose, body: token),
            Request(
                name: "compressed", path: verify, type: jose, fields: [("content-encoding", "br")],
                body: token),
            Request(name: "without a type", path: verify, body: token),
            Request(
                name: "verifyReceipt", path: "/v1/verify?kind=app-receipt&returns=verify-receipt",
                type: "application/octet-stream", body: receipt),
            Request(
                name: "Apple's endpoint", path: "/verifyReceipt", type: "application/json",
                body: Array("{\"receipt-data\":\"AA==\"}".utf8)),
            Request(
                name: "Apple's endpoint, refused", path: "/verifyReceipt", type: "application/json",
                body: Array("{".utf8)),
            Request(
                name: "OpenIAP", path: "/v1/purchase/verify", type: "application/json",
                fields: [authorization, ("x-correlation-id", "one")],
                body: Array(purchase.utf8)),
            Request(
                name: "OpenIAP without a key", path: "/v1/purchase/verify",
                type: "application/json", fields: [("x-correlation-id", "two")],
                body: Array(purchase.utf8)),
            Request(
                name: "entitlements", path: "/v1/entitlements", type: "application/json",
                body: Array("{\"items\":[{\"evidence\":\(quoted)}]}".utf8)),
            Request(
                name: "a fetch without a store", path: "/v1/fetch", type: "application/json",
                body: Array("{\"transactionId\":\"1\"}".utf8)),
            Request(
                name: "a signature", path: "/v1/sign/promotional-offer", type: "application/json",
                fields: [authorization], body: Array("{}".utf8)),
            Request(
                name: "a signature without a key", path: "/v1/sign/promotional-offer",
                type: "application/json", body: Array("{}".utf8)),
        ]
    }

    /// Documents, refusals before a body is read, and batches.
    private static func otherPaths() throws -> [Request] {
        let token = try Minted.transaction.get()
        let quoted = "\"\(String(decoding: token, as: UTF8.self))\""
        let line = "{\"kind\":\"transaction\",\"evidence\":\(quoted)}\n"
        let verify = "/v1/verify?kind=transaction"
        return [
            Request(name: "health", method: "GET", path: "/v1/health"),
            Request(name: "health without a body", method: "HEAD", path: "/v1/health"),
            Request(name: "information", method: "GET", path: "/v1/info", hidesBody: true),
            Request(name: "OpenAPI", method: "GET", path: "/v1/openapi.json", hidesBody: true),
            Request(name: "OpenAPI's head", method: "HEAD", path: "/v1/openapi.json"),
            Request(name: "options", method: "OPTIONS", path: verify),
            Request(name: "options for a page", method: "OPTIONS", path: verify, fields: [origin]),
            Request(
                name: "another site", path: verify, type: "application/jose",
                fields: [("origin", "https://b.example")],
                body: token),
            Request(name: "an unknown path", method: "GET", path: "/"),
            Request(name: "another method", method: "GET", path: verify),
            Request(name: "PUT", method: "PUT", path: verify),
            Request(
                name: "a batch", path: "/v1/verify/batch", type: "application/x-ndjson",
                body: Array((line + "\n{}\n").utf8)),
            Request(
                name: "a batch for a page", path: "/v1/verify/batch",
                type: "application/x-ndjson", fields: [origin], body: Array("x".utf8)),
        ]
    }

    /// Calls in the forms that both versions of HTTP carry, and their refusals.
    private static func calls(_ forms: [(type: String, isFramed: Bool)]) throws -> [Request] {
        let token = try Minted.transaction.get()
        var requests: [Request] = []
        for (type, isFramed) in forms {
            let isJSON = type.hasSuffix("json")
            let isText = type.contains("text")
            func body(_ evidence: [UInt8]) -> [UInt8] {
                let message =
                    isJSON
                    ? RPCBytes.json(evidence, kind: "EVIDENCE_KIND_TRANSACTION")
                    : RPCBytes.request(evidence)
                let framed = isFramed ? RPCBytes.frame(message) : message
                return isText ? Array(Data(framed).base64EncodedData()) : framed
            }
            requests += [
                Request(name: type, path: RPCBytes.verify, type: type, body: body(token)),
                Request(
                    name: type + " for a page", path: RPCBytes.verify, type: type,
                    fields: [origin], body: body(token)),
                Request(
                    name: type + " of nothing", path: RPCBytes.verify, type: type,
                    fields: [origin], body: body([])),
                Request(name: type + " without a body", path: RPCBytes.verify, type: type),
                Request(
                    name: type + " of an unknown method", path: "/assay.v1.Verifier/Other",
                    type: type, body: body(token)),
                Request(
                    name: type + " that does not decode", path: RPCBytes.verify, type: type,
                    body: body(token).dropLast(3)),
                Request(
                    name: type + " with a time that has passed", path: RPCBytes.verify, type: type,
                    fields: [("grpc-timeout", "x"), ("connect-timeout-ms", "x")],
                    body: body(token)),
                Request(
                    name: type + " of a fetch without a store", path: "/assay.v1.Verifier/Fetch",
                    type: type, body: isFramed ? RPCBytes.frame([]) : []),
                Request(
                    name: type + " of health", path: "/grpc.health.v1.Health/Check", type: type,
                    body: isFramed ? RPCBytes.frame(isJSON ? [0x7b, 0x7d] : []) : []),
            ]
        }
        return requests
    }

    private static let unary = [
        ("application/proto", false), ("application/json", false),
        ("application/grpc-web+proto", true), ("application/grpc-web+json", true),
        ("application/grpc-web-text", true),
    ]

    /// Calls that need HTTP/2.
    private static func streams() throws -> [Request] {
        let token = try Minted.transaction.get()
        let messages =
            RPCBytes.streamRequest(1, token) + RPCBytes.streamRequest(2, Minted.tampered(token))
            + RPCBytes.streamRequest(3, token, app: "other")
        let stream = "/assay.v1.Verifier/VerifyStream"
        return try calls([("application/grpc", true), ("application/grpc+json", true)]) + [
            Request(
                name: "a stream of gRPC", path: stream, type: "application/grpc", body: messages),
            Request(
                name: "a stream of Connect", path: stream, type: "application/connect+proto",
                fields: [origin], body: messages),
            Request(
                name: "a stream that ends inside", path: stream, type: "application/grpc",
                body: messages.dropLast()),
            Request(
                name: "a stream of Connect that ends inside", path: stream,
                type: "application/connect+proto", body: messages.dropLast()),
        ]
    }

    // MARK: Transcripts

    @Test("over HTTP/1.1") func http1() throws {
        var transcript = ""
        for request in try Self.questions() + Self.otherPaths() + Self.calls(Self.unary) {
            let server = try Self.server()
            let peer = server.connect(to: SimulatedServer.http)
            var received: [UInt8] = []
            peer.send(request.text)
            server.runUntilIdle()
            while case let more = peer.receive(), !more.isEmpty {
                received += more
                server.runUntilIdle()
            }
            let end = received.firstRange(of: Array("\r\n\r\n".utf8))?.upperBound ?? received.count
            let head = String(decoding: received[..<end], as: UTF8.self)
            transcript += "# \(request.name)\n" + head.replacing("\r\n", with: "\n")
            transcript += Self.printed(Array(received[end...]), request)
            transcript += peer.isAtEnd ? "(end)\n\n" : "\n"
        }
        try Self.compare(transcript, with: "http1.txt")
    }

    @Test("over HTTP/2") func http2() throws {
        var transcript = ""
        for request in try Self.questions() + Self.otherPaths() + Self.calls(Self.unary)
            + Self.streams()
        {
            let peer = SimulatedHTTP2Peer(try Self.server())
            peer.send([])
            let answer = peer.ask(1, request.frames(1))
            transcript += "# \(request.name)\n"
            for (index, block) in answer.blocks.enumerated() {
                if index > 0 { transcript += "(trailers)\n" }
                for (name, value) in block { transcript += "\(name): \(value)\n" }
                if index == 0 { transcript += Self.printed(answer.data, request) }
            }
            if let code = answer.code { transcript += "(reset \(code))\n" }
            transcript += answer.hasEnded ? "\n" : "(open)\n\n"
        }
        try Self.compare(transcript, with: "http2.txt")
    }

    private static func printed(_ body: [UInt8], _ request: Request) -> String {
        guard !body.isEmpty else { return "" }
        guard !request.hidesBody else { return "(a body)\n" }
        guard body.count > 3 * shown else { return printed(body[...]) + "\n" }
        return printed(body.prefix(2 * shown)) + " (\(body.count) bytes) "
            + printed(body.suffix(shown)) + "\n"
    }

    /// Bytes that are shown of a long body's end, and half of those of its start. Between them are
    /// values that differ from run to run, such as the serial number of a certificate.
    private static let shown = 64

    private static func printed(_ bytes: ArraySlice<UInt8>) -> String {
        var text = ""
        for byte in bytes {
            switch byte {
            case 0x20...0x7E: text.unicodeScalars.append(Unicode.Scalar(byte))
            case 0x0A: text += "\\n"
            case 0x0D: text += "\\r"
            default: text += "\\x" + String(byte, width: 2, radix: 16)
            }
        }
        return text
    }

    private static func compare(_ transcript: String, with name: String) throws {
        let path = Vectors.packageRoot + "/Tests/Answers/" + name
        if ProcessInfo.processInfo.environment["ASSAY_WRITE_ANSWERS"] == "1" {
            return try transcript.write(toFile: path, atomically: true, encoding: .utf8)
        }
        let golden = try String(contentsOfFile: path, encoding: .utf8)
        let (mine, theirs) = (
            transcript.components(separatedBy: "\n\n"), golden.components(separatedBy: "\n\n")
        )
        for (answer, expected) in zip(mine, theirs) { #expect(answer == expected) }
        #expect(mine.count == theirs.count)
    }
}
