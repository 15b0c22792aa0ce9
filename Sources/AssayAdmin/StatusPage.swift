import Assay
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
    private static let slotsLeast = 60
    private static let refreshSeconds = 5
    /// The maximum number of rows in a table. Complete tables can have hundreds.
    static let rowsMost = 20

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
        \(verdicts)\(limits)\(cacheTable)\(refusals)\(chains)\(roots)\(apps)\(about)
        </div></main>
        <footer>This page renews itself every \(Self.refreshSeconds) s. The same figures for \
        Prometheus: <a href="/metrics">/metrics</a></footer>
        </body></html>

        """
    }

    // MARK: Top

    private var phase: (word: String, style: String) {
        if let stuckSeconds { return ("not responding for \(stuckSeconds) s", "bad") }
        switch state.phase {
        case .starting: return ("starting", "warn")
        case .serving: return ("serving", "good")
        case .draining: return ("draining: takes no new requests", "warn")
        case .stopped: return ("stopped", "bad")
        }
    }

    private var header: String {
        let addresses = state.endpoints.map { "<code>\(Format.escaped("\($0)"))</code>" }
        let started = Double(state.now.milliseconds) / 1000 - process.startSeconds
        return """
            <header><h1>Assay</h1><span class="pill \(phase.style)">\(phase.word)</span>
            <p>App Store evidence verified at \(addresses.joined(separator: " "))<br>
            up for \(Format.duration(started)), version \(Format.escaped(state.version))</p>
            </header>
            """
    }

    private var tiles: String {
        let last = history.samples.last
        let valid = state.metrics.verifications(.valid)
        let all = state.metrics.verifications()
        let tiles: [(name: String, value: String, note: String)] = [
            ("verified", last.map { Format.short($0.verified) } ?? "–", "a second, just now"),
            (
                "median", Format.milliseconds(last?.median),
                "from request to answer"
            ),
            ("99 of 100", Format.milliseconds(last?.p99), "answered within"),
            ("genuine", Format.percent(valid, of: all), "of \(Format.count(all)) so far"),
            ("connections", Format.count(state.holdings.connections), "open now"),
            ("memory", Format.bytes(process.residentBytes), "resident"),
        ]
        return "<section class=\"tiles\">"
            + tiles.map { tile in
                "<div><h2>\(tile.name)</h2><b>\(tile.value)</b><small>\(tile.note)</small></div>"
            }.joined() + "</section>"
    }

    // MARK: Curves

    private var slots: Int { min(max(history.samples.count, Self.slotsLeast), History.most) }

    private var throughput: String {
        Curves(
            title: "Throughput", unit: "requests a second",
            curves: [
                Curves.Curve(
                    name: "verified", style: "a", filled: true,
                    values: history.samples.map(\.verified)),
                Curves.Curve(
                    name: "not carried out", style: "b", filled: false,
                    values: history.samples.map(\.refused)),
            ], seconds: History.seconds, slots: slots
        ).html
    }

    private var latency: String {
        Curves(
            title: "Time to answer", unit: "milliseconds",
            curves: [
                Curves.Curve(
                    name: "99 of 100", style: "b", filled: false, values: history.samples.map(\.p99)
                ),
                Curves.Curve(
                    name: "median", style: "a", filled: false,
                    values: history.samples.map(\.median)),
            ], seconds: History.seconds, slots: slots
        ).html
    }
}
