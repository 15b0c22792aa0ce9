import AssayHTML

/// The results of one protocol beside others.
package struct ProtocolRun: Sendable {
    package let result: LoadResult
    /// The runs of the rate search; `result` is the best of these.
    package let steps: [RateSweep.Step]

    package init(_ result: LoadResult, steps: [RateSweep.Step] = []) {
        self.result = result
        self.steps = steps
    }

    var name: String { result.settings.loadProtocol.rawValue }
}

/// Protocols side by side: as a page, and as text.
package struct ProtocolComparison {
    private let runs: [ProtocolRun]

    /// - Precondition: there is at least one run.
    package init(_ runs: [ProtocolRun]) {
        precondition(!runs.isEmpty)
        self.runs = runs
    }

    // MARK: Table

    private static let columns = [
        "Protocol", "per second", "median", "99 % within", "not correct", "generator", "server",
    ]

    /// Whether the processor time of a server is known: that of a process on this machine.
    private var hasServerTime: Bool { runs.contains { $0.result.serverPerAnswer != nil } }

    private var head: [String] { hasServerTime ? Self.columns : Self.columns.dropLast() }

    private func rows() -> [[String]] {
        let hasServerTime = hasServerTime
        return runs.map { run in
            let (result, latencies) = (run.result, run.result.latencies)
            let failed = max(result.counts.sent - result.counts.correct, 0)
            func time(_ value: Double?) -> String { value.map { "\($0.short) µs" } ?? "-" }
            let row = [
                run.name, result.throughput.readable, "\(latencies.milliseconds(at: 50).short) ms",
                "\(latencies.milliseconds(at: 99).short) ms", failed.grouped,
                time(result.generatorPerAnswer), time(result.serverPerAnswer),
            ]
            return hasServerTime ? row : row.dropLast()
        }
    }

    /// The table for a terminal.
    package var text: String {
        let table = [head] + rows()
        let widths = head.indices.map { column in
            table.map { $0[column].count }.max() ?? 0
        }
        return table.map { row in
            zip(row, widths).enumerated().map { column, cell in
                let space = String(repeating: " ", count: cell.1 - cell.0.count)
                return column == 0 ? cell.0 + space : space + cell.0
            }.joined(separator: "  ")
        }.joined(separator: "\n")
    }

    // MARK: Page

    package func page(_ record: RunRecord) -> String {
        let names = runs.map(\.name).joined(separator: ", ")
        let details = runs.map { run in
            "<details><summary>\(run.name), in detail</summary>"
                + HTMLReport(run.result, steps: run.steps, record: record).details + "</details>"
        }
        return ReportStyle.page(
            title: "assay load: \(names)",
            """
            <h1>How protocols of the Assay server compare</h1>
            <p class="note">\(record.date.htmlEscaped) · \(record.machine.line.htmlEscaped) · \
            \(record.versions.htmlEscaped)</p>
            <p class="note"><code>\(record.command.htmlEscaped)</code></p>
            \(warnings)
            <p>The same evidence, by the same generator, one protocol after the other. Only
            correct answers count. \(hasServerTime ? "Generator and server" : "Generator"): the
            processor time of an answer.</p>
            \(ReportStyle.table(head, rows()))
            <h2>Latency</h2>
            \(HTMLReport.percentilePlot(runs.map(Self.curve)).html)
            <h2>Second by second</h2>
            \(throughputPlot.html)
            \(details.joined(separator: "\n"))
            """,
            css: "summary{font-size:1.15em;font-weight:600;margin:1em 0;cursor:pointer}")
    }

    private var warnings: String {
        func warning(_ text: String, _ isMeant: (LoadResult) -> Bool) -> String {
            let names = runs.filter { isMeant($0.result) }.map(\.name)
            return names.isEmpty
                ? "" : "<p class=\"bad\">\(names.joined(separator: ", ")): \(text)</p>"
        }
        return warning("the generator was late, so the results do not measure the server.") {
            $0.lateReason != nil
        } + warning("not every answer had the expected verdict.") { !$0.isClean }
    }

    private static func curve(_ run: ProtocolRun) -> Plot.Line {
        Plot.Line(
            run.name,
            run.result.percentileCurve.map { (HTMLReport.rarity($0.percent), $0.milliseconds) })
    }

    private var throughputPlot: Plot {
        let last = max(runs.compactMap { $0.result.moments.last?.time }.max() ?? 1, 1)
        let step = max((last / 10).rounded(.up), 1)
        let lines = runs.map { run in
            Plot.Line(
                run.name,
                run.result.moments.filter { !$0.isWarmUp }
                    .map { ($0.time, Double($0.counts.correct) / $0.seconds) })
        }
        return Plot(
            "Correct answers per second, after the warm-up",
            x: "seconds since the start of a run",
            ticks: (0...10).map { Plot.Tick(Double($0) * step, (Double($0) * step).grouped) },
            range: 0...last, y: "per second", lines, xText: { "\($0.readable) s" })
    }
}
