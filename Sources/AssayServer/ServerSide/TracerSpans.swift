#if ServerSide
    import AssayBytes
    import AssayKeepers
    public import Logging
    import Tracing

    extension ServerConfiguration {
        /// Makes a span of each request whose client records its trace, by the tracer of
        /// `InstrumentationSystem`. It continues the trace that `traceparent` names.
        ///
        /// Spans are made on a thread of their own, within a tenth of a second after the answer.
        public mutating func makeSpans(logger: Logger) throws(ServerError) {
            let service = try SpanService(log: LoggerSink(logger))
            try service.apply(sendingBy: TracerTransport(), version: reloadable.version)
            reloadable.spans = service
        }
    }

    /// Passes the spans of a server on to the tracer of the process.
    private struct TracerTransport: SpanTransport {
        func post(
            _ body: [UInt8], timeout: UInt64, completion: @escaping @Sendable (String?) -> Void
        ) {
            do throws(JSONError) {
                let root = try JSONDocument.parse(body, limit: body.count).root
                for resource in root["resourceSpans"].array {
                    for scope in resource["scopeSpans"].array {
                        for span in scope["spans"].array { FinishedSpan(span)?.record() }
                    }
                }
                completion(nil)
            } catch {
                completion("\(error)")
            }
        }

        func close() {}
    }

    /// A span that has ended, in the words of OTLP.
    private struct FinishedSpan {
        let name: String
        let traceparent: String
        let start: Instant
        let end: Instant
        let attributes: [(name: String, value: SpanAttribute)]
        let isError: Bool

        init?(_ span: JSONValue) {
            guard let name = span["name"]?.string, let trace = span["traceId"]?.string,
                let parent = span["parentSpanId"]?.string,
                let start = Instant(span["startTimeUnixNano"]),
                let end = Instant(span["endTimeUnixNano"])
            else { return nil }
            self.name = name
            // Version 00, and the flag sampled: other traces have no span.
            traceparent = "00-\(trace)-\(parent)-01"
            (self.start, self.end) = (start, end)
            attributes = span["attributes"].array.compactMap { pair in
                guard let name = pair["key"]?.string, let value = pair["value"] else { return nil }
                if let text = value["stringValue"]?.string { return (name, .string(text)) }
                let number = value["intValue"]?.string.flatMap { Int64($0) }
                return number.map { (name, .int64($0)) }
            }
            isError = span["status"]?["code"] != nil
        }

        func record() {
            var context = ServiceContext.topLevel
            InstrumentationSystem.instrument.extract(
                traceparent, into: &context, using: TraceparentExtractor())
            let span = startSpan(name, context: context, ofKind: .server, at: start)
            for (name, value) in attributes { span.attributes[name] = value }
            if isError { span.setStatus(SpanStatus(code: .error)) }
            span.end(at: end)
        }
    }

    /// Nanoseconds since 1970.
    private struct Instant: TracerInstant {
        let nanosecondsSinceEpoch: UInt64

        init?(_ value: JSONValue?) {
            guard let number = value?.string.flatMap({ UInt64($0) }) else { return nil }
            nanosecondsSinceEpoch = number
        }

        static func < (left: Self, right: Self) -> Bool {
            left.nanosecondsSinceEpoch < right.nanosecondsSinceEpoch
        }
    }

    private struct TraceparentExtractor: Extractor {
        func extract(key: String, from traceparent: String) -> String? {
            key.lowercased() == "traceparent" ? traceparent : nil
        }
    }

    extension JSONValue? {
        fileprivate var array: [JSONValue] { self?.elements.map { Array($0) } ?? [] }
    }
#endif
