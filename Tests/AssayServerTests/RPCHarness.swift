import Assay
import AssayBytes
import AssayMint
import AssayModels
import AssayWire

@testable import AssayServer
@testable import AssaySessions
@testable import AssayService
@testable import AssayTelemetry

/// Requests and answers of Connect and gRPC-Web, as bytes.
enum RPCBytes {
    static let verify = "/assay.v1.Verifier/Verify"
    static let evidenceField = 100

    /// A request of HTTP with a message, or a frame.
    static func post(
        _ form: RPCTestForm, _ body: [UInt8], _ fields: String = "", path: String = verify
    ) -> [UInt8] {
        HTTPClient.post(path, body, type: form.rawValue, fields)
    }

    /// A VerifyRequest.
    static func request(
        _ evidence: [UInt8], kind: EvidenceKind? = .transaction, app: String? = nil,
        bundleId: String? = nil, returnsJSON: Bool = false, isLast: Bool = true
    ) -> [UInt8] {
        var call = MessageBuilder()
        if let kind { call.set(1, varint: UInt64(kind.rawValue)) }
        if let bundleId {
            var expectations = MessageBuilder()
            expectations.set(1, text: bundleId)
            call.set(2, bytes: expectations.bytes)
        }
        if returnsJSON { call.set(4, varint: 1) }
        var message = MessageBuilder()
        if !isLast { message.set(evidenceField, bytes: evidence) }
        if let app { message.set(4, text: app) }
        message.set(5, bytes: call.bytes)
        if isLast { message.set(evidenceField, bytes: evidence) }
        return message.bytes
    }

    /// The same in JSON.
    static func json(_ evidence: [UInt8], kind: String, bundleId: String? = nil) -> [UInt8] {
        let expectations = bundleId.map { #","expectations":{"bundleId":"\#($0)"}"# } ?? ""
        let base64 = String(decoding: Base64.encode(evidence.span), as: UTF8.self)
        let text = #"{"call":{"kind":"\#(kind)"\#(expectations)},"evidence":"\#(base64)"}"#
        return Array(text.utf8)
    }

    /// A message in the frame of gRPC-Web.
    static func frame(_ message: [UInt8], flags: UInt8 = 0) -> [UInt8] {
        let count = message.count
        return [flags] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) } + message
    }

    /// The frames of an answer: its message, and the fields of its trailers.
    static func frames(_ body: [UInt8]) -> (message: [UInt8]?, trailers: [String: String])? {
        var (message, trailers): ([UInt8]?, [String: String]) = (nil, [:])
        var rest = body[...]
        while rest.count >= 5 {
            let head = Array(rest.prefix(5))
            let length = head[1...].reduce(0) { $0 << 8 | Int($1) }
            guard rest.count >= 5 + length else { return nil }
            let content = Array(rest.dropFirst(5).prefix(length))
            rest = rest.dropFirst(5 + length)
            if head[0] == 0 { message = content }
            guard head[0] == 0x80 else { continue }
            for line in String(decoding: content, as: UTF8.self).split(separator: "\r\n") {
                guard let colon = line.firstIndex(of: ":") else { return nil }
                trailers[String(line[..<colon])] = String(
                    line[line.index(after: colon)...].drop { $0 == " " })
            }
        }
        return rest.isEmpty ? (message, trailers) : nil
    }

    /// The verification of a VerifyResponse: its number is that of a ResponseHead.
    static func verification(_ message: [UInt8]) -> Verification? {
        guard let head = try? MessageCodec().decodeResponse(message.span),
            case .verification(let verification) = head.result
        else { return nil }
        return verification
    }

    /// A VerifyStreamRequest in its frame.
    static func streamRequest(
        _ id: UInt64, _ evidence: [UInt8], kind: EvidenceKind = .transaction,
        timeout: UInt64? = nil, app: String? = nil
    ) -> [UInt8] {
        var start = MessageBuilder()
        start.set(1, varint: id)
        if let timeout { start.set(2, varint: timeout) }
        return frame(start.bytes + request(evidence, kind: kind, app: app))
    }

    /// The answers of a stream: verdicts by id, and the codes of refusals.
    static func streamAnswers(
        _ answer: SimulatedHTTP2Peer.Answer
    ) -> (verdicts: [UInt64: Verdict], codes: [UInt64: UInt64]) {
        var (verdicts, codes): ([UInt64: Verdict], [UInt64: UInt64]) = ([:], [:])
        for message in answer.messages {
            let id = varint(1, of: message) ?? 0
            if let code = varint(2, of: message) { codes[id] = code }
            if varint(2, of: message) == nil {
                verdicts[id] = verification(message)?.verdict
            }
        }
        return (verdicts, codes)
    }

    private static func varint(_ number: Int, of message: [UInt8]) -> UInt64? {
        var reader = FieldReader()
        while let field = try? reader.next(in: message.span) {
            if field.number == number, case .varint(let value) = field.value { return value }
        }
        return nil
    }

    /// The first field of a number that has bytes.
    static func bytes(_ number: Int, of message: [UInt8]) -> [UInt8]? {
        var reader = FieldReader()
        while let field = try? reader.next(in: message.span) {
            if field.number == number, case .bytes(let range) = field.value {
                return Array(message[range])
            }
        }
        return nil
    }
}

extension SimulatedServer {
    /// A server whose app entry has the key of purchases of Google Play that this minter signs.
    convenience init(googleKeyOf minter: StoreMinter) throws {
        let key = try PurchaseKey(minter.publicKey)
        try self.init { configuration in
            guard let entry = configuration.apps["game"] else { return }
            var policy = entry.policy
            policy.google.keys = [key]
            configuration.apps["game"] = AppEntry(verifier: entry.verifier, policy: policy)
        }
    }
}

/// A client of HTTP/1.1 in a simulation.
final class SimulatedCaller {
    let server: SimulatedServer
    let peer: SimulatedPeer
    private var received: [UInt8] = []

    init(_ server: SimulatedServer) {
        self.server = server
        peer = server.connect(to: SimulatedServer.http)
    }

    /// Sends a request, and lets the server answer it without time.
    func ask(_ request: [UInt8]) -> HTTPClient.Response? {
        peer.send(request)
        server.runUntilIdle()
        return receive()
    }

    func ask(_ request: String) -> HTTPClient.Response? { ask(Array(request.utf8)) }

    /// The next response; nil if it has not arrived.
    func receive() -> HTTPClient.Response? {
        while case let more = peer.receive(), !more.isEmpty {
            received += more
            server.runUntilIdle()
        }
        guard let end = received.firstRange(of: Array("\r\n\r\n".utf8)) else { return nil }
        let head = String(decoding: received[..<end.lowerBound], as: UTF8.self).lowercased()
        guard let status = Int(head.split(separator: " ").dropFirst().first ?? "") else {
            return nil
        }
        let empty = HTTPClient.Response(status: status, head: head, body: [])
        let length = empty.field("content-length").flatMap { Int($0) } ?? 0
        guard received.count >= end.upperBound + length else { return nil }
        let body = Array(received[end.upperBound..<end.upperBound + length])
        received.removeFirst(end.upperBound + length)
        return HTTPClient.Response(status: status, head: head, body: body)
    }
}

/// The forms of a call: the media type, and how a message is its body.
enum RPCTestForm: String, CaseIterable {
    case proto = "application/proto"
    case json = "application/json"
    case web = "application/grpc-web+proto"
    case webJSON = "application/grpc-web+json"
    case text = "application/grpc-web-text"

    func body(
        _ evidence: [UInt8], kind: EvidenceKind = .transaction, bundleId: String? = nil
    ) -> [UInt8] {
        let name = kind.name.uppercased().replacing("-", with: "_")
        let proto = RPCBytes.request(evidence, kind: kind, bundleId: bundleId)
        let json = RPCBytes.json(evidence, kind: "EVIDENCE_KIND_" + name, bundleId: bundleId)
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
        case .json, .webJSON: member("verdict", message)
        case .proto, .web, .text:
            RPCBytes.verification(message).map { "VERDICT_\($0.verdict.name)" }
        }
    }

    /// The state of a purchase.
    func state(_ message: [UInt8]) -> String? {
        switch self {
        case .json, .webJSON: member("state", message)
        case .proto, .web, .text: RPCBytes.verification(message)?.state?.rawValue
        }
    }

    private func member(_ name: String, _ message: [UInt8]) -> String? {
        let json = try? JSONDocument.parse(message, limit: .max).root
        return json?["verification"]?[name]?.string
    }
}
