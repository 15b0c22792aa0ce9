/// Sends spans to a collector. Calls `completion` once, on any thread.
public protocol SpanTransport: Sendable {
    /// Posts spans, in the JSON encoding of OTLP.
    ///
    /// - Parameters:
    ///   - body: an ExportTraceServiceRequest in JSON.
    ///   - timeout: milliseconds for all of it.
    ///   - completion: gets the reason why the collector did not accept them; nil if it did.
    func post(
        _ body: [UInt8], timeout: UInt64, completion: @escaping @Sendable (String?) -> Void)
    /// Ends all requests. Their completions are still called.
    func close()
}
