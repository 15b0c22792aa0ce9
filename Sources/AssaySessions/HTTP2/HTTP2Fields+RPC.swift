import AssayHTTP

/// The heads and trailers of gRPC, which has none of the fields of other responses.
extension HTTP2Fields {
    /// The head of an answer with messages.
    static func grpc(_ form: RPCForm) -> HTTP2Fields { form.codec == .json ? grpcJSON : grpcProto }

    private static let grpcProto = grpc(type: RPCForm(.verify, .grpc, .proto).type)
    private static let grpcJSON = grpc(type: RPCForm(.verify, .grpc, .json).type)

    private static func grpc(type: String) -> HTTP2Fields {
        HTTP2Fields([
            (":status", "200"), ("content-type", type), RPCStatus.acceptedEncodings,
        ])
    }

    /// The trailers of an answer with messages.
    static let grpcTrailers = HTTP2Fields(RPCStatus.ok.fields)

    /// An answer without messages: its trailers are its head.
    static func grpc(_ form: RPCForm, _ status: RPCStatus) -> HTTP2Fields {
        HTTP2Fields([(":status", "200"), ("content-type", form.type)] + status.fields)
    }
}
