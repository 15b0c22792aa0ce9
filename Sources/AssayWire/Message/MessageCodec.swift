package import AssayModels
import CAssayProto

/// Encodes and decodes heads as protobuf. Use one per thread: its memory is reused for each
/// message.
package final class MessageCodec {
    /// Memory that a received message can use per byte of its size. Heads full of short strings
    /// need about 8; a flood of empty fields needs 20 and more, and is rejected.
    static let memoryPerByte = 16
    /// Memory that a message can always use, however short: its fixed-size structs are larger
    /// than on the wire. 4,096 items of a Resolve take 20 KB there, and 556 KB here.
    static let memoryFloor = 256 * 1024

    private let arena = MessageArena()
    var writer = MessageWriter()
    private let memoryFloor: Int
    private let memoryPerByte: Int

    /// Creates a codec with the default memory limits.
    package convenience init() {
        self.init(memoryFloor: Self.memoryFloor, memoryPerByte: Self.memoryPerByte)
    }

    package init(memoryFloor: Int, memoryPerByte: Int) {
        self.memoryFloor = memoryFloor
        self.memoryPerByte = memoryPerByte
    }

    /// Decodes the head of a request frame. If it throws, only `leadingId(of:)` is known of the
    /// head.
    package func decodeRequest(_ head: Span<UInt8>) throws(MessageError) -> RequestHead {
        if let merged = try MergedCall.head(of: head) { return try decode(merged.span) }
        return try decode(head)
    }

    private func decode(_ head: Span<UInt8>) throws(MessageError) -> RequestHead {
        let message = unsafe unpack(head) { unsafe assay__v1__request_head__unpack($0, $1, $2) }
        guard let message = unsafe message else { throw refusal }
        return try unsafe RequestHead(message.pointee)
    }

    /// Decodes the head of a response frame.
    package func decodeResponse(_ head: Span<UInt8>) throws(MessageError) -> ResponseHead {
        try decodeResponse(head, withEvidence: true)
    }

    /// Decodes the head of a response frame, optionally without the typed payload: a client that
    /// only counts verdicts saves most of the work.
    package func decodeResponse(
        _ head: Span<UInt8>, withEvidence: Bool
    ) throws(MessageError) -> ResponseHead {
        let message = unsafe unpack(head) { unsafe assay__v1__response_head__unpack($0, $1, $2) }
        guard let message = unsafe message else { throw refusal }
        if !withEvidence,
            unsafe message.pointee.result_case == ASSAY__V1__RESPONSE_HEAD__RESULT_VERIFICATION,
            let verification = unsafe message.pointee.verification
        {
            unsafe verification.pointee.payload_case = ASSAY__V1__VERIFICATION__PAYLOAD__NOT_SET
        }
        return try unsafe ResponseHead(message.pointee)
    }

    /// Appends a request head, without its frame.
    package func encode(_ head: RequestHead, into output: inout [UInt8]) {
        write(head)
        writer.append(to: &output)
    }

    /// Appends a response head, without its frame.
    package func encode(_ head: ResponseHead, into output: inout [UInt8]) {
        write(head)
        writer.append(to: &output)
    }

    /// Appends a request frame: prefix, head, body.
    package func encodeFrame(_ head: RequestHead, body: [UInt8], into output: inout [UInt8]) {
        write(head)
        appendFrame(body, to: &output)
    }

    /// Appends a response frame: prefix, head, body.
    package func encodeFrame(
        _ head: ResponseHead, body: [UInt8] = [], into output: inout [UInt8]
    ) {
        write(head)
        appendFrame(body, to: &output)
    }

    /// Appends the frame of a response with a verdict. With `withPayload`, its head has the payload
    /// as typed fields.
    package func encodeFrame(
        answering id: UInt64, _ verification: Verification, withPayload: Bool,
        body: [UInt8] = [], into output: inout [UInt8]
    ) {
        writer.clear()
        writer.setAnswer(id, verification, withPayload: withPayload)
        appendFrame(body, to: &output)
    }

    private func write(_ head: some WritableMessage) {
        writer.clear()
        head.write(to: &writer)
    }

    /// Appends what was written as the head of a frame.
    private func appendFrame(_ body: [UInt8], to output: inout [UInt8]) {
        FrameWriter.appendPrefix(
            headBytes: writer.count, bodyBytes: body.count, to: &output)
        writer.append(to: &output)
        output.append(contentsOf: body)
    }

    /// Returns the id of a head that is possibly not decodable; 0 if there is none. Protobuf
    /// runtimes write fields in the order of their numbers, and the id is number 1.
    package static func leadingId(of head: Span<UInt8>) -> UInt64 {
        guard !head.isEmpty, head[0] == Tag.id else { return 0 }
        return varint(in: head, at: 1)?.value ?? 0
    }

    /// Returns the id of a head that asks for a verification, without decoding it: for an
    /// overloaded server. Nil if a quick scan can't decide; decode the head then.
    package static func idOfVerify(_ head: Span<UInt8>) -> UInt64? { plainVerify(head)?.id }

    /// The id of a head that asks for a verification, and where the other fields begin, of which
    /// none is an id. Nil if a quick scan can't decide.
    static func plainVerify(_ head: Span<UInt8>) -> (id: UInt64, rest: Int)? {
        guard !head.isEmpty, head[0] == Tag.id, let (id, rest) = varint(in: head, at: 1), id != 0
        else { return nil }
        var next = rest
        while next < head.count {
            let tag = head[next]
            guard let field = varint(in: head, at: next + 1) else { return nil }
            switch tag {
            case Tag.timeout: next = field.end
            case Tag.traceparent, Tag.app:
                guard field.value <= UInt64(head.count - field.end) else { return nil }
                next = field.end + Int(field.value)
            case Tag.verify:
                return field.value == UInt64(head.count - field.end) ? (id, rest) : nil
            default: return nil
            }
        }
        return nil
    }

    /// The first byte of a head with an id, in both directions.
    static let idTag: UInt8 = 0x08

    /// First bytes of a RequestHead's fields: field number and wire type.
    private enum Tag {
        static let id = idTag
        static let timeout: UInt8 = 0x10
        static let traceparent: UInt8 = 0x1a
        static let app: UInt8 = 0x22
        static let verify: UInt8 = 0x2a
    }

    /// Decodes a varint; nil if it has no end or exceeds 64 bits.
    private static func varint(
        in bytes: Span<UInt8>, at start: Int
    ) -> (value: UInt64, end: Int)? {
        var value: UInt64 = 0
        // A varint has at most ten bytes; the tenth holds one bit.
        for index in start..<max(start, min(bytes.count, start + 10)) {
            let byte = bytes[index]
            if index == start + 9 && byte > 1 { return nil }
            value |= UInt64(byte & 0x7f) << UInt64(7 * (index - start))
            if byte < 0x80 { return (value, index + 1) }
        }
        return nil
    }

    // MARK: - protobuf-c

    /// Why the last `unpack` returned nil.
    private var refusal: MessageError { arena.isExhausted ? .tooLarge : .malformed }

    private func unpack<M>(
        _ head: Span<UInt8>,
        _ parse: (UnsafeMutablePointer<ProtobufCAllocator>, Int, UnsafePointer<UInt8>?)
            -> UnsafeMutablePointer<M>?
    ) -> UnsafeMutablePointer<M>? {
        arena.reset(limit: memoryFloor + memoryPerByte * head.count)
        return unsafe arena.withAllocator { allocator in
            unsafe head.withUnsafeBufferPointer { bytes in
                unsafe parse(allocator, bytes.count, bytes.baseAddress)
            }
        }
    }
}
