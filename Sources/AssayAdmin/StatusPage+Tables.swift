import Assay
import AssayIO
import AssayModels
import AssayServer
import AssayWire

extension StatusPage {
    /// - Parameter rows: HTML text of the cells.
    private func table(
        _ title: String, _ note: String, _ head: [String], _ rows: [[String]], empty: String
    ) -> String {
        var text = "<section class=\"card\"><h2>\(title)</h2><p>\(note)</p>"
        guard !rows.isEmpty else { return text + "<p class=\"empty\">\(empty)</p></section>\n" }
        text += "<div class=\"scroll\"><table>"
        if !head.isEmpty {
            text += "<tr>" + head.map { "<th>\($0)</th>" }.joined() + "</tr>"
        }
        for row in rows.prefix(Self.rowsMost) {
            text += "<tr>" + row.map { "<td>\($0)</td>" }.joined() + "</tr>"
        }
        text += "</table></div>"
        if rows.count > Self.rowsMost {
            text += "<p>and \(Format.count(rows.count - Self.rowsMost)) more</p>"
        }
        return text + "</section>\n"
    }

    private func bar(_ part: Double, _ style: String = "a") -> String {
        let width = Format.short(min(max(part, 0), 1) * 100)
        return "<span class=\"bar\"><i class=\"\(style)\" style=\"width:\(width)%\"></i></span>"
    }

    var verdicts: String {
        let all = max(state.metrics.verifications(), 1)
        let counts = Verdict.allCases.map { ($0, state.metrics.verifications($0)) }
            .filter { $0.1 > 0 }.sorted { $0.1 > $1.1 }
        return table(
            "Verdicts", "What evidence turned out to be, since the start.", [],
            counts.map { verdict, count in
                [
                    verdict.name, bar(Double(count) / Double(all), verdict == .valid ? "a" : "b"),
                    Format.count(count),
                ]
            }, empty: "Nothing has been verified yet.")
    }

    var limits: String {
        let (holdings, limits) = (state.holdings, state.limits)
        func row(_ name: String, _ used: Int, _ most: Int, _ text: (Int) -> String) -> [String] {
            [
                name, bar(Double(used) / Double(most), used * 5 > most * 4 ? "b" : "a"),
                "\(text(used)) <small>of \(text(most))</small>",
            ]
        }
        return table(
            "Limits", "What is in use now, and above which clients are refused or have to wait.",
            [],
            [
                row("connections", holdings.connections, limits.connections) { Format.count($0) },
                row(
                    "memory held for connections", holdings.heldBytes, limits.evidenceBytes
                ) { Format.bytes($0) },
                row(
                    "file descriptors", process.openDescriptors,
                    Int(clamping: process.maximumDescriptors)
                ) { Format.count($0) },
                ["requests being verified", "", Format.count(holdings.requestsInFlight)],
                ["answers not yet taken", "", Format.bytes(holdings.unwrittenBytes)],
            ], empty: "")
    }

    var cacheTable: String {
        let lookups = caches.hits + caches.misses
        let rows: [[String]] = [
            [
                "evidence whose chain was known",
                bar(Double(caches.hits) / Double(max(lookups, 1))),
                Format.percent(caches.hits, of: lookups),
            ],
            entries("known chains", caches.chains.count, VerifierStatistics.knownChainsMost),
            entries("refused chains", caches.refusedChains, VerifierStatistics.refusedChainsMost),
            entries("tables of much used keys", caches.keyTables, VerifierStatistics.keyTablesMost),
            ["chains validated in full", "", Format.count(caches.validations)],
        ]
        return table(
            "Caches", "Work that is not done twice. A known chain makes evidence quick to verify.",
            [], rows, empty: "")
    }

    private func entries(_ name: String, _ count: Int, _ mostOfOne: Int) -> [String] {
        let most = mostOfOne * max(caches.verifiers, 1)
        return [
            name, bar(Double(count) / Double(most)),
            "\(Format.count(count)) <small>of \(Format.count(most))</small>",
        ]
    }

    var refusals: String {
        let refused = RefusalLabel.allCases.map {
            (name: $0.phrase, count: state.metrics.refused($0))
        }
        let faults = state.metrics.faults.sorted { $0.key < $1.key }
            .map { (name: "connection: \(Format.escaped($0.key))", count: $0.value) }
        return table(
            "Not carried out",
            "Requests that got no verdict, and faults of connections, since the start.", [],
            (refused + faults).filter { $0.count > 0 }.sorted { $0.count > $1.count }
                .map { [$0.name, Format.count($0.count)] },
            empty: "Every request got its verdict.")
    }

    private func days(until end: Timestamp) -> String {
        let days = state.now.days(until: end)
        if days < 0 { return "<span class=\"bad\">over</span>" }
        let style = days < 30 ? "bad" : days < 90 ? "warn" : ""
        return "<span class=\"\(style)\">\(Format.count(Int(days))) days</span>"
    }

    var chains: String {
        table(
            "Certificates seen",
            "Chains that evidence brought and that hold; evidence signed before their end stays "
                + "valid.",
            ["signer", "serial", "root", "left"],
            caches.chains.map { chain in
                [
                    Format.escaped(chain.leaf.isEmpty ? "no name" : chain.leaf),
                    "<code>\(Format.escaped(String(chain.serial.prefix(16))))</code>",
                    Format.escaped(chain.root), days(until: chain.notAfter),
                ]
            }, empty: "No chain has been seen yet.")
    }

    var roots: String {
        table(
            "Pinned roots", "What is trusted. A root that evidence brings along proves nothing.",
            ["name", "sha256", "left"],
            caches.roots.map { root in
                let isForeign = caches.foreignProductionRoots.contains(root.fingerprint)
                let use =
                    root.development
                    ? " <small>development only</small>"
                    : isForeign
                        ? " <b class=\"warn\">not Apple's, good for Production</b>" : ""
                return [
                    Format.escaped(root.name) + use,
                    "<code>\(root.fingerprint.prefix(12))…</code>", days(until: root.notAfter),
                ]
            } + ownCertificate, empty: "Nothing is trusted.")
    }

    private var ownCertificate: [[String]] {
        guard let end = state.certificateEnd else { return [] }
        return [
            [
                "<i>this server's own, for TLS</i>", "",
                days(until: Timestamp(milliseconds: end * 1000)),
            ]
        ]
    }

    var apps: String {
        table(
            "Apps", "The entries of the configuration.", ["name", "bundle", "accepts"],
            state.apps.sorted { $0.key < $1.key }.map { name, app in
                [
                    name.isEmpty ? "<i>any</i>" : Format.escaped(name),
                    app.policy.bundleId.map { "<code>\(Format.escaped($0))</code>" }
                        ?? "any: reported, not checked",
                    accepted(by: app),
                ]
            }, empty: "")
    }

    private func accepted(by app: AppEntry) -> String {
        guard app.unnamedEnvironments == nil else { return "what a request names" }
        let names = StoreEnvironment.known.filter { app.policy.environments.contains($0) }
        return Format.escaped(names.map(\.rawValue).joined(separator: ", "))
    }

    var about: String {
        let metrics = state.metrics
        return table(
            "Process", "What this instance has used and moved.", [],
            [
                ["processor time", Format.duration(process.processorSeconds)],
                [
                    "threads",
                    "\(Format.count(process.threads)) <small>\(state.workers) of them "
                        + "verify</small>",
                ],
                ["virtual memory", Format.bytes(process.virtualBytes)],
                ["connections accepted", Format.count(metrics.connectionsAccepted)],
                [
                    "received",
                    "\(Format.bytes(state.traffic.received)) <small>in "
                        + "\(Format.count(metrics.framesReceived)) frames</small>",
                ],
                [
                    "sent",
                    "\(Format.bytes(state.traffic.written)) <small>in "
                        + "\(Format.count(metrics.framesSent)) frames</small>",
                ],
                [
                    "requests in a batch",
                    metrics.batchSizes.count == 0
                        ? "–"
                        : Format.short(
                            Double(metrics.batchSizes.sum) / Double(metrics.batchSizes.count))
                            + " <small>on average</small>",
                ],
                [
                    "wait for a worker",
                    Format.milliseconds(metrics.queueDelay.quantile(0.99).map { $0 / 1e6 }),
                ],
            ], empty: "")
    }
}

extension RefusalLabel {
    fileprivate var phrase: String {
        switch self {
        case .invalid: "a frame or head that can't be used"
        case .duplicateId: "an id that is in flight"
        case .unimplemented: "a call or kind not known here"
        case .unknownApp: "an app that has no entry"
        case .tooLarge: "too large"
        case .overloaded: "the server was at a limit"
        case .draining: "the server was draining"
        case .deadline: "time was over before its turn"
        case .other: "other reasons"
        }
    }
}
