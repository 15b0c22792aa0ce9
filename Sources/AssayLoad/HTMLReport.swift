package import AssayHTML

/// A report of one run as a self-contained HTML file.
package struct HTMLReport {
    private let result: LoadResult
    /// The runs of the rate search; this run is the best of these.
    private let steps: [RateSweep.Step]
    private let record: RunRecord

    package init(
        _ result: LoadResult, steps: [RateSweep.Step] = [], record: RunRecord
    ) {
        self.result = result
        self.steps = steps
        self.record = record
    }

    package var text: String {
        ReportStyle.page(
            title: "assay load: \(result.throughput.readable) answers per second",
            """
            <h1>How the Assay server at \("\(result.settings.endpoint)".htmlEscaped) answered</h1>
            <p class="note">\(record.date.htmlEscaped) · \(record.machine.line.htmlEscaped) · \
            \(record.versions.htmlEscaped)</p>
            <p class="note"><code>\(record.command.htmlEscaped)</code></p>
            \(details)
            """)
    }

    /// The results, without the circumstances.
    var details: String {
        """
        \(warnings)
        <p class="big">\(headline)</p>
        <p>\(pace)</p>
        \(sweep)
        <h2>Latency</h2>
        <p>Correct answers only. At 99 % the curve shows the latency that 99 of 100 answers
        did not exceed.</p>
        \(percentilePlot.html)
        \(latencyTable)
        <h2>Second by second</h2>
        \(throughputPlot.html)
        \(latencyPlot.html)
        <h2>Requests and answers</h2>
        \(groupTable)
        <p class="note">A correct answer has the expected verdict; for forged evidence that is
        a refusal. Only correct answers count as throughput. Rejected requests are those that
        the server did not accept because of one of its limits.</p>
        \(complaintList)
        \(costTable)
        """
    }

    // MARK: Text

    private var headline: String {
        let p99 = result.latencies.milliseconds(at: 99).short
        return "\(result.throughput.readable) correct answers per second, "
            + "99 of 100 within \(p99) ms"
    }

    private var warnings: String {
        var all: [String] = []
        if let late = result.lateReason {
            all.append(
                "The generator was late: \(late). The results do not measure the server."
            )
        }
        let counts = result.counts
        if counts.wrong > 0 {
            all.append("\(counts.wrong.grouped) answers had another verdict than expected.")
        }
        if counts.refused > 0 {
            all.append(
                "\(counts.refused.grouped) requests were rejected: the server was at a limit.")
        }
        if counts.errors + result.unanswered > 0 {
            all.append("\((counts.errors + result.unanswered).grouped) requests got no verdict.")
        }
        if result.wasInterrupted { all.append("The run was interrupted before its end.") }
        return all.map { "<p class=\"bad\">\($0.htmlEscaped)</p>" }.joined(separator: "\n")
    }

    private var pace: String {
        let settings = result.settings
        let some =
            settings.connections == 1 ? "One connection" : "\(settings.connections) connections"
        switch settings.pace {
        case .open(let rate, let arrivals):
            let gaps =
                arrivals == .constant
                ? "at constant gaps" : "at random gaps, like those of independent clients (Poisson)"
            return "Open loop: \(rate.readable) requests per second were due \(gaps), whether or "
                + "not the server had answered earlier ones. Latency counts from the time when the "
                + "request was due, so it includes the wait for a slow server. \(some), "
                + (settings.inFlight == LoadLimits.openDepth
                    ? "without a limit of requests in flight."
                    : "at most \(settings.inFlight.grouped) requests in flight on each.")
        case .closed:
            return "Closed loop: each answer triggers the next request. This measures the server's "
                + "maximum throughput. Independent clients see longer latencies: measure those in "
                + "an open loop. \(some), \(settings.inFlight.grouped) requests in flight on each."
        }
    }

    private var complaintList: String {
        guard !result.complaints.isEmpty else { return "" }
        let items = result.complaints.map {
            "<li>\($0.count.grouped) × \($0.what.htmlEscaped)</li>"
        }
        return "<h2>What went wrong</h2><ul>\(items.joined())</ul>"
    }

    // MARK: Tables

    private var latencyTable: String {
        ReportStyle.table(
            ["Answers", "within"],
            LoadResult.percentiles.map { name, percentile in

                return [
                    percentile == 100 ? "all" : "\(name) %",
                    "\(result.latencies.milliseconds(at: percentile).short) ms",
                ]
            })
    }

    private var groupTable: String {
        func row(_ name: String, _ counts: Counts, _ latencies: Latencies) -> [String] {
            let lost = counts.errors + max(counts.sent - counts.answered, 0)
            return [
                name, counts.sent.grouped, counts.correct.grouped, counts.wrong.grouped,
                counts.refused.grouped, lost.grouped, "\(latencies.milliseconds(at: 50).short) ms",
                "\(latencies.milliseconds(at: 99).short) ms",
            ]
        }
        var rows = result.groups.map(row)
        if rows.count > 1 { rows.append(row("all", result.counts, result.latencies)) }
        return ReportStyle.table(
            [
                "Evidence", "sent", "correct", "wrong verdict", "rejected", "no verdict",
                "median", "99 % within",
            ], rows)
    }

    private var costTable: String {
        var rows = [
            ["Measured time", "\(result.seconds.short) s"],
            [
                "Lateness of the generator, 99 % within",
                "\(result.lateness.milliseconds(at: 99).short) ms",
            ],
            ["Processors used by the generator", result.processor.own.short],
        ]
        if let each = result.generatorPerAnswer {
            rows.append(["Processor time of the generator per answer", "\(each.short) µs"])
        }
        if let server = result.processor.server {
            rows.append(["Processors used by the server", server.short])
            if let each = result.serverPerAnswer {
                rows.append(["Processor time of the server per answer", "\(each.short) µs"])
            }
        }
        return "<h2>Cost</h2>" + ReportStyle.table(["", ""], rows)
    }

    // MARK: Plots

    private var percentilePlot: Plot {
        let points = result.percentileCurve.map { (Self.rarity($0.percent), $0.milliseconds) }
        return Self.percentilePlot([Plot.Line("latency", points)])
    }

    /// A plot of percentile curves. The x values of the points come from `rarity(_:)`.
    package static func percentilePlot(_ lines: [Plot.Line]) -> Plot {
        let last = max(lines.flatMap(\.points).map(\.x).max() ?? 1, 1)
        let ticks = ["0 %", "90 %", "99 %", "99.9 %", "99.99 %", "99.999 %", "99.9999 %"]
        return Plot(
            "Latency by share of the answers", x: "share of answers within this latency",
            ticks: ticks.enumerated().map { Plot.Tick(Double($0.offset), $0.element) },
            range: 0...last, y: "milliseconds", lines,
            xText: { "\((100 - 100 / Double.exp10($0)).plain) %" })
    }

    /// The decimal logarithm of N, where one answer in N is slower than this percentile.
    package static func rarity(_ percentile: Double) -> Double {
        Double.log10(100 / (100 - percentile))
    }

    private var throughputPlot: Plot {
        var aim: Plot.Line?
        if case .open(let rate, _) = result.settings.pace {
            aim = .reference("asked for", at: rate, over: 0...lastSecond, color: 6)
        }
        return over("Answers per second", "per second", aim) { moment in
            let counts = moment.counts
            return [
                ("correct", Double(counts.correct) / moment.seconds),
                (
                    "anything else",
                    Double(counts.wrong + counts.refused + counts.errors) / moment.seconds
                ),
            ]
        }
    }

    private var latencyPlot: Plot {
        over("Latency", "milliseconds") {
            [("median", $0.p50), ("99 % within", $0.p99), ("slowest", $0.max)]
        }
    }

    private func over(
        _ title: String, _ yLabel: String, _ reference: Plot.Line? = nil,
        _ values: (Moment) -> [(String, Double)]
    ) -> Plot {
        let moments = result.moments
        let last = lastSecond
        let step = max((last / 10).rounded(.up), 1)
        let columns = moments.map(values)
        let lines = (columns.first ?? []).indices.map { index in
            Plot.Line(
                columns[0][index].0,
                zip(moments, columns).map { ($0.time, $1[index].1) }, hasDots: moments.count < 30,
                color: index)
        }
        let warm = result.settings.warmUp.inSeconds
        return Plot(
            title, x: "seconds since the start",
            ticks: (0...10).map {
                Plot.Tick(Double($0) * step, (Double($0) * step).grouped)
            }, range: 0...last, y: yLabel, (reference.map { [$0] } ?? []) + lines,
            shaded: warm > 0 ? (0...min(warm, last), "warm-up, not counted") : nil,
            xText: { "\($0.readable) s" })
    }

    private var lastSecond: Double { max(result.moments.last?.time ?? 1, 1) }

    // MARK: Search

    private var sweep: String {
        guard !steps.isEmpty else { return "" }
        let sorted = steps.sorted { $0.rate < $1.rate }
        let rows = sorted.map { step in
            [
                "\(step.rate.readable)/s", "\(step.result.throughput.readable)/s",
                "\(step.result.latencies.milliseconds(at: 99).short) ms",
                step.failure ?? "kept",
            ]
        }
        // A rate that failed was run again. The line joins the best run of each rate.
        let runs = sorted.map { ($0.rate, $0.result.latencies.milliseconds(at: 99)) }
        let points = Dictionary(runs, uniquingKeysWith: min)
            .sorted { $0.key < $1.key }.map { ($0.key, $0.value) }
        let highest = sorted[sorted.count - 1].rate
        let plot = Plot(
            "99 % within, by requested rate, best run", x: "requests per second",
            ticks: (0...8).map {
                let rate = highest * Double($0) / 8
                return Plot.Tick(rate, rate.rounded().grouped)
            }, range: 0...highest, y: "milliseconds", isLogarithmic: true,
            [Plot.Line("p99", points, hasDots: true)], xText: { "\($0.readable) per second" })
        return "<h2>The search for the highest rate</h2><p>Each row is one run; the rest of this "
            + "page shows the run at the highest rate within the bound.</p>" + plot.html
            + ReportStyle.table(["Requested", "answered", "99 % within", "outcome"], rows)
    }
}
