import AssayBytes
import AssayClient
import AssayModels
import AssayWire

/// Compares answers with the expected verdict. An answer with one verdict is compared at its first
/// bytes; only another one is decoded whole.
struct AnswerReader {
    private let codec = MessageCodec()
    /// How JSON with each verdict begins.
    private let beginnings: [Verdict: [UInt8]]

    init() {
        var beginnings: [Verdict: [UInt8]] = [:]
        for verdict in Verdict.allCases {
            beginnings[verdict] = Array("{\"verdict\":\"\(verdict.name)\"".utf8)
        }
        self.beginnings = beginnings
    }

    // MARK: HTTP

    /// The outcome of an answer with a status of HTTP, in JSON or of Connect.
    func outcome(
        status: Int, _ body: Span<UInt8>, isConnect: Bool,
        _ expectation: PreparedRequests.Expectation
    ) -> CallOutcome {
        guard status == 200 else { return failure(status, body) }
        if isConnect { return message(body, expectation) }
        if let beginning = beginnings[expectation.verdict], body.starts(with: beginning) {
            return .correct
        }
        return wrong(body, expectation.verdict)
    }

    /// The statuses of a request above a limit, for which messages have RESOURCE_EXHAUSTED.
    private static let refusals = [413, 429]

    /// The largest body of a problem, in bytes.
    private static let problemBytes = 64 << 10

    private func members(_ body: Span<UInt8>) -> JSONObject? {
        let limit = max(body.count, Self.problemBytes)
        return try? JSONDocument.parse(body.array, limit: limit).root.members
    }

    /// The status, and what a problem (RFC 9457) or an error of Connect says.
    func reason(_ status: Int, _ body: Span<UInt8>) -> String {
        let members = members(body)
        let reason = (members?["detail"] ?? members?["message"])?.string ?? ""
        return "\(status)" + (reason.isEmpty ? "" : ": " + reason)
    }

    private func failure(_ status: Int, _ body: Span<UInt8>) -> CallOutcome {
        let text = reason(status, body)
        return Self.refusals.contains(status) ? .refused(text) : .error(text)
    }

    private func wrong(_ body: Span<UInt8>, _ expected: Verdict) -> CallOutcome {
        guard let members = members(body), let verdict = members["verdict"]?.string else {
            return .error("an answer without a verdict")
        }
        if verdict == expected.name { return .correct }
        let detail = members["detail"]?.string ?? ""
        return .wrong("\(verdict) where \(expected.name) was expected: \(detail)")
    }

    // MARK: Messages

    /// The outcome of the answer to a call of gRPC.
    func outcome(
        status: Int, grpcStatus: Int?, message reason: [UInt8], _ body: Span<UInt8>,
        _ expectation: PreparedRequests.Expectation
    ) -> CallOutcome {
        guard let grpcStatus else {
            return .error(
                status == 200 ? "an answer without grpc-status" : "the status \(status) of HTTP")
        }
        guard grpcStatus == 0 else {
            let code = Status(rawValue: Int32(grpcStatus)) ?? .unknown
            let message = String(decoding: Self.decoded(reason), as: UTF8.self)
            return CallOutcome(
                .failure(.status(code, message: message, retryAfterMilliseconds: 0)),
                expectation.verdict)
        }
        guard let size = Self.size(body), size == body.count else {
            return .error("an answer that is not one message")
        }
        return message(body.extracting(Self.prefixBytes..<size), expectation)
    }

    /// The outcome of a message: a VerifyResponse, a ResolveResponse or a VerifyStreamResponse.
    func message(_ body: Span<UInt8>, _ expectation: PreparedRequests.Expectation) -> CallOutcome {
        if expectation.isVerify, Self.begins(body, with: expectation.verdict) { return .correct }
        do throws(MessageError) {
            let head = try codec.decodeResponse(body, withEvidence: false)
            guard head.status == .ok else {
                return CallOutcome(
                    .failure(
                        .status(
                            head.status, message: head.message,
                            retryAfterMilliseconds: head.retryAfterMilliseconds)),
                    expectation.verdict)
            }
            return CallOutcome(head.result, expectation.verdict)
        } catch {
            return .error("an answer that is no message: \(error)")
        }
    }

    /// The id of a message of a stream.
    static func id(of body: Span<UInt8>) -> UInt64 { MessageCodec.leadingId(of: body) }

    /// The first bytes of the fields of an answer: field number and wire type.
    private enum Tag {
        static let id: UInt8 = 1 << 3
        static let verification: UInt8 = 5 << 3 | 2
        static let verdict: UInt8 = 1 << 3
    }

    /// Whether a message begins with a verification that has this verdict, after an id if it has
    /// one. Messages begin so if the server writes their fields in the order of their numbers.
    private static func begins(_ body: Span<UInt8>, with verdict: Verdict) -> Bool {
        var index = 0
        func skipNumber() { while index < body.count, body[index] & 0x80 != 0 { index += 1 } }
        if body.count > 2, body[0] == Tag.id {
            index = 1
            skipNumber()
            index += 1
        }
        guard index < body.count, body[index] == Tag.verification else { return false }
        index += 1
        skipNumber()
        return index + 2 < body.count && body[index + 1] == Tag.verdict
            && body[index + 2] == UInt8(truncatingIfNeeded: verdict.rawValue)
    }

    static let prefixBytes = 5

    /// The size of the message with which bytes begin, and of its prefix; nil without the whole
    /// prefix.
    static func size(_ bytes: Span<UInt8>) -> Int? {
        guard bytes.count >= prefixBytes else { return nil }
        var length = 0
        for index in 1..<prefixBytes { length = length << 8 | Int(bytes[index]) }
        return prefixBytes + length
    }

    /// A `grpc-message` without its percent-encoding.
    private static func decoded(_ text: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        var index = 0
        while index < text.count {
            if text[index] == UInt8(ascii: "%"), index + 2 < text.count,
                let byte = UInt8(
                    String(decoding: text[index + 1...index + 2], as: UTF8.self), radix: 16)
            {
                bytes.append(byte)
                index += 3
            } else {
                bytes.append(text[index])
                index += 1
            }
        }
        return bytes
    }
}

extension Span<UInt8> {
    fileprivate func starts(with bytes: [UInt8]) -> Bool {
        guard count >= bytes.count else { return false }
        for index in bytes.indices where self[index] != bytes[index] { return false }
        return true
    }
}
