import Assay
import AssayIO
import AssayModels
import AssayServer
import AssayWire

/// All metrics of a server at one moment.
struct MetricsPage {
    private let state: ServerState
    private let age: UInt64
    private let process: ProcessFacts
    private let caches: CacheFacts
    private var out: MetricsText

    init(_ state: ServerState, age: UInt64, process: ProcessFacts, _ format: MetricsFormat) {
        out = MetricsText(format)
        self.state = state
        self.age = age
        self.process = process
        caches = CacheFacts(state.apps)
        addCalls()
        addVerifications()
        addWork()
        addCaches()
        addFetches()
        if let report = state.revocation { add(report) }
        addRecords()
        addHeldResources()
        addTraffic()
        addCertificates()
        addProcess()
        out.end()
    }

    var text: [UInt8] { out.bytes }

    private var metrics: ServerMetrics { state.metrics }

    /// What threads of their own write. Absent where they do not.
    private mutating func addRecords() {
        if let counts = state.audit {
            out.metric(
                "assay_audit_log_lines_total", .counter,
                "Lines of the audit log: written, or lost for lack of space.",
                [
                    ([("result", "written")], Double(counts.written)),
                    ([("result", "lost")], Double(counts.lost)),
                ])
        }
        if let counts = state.spans {
            out.metric(
                "assay_spans_total", .counter,
                "Spans of traced requests: exported, or lost for lack of space or a collector.",
                [
                    ([("result", "exported")], Double(counts.written)),
                    ([("result", "lost")], Double(counts.lost)),
                ])
        }
    }

    private static func labels(_ call: CallLabel) -> MetricsText.Labels {
        [
            ("grpc_type", "unary"), ("grpc_service", "assay.v1.Assay"),
            ("grpc_method", call.method),
        ]
    }

    private mutating func addCalls() {
        out.metric(
            "grpc_server_started_total", .counter, "Requests received completely, or refused.",
            CallLabel.allCases.map { (Self.labels($0), Double(metrics.started($0))) })
        out.metric(
            "grpc_server_handled_total", .counter, "Requests answered or abandoned.",
            CallLabel.allCases.flatMap { call in
                Status.allCases.compactMap { status in
                    let count = metrics.handled(call, status)
                    // OK is always present, so that an error rate has a denominator.
                    guard count > 0 || status == .ok else { return nil }
                    return (
                        Self.labels(call) + [("grpc_code", status.grpcName)], Double(count)
                    )
                }
            })
        out.histogram(
            "grpc_server_handling_seconds",
            "Time from a request's last byte to its answer, for calls with a result.",
            [
                (Self.labels(.verify), metrics.handling),
                (Self.labels(.resolve), metrics.resolveHandling),
                (Self.labels(.fetch), metrics.fetchHandling),
            ], scale: 1e9)
        out.metric(
            "assay_refused_requests_total", .counter,
            "Requests and frames refused, by reason.",
            RefusalLabel.allCases.map { ([("reason", $0.name)], Double(metrics.refused($0))) })
    }

    private mutating func addVerifications() {
        out.metric(
            "assay_verifications_total", .counter,
            "Verdicts, by kind of evidence, signed environment and configured app.",
            metrics.verdictsByApp.flatMap { app, counts in
                Self.samples(counts, app: appLabel(app))
            })
        out.metric(
            "assay_resolves_total", .counter, "Resolve requests with a result, by outcome.",
            ResolveOutcome.allCases.map { ([("outcome", $0.name)], Double(metrics.resolves($0))) })
    }

    /// The label of an app entry. The entry of a server without configuration has no name: it
    /// accepts any app.
    private func appLabel(_ name: String) -> String {
        name.isEmpty && state.apps["any"] == nil ? "any" : name
    }

    private static func samples(
        _ counts: VerdictCounts, app: String
    ) -> [(labels: MetricsText.Labels, value: Double)] {
        guard counts.total > 0 else { return [] }
        var samples: [(labels: MetricsText.Labels, value: Double)] = []
        for kind in EvidenceKind.allCases {
            for verdict in Verdict.allCases {
                for environment in EnvironmentLabel.allCases {
                    let count = counts[kind, verdict, environment]
                    guard count > 0 else { continue }
                    let labels = [
                        ("kind", kind.name), ("verdict", verdict.name),
                        ("environment", environment.name), ("app", app),
                    ]
                    samples.append((labels, Double(count)))
                }
            }
        }
        return samples
    }

    private mutating func addWork() {
        out.histogram(
            "assay_batch_size", "Requests verified together.", [], metrics.batchSizes, scale: 1)
        out.histogram(
            "assay_queue_delay_seconds",
            "Time from a request's last byte to the start of its verification.", [],
            metrics.queueDelay, scale: 1e9)
        out.metric("assay_workers", .gauge, "Worker threads.", Double(state.workers))
    }

    private mutating func addCaches() {
        out.metric(
            "assay_known_chain_lookups_total", .counter,
            "Lookups of certificate chains: hit, miss, or known and refused. An unknown "
                + "chain is looked up again when its validation starts.",
            [
                ([("result", "hit")], Double(caches.hits)),
                ([("result", "miss")], Double(caches.misses - caches.refusedHits)),
                ([("result", "refused")], Double(caches.refusedHits)),
            ])
        out.metric(
            "assay_chain_validations_total", .counter, "Full validations of a certificate chain.",
            Double(caches.validations))
        out.metric(
            "assay_known_chains", .gauge, "Certificate chains known to be valid.",
            Double(caches.chains.count))
        out.metric(
            "assay_refused_chains", .gauge, "Certificate chains known to be refused.",
            Double(caches.refusedChains))
        out.metric(
            "assay_key_tables", .gauge, "Frequently used keys with a precomputed table.",
            Double(caches.keyTables))
        out.metric(
            "assay_issuer_tables", .gauge,
            "Keys of roots and intermediates with a precomputed table.",
            Double(caches.issuerTables))
        out.metric(
            "assay_signature_engine_info", .gauge, "The engine that verifies signatures.",
            [([("engine", caches.engine)], 1)])
        out.metric(
            "assay_signature_audits_total", .counter,
            "Answers of the signature engine that OpenSSL checked. A disagreement must never "
                + "happen; after one, OpenSSL verifies.",
            [
                ([("result", "agreed")], Double(caches.audits.agreed)),
                ([("result", "disagreed")], Double(caches.audits.disagreed)),
            ])
    }

    /// What the configured apps ask of the App Store. Absent where none does.
    private mutating func addFetches() {
        let fetchers = state.apps.sorted { $0.key < $1.key }
            .compactMap { name, app in app.fetcher.map { (name, $0.statistics) } }
        guard !fetchers.isEmpty else { return }
        out.metric(
            "assay_fetches", .gauge, "Fetches that ask the App Store now.",
            Double(state.heldResources.fetches))
        out.metric(
            "assay_fetches_limit", .gauge, "Limit of fetches at a time; more are refused.",
            Double(state.limits.fetches))
        out.metric(
            "assay_store_requests_total", .counter,
            "Requests to the App Store Server API, each attempt, by endpoint and outcome.",
            fetchers.flatMap { name, statistics in
                statistics.requests.map { row in
                    (
                        [("app", name), ("endpoint", row.endpoint), ("outcome", row.outcome)],
                        Double(row.count)
                    )
                }
            })
        out.metric(
            "assay_store_retries_total", .counter, "Attempts after a first one.",
            fetchers.map { ([("app", $0)], Double($1.retries)) })
        out.metric(
            "assay_store_rate_waits_total", .counter,
            "Requests to the App Store that waited for its rate limit.",
            fetchers.map { ([("app", $0)], Double($1.rateWaits)) })
        out.metric(
            "assay_store_rate_wait_seconds_total", .counter,
            "Time that requests waited for the App Store's rate limit.",
            fetchers.map { ([("app", $0)], Double($1.rateWaitNanoseconds) / 1e9) })
    }

    private mutating func add(_ report: RevocationReport) {
        for metric in RevocationMetrics(report, now: state.now).all {
            out.metric(metric.name, metric.type, metric.help, metric.samples)
        }
    }

    private mutating func addHeldResources() {
        let (heldResources, limits) = (state.heldResources, state.limits)
        out.metric(
            "assay_ready", .gauge, "1 while requests are accepted.",
            state.phase == .serving ? 1 : 0)
        out.metric(
            "assay_state_age_seconds", .gauge,
            "Age of these figures: tenths of a second while the event loop runs.",
            Double(age) / 1e9)
        out.metric(
            "assay_connections", .gauge, "Open connections.", Double(heldResources.connections))
        out.metric(
            "assay_connections_limit", .gauge, "Limit of open connections; more wait.",
            Double(state.connectionLimit))
        out.metric(
            "assay_requests_in_flight", .gauge, "Requests accepted and not yet answered.",
            Double(heldResources.requestsInFlight))
        out.metric(
            "assay_bytes_in_flight", .gauge,
            "Evidence of requests not yet answered, bytes of incomplete frames, and answers "
                + "that clients have not read.",
            [
                ([("of", "evidence")], Double(heldResources.evidenceBytes)),
                ([("of", "frames")], Double(heldResources.bufferedBytes)),
                ([("of", "answers")], Double(heldResources.unwrittenBytes)),
            ])
        out.metric(
            "assay_held_bytes", .gauge,
            "Memory held for connections: bytes in flight of all three kinds, and buffers.",
            Double(heldResources.heldBytes))
        out.metric(
            "assay_evidence_bytes_limit", .gauge,
            "Limit of held bytes; above it requests are refused.",
            Double(limits.evidenceBytes))
        out.metric(
            "assay_tls_handshakes", .gauge,
            "TLS handshakes in progress, by what they wait for: the peer, or their turn.",
            [
                (
                    [("for", "peer")],
                    Double(heldResources.handshakes - heldResources.handshakesWaiting)
                ),
                ([("for", "turn")], Double(heldResources.handshakesWaiting)),
            ])
    }

    private mutating func addTraffic() {
        out.metric(
            "assay_connections_total", .counter,
            "Connections accepted, and those of them that were rejected: the user or client has "
                + "no permission, or the connection lacks TLS.",
            [
                ([("result", "accepted")], Double(metrics.connectionsAccepted)),
                ([("result", "refused")], Double(metrics.connectionsRefused)),
            ])
        out.metric(
            "assay_connection_faults_total", .counter, "Faults of connections, by reason.",
            metrics.faults.sorted { $0.key < $1.key }.map {
                ([("reason", $0.key)], Double($0.value))
            }
        )
        let directions: (MetricsText.Labels, MetricsText.Labels) = (
            [("direction", "received")], [("direction", "sent")]
        )
        out.metric(
            "assay_frames_total", .counter, "Frames received and sent.",
            [
                (directions.0, Double(metrics.requestsReceived)),
                (directions.1, Double(metrics.answersSent)),
            ])
        out.metric(
            "assay_bytes_total", .counter, "Bytes received and sent.",
            [
                (directions.0, Double(state.traffic.received)),
                (directions.1, Double(state.traffic.written)),
            ])
    }

    private mutating func addCertificates() {
        out.metric(
            "assay_root_seconds_left", .gauge,
            "Seconds until a pinned root expires.",
            caches.roots.map { root in
                (
                    [
                        ("name", root.name), ("sha256", String(root.fingerprint.prefix(16))),
                        ("development", root.development ? "true" : "false"),
                    ], Double(root.notAfter.seconds - state.now.seconds)
                )
            })
        out.metric(
            "assay_first_root_end_seconds_left", .gauge,
            "Seconds until the first pinned root expires that is not for development.",
            caches.firstRootEnd.map { [([], Double($0.seconds - state.now.seconds))] } ?? [])
        out.metric(
            "assay_foreign_production_roots", .gauge,
            "Pinned roots other than Apple's that can validate Production evidence.",
            Double(caches.foreignProductionRoots.count))
        out.metric(
            "assay_tls_certificate_seconds_left", .gauge,
            "Seconds until the server's own TLS certificate expires.",
            state.certificateEnd.map { [([], Double($0 - state.now.seconds))] } ?? [])
        let soonest = caches.chains.map(\.notAfter).min()
        out.metric(
            "assay_chain_seconds_left", .gauge,
            "Seconds until the first known chain expires; evidence signed before then stays valid.",
            soonest.map { [([], Double($0.seconds - state.now.seconds))] } ?? [])
    }

    private mutating func addProcess() {
        out.metric(
            "assay_reloads_total", .counter, "Reloads of the configuration, by result.",
            [
                ([("result", "applied")], Double(metrics.appliedReloads)),
                ([("result", "failed")], Double(metrics.failedReloads)),
            ])
        out.metric(
            "assay_last_reload_successful", .gauge,
            "0 from a reload that failed until one is applied.",
            metrics.isLastReloadApplied ? 1 : 0)
        out.metric(
            "assay_build_info", .gauge, "Always 1; the version is a label.",
            [([("version", state.version)], 1)])
        out.metric(
            "process_cpu_seconds_total", .counter, "User and system processor time, in seconds.",
            process.processorSeconds)
        out.metric(
            "process_resident_memory_bytes", .gauge, "Resident memory.",
            Double(process.residentBytes))
        out.metric(
            "process_virtual_memory_bytes", .gauge, "Virtual memory.",
            Double(process.virtualBytes))
        out.metric(
            "process_open_fds", .gauge, "Open file descriptors.", Double(process.openDescriptors))
        out.metric(
            "process_max_fds", .gauge, "Maximum number of open file descriptors.",
            Double(process.maximumDescriptors))
        out.metric(
            "process_start_time_seconds", .gauge, "Start of the process, in seconds since 1970.",
            process.startSeconds)
        out.metric("process_threads", .gauge, "Threads.", Double(process.threads))
    }
}
