import AssayBytes
import AssayHTTP
import AssayIO
import AssayModels
import AssayWire

/// The requests of a run as its protocol sends them, encoded once: a call costs no encoding.
struct PreparedRequests: Sendable {
    struct Request: Sendable {
        /// HTTP/1.1: the whole request. HTTP/2: the body. A stream of gRPC: the message without its
        /// prefix and its id.
        var bytes: [UInt8]
        /// HTTP/2: the index of the head.
        var head = 0
        var expectation: Expectation
    }

    /// What the answer to a request is compared with. Apart from the bytes, so that an answer does
    /// not touch them.
    struct Expectation: Sendable {
        let verdict: Verdict
        /// Whether the answer has one verdict.
        let isVerify: Bool
    }

    /// By group, in the order of its items.
    private(set) var groups: [[Request]] = []
    private(set) var heads: [HTTP2Fields] = []
    private var headIndexes: [String: Int] = [:]
    private let settings: LoadSettings

    init(_ groups: [LoadGroup], _ settings: LoadSettings) {
        self.settings = settings
        for group in groups {
            var requests: [Request] = []
            requests.reserveCapacity(group.items.count)
            for item in group.items { requests.append(prepare(item)) }
            self.groups.append(requests)
        }
    }

    private mutating func prepare(_ item: LoadItem) -> Request {
        let body = self.body(item)
        let path = self.path(item.call)
        let isVerify = if case .resolve = item.call { false } else { true }
        var request = Request(
            bytes: body, expectation: Expectation(verdict: item.expected, isVerify: isVerify))
        switch settings.loadProtocol.framing {
        case .frames, .stream: break
        case .http1:
            var text = "POST \(path) HTTP/1.1\r\nHost: \(settings.endpoint.authority)\r\n"
            for (name, value) in fields { text += "\(name): \(value)\r\n" }
            text += "content-length: \(body.count)\r\n\r\n"
            request.bytes = Array(text.utf8) + body
        case .http2: request.head = head(path)
        }
        return request
    }

    func expectation(of ticket: Ticket) -> Expectation {
        groups[ticket.group][ticket.item].expectation
    }

    // MARK: Heads

    /// The head of a call with many messages. It has no time limit: it would be the stream's.
    static func streamHead(_ settings: LoadSettings) -> HTTP2Fields {
        HTTP2Fields(
            pseudo("/assay.v1.Verifier/VerifyStream", settings)
                + [("te", "trailers"), ("content-type", "application/grpc")])
    }

    private mutating func head(_ path: String) -> Int {
        if let index = headIndexes[path] { return index }
        heads.append(HTTP2Fields(Self.pseudo(path, settings) + fields))
        headIndexes[path] = heads.count - 1
        return heads.count - 1
    }

    private static func pseudo(
        _ path: String, _ settings: LoadSettings
    ) -> [(name: String, value: String)] {
        [
            (":method", "POST"), (":scheme", settings.endpoint.isTLS ? "https" : "http"),
            (":path", path), (":authority", settings.endpoint.authority),
        ]
    }

    /// The fields of every request, without its size.
    private var fields: [(name: String, value: String)] {
        switch settings.loadProtocol.encoding {
        case .json: [("content-type", "application/json")]
        case .raw: [("content-type", "application/octet-stream")]
        case .connect:
            [
                ("content-type", "application/proto"), ("connect-protocol-version", "1"),
                ("connect-timeout-ms", "\(milliseconds)"),
            ]
        case .grpc:
            [
                ("te", "trailers"), ("content-type", "application/grpc"),
                ("user-agent", "assay-load/\(AssayVersion.current)"),
                ("grpc-timeout", "\(milliseconds)m"),
            ]
        }
    }

    private var milliseconds: UInt64 { max(settings.timeout.nanoseconds / 1_000_000, 1) }

    private func path(_ call: RequestHead.Call) -> String {
        switch (settings.loadProtocol.encoding, call) {
        case (.grpc, .resolve), (.connect, .resolve): "/assay.v1.Verifier/Resolve"
        case (.grpc, _), (.connect, _): "/assay.v1.Verifier/Verify"
        case (.raw, .verify(let verify)): "/v1/verify?" + query(verify)
        default: "/v1/verify"
        }
    }

    /// The parameters of a verification beside raw evidence.
    private func query(_ call: VerifyCall) -> String {
        var parameters = [("kind", call.kind?.name ?? "auto")]
        parameters += call.expectations.environments.map { ("environment", $0.rawValue) }
        if !call.returnsTypedPayload { parameters.append(("returns", "verdict")) }
        if !settings.app.isEmpty { parameters.append(("app", settings.app)) }
        parameters.append(("timeout", "\(Double(milliseconds) / 1000)"))
        return parameters.map { "\($0)=\($1.percentEncoded)" }.joined(separator: "&")
    }

    // MARK: Bodies

    private func body(_ item: LoadItem) -> [UInt8] {
        switch (settings.loadProtocol.framing, settings.loadProtocol.encoding) {
        case (.frames, _): return []
        case (.stream, _): return message(item, withTimeout: true)
        case (_, .json): return json(item)
        case (_, .raw): return item.evidence
        case (_, .connect): return message(item)
        case (_, .grpc):
            let message = message(item)
            return Self.prefix(message.count) + message
        }
    }

    /// The prefix of a message of gRPC: not compressed, and its size.
    static func prefix(_ count: Int) -> [UInt8] {
        [0] + [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) }
    }

    private func json(_ item: LoadItem) -> [UInt8] {
        guard case .verify(let call) = item.call else { return [] }
        var writer = JSONWriter(capacity: item.evidence.count * 4 / 3 + 256)
        writer.object { object in
            object.member("kind", call.kind?.name ?? "auto")
            if !call.expectations.environments.isEmpty {
                object.object("expectations") { expectations in
                    expectations.array("environments") { array in
                        for environment in call.expectations.environments {
                            array.value(environment.rawValue)
                        }
                    }
                }
            }
            if !call.returnsTypedPayload { object.member("returns", "verdict") }
            if !settings.app.isEmpty { object.member("app", settings.app) }
            object.member("timeout", Double(milliseconds) / 1000)
            if item.evidence.first == UInt8(ascii: "{") {
                object.member("evidence", raw: item.evidence)
            } else if call.kind == .appReceipt {
                let text = Base64.encode(item.evidence.span)
                object.member("evidence", String(decoding: text, as: UTF8.self))
            } else {
                object.member("evidence", String(decoding: item.evidence, as: UTF8.self))
            }
        }
        return writer.text
    }

    /// A message of `assay.v1.Verifier`, without an id. Its fields have the numbers that a frame's
    /// head has for them, and the evidence is their last one.
    private func message(_ item: LoadItem, withTimeout: Bool = false) -> [UInt8] {
        let head = RequestHead(
            id: 1, call: item.call, app: settings.app,
            timeoutMilliseconds: withTimeout ? UInt32(clamping: milliseconds) : 0,
            mayWait: settings.mayWait)
        var bytes: [UInt8] = []
        MessageCodec().encode(head, into: &bytes)
        // The id is the first field, of one byte, as is its tag.
        bytes.removeFirst(2)
        guard case .resolve(let resolve) = item.call else {
            Self.append(evidence: item.evidence[...], to: &bytes)
            return bytes
        }
        var rest = item.evidence[...]
        for part in resolve.items {
            Self.append(evidence: rest.prefix(Int(part.length)), to: &bytes)
            rest = rest.dropFirst(Int(part.length))
        }
        return bytes
    }

    private static let evidenceField: UInt64 = 100

    private static func append(evidence: ArraySlice<UInt8>, to bytes: inout [UInt8]) {
        append(varint: evidenceField << 3 | 2, to: &bytes)
        append(varint: UInt64(evidence.count), to: &bytes)
        bytes += evidence
    }

    static func append(varint number: UInt64, to bytes: inout [UInt8]) {
        var rest = number
        while rest > 0x7F {
            bytes.append(UInt8(truncatingIfNeeded: rest) | 0x80)
            rest >>= 7
        }
        bytes.append(UInt8(rest))
    }
}

extension String {
    /// The text as a value of a query.
    fileprivate var percentEncoded: String {
        var text = ""
        for byte in utf8 {
            let character = Character(UnicodeScalar(byte))
            if byte < 0x80, character.isLetter || character.isNumber || "-._~".contains(character) {
                text.append(character)
            } else {
                text += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return text
    }
}
