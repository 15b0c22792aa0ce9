#if ServerSide
    import AssayIO
    import AssayModels
    import AssayWire
    import Logging
    import Metrics
    import Tracing

    /// Logs, counts and traces the calls of a client. Its labels and attributes are closed sets:
    /// the call, the reason of a failure, the verdict, and the address of the configuration.
    struct CallObserver: Sendable {
        private let logger: Logger
        private let server: String

        init(_ logger: Logger, server: Endpoint) {
            self.logger = logger
            self.server = server.description
        }

        /// Performs a call in a span, which continues that of the task, and which the server
        /// continues.
        func observe(
            _ request: ClientRequest, _ perform: (ClientRequest) async -> ClientResult
        ) async -> ClientResult {
            var request = request
            let method = request.call.method
            let began = ContinuousClock.now
            return await withSpan("assay.v1.Assay/\(method)", ofKind: .client) { span in
                span.attributes["rpc.system"] = "assay"
                span.attributes["rpc.service"] = "assay.v1.Assay"
                span.attributes["rpc.method"] = method
                span.attributes["server.address"] = server
                request.trace = TraceContext(span.context)
                let result = await perform(request)
                count(method, result.outcome, ContinuousClock.now - began)
                switch result {
                case .success(let answer):
                    if case .verification(let verification) = answer.result {
                        span.attributes["assay.verdict"] = verification.verdict.name
                    }
                    logger.trace("answered", metadata: ["assay.call": "\(method)"])
                case .failure:
                    span.attributes["error.type"] = result.outcome
                    // Not the message: it can quote a name that the caller sent.
                    span.setStatus(SpanStatus(code: .error, message: result.outcome))
                    logger.debug(
                        "no answer",
                        metadata: [
                            "assay.call": "\(method)", "assay.outcome": "\(result.outcome)",
                            "assay.server": "\(server)",
                        ])
                }
                return result
            }
        }

        private func count(_ method: String, _ outcome: String, _ duration: Duration) {
            Counter(
                label: "assay_client_calls_total",
                dimensions: [("call", method), ("outcome", outcome)]
            ).increment()
            Metrics.Timer(label: "assay_client_call_seconds", dimensions: [("call", method)])
                .record(duration: duration)
        }
    }

    extension ClientResult {
        /// `ok`, or why there is no answer: the reason, or the status of the server.
        fileprivate var outcome: String {
            switch self {
            case .success: "ok"
            case .failure(let error): error.status.map { "\($0.code)" } ?? error.reason.description
            }
        }
    }

    extension TraceContext {
        /// The trace that the process's instruments name to a server; nil if they name none, or one
        /// that is not of W3C Trace Context.
        fileprivate init?(_ context: ServiceContext) {
            var traceparent: String?
            InstrumentationSystem.instrument.inject(
                context, into: &traceparent, using: TraceparentInjector())
            guard let traceparent else { return nil }
            self.init(traceparent)
        }
    }

    private struct TraceparentInjector: Injector {
        func inject(_ value: String, forKey key: String, into traceparent: inout String?) {
            if key.lowercased() == "traceparent" { traceparent = value }
        }
    }

    extension RequestHead.Call {
        fileprivate var method: String {
            switch self {
            case .verify: "Verify"
            case .resolve: "Resolve"
            case .fetch: "Fetch"
            case .health: "Health"
            case .info: "Info"
            case .ping: "Ping"
            case .unknown: "Unknown"
            }
        }
    }
#endif
