import AssayHTML
import AssayLoad
import Foundation

/// A report of the results as a self-contained HTML file.
extension Results {
    var html: String {
        let judged = rows.filter { $0.threshold != nil }
        let short = judged.count { $0.verdict == "SHORT" } + missing.count
        let headline =
            judged.isEmpty && missing.isEmpty
            ? "No row with a threshold was measured"
            : short == 0
                ? "All \(judged.count) thresholds are met"
                : "\(short) of \(judged.count + missing.count) thresholds are missed"
        return ReportStyle.page(
            title: "Assay: bench, \(date)",
            """
            <h1>Assay benchmarks</h1>
            <p class="note">\(date)\(isQuick ? ", a quick run" : "") · \(machine.htmlEscaped)</p>
            <p class="\(short == 0 ? "big" : "big bad")">\(headline)\(short == 0 ? "." : ":")</p>
            \(missedList)
            \(unmeasuredList)
            <p>Assay verifies App Store purchase evidence. Most of the necessary work is signature
            verification, so OpenSSL's own routine is the base: a ratio of 3 means that Assay
            verifies three whole tokens in the time of one signature verification by OpenSSL. Both
            are measured alternately in this run, so ratios are comparable between machines;
            microseconds are not.</p>
            \(judged.isEmpty ? "" : judgedTable(judged))
            \(noteParagraphs)
            \(plots.joined(separator: "\n"))
            <h2>All results</h2>
            \(suiteTables)
            """,
            css: """
                td.SHORT{color:var(--bad);font-weight:600;white-space:nowrap}\
                td.met{color:var(--good);white-space:nowrap}body{max-width:1000px}\
                span.note{font-size:.9em}\
                \(HTML.barCSS).bar{min-width:150px}.short{--c:var(--bad)}\
                @media(max-width:820px){.wide td.name{display:block;text-align:left}\
                .wide td.bar-cell{display:block}.wide td.name::before,\
                .wide td.bar-cell::before{content:none}.wide td.name .note{font-weight:400}\
                td.SHORT,td.met{white-space:normal}}
                """)
    }

    private var missedList: String {
        missed.isEmpty
            ? "" : "<ul>" + missed.map { "<li>\($0.htmlEscaped)</li>" }.joined() + "</ul>"
    }

    /// What the run did not measure, and why.
    private var unmeasuredList: String {
        guard !unmeasured.isEmpty else { return "" }
        let lines = unmeasured.map {
            "<li>\($0.what.htmlEscaped): <span class=\"note\">\($0.why.htmlEscaped)</span></li>"
        }
        return "<h2>Not measured</h2><ul>\(lines.joined(separator: "\n"))</ul>"
    }

    // MARK: Tables

    private func judgedTable(_ judged: [Row]) -> String {
        // Missed thresholds first.
        let sorted =
            judged.filter { $0.verdict == "SHORT" } + judged.filter { $0.verdict != "SHORT" }
        let lines = sorted.map { row in
            let threshold = row.threshold!
            let style = row.verdict == "SHORT" ? "SHORT" : "met"
            let about = threshold.about.map { "<br><span class=\"note\">\($0.htmlEscaped)</span>" }
            let name =
                "<tr><td class=\"name\">\("\(row.suite): \(row.name)".htmlEscaped)"
                + "\(about ?? "")</td>"
            if let failure = row.failure {
                return name
                    + "<td colspan=\"4\">not measured: \(failure.firstLine.htmlEscaped)</td>"
                    + "<td class=\"SHORT\">SHORT</td></tr>"
            }
            return name
                + "<td class=\"n\" data-label=\"measured\">\(row.judged.short)\(row.judgedUnit) ± "
                + "\(row.judgedSpread.short)</td>"
                + "<td class=\"n\" data-label=\"threshold\">\(row.bound(\.limit))</td>"
                + "<td class=\"n\" data-label=\"aim\">\(row.bound(\.aim))</td>"
                + "<td class=\"\(style)\" data-label=\"verdict\">\(row.verdict)</td>"
                + "<td class=\"bar-cell\">\(bar(row, threshold))</td></tr>"
        }
        let note = """
            <p class="note">The bar is the result, the mark the threshold. If more is better (≥),
            the bar must reach the mark; if less is better (≤), it must end before the mark. Half
            of the rounds are within ±.</p>
            """
        return "<h2>Thresholds</h2><table class=\"wide\"><tr class=\"head\"><th></th>"
            + "<th class=\"n\">measured</th><th class=\"n\">threshold</th>"
            + "<th class=\"n\">aim</th><th></th><th></th></tr>"
            + lines.joined(separator: "\n") + "</table>" + note
    }

    private func bar(_ row: Row, _ threshold: Threshold) -> String {
        let most = max(threshold.aim.value, threshold.limit.value) * 1.25
        return HTML.bar(
            row.judged / most, style: row.verdict == "SHORT" ? "short" : "s0",
            mark: threshold.limit.value / most)
    }

    private var noteParagraphs: String {
        notes.map { "<p class=\"note\">\($0.htmlEscaped)</p>" }.joined(separator: "\n")
    }

    private static let explanations = [
        "primitives": "Verification of P-256 signatures in batches, one thread. The ratio is the "
            + "first row's time ÷ the row's.",
        "stores":
            "Purchases of other stores in process, one thread: JSON in, typed verdict out. The "
            + "ratio is to OpenSSL's EVP_PKEY_verify of the same signatures alone.",
        "jws": "Whole tokens in process, one thread: bytes in, typed verdict out. The ratio is "
            + "the first row's time ÷ the row's; for unknown chains it is the row's time ÷ that of "
            + "the bare signatures that it needs, so less is better.",
        "receipts": "App receipts, microseconds per megabyte, or per receipt below 1 MB. "
            + "The ratio is the row's time ÷ hashing the same bytes, so less is better.",
        "receipt-wire": "App receipts over TCP, wall clock. The ratio is the row's time ÷ that "
            + "of a process that copies the same bytes from a socket and hashes them.",
        "server": "A server process and a client process. Ratios of rates are against bare "
            + "EVP_PKEY_verify on one processor; that of one pipelining connection is against "
            + "sixteen connections.",
        "matrix": "Answers per second, wall clock, the server on one processor, the client on "
            + "another, closed loop.",
        "latency": "From the time a request was due until its answer arrived; independent "
            + "clients on eight connections, an open loop.",
        "bulk": "assay verify --lines: the processor time of all processes, as that of two "
            + "processors for 200,000 transactions. The ratio is the time of a transaction ÷ bare "
            + "EVP_PKEY_verify, so less is better.",
        "start": "The server's process.",
        "peers": "For comparison: the same work by other libraries on this machine. No thresholds.",
    ]

    private var suiteTables: String {
        var suites: [String] = []
        for row in rows where !suites.contains(row.suite) { suites.append(row.suite) }
        return suites.map { suite in
            let table = ReportStyle.table(
                ["", "measured", "±", "ratio"],
                rows.filter { $0.suite == suite }.map { row in
                    if let failure = row.failure {
                        return [row.name, "not measured: \(failure.firstLine)", "", ""]
                    }
                    return [
                        row.name, "\(row.value.short) \(row.unit)",
                        // One round has no spread.
                        row.rounds == 1 ? "" : row.spread.short,
                        row.ratio.map { $0.short + "×" } ?? "",
                    ]
                })
            let words = Self.explanations[suite].map { "<p class=\"note\">\($0)</p>" } ?? ""
            return "<h3>\(suite)</h3>\(words)\(table)"
        }.joined(separator: "\n")
    }

    // MARK: Plots

    private var plots: [String] {
        var all: [String] = []
        let shaped = rows.filter { $0.shape != nil && $0.failure == nil }
        if !shaped.isEmpty {
            all.append(
                "<h2>Throughput by connections and requests in flight</h2><p>A server with one "
                    + "processor, over TCP and a Unix socket. Requests that arrive together are "
                    + "verified as one batch: more requests in flight make larger batches.</p>")
            all.append(throughputOverConnections(shaped).html)
            all.append(throughputOverDepth(shaped).html)
        }
        if !curves.isEmpty {
            all.append(
                "<h2>Latency</h2><p>At percentages of the server's maximum throughput, for "
                    + "independent clients. At 99 % the curve shows the latency that 1 of 100 "
                    + "answers exceeded.</p>")
            let lines = curves.map { curve in
                Plot.Line(
                    curve.name, curve.points.map { (HTMLReport.rarity($0.percent), $0.latency) })
            }
            all.append(HTMLReport.percentilePlot(lines).html)
        }
        if let plot = receiptPlot {
            all.append(
                "<h2>Receipts</h2><p>App receipts verified and decoded in process, compared with "
                    + "hashing their bytes, which every verification must do.</p>")
            all.append(plot.html)
        }
        return all
    }

    /// Ticks on a logarithmic axis with base 2.
    private static func ticks(_ values: [Int]) -> [Plot.Tick] {
        Set(values).sorted().map { Plot.Tick(log2(Double($0)), "\($0)") }
    }

    private func throughputOverConnections(_ rows: [Row]) -> Plot {
        let all = rows.compactMap(\.shape?.connections)
        var lines: [Plot.Line] = []
        for transport in ["TCP", "Unix socket"] {
            for depth in Set(rows.compactMap(\.shape?.depth)).sorted() {
                lines.append(
                    line("\(transport == "TCP" ? "TCP" : "Unix"), \(depth) in flight", rows) {
                        shape in
                        shape.transport == transport && shape.depth == depth
                            ? shape.connections : nil
                    })
            }
        }
        return Plot(
            "Answers per second by connections", x: "connections", ticks: Self.ticks(all),
            range: 0...log2(Double(max(all.max() ?? 2, 2))), y: "per second", lines)
    }

    private func throughputOverDepth(_ rows: [Row]) -> Plot {
        let all = rows.compactMap(\.shape?.depth)
        let lines = Set(rows.compactMap(\.shape?.connections)).sorted().map { connections in
            line("\(connections) connection\(connections == 1 ? "" : "s")", rows) { shape in
                shape.transport == "TCP" && shape.connections == connections ? shape.depth : nil
            }
        }
        return Plot(
            "Answers per second by requests in flight, TCP",
            x: "requests in flight on each connection",
            ticks: Self.ticks(all), range: 0...log2(Double(max(all.max() ?? 2, 2))),
            y: "per second", lines)
    }

    private func line(
        _ name: String, _ rows: [Row], _ x: (Row.Shape) -> Int?
    ) -> Plot.Line {
        let points = rows.compactMap { row in
            row.shape.flatMap(x).map { (log2(Double($0)), row.value) }
        }
        return Plot.Line(name, points.sorted { $0.0 < $1.0 }, hasDots: true)
    }

    /// The plot of the rows whose names begin with a size. Values are per megabyte, or per
    /// receipt if smaller.
    private var receiptPlot: Plot? {
        var lines: [(name: String, points: [(x: Double, y: Double)])] = []
        var sizes: [Int] = []
        for row in rows where row.suite == "receipts" && row.unit == "µs" && row.failure == nil {
            let parts = row.name.split(separator: ",", maxSplits: 1)
            let words = parts[0].split(separator: " ")
            guard parts.count == 2, words.count == 2, let number = Int(words[0]),
                let unit = ["KB": 1, "MB": 1024][words[1]]
            else { continue }
            let kilobytes = number * unit
            sizes.append(kilobytes)
            let name = parts[1].trimmingCharacters(in: .whitespaces)
            let units = max(1, Double(kilobytes) / 1024)
            let point = (log2(Double(kilobytes)), row.value * units / 1000)
            if let index = lines.firstIndex(where: { $0.name == name }) {
                lines[index].points.append(point)
            } else {
                lines.append((name, [point]))
            }
        }
        guard let least = sizes.min(), let most = sizes.max(), least < most else { return nil }
        let ticks = Set(sizes).sorted().map {
            Plot.Tick(log2(Double($0)), $0 < 1024 ? "\($0) KB" : "\($0 / 1024) MB")
        }
        return Plot(
            "Time per receipt, by size", x: "size of the receipt", ticks: ticks,
            range: log2(Double(least))...log2(Double(most)), y: "milliseconds",
            isLogarithmic: true, lines.map { Plot.Line($0.name, $0.points, hasDots: true) })
    }
}

extension Row {
    var judgedUnit: String { ratio == nil ? " " + unit : "×" }

    /// A bound of the row's threshold, such as "≥ 3×".
    func bound(_ bound: KeyPath<Threshold, Threshold.Bound>) -> String {
        guard let bound = threshold?[keyPath: bound] else { return "" }
        return "\(bound.isUpper ? "≤" : "≥") \(bound.value.plain)\(judgedUnit)"
    }
}
