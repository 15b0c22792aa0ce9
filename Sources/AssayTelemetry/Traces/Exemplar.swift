package import AssayModels
package import AssayWire

/// A value of a histogram that a trace explains.
package struct Exemplar: Equatable, Sendable {
    package let trace: TraceContext
    /// The server's span; nil where none is exported.
    private let span: SpanId?
    /// When the request was answered.
    package let time: Timestamp
    package internal(set) var value: UInt64 = 0

    package init(trace: TraceContext, span: SpanId? = nil, time: Timestamp) {
        self.trace = trace
        self.span = span
        self.time = time
    }

    /// The id of the server's span, or of the client's.
    package var spanId: String { span?.text ?? trace.parentId }
}
