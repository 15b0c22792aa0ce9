import Histogram
import RealModule

/// A run as one HTML file that needs nothing else, for people who were not there.
package struct HTMLReport {
    private let result: LoadResult
    /// The command line, for whoever wants to repeat it.
    private let command: String
    /// When, in words.
    private let date: String

    package init(_ result: LoadResult, command: String, date: String) {
        self.result = result
        self.command = command
        self.date = date
    }

    package var text: String {
        """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <title>assay load: \(result.throughput.rounded0) answers a second</title>
        <style>\(Self.style)</style></head><body>
        <h1>How \(escaped("\(result.plan.endpoint)")) answered</h1>
        <p class="note">\(escaped(date)) · <code>\(escaped(command))</code></p>
        \(warnings)
        <p class="big">\(result.throughput.rounded0) correct answers a second, 99 in 100 within \
        \(result.latencies.milliseconds(at: 99).short) ms</p>
        <p>\(pace)</p>
        \(percentilePlot.svg)
        \(latencyTable)
        \(throughputPlot.svg)
        \(latencyPlot.svg)
        \(countTable)
        \(complaintList)
        </body></html>

        """
    }

    private static let style = """
        body{font:15px/1.5 system-ui,sans-serif;max-width:900px;margin:2em auto;padding:0 1em;\
        color:#1b2430}h1{font-size:1.4em}.big{font-size:1.25em;font-weight:600}\
        .note{color:#5b6675}.bad{background:#fdecea;border-left:4px solid #c0392b;padding:.5em 1em}\
        table{border-collapse:collapse;margin:1em 0}td,th{padding:.2em 1em .2em 0;text-align:left}\
        td.n{text-align:right;font-variant-numeric:tabular-nums}svg{width:100%;margin:1em 0}\
        .grid{stroke:#dfe4ea}.shade{fill:#f1f3f6}text{font:12px system-ui,sans-serif;fill:#5b6675}\
        .title{font-size:14px;font-weight:600;fill:#1b2430}.mid{text-anchor:middle}\
        .end{text-anchor:end;dominant-baseline:middle}code{background:#f1f3f6;padding:.1em .3em}
        """

    // MARK: Words

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
            all.append("The server refused \(counts.refused) requests, to be sent again later.")
        }
        if counts.errors + result.unanswered > 0 {
            all.append("\(counts.errors + result.unanswered) requests got no verdict.")
        }
        if result.wasInterrupted { all.append("The run was interrupted before its end.") }
        return all.map { "<p class=\"bad\">\(escaped($0))</p>" }.joined(separator: "\n")
    }

    private var pace: String {
        let plan = result.plan
        let shape =
            "\(plan.connections) connections, at most \(plan.depth) requests in flight on each"
        switch plan.pace {
        case .open(let rate, let arrivals):
            return "Open loop: \(rate.rounded0) requests a second were due at \(arrivals.rawValue) "
                + "gaps, whether or not the server had answered earlier ones; \(shape). A "
                + "latency counts from the time at which its request was due, so that waiting "
                + "for a slow server is part of it."
        case .closed:
            return "Closed loop: every answer brings the next request; \(shape). It shows the most "
                + "that the server does. Its latencies are no promise to clients that do not wait "
                + "for each other: measure those with an open loop."
        }
    }

    // MARK: Tables

    private var latencyTable: String {
        let rows = LoadResult.percentiles.map { name, percentile in
            let name = percentile == 100 ? "the slowest" : "\(name) in 100 within"
            return "<tr><td>\(name)</td><td class=\"n\">"
                + "\(result.latencies.milliseconds(at: percentile).short) ms</td></tr>"
        }
        return "<table><tr><th>Latency</th><th></th></tr>\(rows.joined())</table>"
    }

    private var countTable: String {
        let counts = result.counts
        var rows: [(String, String)] = [
            ("Requests sent", "\(counts.sent)"),
            ("Answers with the expected verdict", "\(counts.correct)"),
            ("Answers with another verdict", "\(counts.wrong)"),
            ("Refused, to be sent again later", "\(counts.refused)"),
            ("Errors, and requests without an answer", "\(counts.errors + result.unanswered)"),
            ("Measured", "\(result.seconds.short) s"),
            (
                "Lateness of the generator, 99 in 100 within",
                "\(result.lateness.milliseconds(at: 99).short) ms"
            ),
            ("Processors that the generator used", result.processor.own.short),
        ]
        if let server = result.processor.server {
            rows.append(("Processors that the server used", server.short))
            if result.counts.correct > 0 {
                let each = server * result.seconds / Double(result.counts.correct) * 1e6
                rows.append(("Processor time of the server for each answer", "\(each.short) µs"))
            }
        }
        let cells = rows.map { "<tr><td>\($0.0)</td><td class=\"n\">\($0.1)</td></tr>" }
        return "<table><tr><th>What was counted</th><th></th></tr>\(cells.joined())</table>"
    }

    private var complaintList: String {
        guard !result.complaints.isEmpty else { return "" }
        let items = result.complaints.map { "<li>\($0.count) × \(escaped($0.what))</li>" }
        return "<h2>What was wrong</h2><ul>\(items.joined())</ul>"
    }

    // MARK: Plots

    /// The further right, the rarer: each grid line is ten times as rare as the one before.
    private var percentilePlot: Plot {
        var points: [(Double, Double)] = []
        for step in result.latencies.percentiles(ticksPerHalfDistance: 10)
        where step.percentileLevelIteratedTo < 100 {
            points.append(
                (Self.rarity(step.percentileLevelIteratedTo), Double(step.value) / 1e6))
        }
        let last = max(points.last?.0 ?? 1, 1)
        let ticks = ["0", "90", "99", "99.9", "99.99", "99.999", "99.9999"].enumerated()
            .map { Plot.Tick(value: Double($0.offset), label: $0.element + " %") }
        return Plot(
            title: "Latency by percentile", xLabel: "share of the answers",
            yLabel: "milliseconds", xTicks: ticks, xRange: 0...last,
            lines: [.init(name: "latency", color: "#2563eb", points: points.map { ($0.0, $0.1) })])
    }

    /// Decimal logarithm of how many answers one such slow is among.
    private static func rarity(_ percentile: Double) -> Double {
        Double.log10(100 / (100 - percentile))
    }

    private var throughputPlot: Plot {
        over("Answers over time", "a second") { moment in
            [
                Double(moment.counts.correct) / moment.seconds,
                Double(moment.counts.answered - moment.counts.correct) / moment.seconds,
            ]
        } named: {
            [("correct", "#16a34a"), ("wrong, refused or error", "#c0392b")]
        }
    }

    private var latencyPlot: Plot {
        over("Latency over time", "milliseconds") {
            [$0.p50, $0.p99]
        } named: {
            [("half within", "#2563eb"), ("99 in 100 within", "#d97706")]
        }
    }

    private func over(
        _ title: String, _ yLabel: String, _ values: (Moment) -> [Double],
        named: () -> [(String, String)]
    ) -> Plot {
        let moments = result.moments
        let last = max(moments.last?.time ?? 1, 1)
        let step = max((last / 10).rounded(.up), 1)
        let lines = named().enumerated().map { index, line in
            Plot.Line(
                name: line.0, color: line.1, points: moments.map { ($0.time, values($0)[index]) })
        }
        let warm = result.plan.warmUp.inSeconds
        return Plot(
            title: title, xLabel: "seconds", yLabel: yLabel,
            xTicks: (0...10).map {
                Plot.Tick(value: Double($0) * step, label: (Double($0) * step).rounded0)
            }, xRange: 0...last, lines: lines,
            shaded: warm > 0 ? (0...min(warm, last), "warm-up") : nil)
    }

    private func escaped(_ text: String) -> String {
        var result = ""
        for character in text {
            switch character {
            case "<": result += "&lt;"
            case ">": result += "&gt;"
            case "&": result += "&amp;"
            default: result.append(character)
            }
        }
        return result
    }
}
