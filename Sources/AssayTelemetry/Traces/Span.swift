package import AssayBytes
import AssayModels
import AssayWire

/// The id of a span of the server.
package struct SpanId: Equatable, Sendable {
    private let number: UInt64

    /// Any but 0, which names no span.
    static var random: SpanId { SpanId(number: .random(in: 1...UInt64.max)) }

    /// 16 hexadecimal digits.
    var text: String { String(number, width: 16, radix: 16) }
}

/// What the server did with a request whose client records its trace: a span of OpenTelemetry.
struct ServerSpan {
    let id: SpanId
    let trace: RequestTrace
    let call: CallLabel
    let status: Status
    /// Nanoseconds since 1970.
    let start: UInt64
    let end: UInt64
    /// The names of the configuration and of results: none that a client chose.
    var app: String?
    var kind: EvidenceKind?
    var verdict: Verdict?
    var outcome: ResolveOutcome?
}

extension ServerSpan {
    /// SPAN_KIND_SERVER.
    private static let serverKind: Int64 = 2
    /// STATUS_CODE_ERROR.
    private static let errorCode: Int64 = 2

    /// The span in the JSON encoding of OTLP, where integers of 64 bits are text.
    var json: [UInt8] {
        // Longer than a span with all of its attributes.
        var writer = JSONWriter(escaping: .unprintable, capacity: 1024)
        writer.object { span in
            span.member(constant: "traceId", trace.context.traceId)
            span.member(constant: "spanId", id.text)
            span.member(constant: "parentSpanId", trace.context.parentId)
            span.member(constant: "name", call.method)
            span.member("kind", Self.serverKind)
            span.member(constant: "startTimeUnixNano", String(start))
            span.member(constant: "endTimeUnixNano", String(end))
            span.array("attributes") { list in
                for (name, value) in attributes { list.attribute(name, value) }
                if trace.via == .grpc {
                    list.attribute("rpc.grpc.status_code", Int64(status.rawValue))
                }
            }
            span.object("status") { object in
                if status.isServerError { object.member("code", Self.errorCode) }
            }
        }
        return writer.text
    }

    private var attributes: [(name: String, value: String)] {
        var attributes =
            trace.via.isCall
            ? [("rpc.system", trace.via.rawValue), ("rpc.method", call.method)]
            : [("http.request.method", trace.via.rawValue)]
        if let app { attributes.append(("assay.app", AuditLine.name(ofApp: app))) }
        if let kind { attributes.append(("assay.kind", kind.name)) }
        if let verdict { attributes.append(("assay.verdict", verdict.name)) }
        if let outcome { attributes.append(("assay.outcome", outcome.name)) }
        if status != .ok { attributes.append(("assay.status", status.grpcName)) }
        if status.isServerError { attributes.append(("error.type", status.grpcName)) }
        return attributes
    }
}

extension JSONWriter {
    /// Writes a KeyValue of OTLP as the next element.
    package mutating func attribute(_ name: String, _ value: String) {
        object { pair in
            pair.member(constant: "key", name)
            pair.object("value") { $0.member(constant: "stringValue", value) }
        }
    }

    package mutating func attribute(_ name: String, _ value: Int64) {
        object { pair in
            pair.member(constant: "key", name)
            pair.object("value") { $0.member(constant: "intValue", String(value)) }
        }
    }
}

extension Status {
    /// Whether OpenTelemetry's conventions for gRPC count it as an error of the server.
    fileprivate var isServerError: Bool {
        switch self {
        case .unknown, .deadlineExceeded, .unimplemented, .internal, .unavailable, .dataLoss: true
        case .ok, .cancelled, .invalidArgument, .notFound, .alreadyExists, .permissionDenied,
            .resourceExhausted, .failedPrecondition, .aborted, .outOfRange, .unauthenticated:
            false
        }
    }
}
