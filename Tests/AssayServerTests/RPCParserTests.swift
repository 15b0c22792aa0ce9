import AssayBytes
import AssayHTTP
import AssayModels
import AssayWire
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssaySessions

/// The values of the protocols: prefixes, time limits, media types, messages, errors.
@Suite("Values of Connect and gRPC-Web") struct RPCParserTests {
    @Test(
        "the prefix of a message",
        arguments: [
            ([0, 0, 0, 1, 2], 258), ([0, 0, 0, 0, 0, 9], 0), ([0, 0xFF, 0, 0, 0], 0xFF00_0000),
            ([], -1), ([0], -1), ([0, 0, 0, 0], -1),
            ([1, 0, 0, 0, 0], 0),
            // Trailers, and flags that do not exist.
            ([3, 0, 0, 0, 0], nil), ([0x81], nil), ([0x80, 0, 0, 0, 0], nil), ([2], nil),
        ] as [([UInt8], Int?)])
    func prefix(_ bytes: [UInt8], _ length: Int?) {
        // -1: incomplete.
        let read = Result { () throws(HTTPProblem) in try RPCFrame(bytes.span)?.length ?? -1 }
        #expect((try? read.get()) == length)
    }

    @Test(
        "grpc-timeout",
        arguments: [
            ("1S", 1_000), ("250m", 250), ("2M", 120_000), ("1H", 3_600_000),
            ("99999999H", UInt32.max), ("1000u", 1), ("999u", 1), ("1n", 1), ("5000000n", 5),
            ("0S", 1), ("00000001S", 1_000), ("000000001S", nil), ("S", nil), ("", nil),
            ("1", nil), ("1s", nil), ("1h", nil), ("-1S", nil), ("+1S", nil), (" 1S", nil),
            ("1 S", nil), ("1.5S", nil), ("1SS", nil), ("٣S", nil),
        ] as [(String, UInt32?)])
    func grpcTimeout(_ text: String, _ milliseconds: UInt32?) {
        #expect(RPCTimeout.grpc(Array(text.utf8).span) == milliseconds)
    }

    @Test(
        "Connect-Timeout-Ms",
        arguments: [
            ("1", 1), ("0", 1), ("2500", 2_500), ("9999999999", UInt32.max),
            ("10000000000", nil), ("", nil), ("-1", nil), ("1m", nil), ("1.5", nil), (" 1", nil),
        ] as [(String, UInt32?)])
    func connectTimeout(_ text: String, _ milliseconds: UInt32?) {
        #expect(RPCTimeout.connect(Array(text.utf8).span) == milliseconds)
    }

    @Test(
        "media types",
        arguments: [
            ("application/proto", RPCForm(.verify, .connect, .proto)),
            ("Application/JSON; charset=utf-8", RPCForm(.verify, .connect, .json)),
            ("application/grpc-web", RPCForm(.verify, .grpcWeb, .proto)),
            ("application/grpc-web+proto", RPCForm(.verify, .grpcWeb, .proto)),
            ("application/grpc-web+json", RPCForm(.verify, .grpcWeb, .json)),
            ("application/grpc-web-text", RPCForm(.verify, .grpcWebText, .proto)),
            ("application/grpc-web-text+proto", RPCForm(.verify, .grpcWebText, .proto)),
            ("application/grpc", RPCForm(.verify, .grpc, .proto)),
            ("application/grpc+proto", RPCForm(.verify, .grpc, .proto)),
            ("application/grpc+json", RPCForm(.verify, .grpc, .json)),
            ("application/connect+xml", nil), ("application/grpc-web-text+json", nil),
            ("application/octet-stream", nil), ("application/protobuf", nil), ("", nil),
        ] as [(String, RPCForm?)])
    func mediaTypes(_ text: String, _ form: RPCForm?) {
        #expect(RPCForm(.verify, type: Array(text.utf8).span) == form)
    }

    // MARK: Messages

    private static let limits = RPCRequest.Limits(
        headBytes: 64 << 10, items: 4, messageBytes: 1 << 20)
    private static let proto = RPCForm(.verify, .connect, .proto)

    private static func read(_ body: [UInt8], _ form: RPCForm) -> RPCRequest? {
        try? RPCRequest(body.span, form, .identity, limits)
    }

    private static func evidence(_ body: [UInt8], _ form: RPCForm = proto) -> [UInt8]? {
        read(body, form).map { bytes(of: $0.evidence, body) }
    }

    private static func bytes(of content: BodyContent, _ body: [UInt8]) -> [UInt8] {
        switch content {
        case .part(let range): Array(body[range])
        case .decoded(let bytes): bytes
        }
    }

    @Test("the evidence of a request, in every form and order")
    func evidenceOfRequests() {
        let message = RPCBytes.request([1, 2, 3], app: "game")
        let framed = RPCBytes.frame(message)
        let text = Base64.encode(framed.span)
        #expect(Self.evidence(message) == [1, 2, 3])
        #expect(Self.evidence(RPCBytes.request([1, 2, 3], isLast: false)) == [1, 2, 3])
        // The last one counts; an unknown field is ignored.
        var twice = MessageBuilder()
        twice.set(200, text: "later")
        twice.set(RPCBytes.evidenceField, bytes: [9])
        #expect(Self.evidence(message + twice.bytes) == [9])
        let web = RPCForm(.verify, .grpcWeb, .proto)
        #expect(Self.evidence(framed, web) == [1, 2, 3])
        let webText = RPCForm(.verify, .grpcWebText, .proto)
        #expect(Self.evidence(text, webText) == [1, 2, 3])
        // Parts that were encoded one by one.
        let parts =
            Base64.encode(framed.span.extracting(0..<5))
            + Base64.encode(framed.span.extracting(5...))
        #expect(Self.evidence(parts, webText) == [1, 2, 3])
        let json = RPCBytes.json([1, 2, 3], kind: "EVIDENCE_KIND_TRANSACTION")
        #expect(Self.evidence(json, RPCForm(.verify, .connect, .json)) == [1, 2, 3])
        #expect(Self.evidence([]) == [])

        #expect(Self.evidence(Array(message.dropLast())) == nil)
        #expect(Self.evidence(Array(framed.dropLast()), web) == nil)
        #expect(Self.evidence(framed + [0], web) == nil)
        // What would be one more field of the message.
        #expect(Self.evidence(framed + [0x20, 0x01], web) == nil)
        #expect(Self.evidence(framed + framed, web) == nil)
        #expect(Self.evidence([], web) == nil)
        #expect(Self.evidence(RPCBytes.frame(message, flags: 1), web) == nil)
        #expect(Self.evidence(Array(text.dropLast()), webText) == nil)
        #expect(Self.evidence([UInt8(ascii: "*")] + text.dropFirst(), webText) == nil)
    }

    @Test("fields of frames that the services do not have are ignored")
    func otherFields() throws {
        var message = MessageBuilder()
        // An id and a time limit; the call of a Resolve.
        message.set(1, varint: 7)
        message.set(2, varint: 1)
        message.set(10, bytes: [])
        let own = RPCBytes.request([1], app: "game")
        // The fields that count, in one part, and divided by one of the others.
        let app = Array(own.prefix(6))
        for body in [message.bytes + own, app + message.bytes + own.dropFirst(6)] {
            for form in [Self.proto, RPCForm(.verify, .grpc, .proto)] {
                let body = form.framing.hasFrames ? RPCBytes.frame(body) : body
                let request = try #require(Self.read(body, form))
                #expect(Self.bytes(of: request.head, body) == Array(own.dropLast(4)))
            }
        }
    }

    @Test("limits: fields, bytes beside the evidence, items")
    func limits() {
        func fields(_ count: Int) -> [UInt8] {
            var message = MessageBuilder()
            for _ in 0..<count { message.set(200, varint: 1) }
            return message.bytes
        }
        #expect(Self.read(fields(256), Self.proto) != nil)
        #expect(Self.read(fields(257), Self.proto) == nil)
        func named(_ bytes: Int) -> [UInt8] {
            var message = MessageBuilder()
            message.set(4, bytes: [UInt8](repeating: 0x61, count: bytes))
            return message.bytes
        }
        #expect(Self.read(named((64 << 10) - 4), Self.proto) != nil)
        #expect(Self.read(named((64 << 10) - 3), Self.proto) == nil)
        func items(_ count: Int) -> [UInt8] {
            var message = MessageBuilder()
            for _ in 0..<count { message.set(RPCBytes.evidenceField, bytes: [1, 2]) }
            return message.bytes
        }
        let resolve = RPCForm(.resolve, .connect, .proto)
        #expect(Self.read(items(4), resolve)?.lengths == [2, 2, 2, 2])
        #expect(Self.read(items(5), resolve) == nil)
    }

    // MARK: Arriving messages

    /// What an arriving message is found to be, with the number of bytes that were needed.
    private static func arrival(
        _ body: [UInt8], _ form: RPCForm, isSized: Bool, headLimit: Int = 1_000
    ) -> (step: RPCArrival.Step?, at: Int) {
        var arrival = RPCArrival(form, bodyBytes: isSized ? body.count : nil, headLimit: headLimit)
        for count in 0...body.count {
            guard let step = try? arrival.next(in: body.span.extracting(0..<count)) else {
                return (nil, count)
            }
            // The same at once as byte by byte.
            var whole = RPCArrival(
                form, bodyBytes: isSized ? body.count : nil, headLimit: headLimit)
            #expect((try? whole.next(in: body.span.extracting(0..<count))) == step)
            if step != .needMore { return (step, count) }
        }
        return (.needMore, body.count)
    }

    @Test("evidence is found with its first byte, if it is the rest of the message")
    func arrivals() {
        let evidence = [UInt8](repeating: 7, count: 300)
        let message = RPCBytes.request(evidence, app: "game")
        let start = message.count - evidence.count
        let head = Array(message[..<(start - 4)])
        for isSized in [true, false] {
            let (step, at) = Self.arrival(message, Self.proto, isSized: isSized)
            #expect(step == .evidence(head: head, start..<message.count) && at == start)
        }
        let web = RPCForm(.verify, .grpcWeb, .proto)
        let (step, at) = Self.arrival(RPCBytes.frame(message), web, isSized: false)
        #expect(step == .evidence(head: head, start + 5..<message.count + 5) && at == start + 5)

        // A field after the evidence is visible where the size is known.
        let other: [UInt8] = [0x20, 0x01]
        #expect(Self.arrival(message + other, Self.proto, isSized: true).step == .whole)
        #expect(Self.arrival(RPCBytes.frame(message + other), web, isSized: false).step == .whole)
        #expect(
            Self.arrival(RPCBytes.request(evidence, isLast: false), Self.proto, isSized: true).step
                == .whole)
        #expect(Self.arrival(RPCBytes.frame(message, flags: 1), web, isSized: true).step == .whole)
        // Shorter and longer bodies than the prefix says, other flags, no message.
        #expect(Self.arrival(RPCBytes.frame(message) + [0], web, isSized: true).step == nil)
        #expect(Self.arrival(RPCBytes.frame(message, flags: 2), web, isSized: true).step == nil)
        #expect(Self.arrival([0x0C], Self.proto, isSized: false).step == nil)
        #expect(Self.arrival([], Self.proto, isSized: false).step == .needMore)
    }

    @Test("a long head is not looked through for evidence")
    func longHead() {
        var message = MessageBuilder()
        message.set(4, bytes: [UInt8](repeating: 0x61, count: 997))
        let head = message.bytes
        message.set(RPCBytes.evidenceField, bytes: [1])
        #expect(head.count == 1_000)
        #expect(
            Self.arrival(message.bytes, Self.proto, isSized: true, headLimit: 1_000).step
                == .evidence(head: head, head.count + 3..<head.count + 4))
        let step = Self.arrival(message.bytes, Self.proto, isSized: true, headLimit: 999).step
        #expect(step == .whole)
    }
}
