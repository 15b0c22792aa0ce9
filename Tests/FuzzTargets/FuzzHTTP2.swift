import AssayBytes
import AssayHTTP

/// HTTP/2: the session of nghttp2 with what is around it, without a server.
extension FuzzTarget {
    /// The bytes of a client. First byte: how the rest is divided. Invariants: every range of data
    /// is in the bytes, the division changes nothing that arrives, each stream begins once and says
    /// nothing after its end, and an answer to every request can be written.
    static var http2: FuzzTarget {
        FuzzTarget("HTTP2", seeds: seeds, words: ["PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]) { bytes in
            guard bytes.count > 0 else { return }
            let step = Int(bytes[0]) + 1
            let all = HTTP2Connection.preface + bytes.array(1..<bytes.count)
            let whole = HTTP2Reading(all, step: all.count, answers: false)
            let parts = HTTP2Reading(all, step: step, answers: false)
            if !whole.hasFailed, !parts.hasFailed {
                precondition(whole.isLike(parts), "the division changes the reading")
            }
            _ = HTTP2Reading(all, step: step, answers: true)
        }
    }

    private static func frame(
        _ type: UInt8, _ flags: UInt8, _ stream: UInt8, _ content: [UInt8]
    ) -> [UInt8] {
        [0, UInt8(content.count >> 8), UInt8(content.count & 255), type, flags, 0, 0, 0, stream]
            + content
    }

    private static var seeds: [[UInt8]] {
        let fields = [
            (":method", "POST"), (":scheme", "http"), (":path", "/assay.v1.Verifier/Verify"),
            (":authority", "localhost"), ("content-type", "application/grpc"),
            ("content-length", "7"), ("grpc-timeout", "1S"),
        ]
        var block: [UInt8] = []
        for (name, value) in fields {
            block += [0x10, UInt8(name.utf8.count)] + Array(name.utf8)
            block += [UInt8(value.utf8.count)] + Array(value.utf8)
        }
        let settings = frame(4, 0, 0, [])
        let call = frame(1, 4, 1, block) + frame(0, 1, 1, [0, 0, 0, 0, 2, 8, 1])
        let indexed: [UInt8] = [0x82, 0x86, 0x84, 0x41, 1, 0x61]
        return [
            [255] + settings + call,
            [0] + settings + call + frame(3, 0, 1, [0, 0, 0, 8]),
            [7] + settings + frame(1, 5, 1, indexed) + frame(1, 5, 3, [0x82, 0x86, 0x84, 0xBE]),
            [3] + settings + frame(1, 1, 1, Array(indexed.prefix(3)))
                + frame(9, 4, 1, Array(indexed.dropFirst(3))),
            [60] + frame(4, 0, 0, [0, 4, 0, 0, 0, 1, 0, 1, 0, 0, 0, 0]) + call
                + frame(8, 0, 1, [0, 0, 0, 9]) + frame(6, 0, 0, [1, 2, 3, 4, 5, 6, 7, 8]),
            [9] + settings + frame(1, 4, 1, block) + frame(0, 8, 1, [2, 1, 2, 3, 4, 0, 0])
                + frame(1, 5, 1, [0x10, 1, 0x78, 1, 0x79])
                + frame(7, 0, 0, [UInt8](repeating: 0, count: 8)),
        ]
    }
}

/// What a connection of HTTP/2 has received.
private struct HTTP2Reading {
    private struct Stream {
        var head: [UInt8] = []
        var data: [UInt8] = []
        var hasEnded = false
        var code: UInt32?
    }

    private var streams: [Int32: Stream] = [:]
    private(set) var hasFailed = false

    /// Whether the same requests have arrived. Of a request that is refused because it has more
    /// data than its length, the parts before the excess have arrived, and either side ends it.
    func isLike(_ other: Self) -> Bool {
        guard streams.keys == other.streams.keys else { return false }
        for (number, stream) in streams {
            guard let same = other.streams[number] else { return false }
            let isWhole = stream.hasEnded
            guard stream.head == same.head, isWhole == same.hasEnded,
                isWhole
                    ? stream.data == same.data && stream.code == same.code
                    : stream.data.starts(with: same.data) || same.data.starts(with: stream.data)
            else { return false }
        }
        return true
    }

    init(_ bytes: [UInt8], step: Int, answers: Bool) {
        let connection = HTTP2Connection(HTTP2Limits())
        var output: [UInt8] = []
        var start = 0
        do throws(HTTP2Fault) {
            while start < bytes.count {
                let part = Array(bytes[start..<min(start + step, bytes.count)])
                start += part.count
                var events: [HTTP2Event] = []
                try connection.receive(part.span, into: &events)
                for event in events {
                    take(event, part, connection, answers: answers)
                }
                // A peer that has said GOAWAY is not read once nothing is left to be sent.
                try connection.write(upTo: 1 << 20, into: &output)
                for event in connection.takeEvents() {
                    take(event, part, connection, answers: answers)
                }
                if !connection.isOpen {
                    hasFailed = true
                    return
                }
            }
        } catch {
            hasFailed = true
        }
    }

    private mutating func take(
        _ event: HTTP2Event, _ bytes: [UInt8], _ connection: HTTP2Connection, answers: Bool
    ) {
        switch event {
        case .head(let number, let head, let bytes):
            precondition(streams[number] == nil, "a stream begins twice")
            precondition(head.path.upperBound <= bytes.count)
            streams[number] = Stream(head: bytes)
        case .data(let number, let range):
            precondition(range.upperBound <= bytes.count && !range.isEmpty)
            // That of a head that was refused is dropped.
            guard let stream = streams[number] else {
                return connection.didUse(range.count, of: number)
            }
            precondition(!stream.hasEnded, "data after the end")
            streams[number]?.data += bytes[range]
            connection.didUse(range.count, of: number)
        case .end(let number):
            guard let stream = streams[number] else { return }
            precondition(!stream.hasEnded, "a request ends twice")
            streams[number]?.hasEnded = true
            guard answers else { return }
            let isLong = stream.data.count > 4
            let fields = HTTP2Fields([(":status", "200"), ("content-type", "application/grpc")])
            let trailers = HTTP2Fields([("grpc-status", "0")])
            connection.answer(
                number, fields, body: isLong ? stream.data : [], from: isLong ? 1 : 0,
                trailers: isLong ? trailers : nil, isOpen: stream.data.count > 8)
            connection.append(stream.data, to: number)
            connection.finish(number, trailers: trailers)
        case .closed(let number, let code): streams[number]?.code = code
        case .pong: break
        }
    }
}
