import AssayHTTP
import CNghttp2

@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry

/// Frames of HTTP/2 as bytes. Heads are literals without compression, so that what a test sends is
/// plain.
enum HTTP2Bytes {
    typealias Field = (String, String)

    /// The preface, and empty SETTINGS.
    static let start = HTTP2Connection.preface + settings([])

    static func frame(
        _ type: UInt8, _ flags: UInt8, _ stream: Int32, _ content: [UInt8], length: Int? = nil
    ) -> [UInt8] {
        let count = length ?? content.count
        return [16, 8, 0].map { UInt8(truncatingIfNeeded: count >> $0) } + [type, flags]
            + number(UInt32(bitPattern: stream)) + content
    }

    static func number(_ value: UInt32) -> [UInt8] {
        [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: value >> UInt32($0)) }
    }

    /// A block of literals that are never indexed.
    static func block(_ fields: [Field]) -> [UInt8] {
        var block: [UInt8] = []
        for (name, value) in fields {
            block.append(0x10)
            for text in [name, value] {
                block += length(text.utf8.count)
                block += text.utf8
            }
        }
        return block
    }

    /// A length with a prefix of seven bits, without Huffman.
    static func length(_ count: Int) -> [UInt8] {
        guard count >= 127 else { return [UInt8(count)] }
        var (bytes, rest): ([UInt8], Int) = ([127], count - 127)
        while rest >= 128 {
            bytes.append(UInt8(rest & 127 | 128))
            rest >>= 7
        }
        return bytes + [UInt8(rest)]
    }

    static func fields(
        _ path: String, method: String = "POST", type: String? = "application/grpc",
        _ more: [Field] = []
    ) -> [Field] {
        var fields: [Field] = [
            (":method", method), (":scheme", "http"), (":path", path), (":authority", "localhost"),
        ]
        if let type { fields.append(("content-type", type)) }
        return fields + more
    }

    static func head(_ stream: Int32, _ fields: [Field], ends: Bool = false) -> [UInt8] {
        frame(1, ends ? 5 : 4, stream, block(fields))
    }

    static func data(_ stream: Int32, _ content: [UInt8], ends: Bool = false) -> [UInt8] {
        frame(0, ends ? 1 : 0, stream, content)
    }

    /// Data in frames of a size.
    static func data(
        _ stream: Int32, _ content: [UInt8], ends: Bool, each size: Int
    ) -> [UInt8] {
        var (bytes, sent): ([UInt8], Int) = ([], 0)
        while sent < content.count {
            let next = min(sent + size, content.count)
            bytes += data(
                stream, Array(content[sent..<next]), ends: ends && next == content.count)
            sent = next
        }
        return bytes
    }

    static func settings(_ values: [(UInt16, UInt32)]) -> [UInt8] {
        var content: [UInt8] = []
        for (id, value) in values {
            content += [UInt8(id >> 8), UInt8(truncatingIfNeeded: id)]
            content += number(value)
        }
        return frame(4, 0, 0, content)
    }

    static func window(_ stream: Int32, _ bytes: UInt32) -> [UInt8] {
        frame(8, 0, stream, number(bytes))
    }

    static func reset(_ stream: Int32, _ code: UInt32 = 8) -> [UInt8] {
        frame(3, 0, stream, number(code))
    }

    static func ping(_ content: UInt8 = 1, isAnswer: Bool = false) -> [UInt8] {
        frame(6, isAnswer ? 1 : 0, 0, [UInt8](repeating: content, count: 8))
    }

    /// A call of gRPC.
    static func call(
        _ stream: Int32, _ message: [UInt8], path: String = RPCBytes.verify, _ more: [Field] = [],
        each size: Int = 16_000
    ) -> [UInt8] {
        head(stream, fields(path, more))
            + data(stream, RPCBytes.frame(message), ends: true, each: size)
    }

    /// A request of HTTP/JSON.
    static func post(
        _ stream: Int32, _ path: String, _ body: [UInt8], type: String? = nil,
        _ more: [Field] = []
    ) -> [UInt8] {
        head(stream, fields(path, type: type, more))
            + data(stream, body, ends: true, each: 16_000)
    }

    static func get(
        _ stream: Int32, _ path: String, method: String = "GET", _ more: [Field] = []
    ) -> [UInt8] {
        head(stream, fields(path, method: method, type: nil, more), ends: true)
    }
}

/// A client of HTTP/2 in a simulation, which reads what the server sends.
@safe final class SimulatedHTTP2Peer {
    let server: SimulatedServer
    let peer: SimulatedPeer
    private(set) var answers: [Int32: Answer] = [:]
    /// The last streams and codes of GOAWAY.
    private(set) var ends: [(last: Int32, code: UInt32)] = []
    private(set) var pongs = 0
    /// The server's PINGs that were not answered.
    private(set) var pings = 0
    /// What the server widened windows by, by stream.
    private(set) var windows: [Int32: Int] = [:]
    private(set) var settings: [UInt16: UInt32] = [:]
    /// Whether part of an answer came after its end.
    private(set) var hasAnsweredTwice = false
    /// Whether it answers SETTINGS and PING, and widens windows as it reads.
    var isPolite = true
    private var received: [UInt8] = []
    private let inflater: OpaquePointer?

    struct Answer {
        var fields: [String: String] = [:]
        /// The fields of its head and its trailers, in their order.
        var blocks: [[HTTP2Bytes.Field]] = []
        var data: [UInt8] = []
        var hasHead = false
        /// The stream has ended; nil without a reset.
        var hasEnded = false
        var code: UInt32?

        var status: Int? { fields[":status"].flatMap { Int($0) } }
        var grpcStatus: Int? { fields["grpc-status"].flatMap { Int($0) } }
        var text: String { String(decoding: data, as: UTF8.self) }
        /// The first message of gRPC.
        var message: [UInt8] { Array(data.dropFirst(5)) }
        var messages: [[UInt8]] {
            var (messages, rest): ([[UInt8]], ArraySlice<UInt8>) = ([], data[...])
            while rest.count >= 5 {
                let length = rest.prefix(5).dropFirst().reduce(0) { $0 << 8 | Int($1) }
                messages.append(Array(rest.dropFirst(5).prefix(length)))
                rest = rest.dropFirst(5 + length)
            }
            return messages
        }
    }

    init(_ server: SimulatedServer, starts: Bool = true) {
        self.server = server
        peer = server.connect(to: SimulatedServer.http)
        var new: OpaquePointer?
        unsafe nghttp2_hd_inflate_new(&new)
        unsafe inflater = new
        if starts { peer.send(HTTP2Bytes.start) }
    }

    deinit { unsafe nghttp2_hd_inflate_del(inflater) }

    /// Sends bytes, and lets the server run without time.
    func send(_ bytes: [UInt8]) {
        peer.send(bytes)
        server.runUntilIdle()
        receive()
    }

    func ask(_ stream: Int32, _ bytes: [UInt8]) -> Answer {
        send(bytes)
        return self[stream]
    }

    subscript(stream: Int32) -> Answer { answers[stream] ?? Answer() }

    var isAtEnd: Bool { peer.isAtEnd }

    /// Reads everything that the server sends without time.
    func receive() {
        while case let more = peer.receive(), !more.isEmpty {
            read(more)
            server.runUntilIdle()
        }
    }

    /// Reads what the server has sent.
    func read(_ bytes: [UInt8]) {
        received += bytes
        while received.count >= 9 {
            let length = received[..<3].reduce(0) { $0 << 8 | Int($1) }
            guard received.count >= 9 + length else { return }
            let head = Array(received[..<9])
            let content = Array(received[9..<9 + length])
            received.removeFirst(9 + length)
            let stream = Int32(bitPattern: Self.number(head[5...]))
            take(head[3], head[4], stream, content)
        }
    }

    private static func number(_ bytes: some Sequence<UInt8>) -> UInt32 {
        bytes.reduce(0) { $0 << 8 | UInt32($1) }
    }

    private func take(_ type: UInt8, _ flags: UInt8, _ stream: Int32, _ content: [UInt8]) {
        if type <= 1, answers[stream]?.hasEnded == true { hasAnsweredTwice = true }
        switch type {
        case 0:
            answers[stream, default: Answer()].data += content
            if isPolite, !content.isEmpty {
                peer.send(HTTP2Bytes.window(0, UInt32(content.count)))
                if flags & 1 == 0 { peer.send(HTTP2Bytes.window(stream, UInt32(content.count))) }
            }
        case 1:
            let block = inflate(content)
            answers[stream, default: Answer()].blocks.append(block)
            for (name, value) in block { answers[stream]?.fields[name] = value }
            answers[stream, default: Answer()].hasHead = true
        case 3:
            answers[stream, default: Answer()].code = Self.number(content)
            answers[stream]?.hasEnded = true
        case 4 where flags & 1 == 0:
            for index in stride(from: 0, to: content.count, by: 6) {
                let id = UInt16(content[index]) << 8 | UInt16(content[index + 1])
                settings[id] = Self.number(content[index + 2..<index + 6])
            }
            if isPolite { peer.send(HTTP2Bytes.frame(4, 1, 0, [])) }
        case 6 where flags & 1 == 1: pongs += 1
        case 6 where isPolite: peer.send(HTTP2Bytes.frame(6, 1, 0, content))
        case 6: pings += 1
        case 7:
            ends.append(
                (Int32(bitPattern: Self.number(content[..<4])), Self.number(content[4..<8])))
        case 8: windows[stream, default: 0] += Int(Self.number(content))
        default: break
        }
        if type <= 1, flags & 1 == 1 { answers[stream]?.hasEnded = true }
    }

    private func inflate(_ block: [UInt8]) -> [HTTP2Bytes.Field] {
        var fields: [HTTP2Bytes.Field] = []
        var rest = block
        while true {
            var field = unsafe nghttp2_nv()
            var flags: Int32 = 0
            let count = unsafe rest.withUnsafeMutableBufferPointer { bytes in
                unsafe nghttp2_hd_inflate_hd2(
                    inflater, &field, &flags, bytes.baseAddress, bytes.count, 1)
            }
            guard count >= 0 else { return fields }
            rest.removeFirst(count)
            if UInt32(flags) & NGHTTP2_HD_INFLATE_EMIT.rawValue != 0 {
                let name = unsafe UnsafeBufferPointer(start: field.name, count: field.namelen)
                let value = unsafe UnsafeBufferPointer(start: field.value, count: field.valuelen)
                unsafe fields.append(
                    (String(decoding: name, as: UTF8.self), String(decoding: value, as: UTF8.self)))
            }
            if UInt32(flags) & NGHTTP2_HD_INFLATE_FINAL.rawValue != 0 {
                unsafe nghttp2_hd_inflate_end_headers(inflater)
                return fields
            }
            if count == 0, UInt32(flags) & NGHTTP2_HD_INFLATE_EMIT.rawValue == 0 { return fields }
        }
    }
}
