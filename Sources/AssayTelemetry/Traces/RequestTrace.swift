package import AssayWire

/// The trace to which a request belongs, and how the request came.
package struct RequestTrace: Equatable, Sendable {
    package let context: TraceContext
    package let via: RequestProtocol

    package init(_ context: TraceContext, via: RequestProtocol) {
        self.context = context
        self.via = via
    }
}

/// How a request came, in the words of OpenTelemetry's semantic conventions: the system of a call,
/// or the method of HTTP.
package enum RequestProtocol: String, CaseIterable, Sendable {
    case frames = "assay"
    case grpc = "grpc"
    case connect = "connect_rpc"
    case httpGet = "GET"
    case httpHead = "HEAD"
    case httpPost = "POST"
    case httpOptions = "OPTIONS"
    /// A method that no path has.
    case httpOther = "_OTHER"

    /// Whether the request is a call.
    var isCall: Bool {
        switch self {
        case .frames, .grpc, .connect: true
        case .httpGet, .httpHead, .httpPost, .httpOptions, .httpOther: false
        }
    }
}
