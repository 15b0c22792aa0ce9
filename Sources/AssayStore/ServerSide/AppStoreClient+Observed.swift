#if ServerSide
    import AssayModels
    import Logging
    import Metrics
    import Tracing

    // Labels and attributes are closed sets: the endpoint, the outcome, the reason of an error. A
    // URL or a message can name a transaction.
    extension AppStoreClient {
        /// Performs a call in a span, which continues that of the task.
        func observed(
            _ call: StoreCall, _ perform: () async throws(StoreError) -> StoreAnswer
        ) async throws(StoreError) -> StoreAnswer {
            let began = ContinuousClock.now
            let result = await withSpan("appstore \(call.name)", ofKind: .client) { span in
                span.attributes["rpc.system"] = "appstore"
                span.attributes["rpc.method"] = call.name
                let result = await Result.of(perform)
                switch result {
                case .success(let answer):
                    span.attributes["assay.environment"] = answer.environment.rawValue
                case .failure(let error):
                    span.attributes["error.type"] = error.reason.description
                    if let status = error.refusal?.httpStatus {
                        span.attributes["http.response.status_code"] = Int64(status)
                    }
                    span.setStatus(SpanStatus(code: .error, message: error.reason.description))
                }
                return result
            }
            Metrics.Timer(label: "assay_store_call_seconds", dimensions: [("endpoint", call.name)])
                .record(duration: ContinuousClock.now - began)
            return try result.get()
        }

        /// Logs and counts a request, each attempt.
        func note(_ outcome: StoreMetrics.Outcome, of call: StoreCall) {
            Counter(
                label: "assay_store_requests_total",
                dimensions: [("endpoint", call.name), ("outcome", outcome.rawValue)]
            ).increment()
            configuration.logger.log(
                level: outcome == .answered ? .trace : .debug, "asked the App Store",
                metadata: [
                    "assay.endpoint": "\(call.name)", "assay.outcome": "\(outcome.rawValue)",
                ])
        }

        /// Logs and counts the pause before another attempt, in milliseconds.
        func noteRetry(of call: StoreCall, after pause: UInt64) {
            Counter(
                label: "assay_store_retries_total", dimensions: [("endpoint", call.name)]
            ).increment()
            configuration.logger.debug(
                "asks the App Store again",
                metadata: ["assay.endpoint": "\(call.name)", "assay.pause_ms": "\(pause)"])
        }
    }

    extension Result where Success == StoreAnswer, Failure == StoreError {
        fileprivate static func of(_ perform: () async throws(StoreError) -> StoreAnswer) async
            -> Self
        {
            do throws(StoreError) {
                return .success(try await perform())
            } catch {
                return .failure(error)
            }
        }
    }
#endif
