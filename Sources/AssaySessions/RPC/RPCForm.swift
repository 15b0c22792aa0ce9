import AssayHTTP

/// How a call is written over HTTP: its protocol, and the form of its messages.
struct RPCForm: Equatable, Sendable {
    let method: RPCMethod
    let framing: RPCFraming
    let codec: RPCCodec
    /// The client's number of a request on a stream; nil for the call itself.
    var item: UInt64?

    init(_ method: RPCMethod, _ framing: RPCFraming, _ codec: RPCCodec) {
        self.method = method
        self.framing = framing
        self.codec = codec
    }

    /// The form that a `Content-Type` names; nil for another type.
    init?(_ method: RPCMethod, type value: Span<UInt8>) {
        var end = 0
        while end < value.count, value[end] != UInt8(ascii: ";") { end += 1 }
        while end > 0, value[end - 1] == UInt8(ascii: " ") { end -= 1 }
        let type = value.extracting(0..<end)
        for (name, framing, codec) in Self.types where type.equalsLowercase(name) {
            self.init(method, framing, codec)
            return
        }
        return nil
    }

    /// The media types of requests.
    private static let types: [(name: String, framing: RPCFraming, codec: RPCCodec)] = [
        ("application/proto", .connect, .proto), ("application/json", .connect, .json),
        ("application/grpc-web+proto", .grpcWeb, .proto),
        ("application/grpc-web", .grpcWeb, .proto),
        ("application/grpc-web+json", .grpcWeb, .json),
        ("application/grpc", .grpc, .proto), ("application/grpc+proto", .grpc, .proto),
        ("application/grpc+json", .grpc, .json),
        ("application/grpc-web-text+proto", .grpcWebText, .proto),
        ("application/grpc-web-text", .grpcWebText, .proto),
        ("application/connect+proto", .connectStream, .proto),
        ("application/connect+json", .connectStream, .json),
    ]

    /// For the refusal of another type.
    static let typeNames =
        "application/proto, application/json, application/grpc over HTTP/2, "
        + "application/grpc-web+proto, "
        + "application/grpc-web+json, application/grpc-web-text+proto; "
        + "for streams application/grpc or application/connect+proto, over HTTP/2"

    /// The media type of answers.
    var type: String {
        switch (framing, codec) {
        case (.connect, .proto): "application/proto"
        case (.connect, .json): "application/json"
        case (.grpcWeb, .proto): "application/grpc-web+proto"
        case (.grpcWeb, .json): "application/grpc-web+json"
        case (.grpc, .proto): "application/grpc+proto"
        case (.grpc, .json): "application/grpc+json"
        case (.grpcWebText, _): "application/grpc-web-text+proto"
        case (.connectStream, .proto): "application/connect+proto"
        case (.connectStream, .json): "application/connect+json"
        }
    }
}

/// The protocol of a call.
enum RPCFraming: Sendable {
    /// Connect: the message is the body, an error is JSON with a status of HTTP.
    case connect
    /// gRPC-Web: messages and trailers have a prefix; the status of HTTP is always 200.
    case grpcWeb
    /// gRPC, over HTTP/2 alone: messages have the prefix, trailers are those of HTTP.
    case grpc
    /// gRPC-Web in base64, for browsers that can't read binary bodies.
    case grpcWebText
    /// Connect's streams, over HTTP/2 alone: messages have the prefix, and the last frame has the
    /// error.
    case connectStream

    /// Whether messages have the prefix of `RPCFrame`.
    var hasFrames: Bool { self != .connect }
    /// Whether calls can have streams of messages. They need HTTP/2: the answer begins before the
    /// request ends.
    var hasStreams: Bool { self == .grpc || self == .connectStream }
    /// Whether the status of a call is in trailers, or in fields as in trailers.
    var hasTrailers: Bool { !isConnect }
    var isConnect: Bool { self == .connect || self == .connectStream }

    /// The field that names the compression of messages.
    var encodingField: HTTPField {
        switch self {
        case .connect: .contentEncoding
        case .connectStream: .connectEncoding
        case .grpc, .grpcWeb, .grpcWebText: .grpcEncoding
        }
    }
}

/// The form of a message.
enum RPCCodec: Sendable {
    case proto
    /// proto3's JSON mapping.
    case json
}
