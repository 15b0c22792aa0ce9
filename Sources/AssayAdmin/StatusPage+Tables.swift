import Assay
import AssayHTML
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
        text += "<div class=\"scroll\"><table\(head.isEmpty ? "" : " class=\"wide\"")>"
        if !head.isEmpty {
            text += "<tr class=\"head\">" + head.map { "<th>\($0)</th>" }.joined() + "</tr>"
        }
        for row in rows.prefix(Self.rowLimit) {
            // On a narrow screen a row is a card, and its cells have the names of their columns.
            let cells = row.indices.map { column in
                guard !head.isEmpty else { return "<td>\(row[column])</td>" }
                return "<td data-label=\"\(head[column])\"><span>\(row[column])</span></td>"
            }
            text += "<tr>" + cells.joined() + "</tr>"
        }
        text += "</table></div>"
        if rows.count > Self.rowLimit {
            text += "<p>and \(Format.count(rows.count - Self.rowLimit)) more</p>"
        }
        return text + "</section>\n"
    }

    private func bar(_ part: Double, _ style: String = "a") -> String {
        HTML.bar(part, style: style)
    }

    var verdicts: String {
        let inWindow = verdictsInWindow
        let all = max(inWindow.total, 1)
        let counts = Verdict.allCases.map { ($0, inWindow[$0]) }
            .filter { $0.1 > 0 }.sorted { $0.1 > $1.1 }
        return table(
            "Verdicts", "Verdicts \(window).", [],
            counts.map { verdict, count in
                [
                    verdict.name, bar(Double(count) / Double(all), verdict == .valid ? "a" : "b"),
                    Format.count(count),
                ]
            }, empty: "No verdicts yet.")
    }

    /// The verdicts of the window by app, kind and environment.
    var split: String {
        let earlier = Dictionary(
            uniqueKeysWithValues: (history.start?.verdictsByApp ?? []).map { ($0.app, $0.counts) })
        let apps = state.metrics.verdictsByApp.map { app, counts in
            let name = app.isEmpty ? "any app" : app.htmlEscaped
            let counts = earlier[app].map(counts.since) ?? counts
            return (name, counts.total, counts[.valid])
        }
        let all = verdictsInWindow
        let kinds = EvidenceKind.allCases.map { kind in
            let valid = all.sum { each, verdict, _ in each == kind && verdict == .valid }
            return (kind.name, all.sum { each, _, _ in each == kind }, valid)
        }
        let environments = EnvironmentLabel.allCases.map { environment in
            let name = environment == .none ? "unknown" : environment.name
            let valid = all.sum { _, verdict, each in
                verdict == .valid && each == environment
            }
            return (name, all.sum { _, _, each in each == environment }, valid)
        }
        func rows(_ title: String, _ parts: [(String, UInt64, UInt64)]) -> [[String]] {
            parts.filter { $0.1 > 0 }.sorted { $0.1 > $1.1 }.prefix(Self.rowLimit / 3).map {
                [
                    "\($0.0) <small>\(title)</small>", bar(Double($0.2) / Double($0.1)),
                    "\(Format.percent($0.2, of: $0.1)) <small>of \(Format.count($0.1))</small>",
                ]
            }
        }
        return table(
            "Genuine by app, kind and environment", "Share of the verdicts \(window).", [],
            rows("app", apps) + rows("kind", kinds) + rows("environment", environments),
            empty: "No verdicts yet.")
    }

    var limits: String {
        let (heldResources, limits) = (state.heldResources, state.limits)
        func row(_ name: String, _ used: Int, _ most: Int, _ text: (Int) -> String) -> [String] {
            [
                name, bar(Double(used) / Double(most), used * 5 > most * 4 ? "b" : "a"),
                "\(text(used)) <small>of \(text(most))</small>",
            ]
        }
        let fetches =
            state.apps.values.contains { $0.fetcher != nil }
            ? [
                row(
                    "fetches from the App Store", heldResources.fetches, limits.fetches,
                    Format.count)
            ]
            : []
        return table(
            "Limits", "Current use. Above a limit clients are refused or wait.",
            [],
            fetches + [
                row(
                    "connections", heldResources.connections, state.connectionLimit
                ) { Format.count($0) },
                row(
                    "memory held for connections", heldResources.heldBytes, limits.evidenceBytes
                ) { Format.bytes($0) },
                row(
                    "file descriptors", process.openDescriptors,
                    Int(clamping: process.maximumDescriptors)
                ) { Format.count($0) },
                ["requests being verified", "", Format.count(heldResources.requestsInFlight)],
                ["answers not yet read", "", Format.bytes(heldResources.unwrittenBytes)],
            ], empty: "")
    }

    var cacheTable: String {
        let lookups = caches.hits + caches.misses
        let rows: [[String]] = [
            [
                "evidence with a known chain",
                bar(Double(caches.hits) / Double(max(lookups, 1))),
                Format.percent(caches.hits, of: lookups),
            ],
            entries("known chains", caches.chains.count, VerifierStatistics.knownChainLimit),
            entries("refused chains", caches.refusedChains, VerifierStatistics.refusedChainLimit),
            entries("tables of frequent keys", caches.keyTables, VerifierStatistics.keyTableLimit),
            entries(
                "tables of issuers' keys", caches.issuerTables,
                VerifierStatistics.issuerTableLimit),
            ["full chain validations", "", Format.count(caches.validations)],
            ["signature engine", "", caches.engine],
            [
                "audited signatures", "",
                Format.count(caches.audits.agreed + caches.audits.disagreed),
            ],
        ]
        return table(
            "Caches", "Evidence with a known chain costs one signature.",
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
            .map { (name: "connection: \($0.key.htmlEscaped)", count: $0.value) }
        return table(
            "Refused requests and faults",
            "Requests without a verdict, and faults of connections, since the start.", [],
            (refused + faults).filter { $0.count > 0 }.sorted { $0.count > $1.count }
                .map { [$0.name, Format.count($0.count)] },
            empty: "None: every request got a verdict.")
    }

    private func days(until end: Timestamp) -> String {
        let days = state.now.days(until: end)
        if days < 0 { return "<span class=\"bad\">expired</span>" }
        let style = days < 30 ? "bad" : days < 90 ? "warn" : ""
        return "<span class=\"\(style)\">\(Format.count(Int(days))) days</span>"
    }

    var chains: String {
        // Hundreds of signers can have one name. The chains are ordered by their end.
        var groups: [(root: String, leaf: String, count: Int, end: Timestamp)] = []
        for chain in caches.chains {
            let index = groups.firstIndex { $0.root == chain.root && $0.leaf == chain.leaf }
            if let index {
                groups[index].count += 1
            } else {
                groups.append((chain.root, chain.leaf, 1, chain.notAfter))
            }
        }
        return table(
            "Certificates seen",
            "Valid chains found in evidence, by root and signer. Evidence signed before a chain "
                + "expires stays valid.",
            ["root", "signer", "chains", "first ends in"],
            groups.map { group in
                [
                    group.root.htmlEscaped,
                    group.leaf.isEmpty ? "no name" : group.leaf.htmlEscaped,
                    Format.count(group.count), days(until: group.end),
                ]
            }, empty: "No chains yet.")
    }

    var roots: String {
        table(
            "Pinned roots", "The only trust anchors. A root inside evidence is never trusted.",
            ["name", "sha256", "left"],
            caches.roots.map { root in
                let isForeign = caches.foreignProductionRoots.contains(root.fingerprint)
                let use =
                    root.development
                    ? " <small>development only</small>"
                    : isForeign
                        ? " <b class=\"warn\">not Apple's, valid for Production</b>" : ""
                return [
                    root.name.htmlEscaped + use,
                    "<code>\(root.fingerprint.prefix(12))…</code>", days(until: root.notAfter),
                ]
            } + ownCertificate, empty: "No roots are pinned.")
    }

    private var ownCertificate: [[String]] {
        guard let end = state.certificateEnd else { return [] }
        return [
            [
                "<i>this server's TLS certificate</i>", "",
                days(until: Timestamp(milliseconds: end * 1000)),
            ]
        ]
    }

    var apps: String {
        table(
            "Apps", "The entries of the configuration.", ["name", "bundle", "accepts"],
            state.apps.sorted { $0.key < $1.key }.map { name, app in
                [
                    name.isEmpty ? "<i>any</i>" : name.htmlEscaped,
                    app.policy.bundleId.map { "<code>\($0.htmlEscaped)</code>" }
                        ?? "any: reported, not checked",
                    accepted(by: app),
                ]
            }, empty: "")
    }

    private func accepted(by app: AppEntry) -> String {
        guard app.unnamedEnvironments == nil else { return "those that a request names" }
        let names = StoreEnvironment.known.filter { app.policy.environments.contains($0) }
        return names.map(\.rawValue).joined(separator: ", ").htmlEscaped
    }

    var about: String {
        let metrics = state.metrics
        return table(
            "Process", "Resources and traffic of this process.", [],
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
                        + "\(Format.count(metrics.requestsReceived)) frames</small>",
                ],
                [
                    "sent",
                    "\(Format.bytes(state.traffic.written)) <small>in "
                        + "\(Format.count(metrics.answersSent)) frames</small>",
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
        case .invalid: "invalid frame or head"
        case .duplicateId: "duplicate id"
        case .unimplemented: "unknown call or kind"
        case .unknownApp: "unknown app entry"
        case .tooLarge: "too large"
        case .overloaded: "server overloaded"
        case .draining: "server draining"
        case .deadline: "deadline exceeded"
        case .other: "other reasons"
        }
    }
}
