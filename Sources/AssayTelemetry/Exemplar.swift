package import AssayModels
package import AssayWire

/// A value of a histogram that a trace explains.
package struct Exemplar: Equatable, Sendable {
    package let trace: TraceContext
    /// When the request was answered.
    package let time: Timestamp
    package internal(set) var value: UInt64 = 0

    package init(trace: TraceContext, time: Timestamp) {
        self.trace = trace
        self.time = time
    }
}
