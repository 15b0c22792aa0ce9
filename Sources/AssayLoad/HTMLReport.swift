import Histogram
import RealModule

/// A report of one run as a self-contained HTML file.
package struct HTMLReport {
    private let result: LoadResult
    /// The runs of the rate search; this run is the best of these.
    private let steps: [RateSweep.Step]
    /// The command line that repeats the run.
    private let command: String
    /// The date of the run as text.
    private let date: String

    package init(
        _ result: LoadResult, steps: [RateSweep.Step] = [], command: String, date: String
    ) {
        self.result = result
        self.steps = steps
        self.command = command
        self.date = date
    }

    package var text: String {
        ReportStyle.page(
            title: "assay load: \(result.throughput.rounded0) answers a second",
            """
            <h1>How the Assay server at \("\(result.plan.endpoint)".escaped) answered</h1>
            <p class="note">\(date.escaped) · <code>\(command.escaped)</code></p>
            \(warnings)
            <p class="big">\(headline)</p>
            <p>\(pace)</p>
            \(sweep)
            <h2>How long an answer took</h2>
            <p>Of correct answers. The further right in the plot, the rarer: at 99 % the curve
            shows the time that 99 of 100 answers stayed within, and that 1 of 100 exceeded.</p>
            \(percentilePlot.svg)
            \(latencyTable)
            <h2>Second by second</h2>
            \(throughputPlot.svg)
            \(latencyPlot.svg)
            <h2>What was asked, and what came back</h2>
            \(groupTable)
            <p class="note">Correct is an answer with the verdict that the evidence has to get,
            for forged evidence a refusal. Nothing else counts as throughput. Turned away are
            requests that the server did not take because of one of its limits.</p>
            \(complaintList)
            \(costTable)
            """)
    }

    // MARK: Text

    private var headline: String {
        let p99 = result.latencies.milliseconds(at: 99).short
        return "\(result.throughput.rounded0) correct answers a second, "
            + "99 of 100 within \(p99) ms"
    }

    private var warnings: String {
        var all: [String] = []
        if let late = result.lateReason {
            all.append(
                "The generator was late: \(late). The figures tell of it rather than of the server."
            )
        }
        let counts = result.counts
        if counts.wrong > 0 {
            all.append("\(counts.wrong) answers had another verdict than expected.")
        }
        if counts.refused > 0 {
            all.append("\(counts.refused) requests were turned away: the server was at a limit.")
        }
        if counts.errors + result.unanswered > 0 {
            all.append("\(counts.errors + result.unanswered) requests got no verdict.")
        }
        if result.wasInterrupted { all.append("The run was interrupted before its end.") }
        return all.map { "<p class=\"bad\">\($0.escaped)</p>" }.joined(separator: "\n")
    }

    private var pace: String {
        let plan = result.plan
        let some = plan.connections == 1 ? "One connection" : "\(plan.connections) connections"
        switch plan.pace {
        case .open(let rate, let arrivals):
            let gaps =
                arrivals == .constant
                ? "at constant gaps" : "at random, as those of independent clients are (Poisson)"
            return "Open loop: \(rate.rounded0) requests a second were due \(gaps), whether or "
                + "not the server had answered earlier ones. A latency counts from the time at "
                + "which its request was due, so that waiting for a slow server is part of it. "
                + "\(some), at most \(plan.depth) requests in flight on each."
        case .closed:
            return "Closed loop: every answer brings the next request. It shows the most that the "
                + "server does. Its latencies are no promise to clients that do not wait for each "
                + "other: measure those with an open loop. \(some), \(plan.depth) requests in "
                + "flight on each."
        }
    }

    private var complaintList: String {
        guard !result.complaints.isEmpty else { return "" }
        let items = result.complaints.map { "<li>\($0.count) × \($0.what.escaped)</li>" }
        return "<h2>What went wrong</h2><ul>\(items.joined())</ul>"
    }

    // MARK: Tables

    private var latencyTable: String {
        ReportStyle.table(
            ["Answers", "within"],
            LoadResult.percentiles.map { name, percentile in

                return [
                    percentile == 100 ? "all of them" : "\(name) %",
                    "\(result.latencies.milliseconds(at: percentile).short) ms",
                ]
            })
    }

    private var groupTable: String {
        func row(_ name: String, _ counts: Counts, _ latencies: Latencies) -> [String] {
            let lost = counts.errors + max(counts.sent - counts.answered, 0)
            return [
                name, "\(counts.sent)", "\(counts.correct)", "\(counts.wrong)",
                "\(counts.refused)", "\(lost)", "\(latencies.milliseconds(at: 50).short) ms",
                "\(latencies.milliseconds(at: 99).short) ms",
            ]
        }
        var rows = result.groups.map(row)
        if rows.count > 1 { rows.append(row("all", result.counts, result.latencies)) }
        return ReportStyle.table(
            [
                "Evidence", "sent", "correct", "wrong verdict", "turned away", "no verdict",
                "half within", "99 % within",
            ], rows)
    }

    private var costTable: String {
        var rows = [
            ["Time measured", "\(result.seconds.short) s"],
            [
                "Lateness of the generator, 99 of 100 requests within",
                "\(result.lateness.milliseconds(at: 99).short) ms",
            ],
            ["Processors that the generator used", result.processor.own.short],
        ]
        if let server = result.processor.server {
            rows.append(["Processors that the server used", server.short])
            if result.counts.correct > 0 {
                let each = server * result.seconds / Double(result.counts.correct) * 1e6
                rows.append(["Processor time of the server for each answer", "\(each.short) µs"])
            }
        }
        return "<h2>What it took</h2>" + ReportStyle.table(["", ""], rows)
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
            "Latency by share of the answers", x: "share of the answers that were as quick",
            ticks: ticks.enumerated().map { Plot.Tick(Double($0.offset), $0.element) },
            range: 0...last, y: "milliseconds", lines)
    }

    /// The decimal logarithm of N, where one answer in N is slower than this percentile.
    package static func rarity(_ percentile: Double) -> Double {
        Double.log10(100 / (100 - percentile))
    }

    private var throughputPlot: Plot {
        over("Answers a second", "a second") { moment in
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
            [("half within", $0.p50), ("99 % within", $0.p99), ("slowest", $0.max)]
        }
    }

    private func over(
        _ title: String, _ yLabel: String, _ values: (Moment) -> [(String, Double)]
    ) -> Plot {
        let moments = result.moments
        let last = max(moments.last?.time ?? 1, 1)
        let step = max((last / 10).rounded(.up), 1)
        let columns = moments.map(values)
        let lines = (columns.first ?? []).indices.map { index in
            Plot.Line(
                columns[0][index].0,
                zip(moments, columns).map { ($0.time, $1[index].1) }, hasDots: moments.count < 30)
        }
        let warm = result.plan.warmUp.inSeconds
        return Plot(
            title, x: "seconds since the start",
            ticks: (0...10).map {
                Plot.Tick(Double($0) * step, (Double($0) * step).rounded0)
            }, range: 0...last, y: yLabel, lines,
            shaded: warm > 0 ? (0...min(warm, last), "warm-up, not counted") : nil)
    }

    // MARK: Search

    private var sweep: String {
        guard !steps.isEmpty else { return "" }
        let sorted = steps.sorted { $0.rate < $1.rate }
        let rows = sorted.map { step in
            [
                "\(step.rate.rounded0)/s", "\(step.result.throughput.rounded0)/s",
                "\(step.result.latencies.milliseconds(at: 99).short) ms",
                step.failure ?? "kept",
            ]
        }
        let points = sorted.map { ($0.rate, $0.result.latencies.milliseconds(at: 99)) }
        let highest = sorted[sorted.count - 1].rate
        let plot = Plot(
            "99 % within, by the rate that was asked for", x: "requests a second",
            ticks: (0...8).map {
                let rate = highest * Double($0) / 8
                return Plot.Tick(rate, rate.rounded0)
            }, range: 0...highest, y: "milliseconds", isLogarithmic: true,
            [Plot.Line("p99", points, hasDots: true)])
        return "<h2>The search for the highest rate</h2><p>Each row is a run of its own; the rest "
            + "of this page tells of the highest rate that was kept.</p>" + plot.svg
            + ReportStyle.table(["Asked for", "answered", "99 % within", "outcome"], rows)
    }
}
