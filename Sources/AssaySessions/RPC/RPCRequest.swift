import Assay
import AssayBytes
import AssayHTTP
import AssayService
import AssayTelemetry
import AssayWire

/// A request's message that has arrived whole: what it asks, and where its evidence is.
struct RPCRequest: Sendable {
    /// The fields that a RequestHead has as well, encoded.
    private(set) var head = BodyContent.part(0..<0)
    private(set) var evidence = BodyContent.part(0..<0)
    /// The lengths of the items of a Resolve.
    private(set) var lengths: [Int] = []
    /// The other fields of a request for a signature, encoded.
    private(set) var signed: [UInt8] = []
    /// The service that a health check names.
    private(set) var service = ""
    /// The number that a request on a stream has.
    private(set) var id: UInt64 = 0

    /// The limits of what is read.
    struct Limits: Sendable {
        var headBytes: Int
        var items: Int
        /// Bytes of a message that was decompressed.
        var messageBytes: Int
    }

    /// Fields beside the evidence. The calls have three; a later contract adds a few.
    private static let otherFields = 256

    /// Reads the body of a request.
    init(
        _ body: Span<UInt8>, _ form: RPCForm, _ compression: RPCCompression,
        _ limits: Limits
    ) throws(HTTPProblem) {
        switch form.framing {
        case .connect:
            // A body without bytes is an empty message, also where a field says gzip.
            if compression == .gzip, body.count > 0 {
                try self.init(compressed: body, form, limits)
            } else {
                try self.init(message: body, at: 0, form, limits)
            }
        case .grpcWeb, .grpc, .connectStream: try self.init(frame: body, form, compression, limits)
        case .grpcWebText:
            let binary = try Self.decodeText(body)
            try self.init(frame: binary.span, form, compression, limits)
            isolate(from: binary.span)
        }
    }

    /// The bytes that reading a body makes, at most.
    static func work(
        _ body: Span<UInt8>, _ form: RPCForm, _ compression: RPCCompression, _ limits: Limits
    ) -> Int {
        let isCompressed =
            form.framing.hasFrames
            ? (try? RPCFrame(body))?.isCompressed == true : compression == .gzip
        guard isCompressed, let size = Gzip.statedSize(of: body) else { return body.count }
        return body.count + min(size, limits.messageBytes)
    }

    /// The one message of a unary call.
    private init(
        frame body: Span<UInt8>, _ form: RPCForm, _ compression: RPCCompression, _ limits: Limits
    ) throws(HTTPProblem) {
        guard let frame = try RPCFrame(body, compression) else {
            throw HTTPProblem(400, .unimplemented, "the body has no message")
        }
        let start = RPCFrame.prefixBytes
        guard frame.length == body.count - start else {
            throw .wrongMessageLength(stated: frame.length, of: body.count - start)
        }
        let message = body.extracting(start...)
        if frame.isCompressed {
            try self.init(compressed: message, form, limits)
        } else {
            try self.init(message: message, at: start, form, limits)
        }
    }

    private init(
        compressed bytes: Span<UInt8>, _ form: RPCForm, _ limits: Limits
    ) throws(HTTPProblem) {
        let message: [UInt8]
        do throws(GzipError) {
            message = try Gzip.decompress(bytes, limit: limits.messageBytes)
        } catch .tooLarge(let limit) {
            throw HTTPBodyPlan.message(RPCCall(form), limit: limit).problem(above: limit)
        } catch {
            throw HTTPProblem(400, .invalidArgument, "the message is not gzip: \(error)")
                .grpc(.internal)
        }
        try self.init(message: message.span, at: 0, form, limits)
        isolate(from: message.span)
    }

    /// - Parameter offset: the index of the message in the body.
    private init(
        message: Span<UInt8>, at offset: Int, _ form: RPCForm, _ limits: Limits
    ) throws(HTTPProblem) {
        if form.codec == .json {
            let encoded = try RPCSchema.services.encode(message, as: form.method.request)
            try readFields(encoded.span, at: 0, form.method, limits)
            isolate(from: encoded.span)
        } else {
            try readFields(message, at: offset, form.method, limits)
        }
    }

    private static func decodeText(_ body: Span<UInt8>) throws(HTTPProblem) -> [UInt8] {
        // Some clients encode each part with its own padding: four digits are always whole.
        var (binary, start): ([UInt8], Int) = ([], 0)
        do throws(Base64Error) {
            while start < body.count {
                var end = start
                while end < body.count, body[end] != UInt8(ascii: "=") { end += 1 }
                while end < body.count, body[end] == UInt8(ascii: "=") { end += 1 }
                try Base64.decode(body.extracting(start..<end), into: &binary)
                start = end
            }
        } catch {
            throw HTTPProblem(400, .invalidArgument, "the body is not base64: \(error)")
        }
        return binary
    }

    /// Reads the fields of a message. Those that the call does not know are ignored.
    private mutating func readFields(
        _ message: Span<UInt8>, at offset: Int, _ method: RPCMethod, _ limits: Limits
    ) throws(HTTPProblem) {
        var reader = FieldReader()
        var items: [Range<Int>] = []
        var (itemCount, last): (Int, Range<Int>?) = (0, nil)
        var others = 0
        let headFields = method.headFields
        do throws(MessageError) {
            while let field = try reader.next(in: message) {
                if case .bytes(let range) = field.value {
                    if method.hasEvidence, field.number == MessageCodec.evidenceField {
                        itemCount += 1
                        last = range
                        if method == .resolve { items.append(range) }
                    }
                    if method == .health || method == .watch, field.number == 1 {
                        service = message.extracting(range).httpText
                    }
                }
                if case .varint(let number) = field.value, method == .verifyStream,
                    field.number == 1
                {
                    id = number
                }
                others += field.number == MessageCodec.evidenceField ? 0 : 1
                guard itemCount <= limits.items, others <= Self.otherFields else { break }
                let isOfHead = headFields.contains(field.number)
                if isOfHead { appendToHead(field.range, of: message, at: offset) }
                if method.signs, field.number != MessageCodec.evidenceField, !isOfHead {
                    signed += message.extracting(field.range).array
                }
                guard head.count <= limits.headBytes else { break }
            }
        } catch {
            throw .undecodable(error)
        }
        guard others <= Self.otherFields else { throw .undecodable(.tooLarge) }
        guard head.count <= limits.headBytes else {
            throw HTTPProblem(
                413, .resourceExhausted,
                "the fields beside the evidence have more than \(limits.headBytes) bytes")
        }
        guard itemCount <= limits.items else {
            throw HTTPProblem(
                413, .resourceExhausted, "the request has more than \(limits.items) items")
        }
        if method == .resolve {
            join(items, of: message)
        } else if let range = last {
            // The last one counts, as with every field that is not repeated.
            evidence = .part(offset + range.lowerBound..<offset + range.upperBound)
        }
    }

    /// Appends a field to the head, which is a part of the body as long as nothing divides it.
    private mutating func appendToHead(
        _ range: Range<Int>, of message: Span<UInt8>, at offset: Int
    ) {
        let (start, end) = (offset + range.lowerBound, offset + range.upperBound)
        switch head {
        case .part(let former) where former.isEmpty: head = .part(start..<end)
        case .part(let former) where former.upperBound == start:
            head = .part(former.lowerBound..<end)
        case .part(let former):
            let before = former.lowerBound - offset..<former.upperBound - offset
            head = .decoded(message.array(before) + message.array(range))
        case .decoded(var bytes):
            // Appended in place: many fields would copy each other.
            head = .part(0..<0)
            bytes += message.array(range)
            head = .decoded(bytes)
        }
    }

    private mutating func join(_ items: [Range<Int>], of message: Span<UInt8>) {
        lengths = items.map(\.count)
        var joined: [UInt8] = []
        joined.reserveCapacity(lengths.reduce(0, +))
        for range in items { joined += message.extracting(range).array }
        evidence = .decoded(joined)
    }

    /// Copies the parts out of bytes that end with this call.
    private mutating func isolate(from bytes: Span<UInt8>) {
        head.isolate(from: bytes)
        evidence.isolate(from: bytes)
    }
}

extension HTTPProblem {
    /// Another number of messages has a code of its own.
    static func wrongMessageLength(stated: Int, of body: Int) -> Self {
        HTTPProblem(
            400, stated < body ? .unimplemented : .invalidArgument,
            "the body is not one message: the length in its prefix is not that of the body"
        ).grpc(stated < body ? .unimplemented : .internal)
    }

    static func undecodable(_ error: MessageError) -> Self {
        switch error {
        case .tooLarge: HTTPProblem(413, .resourceExhausted, "the message is invalid: \(error)")
        case .malformed, .invalidText, .missingField, .unknownVerdict:
            HTTPProblem(
                400, .invalidArgument, "the body is not a protobuf message of this call: \(error)"
            ).grpc(.internal)
        }
    }
}
