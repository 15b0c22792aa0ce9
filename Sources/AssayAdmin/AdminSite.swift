package import AssayHTTP
import AssayIO
import AssayModels
package import AssayServer

/// Routes the requests of the admin listener by path.
package struct AdminSite: AdminPages {
    private let monitor: ServerMonitor
    private let explains: Bool
    private let clock: @Sendable () -> UInt64
    private let metricsPages = MetricsFormat.allCases.map { _ in CachedPage() }
    private let statusPage = CachedPage()

    /// The age of the last published state at which the loop counts as stuck. A running loop
    /// publishes ten times a second.
    static let stuckNanoseconds: UInt64 = 2_000_000_000

    /// - Parameters:
    ///   - explains: whether `/explain` is served.
    ///   - clock: nanoseconds, by which a page has its time limit.
    package init(
        monitor: ServerMonitor, explains: Bool = false,
        clock: @escaping @Sendable () -> UInt64 = { SystemClock.monotonicNanoseconds }
    ) {
        self.monitor = monitor
        self.explains = explains
        self.clock = clock
    }

    private static let paths: [(path: String, description: String)] = [
        ("/healthz", "200 while the process and its event loop run"),
        ("/readyz", "200 while requests are accepted; otherwise 503 and the reason"),
        ("/metrics", "metrics for Prometheus, text format 0.0.4, or OpenMetrics 1.0.0"),
        ("/status", "a page with the server's state and history"),
        ("/explain", "a page that shows why evidence gets its verdict, if it is switched on"),
    ]

    package func answer(_ request: HTTPRequest) -> HTTPResponse {
        let page: () -> HTTPResponse
        switch request.path {
        case "/": page = { index }
        case "/healthz": page = { health }
        case "/readyz": page = { readiness }
        case "/metrics": page = { metrics(as: MetricsFormat(accepted: request.accept)) }
        case "/status": page = { status }
        case "/explain": return explanation(request)
        default: return .text(404, "no such path; / lists them")
        }
        guard request.method == .get || request.method == .head else {
            return .text(405, "only GET and HEAD", [("Allow", "GET, HEAD")])
        }
        return page()
    }

    // MARK: Explain

    /// A receipt of 16 MiB in base64, and the form around it.
    static let explainBytes = 24 << 20
    /// The time after which a page explains no more items. One item takes a tenth of a second at
    /// most.
    static let pageSeconds = 5

    package func bodyLimit(of request: HTTPRequest) -> Int? {
        guard request.path == "/explain", refusal(ofExplain: request) == nil else { return nil }
        return request.method == .post && request.body == nil ? Self.explainBytes : nil
    }

    private func explanation(_ request: HTTPRequest) -> HTTPResponse {
        if let refusal = refusal(ofExplain: request) { return refusal }
        guard let latest = monitor.latest else { return .text(503, "starting") }
        let end = clock() + UInt64(Self.pageSeconds) * 1_000_000_000
        let site = ExplainSite(apps: latest.state.apps, now: latest.state.now) { clock() >= end }
        guard request.method == .post else { return site.form }
        return site.answer(request.body ?? [], contentType: request.contentType ?? "")
    }

    /// The reason not to serve a request to `/explain`, beside those of every path.
    private func refusal(ofExplain request: HTTPRequest) -> HTTPResponse? {
        guard explains else {
            return .text(404, "/explain is off: --admin-explain, or explain = true in [admin]")
        }
        guard [.get, .head, .post].contains(request.method) else {
            return .text(405, "only GET, HEAD and POST", [("Allow", "GET, HEAD, POST")])
        }
        return nil
    }

    private var index: HTTPResponse {
        .text(200, Self.paths.map { "\($0.path)  \($0.description)" }.joined(separator: "\n"))
    }

    /// The age of the last published state in seconds if the loop is stuck, otherwise nil.
    private func stuckSeconds(_ age: UInt64, _ state: ServerState) -> UInt64? {
        guard state.phase != .stopped, age > Self.stuckNanoseconds else { return nil }
        return age / 1_000_000_000
    }

    private var health: HTTPResponse {
        guard let latest = monitor.latest else { return .text(200, "ok: starting") }
        if let seconds = stuckSeconds(latest.age, latest.state) {
            return .text(503, "the server's event loop has not run for \(seconds) s")
        }
        return .text(200, "ok")
    }

    private var readiness: HTTPResponse {
        guard let latest = monitor.latest else { return .text(503, "starting") }
        if let seconds = stuckSeconds(latest.age, latest.state) {
            return .text(503, "the server's event loop has not run for \(seconds) s")
        }
        switch latest.state.phase {
        case .starting: return .text(503, "starting")
        case .serving: return .text(200, "ready")
        case .draining: return .text(503, "draining")
        case .stopped: return .text(503, "stopped")
        }
    }

    private func metrics(as format: MetricsFormat) -> HTTPResponse {
        guard let latest = monitor.latest else { return .text(503, "starting") }
        return metricsPages[format.rawValue].answer {
            let page = MetricsPage(latest.state, age: latest.age, process: .own, format)
            return HTTPResponse(
                200, contentType: format.contentType, fields: [("Vary", "Accept")], body: page.text)
        }
    }

    private var status: HTTPResponse {
        guard let latest = monitor.latest else { return .text(503, "starting") }
        return statusPage.answer {
            let page = StatusPage(
                latest.state, latest.history, process: .own,
                stuckSeconds: stuckSeconds(latest.age, latest.state))
            return HTTPResponse(
                200, contentType: "text/html; charset=utf-8", body: Array(page.html.utf8))
        }
    }
}

/// The last rendering of a page, reused for further requests.
///
/// Keeps the page for ten times its rendering time. Rendering therefore takes at most a tenth of
/// a processor at any request rate, and concurrent requests wait for one rendering at most.
private final class CachedPage: Sendable {
    private struct Kept {
        let answer: HTTPResponse
        let end: UInt64
    }

    private let kept = Locked<Kept?>(nil)

    private static let keptPerCost: UInt64 = 10

    func answer(_ make: () -> HTTPResponse) -> HTTPResponse {
        kept.withLock { kept in
            let start = SystemClock.monotonicNanoseconds
            if let kept, start < kept.end { return kept.answer }
            let answer = make()
            let now = SystemClock.monotonicNanoseconds
            kept = Kept(answer: answer, end: now + Self.keptPerCost * (now - start))
            return answer
        }
    }
}
