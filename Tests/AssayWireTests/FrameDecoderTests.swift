import AssayWire
import Testing

struct FrameDecoderTests {
    private static let limits = FrameLimits(frameBytes: 1000, headBytes: 100)
    private let decoder = FrameDecoder(limits: limits)

    private static func frame(head: [UInt8], body: [UInt8]) -> [UInt8] {
        var bytes: [UInt8] = []
        FrameWriter.append(head: head.span, body: body.span, to: &bytes)
        return bytes
    }

    private static func prefix(_ length: UInt32, _ head: UInt32? = nil) -> [UInt8] {
        var bytes: [UInt8] = []
        for value in [length, head].compactMap({ $0 }) {
            for shift: UInt32 in [24, 16, 8, 0] { bytes.append(UInt8(value >> shift & 0xff)) }
        }
        return bytes
    }

    @Test func writerAndReaderAgree() {
        for (head, body) in [(0, 0), (1, 0), (0, 1), (3, 5), (100, 896)] {
            let bytes = Self.frame(
                head: .init(repeating: 1, count: head), body: .init(repeating: 2, count: body))
            guard case .frame(let frame) = decoder.next(in: bytes.span) else {
                Issue.record("no frame for \(head), \(body)")
                continue
            }
            #expect(bytes[frame.head].allSatisfy { $0 == 1 } && frame.head.count == head)
            #expect(bytes[frame.body].allSatisfy { $0 == 2 } && frame.body.count == body)
            #expect(frame.end == bytes.count)
        }
    }

    /// Splits three frames at every point. The decoder returns the same frames, and never
    /// requests more bytes than are missing.
    @Test func everySplitPoint() {
        let one = Self.frame(head: [1, 2], body: [3])
        let bytes = one + Self.frame(head: [], body: []) + Self.frame(head: [4], body: [])
        let whole = read(bytes, firstChunk: bytes.count)
        #expect(whole.count == 3)
        for cut in 0...bytes.count { #expect(read(bytes, firstChunk: cut) == whole) }
    }

    /// Reads like a connection: supplies more bytes when the decoder needs them.
    private func read(_ bytes: [UInt8], firstChunk: Int) -> [[UInt8]] {
        var start = 0
        var available = firstChunk
        var frames: [[UInt8]] = []
        while start < bytes.count {
            switch decoder.next(in: bytes.span.extracting(start..<available)) {
            case .needMore(let minimum):
                #expect(minimum > available - start && start + minimum <= bytes.count)
                available = min(start + minimum, bytes.count)
            case .frame(let frame):
                frames.append(Array(bytes[start..<start + frame.end]))
                start += frame.end
                if start > available { Issue.record("a frame beyond the bytes") }
            case .head, .fault:
                Issue.record("at \(start) of \(bytes)")
                return frames
            }
        }
        return frames
    }

    @Test func reportsHeadsOnRequest() {
        let decoder = FrameDecoder(limits: Self.limits, reportsHeads: true)
        let bytes = Self.frame(head: [1, 2, 3], body: [4, 5])
        for count in 0..<bytes.count {
            let step = decoder.next(in: bytes.span.extracting(first: count))
            switch count {
            case 0..<4: #expect(step == .needMore(minimum: 4))
            case 4..<8: #expect(step == .needMore(minimum: 8))
            case 8..<11: #expect(step == .needMore(minimum: 11))
            default:
                guard case .head(let frame) = step else {
                    Issue.record("no head at \(count)")
                    continue
                }
                #expect(frame.head == 8..<11 && frame.body == 11..<13)
            }
        }
    }

    /// Each fault next to its accepted neighbour.
    @Test func lengths() {
        let cases: [(UInt32, UInt32?, FrameDecoder.Step)] = [
            (1000, nil, .needMore(minimum: 8)),
            (1001, nil, .fault(.frameTooLarge(length: 1001, limit: 1000))),
            (.max, nil, .fault(.frameTooLarge(length: 0xffff_ffff, limit: 1000))),
            (0x8000_0000, nil, .fault(.frameTooLarge(length: 0x8000_0000, limit: 1000))),
            (4, nil, .needMore(minimum: 8)),
            (3, nil, .fault(.frameTooShort(length: 3))),
            (1, nil, .fault(.frameTooShort(length: 1))),
            (0, nil, .fault(.frameTooShort(length: 0))),
            (10, 6, .needMore(minimum: 14)),
            (10, 7, .fault(.headBeyondFrame(head: 7, length: 10))),
            (10, .max, .fault(.headBeyondFrame(head: 0xffff_ffff, length: 10))),
            (1000, 100, .needMore(minimum: 1004)),
            (1000, 101, .fault(.headTooLarge(head: 101, limit: 100, skip: 1004))),
            (1000, 997, .fault(.headBeyondFrame(head: 997, length: 1000))),
        ]
        for (length, head, step) in cases {
            let bytes = Self.prefix(length, head)
            #expect(decoder.next(in: bytes.span) == step, "\(length) \(head ?? 0)")
            // The bytes that follow do not change the fault.
            if case .fault = step {
                let more = bytes + [UInt8](repeating: 0xff, count: 20)
                #expect(decoder.next(in: more.span) == step)
            }
        }
    }

    @Test func onlyAHeadAboveItsLimitCanBeSkipped() {
        let faults: [(FrameFault, Int?)] = [
            (.headTooLarge(head: 101, limit: 100, skip: 1004), 1004),
            (.frameTooLarge(length: 5, limit: 4), nil), (.frameTooShort(length: 0), nil),
            (.headBeyondFrame(head: 5, length: 4), nil), (.foreign(.tls), nil),
        ]
        for (fault, skip) in faults {
            #expect(fault.skip == skip)
            #expect(!fault.description.isEmpty)
        }
    }

    @Test func otherProtocols() {
        let cases: [([UInt8], ForeignProtocol?)] = [
            (Array("GET / HTTP/1.1\r\n\r\n".utf8), .http1), (Array("POST /x".utf8), .http1),
            (Array("HEAD".utf8), .http1), (Array("OPTIONS *".utf8), .http1),
            (Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8), .http1Answer),
            (Array("HTTP/1.0 200".utf8), .http1Answer), (Array("HTTP".utf8), .http1Answer),
            (Array("HTTQ".utf8), nil), (Array("http".utf8), nil),
            ([21, 3, 3, 0, 2, 2, 40], .tlsAlert), ([21, 3], .tlsAlert), ([21, 4, 0, 0], nil),
            (Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8), .http2),
            ([0x16, 0x03, 0x01, 0x02, 0x00, 0x01], .tls), ([0x16, 0x03], .tls),
            ([0x16, 0x04, 0x01, 0x02, 0x00], nil), (Array("SSH-2.0-x".utf8), nil),
            (Array("GETS".utf8), nil), ([0xff, 0xff, 0xff, 0xff, 0xff], nil),
        ]
        for (bytes, other) in cases {
            let step = decoder.next(in: bytes.span)
            if let other {
                #expect(step == .fault(.foreign(other)), "\(bytes)")
            } else if case .fault(.frameTooLarge) = step {
                continue
            } else {
                Issue.record("\(bytes): \(step)")
            }
        }
        #expect(decoder.next(in: ([0x16] as [UInt8]).span) == .needMore(minimum: 4))
        #expect(decoder.next(in: Array("GET".utf8).span) == .needMore(minimum: 4))
    }

    /// The default decoder's limits, at their boundaries.
    @Test func defaults() {
        let decoder = FrameDecoder()
        let mebibytes: UInt32 = 1 << 20
        #expect(
            decoder.next(in: Self.prefix(32 * mebibytes, 65536).span)
                == .needMore(minimum: 4 + 32 << 20))
        #expect(
            decoder.next(in: Self.prefix(32 * mebibytes + 1).span)
                == .fault(.frameTooLarge(length: 32 << 20 + 1, limit: 32 << 20)))
    }
}
