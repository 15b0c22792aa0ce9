#if ServerSide
    import AssayModels
    import AssayTelemetry
    import AssayWire
    import Metrics

    /// Passes a server's counters on to swift-metrics, with the names of the admin interface. The
    /// threads of the server count as ever; the report adds what was counted since the last one.
    struct MetricsReport {
        private var last = ServerMetrics()

        mutating func report(_ state: ServerState) {
            let metrics = state.metrics
            for call in CallLabel.allCases {
                for status in Status.allCases {
                    Self.add(
                        "grpc_server_handled_total",
                        [
                            ("grpc_service", "assay.v1.Assay"), ("grpc_method", call.method),
                            ("grpc_code", status.grpcName),
                        ], metrics.handled(call, status), last.handled(call, status))
                }
            }
            for reason in RefusalLabel.allCases {
                Self.add(
                    "assay_refused_requests_total", [("reason", reason.name)],
                    metrics.refused(reason), last.refused(reason))
            }
            reportVerdicts(metrics)
            Gauge(label: "assay_connections").record(state.heldResources.connections)
            Gauge(label: "assay_requests_in_flight").record(state.heldResources.requestsInFlight)
            last = metrics
        }

        private func reportVerdicts(_ metrics: ServerMetrics) {
            let before = Dictionary(
                last.verdictsByApp.map { ($0.app, $0.counts) },
                uniquingKeysWith: { first, _ in first })
            for (app, counts) in metrics.verdictsByApp {
                let earlier = before[app] ?? VerdictCounts()
                guard counts.total != earlier.total else { continue }
                for kind in EvidenceKind.allCases {
                    for verdict in Verdict.allCases {
                        for environment in EnvironmentLabel.allCases {
                            Self.add(
                                "assay_verifications_total",
                                [
                                    ("kind", kind.name), ("verdict", verdict.name),
                                    ("environment", environment.name), ("app", app),
                                ], counts[kind, verdict, environment],
                                earlier[kind, verdict, environment])
                        }
                    }
                }
            }
        }

        private static func add(
            _ label: String, _ dimensions: [(String, String)], _ count: UInt64, _ last: UInt64
        ) {
            guard count > last else { return }
            Counter(label: label, dimensions: dimensions).increment(by: Int64(count - last))
        }
    }
#endif
