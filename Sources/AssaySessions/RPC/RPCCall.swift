import AssayBytes
import AssayHTTP
import AssayService
import AssayWire

/// A call whose message is arriving.
struct RPCCall: Sendable {
    let form: RPCForm
    /// Milliseconds; 0 for the server's default.
    var timeout: UInt32 = 0
    /// How messages are compressed.
    private(set) var compression = RPCCompression.identity
    /// The app entry that an API key chose; nil where none is needed.
    var app: String?
    /// Looks for evidence to verify as it arrives; nil for a message that is read whole.
    var arrival: RPCArrival?

    init(_ form: RPCForm) { self.form = form }

    /// Reads what the head of a request says about a call.
    init(_ form: RPCForm, _ head: HTTPHead, _ bytes: Span<UInt8>) throws(HTTPProblem) {
        self.form = form
        if head.method == .get {
            compression = try RPCQuery.compression(of: head, bytes)
            try readTimeout(head, bytes)
            return
        }
        if let value = head[form.framing.encodingField] {
            // No client sends a compressed message in Base64.
            guard let named = RPCCompression(bytes.extracting(value)),
                named == .identity || form.framing != .grpcWebText
            else { throw .otherCompression }
            compression = named
        }
        // The body as a whole, which the protocol does not compress.
        if form.framing.hasFrames, let value = head[.contentEncoding],
            RPCCompression(bytes.extracting(value)) != .identity
        {
            throw .otherCompression
        }
        if form.framing.isConnect, let version = head[.connectVersion],
            !bytes.extracting(version).equals("1")
        {
            throw HTTPProblem(
                400, .invalidArgument, "Connect-Protocol-Version is not 1, the only version")
        }
        try readTimeout(head, bytes)
    }

    private mutating func readTimeout(
        _ head: HTTPHead, _ bytes: Span<UInt8>
    ) throws(HTTPProblem) {
        let field = form.framing.isConnect ? HTTPField.connectTimeout : .grpcTimeout
        guard let value = head[field] else { return }
        let text = bytes.extracting(value)
        let limit = form.framing.isConnect ? RPCTimeout.connect(text) : RPCTimeout.grpc(text)
        guard let limit else {
            throw HTTPProblem(400, .invalidArgument, "\(field.name) is not a time limit")
        }
        timeout = limit
    }

    /// The client's number of a request on a stream.
    func item(of head: [UInt8], by codec: MessageCodec) throws(HTTPProblem) -> UInt64 {
        do throws(MessageError) { return try codec.decodeRequest(head.span).id } catch {
            throw .undecodable(error)
        }
    }

    /// The head of a frame with the same call.
    ///
    /// - Parameter head: the fields of the message that a RequestHead has as well.
    func requestHead(
        _ id: UInt64, _ head: Span<UInt8>, by codec: MessageCodec, _ recent: inout RecentHead
    ) throws(HTTPProblem) -> RequestHead {
        var request: RequestHead
        do throws(MessageError) { request = try recent.decode(head, id: id, by: codec) } catch {
            throw .undecodable(error)
        }
        // On a stream each request has its own.
        if form.method != .verifyStream { request.timeoutMilliseconds = timeout }
        switch (form.method, request.call) {
        case (.verify, .verify), (.verifyStream, .verify), (.resolve, .resolve), (.fetch, .fetch):
            break
        // Without its field a call has no kind, and no transaction: its admission says so.
        case (.verify, _), (.verifyStream, _): request.call = .verify(VerifyCall(kind: nil))
        case (.resolve, _): request.call = .resolve(ResolveCall(items: []))
        case (.fetch, _): request.call = .fetch(FetchCall(of: ""))
        case (.info, _): request.call = .info
        case (.health, _), (.healthList, _), (.watch, _): request.call = .health
        case (.signRetentionAnswer, .verify(let call)):
            request.call = .verify(
                VerifyCall(kind: .realtimeRequest, expectations: call.expectations))
        case (.signRetentionAnswer, _): request.call = .verify(VerifyCall(kind: .realtimeRequest))
        // These are no requests of frames.
        case (.signPromotionalOffer, _), (.signIntroductoryOffer, _), (.signAdvancedCommerce, _),
            (.reflection, _), (.reflectionAlpha, _):
            request.call = .unknown
        }
        guard let app else { return request }
        guard request.app.isEmpty || request.app.equalsByBytes(app) else { throw .otherKey }
        request.app = app
        return request
    }
}

extension RPCCall {
    /// Bytes of a message, also after it was decompressed.
    static func messageLimit(_ method: RPCMethod, _ limits: ServerLimits) -> Int {
        switch method {
        case .verify, .verifyStream, .resolve: limits.httpJSONBytes
        case .fetch: min(limits.httpJSONBytes, ServerLimits.fetchEvidenceBytes)
        case .info, .health, .healthList, .watch, .reflection, .reflectionAlpha,
            .signPromotionalOffer, .signIntroductoryOffer, .signAdvancedCommerce,
            .signRetentionAnswer:
            min(limits.httpJSONBytes, ServerLimits.httpSignBytes)
        }
    }
}

/// How a request's messages are compressed. Answers are not.
enum RPCCompression: Sendable {
    case identity, gzip

    /// Nil for another name.
    init?(_ name: Span<UInt8>) {
        if name.equalsLowercase("identity") {
            self = .identity
        } else if name.equalsLowercase("gzip") {
            self = .gzip
        } else {
            return nil
        }
    }
}

extension RPCMethod {
    /// The form of a request and of its answer; nil for one that is not known.
    func form(of head: HTTPHead, _ bytes: Span<UInt8>) -> RPCForm? {
        if head.method == .get {
            return switch RPCQuery.value("encoding", of: head, bytes) {
            case "proto": RPCForm(self, .connect, .proto)
            case "json": RPCForm(self, .connect, .json)
            default: nil
            }
        }
        guard let type = head[.contentType],
            let form = RPCForm(self, type: bytes.extracting(type))
        else { return nil }
        let isForm = isStreaming ? form.framing.hasStreams : form.framing != .connectStream
        guard isForm else { return nil }
        return isDescribed || form.codec == .proto ? form : nil
    }
}

/// The query of Connect's GET.
enum RPCQuery {
    /// The first parameter of a name.
    static func value(_ name: String, of head: HTTPHead, _ bytes: Span<UInt8>) -> String? {
        HTTPQuery(bytes.extracting(head.query ?? 0..<0))?.parameters
            .first { $0.name.equalsByBytes(name) }?.value
    }

    /// How the message is compressed.
    static func compression(
        of head: HTTPHead, _ bytes: Span<UInt8>
    ) throws(HTTPProblem) -> RPCCompression {
        guard let name = value("compression", of: head, bytes) else { return .identity }
        guard let compression = RPCCompression(Array(name.utf8).span) else {
            throw .otherCompression
        }
        return compression
    }

    /// The message of a request.
    static func message(of head: HTTPHead, _ bytes: Span<UInt8>) throws(HTTPProblem) -> [UInt8] {
        if let version = value("connect", of: head, bytes), version != "v1" {
            throw HTTPProblem(400, .invalidArgument, "connect is not v1, the only version")
        }
        guard let text = value("message", of: head, bytes) else {
            throw HTTPProblem(400, .invalidArgument, "the query has no message")
        }
        guard value("base64", of: head, bytes) == "1" else { return Array(text.utf8) }
        let digits = text.utf8.prefix { $0 != UInt8(ascii: "=") }
        do throws(Base64Error) { return try Base64URL.decode(Array(digits).span) } catch {
            throw HTTPProblem(400, .invalidArgument, "message is not base64url: \(error)")
        }
    }

    /// The fault of a GET without an encoding that is known: as with a `Content-Type`, another one
    /// is 415.
    static func encodingFault(of head: HTTPHead, _ bytes: Span<UInt8>) -> HTTPProblem {
        HTTPProblem(
            value("encoding", of: head, bytes) == nil ? 400 : 415, .invalidArgument,
            "the query of a GET has encoding=proto or encoding=json, and message=…")
    }
}
