/// Mutates the frames of HTTP/2 one by one and keeps their lengths valid.
enum HTTP2Mutation {
    struct Frame {
        var type: UInt8
        var flags: UInt8 = 0
        var stream: UInt32 = 0
        var content: [UInt8] = []

        var bytes: [UInt8] {
            let count = content.count
            return [UInt8(count >> 16 & 0xFF), UInt8(count >> 8 & 0xFF), UInt8(count & 0xFF)]
                + [type, flags] + HTTP2Mutation.number(stream) + content
        }
    }

    /// Frames of a client. The first two are a call of gRPC.
    static let templates: [Frame] = {
        let indexed: [UInt8] = [0x82, 0x86, 0x84, 0x41, 1, 0x61]
        return [
            Frame(type: 1, flags: 4, stream: 1, content: block),
            Frame(type: 0, flags: 1, stream: 1, content: [0, 0, 0, 0, 2, 8, 1]),
            Frame(type: 0, stream: 1, content: [0, 0, 0, 0, 9]),
            Frame(type: 0, flags: 8, stream: 1, content: [2, 1, 2, 3, 4, 0, 0]),
            Frame(type: 1, flags: 5, stream: 3, content: indexed),
            Frame(type: 1, flags: 5, stream: 5, content: [0x82, 0x86, 0x84, 0xBE]),
            Frame(type: 1, flags: 1, stream: 7, content: Array(indexed.prefix(3))),
            Frame(type: 9, flags: 4, stream: 7, content: Array(indexed.dropFirst(3))),
            Frame(type: 1, flags: 5, stream: 1, content: [0x10, 1, 0x78, 1, 0x79]),
            Frame(type: 1, flags: 0x2C, stream: 9, content: [1, 0, 0, 0, 0, 9] + indexed + [0]),
            Frame(type: 2, stream: 3, content: [0, 0, 0, 1, 9]),
            Frame(type: 3, stream: 1, content: [0, 0, 0, 8]),
            Frame(type: 4, content: [0, 4, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]),
            Frame(type: 4, flags: 1),
            Frame(type: 6, content: [1, 2, 3, 4, 5, 6, 7, 8]),
            Frame(type: 6, flags: 1, content: [UInt8](repeating: 0, count: 8)),
            Frame(type: 7, content: [UInt8](repeating: 0, count: 8)),
            Frame(type: 8, content: [0, 0, 0, 9]),
            Frame(type: 8, stream: 1, content: [0x7F, 0xFF, 0xFF, 0xFF]),
        ]
    }()

    private static var block: [UInt8] {
        let fields = [
            (":method", "POST"), (":scheme", "http"), (":path", "/assay.v1.Verifier/Verify"),
            (":authority", "localhost"), ("content-type", "application/grpc"),
            ("content-length", "7"), ("grpc-timeout", "1S"),
        ]
        return fields.flatMap { literal($0, $1) }
    }

    /// A field in the literal form of HPACK (RFC 7541, section 6.2.2).
    static func literal(_ name: String, _ value: String) -> [UInt8] {
        [0x10, UInt8(name.utf8.count)] + Array(name.utf8) + [UInt8(value.utf8.count)]
            + Array(value.utf8)
    }

    /// What a mutation appends to a head.
    private static let fields = [
        literal("content-length", "2"), literal("content-length", "0"), literal("host", "a"),
        literal(":path", "/?a"), literal("te", "trailers"), literal("grpc-encoding", "gzip"),
        literal("connection", "close"), literal(":authority", "a:1"), literal("x", "y"),
        [0x40, 1, 0x78, 1, 0x79], [0xBE], [0x3F, 0xE1, 0x1F], [0x20], [0x83], [0x5C, 1, 0x39],
    ]

    /// - Parameter prefix: the number of bytes before the frames.
    static func mutate(
        _ input: [UInt8], prefix: Int, _ mutation: inout FuzzMutation
    ) -> [UInt8] {
        guard input.count > prefix, !mutation.once(in: 12) else { return mutation.usual(input) }
        var start = Array(input.prefix(prefix))
        if mutation.once(in: 8) {
            start[mutation.below(prefix)] = UInt8(
                mutation.element(of: [0, 1, 2, 3, 5, 8, 16, 63, 255]))
        }
        var frames = frames(in: input[prefix...])
        for _ in 0...mutation.below(3) { change(&frames, &mutation) }
        var bytes = start + frames.flatMap(\.bytes)
        if mutation.once(in: 24) { bytes.removeLast(mutation.below(min(bytes.count - prefix, 32))) }
        return bytes
    }

    /// Splits bytes into frames. A frame without its end gets the length of what is there.
    private static func frames(in bytes: ArraySlice<UInt8>) -> [Frame] {
        var frames: [Frame] = []
        var rest = bytes
        while rest.count >= 9 {
            let head = Array(rest.prefix(9))
            let count = Int(head[0]) << 16 | Int(head[1]) << 8 | Int(head[2])
            let stream = head[5...].reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
            rest = rest.dropFirst(9)
            frames.append(
                Frame(
                    type: head[3], flags: head[4], stream: stream,
                    content: Array(rest.prefix(count))))
            rest = rest.dropFirst(count)
        }
        return frames
    }

    private static func change(_ frames: inout [Frame], _ mutation: inout FuzzMutation) {
        let index = mutation.below(frames.count)
        guard !frames.isEmpty, !mutation.once(in: 4) else {
            var frame = mutation.element(of: templates)
            if mutation.once(in: 2) { frame.stream = UInt32(mutation.below(12)) }
            return frames.insert(frame, at: mutation.below(frames.count + 1))
        }
        switch mutation.below(14) {
        case 0: frames.remove(at: index)
        case 1: frames.insert(frames[index], at: mutation.below(frames.count + 1))
        case 2: frames.swapAt(index, mutation.below(frames.count))
        case 3:
            let copies = [Frame](repeating: frames[index], count: 1 + mutation.below(12))
            frames.insert(contentsOf: copies, at: index)
        case 4: frames[index].type = UInt8(mutation.below(11))
        case 5: frames[index].flags ^= mutation.element(of: [1, 4, 5, 8, 0x20])
        case 6:
            frames[index].stream = mutation.element(
                of: [0, 1, 2, 3, 5, 7, 9, 11, 0x7FFF_FFFF, 0x8000_0001])
        case 7: split(&frames, at: index, &mutation)
        case 8: frames[index].content += mutation.element(of: fields)
        case 9: frames[index].content = number(UInt32(mutation.element(of: numbers)))
        case 10, 11: addTrailers(&frames, &mutation)
        default: frames[index].content = mutation.usual(frames[index].content)
        }
    }

    private static let numbers = [0, 1, 9, 16_384, 65_535, 0x7FFF_0000, 0x7FFF_FFFF]

    /// Splits a head into HEADERS and CONTINUATION, and other frames into two of their type.
    private static func split(
        _ frames: inout [Frame], at index: Int, _ mutation: inout FuzzMutation
    ) {
        var second = frames[index]
        let count = mutation.below(second.content.count + 1)
        frames[index].content = Array(second.content.prefix(count))
        second.content.removeFirst(count)
        if second.type == 1 {
            frames[index].flags &= ~4
            (second.type, second.flags) = (9, second.flags & 4)
        } else {
            frames[index].flags &= ~1
        }
        frames.insert(second, at: index + 1)
    }

    /// Ends a request with trailers instead of its last frame.
    private static func addTrailers(_ frames: inout [Frame], _ mutation: inout FuzzMutation) {
        let ends = frames.indices.filter { frames[$0].type < 2 && frames[$0].flags & 1 != 0 }
        guard !ends.isEmpty else { return }
        let index = mutation.element(of: ends)
        frames[index].flags &= ~1
        frames.insert(
            Frame(
                type: 1, flags: 5, stream: frames[index].stream,
                content: mutation.element(of: fields)),
            at: index + 1)
    }

    private static func number(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(value >> $0 & 0xFF) }
    }
}
