import AssayHTTP

/// The head of a response on a stream. Responses are written once, as HTTP/1.1 has them; this reads
/// the fields of such a head.
struct HTTP2ResponseHead {
    typealias Field = (name: String, value: String)

    var fields: [Field] = []
    /// The index of the first byte of the body.
    private(set) var end = 0

    /// - Precondition: `HTTPResponse` has written it.
    init(_ bytes: [UInt8]) {
        let text = bytes.span
        var start = 0
        while let line = Self.line(text, from: start) {
            let isFirst = start == 0
            start = line.upperBound + 2
            if line.isEmpty { break }
            if isFirst {
                // "HTTP/1.1 200 OK"
                let digits = line.lowerBound + 9..<line.lowerBound + 12
                fields.append((":status", text.extracting(digits).httpText))
                continue
            }
            guard let colon = line.first(where: { text[$0] == UInt8(ascii: ":") }) else { continue }
            let name = text.extracting(line.lowerBound..<colon).httpText.lowercased()
            // HTTP/2 has no such fields.
            if name == "connection" || name == "transfer-encoding" { continue }
            fields.append((name, text.extracting(colon + 2..<line.upperBound).httpText))
        }
        end = start
    }

    /// The next line, without its end.
    private static func line(_ text: Span<UInt8>, from start: Int) -> Range<Int>? {
        var index = start
        while index + 1 < text.count {
            if text[index] == UInt8(ascii: "\r"), text[index + 1] == UInt8(ascii: "\n") {
                return start..<index
            }
            index += 1
        }
        return nil
    }

    /// That of an answer of gRPC.
    static func grpc(_ form: RPCForm) -> HTTP2Fields {
        form.codec == .json ? grpcJSON : grpcProto
    }

    private static let grpcProto = grpc(type: RPCForm(.verify, .grpc, .proto).type)
    private static let grpcJSON = grpc(type: RPCForm(.verify, .grpc, .json).type)

    private static func grpc(type: String) -> HTTP2Fields {
        HTTP2Fields([
            (":status", "200"), ("content-type", type), RPCStatus.acceptedEncodings,
        ])
    }

    static let grpcTrailers = HTTP2Fields(RPCStatus.ok.fields)
}
