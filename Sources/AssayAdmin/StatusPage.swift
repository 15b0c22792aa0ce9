import Assay
import AssayHTML
import AssayIO
import AssayModels
import AssayServer
import AssayWire

/// The status page: the server's current state and its last minutes. Self-contained, without
/// scripts, images or external fonts. Escapes everything except the server's own numbers.
struct StatusPage {
    let state: ServerState
    let history: History
    let process: ProcessFacts
    let stuckSeconds: UInt64?
    let caches: CacheFacts

    /// The number of samples in the shortest time range that the curves show, two minutes.
    private static let minimumSlots = 60
    private static let refreshSeconds = 5
    /// The maximum number of rows in a table. Complete tables can have hundreds.
    static let rowLimit = 20

    init(
        _ state: ServerState, _ history: History, process: ProcessFacts, stuckSeconds: UInt64?
    ) {
        self.state = state
        self.history = history
        self.process = process
        self.stuckSeconds = stuckSeconds
        caches = CacheFacts(state.apps)
    }

    var html: String {
        """
        <!doctype html>
        <html lang="en"><head><meta charset="utf-8">
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <meta http-equiv="refresh" content="\(Self.refreshSeconds)">
        <title>Assay: \(phase.word)</title>
        <style>\(StatusStyle.css)</style></head><body>
        \(header)
        <main>
        \(tiles)
        <section class="charts">
        \(throughput)\(latency)
        </section>
        <div class="columns">
        \(verdicts)\(split)\(limits)\(cacheTable)\(refusals)\(chains)\(roots)\(apps)\(about)
        </div></main>
        <footer>This page reloads every \(Self.refreshSeconds) s. Metrics for Prometheus: \
        <a href="/metrics">/metrics</a></footer>
        </body></html>

        """
    }

    // MARK: Top

    private var phase: (word: String, style: String) {
        if let stuckSeconds { return ("not responding for \(stuckSeconds) s", "bad") }
        switch state.phase {
        case .starting: return ("starting", "warn")
        case .serving:
            guard refusedInWindow > 0 else { return ("serving", "good") }
            return ("serving, \(Format.count(refusedInWindow)) refused \(window)", "warn")
        case .draining: return ("draining: accepts no new requests", "warn")
        case .stopped: return ("stopped", "bad")
        }
    }

    private var header: String {
        let addresses = state.endpoints.map { "<code>\("\($0)".htmlEscaped)</code>" }
        let started = Double(state.now.milliseconds) / 1000 - process.startSeconds
        return """
            <header><h1>Assay</h1><span class="pill \(phase.style)">\(phase.word)</span>
            <p>Verifies purchases at \(addresses.joined(separator: " "))<br>
            up for \(Format.duration(started)), version \(state.version.htmlEscaped)</p>
            </header>
            """
    }

    /// Requests refused in the window of the samples, ten minutes at most.
    private var refusedInWindow: Int {
        Int(history.samples.reduce(0) { $0 + $1.refused * $1.seconds }.rounded())
    }

    /// The window that all tiles and tables of verdicts share, in words.
    var window: String {
        let seconds = history.samples.reduce(0) { $0 + $1.seconds }
        guard seconds > 0 else { return "since the start" }
        // A number and its unit stay on one line.
        return seconds < 90
            ? "in the last \(Format.count(Int(seconds.rounded())))\u{A0}s"
            : "in the last \(Format.count(Int((seconds / 60).rounded())))\u{A0}min"
    }

    /// The verdicts of the window, of all apps.
    var verdictsInWindow: VerdictCounts {
        let all = state.metrics.allVerdicts
        return history.start.map { all.since($0.allVerdicts) } ?? all
    }

    private var tiles: String {
        let seconds = history.samples.reduce(0) { $0 + $1.seconds }
        let verified = history.samples.reduce(0) { $0 + $1.verified * $1.seconds }
        let now = state.metrics.handling
        let handling = history.start.map { now.since($0.handling) } ?? now
        let verdicts = verdictsInWindow
        let tiles: [(name: String, value: String, note: String)] = [
            (
                "verified", seconds > 0 ? Format.short(verified / seconds) : "–",
                "per second, \(window)"
            ),
            (
                "median", Format.milliseconds(handling.quantile(0.5).map { $0 / 1e6 }),
                "to answer, \(window)"
            ),
            (
                "p99", Format.milliseconds(handling.quantile(0.99).map { $0 / 1e6 }),
                "to answer, \(window)"
            ),
            (
                "genuine", Format.percent(verdicts[.valid], of: verdicts.total),
                "of \(Format.count(verdicts.total)) \(window)"
            ),
            ("connections", Format.count(state.heldResources.connections), "open now"),
            ("memory", Format.bytes(process.residentBytes), "resident"),
        ]
        return "<section class=\"tiles\">"
            + tiles.map { tile in
                "<div><h2>\(tile.name)</h2><b>\(tile.value)</b><small>\(tile.note)</small></div>"
            }.joined() + "</section>"
    }

    // MARK: Curves

    private var throughput: String {
        plot(
            "Throughput", "requests per second",
            [
                curve("verified", history.samples.map(\.verified), color: 0, isFilled: true),
                curve("refused", history.samples.map(\.refused), color: 1),
            ])
    }

    private var latency: String {
        plot(
            "Time to answer", "milliseconds",
            [
                curve("p99", history.samples.map(\.p99), color: 1),
                curve("median", history.samples.map(\.median), color: 0),
            ])
    }

    private var slots: Int { min(max(history.samples.count, Self.minimumSlots), History.most) }

    /// A curve that ends at the right edge. Samples can lack a value.
    private func curve(
        _ name: String, _ values: [Double?], color: Int, isFilled: Bool = false
    ) -> Plot.Line {
        let points = values.suffix(slots).reversed().enumerated().map { offset, value in
            (x: Double(slots - 1 - offset), y: value)
        }
        let last = values.last.flatMap { $0 }.map { Format.short($0) } ?? "–"
        return Plot.Line(
            name, gaps: points.reversed(), value: last, color: color, isFilled: isFilled)
    }

    private func plot(_ title: String, _ unit: String, _ lines: [Plot.Line]) -> String {
        let last = Double(slots - 1)
        return Plot(
            title, ticks: minuteTicks + [Plot.Tick(last, "now")], range: 0...last, y: unit, lines,
            xText: { position in
                let seconds = Int(last - position) * History.seconds
                return seconds == 0 ? "now" : "\(Format.duration(Double(seconds))) ago"
            }
        ).html
    }

    /// Ticks at whole minutes: at most three, so that their labels fit a phone.
    private var minuteTicks: [Plot.Tick] {
        let minutes = slots * History.seconds / 60
        let step = minutes > 6 ? 5 : minutes > 3 ? 2 : 1
        return stride(from: step, through: minutes, by: step).map { minute in
            let position = Double(slots - 1) - Double(minute * 60) / Double(History.seconds)
            return Plot.Tick(max(position, 0), "\(minute) min ago")
        }
    }
}
