import AssayAdmin
import AssayHTTP
import AssayIO
import AssayServer
import Testing

/// A simulated server with the pages of its admin listener, and the interface of `AdminTest`. For
/// tests of what the pages say; those of the listener itself need its sockets.
struct SimulatedAdminTest {
    let test: TestServer
    private let monitor = ServerMonitor()

    init(_ change: (inout ServerConfiguration) -> Void = { _ in }) throws {
        let monitor = monitor
        test = try TestServer {
            change(&$0)
            $0.monitor = monitor
        }
        // The first publication.
        test.simulated.pass(milliseconds: 100)
    }

    func end() {
        test.server.drain()
        test.server.wait()
    }

    /// A page of a new site: a site keeps its pages for a while.
    ///
    /// - Parameter accept: the value of the field.
    func get(_ path: String, accept: String? = nil) -> AdminTest.Answer {
        let site = AdminSite(
            monitor: monitor, explains: false, clock: { SystemClock.monotonicNanoseconds })
        var request = HTTPRequest(method: .get, path: path)
        request.accept = accept
        let response = site.answer(request)
        return AdminTest.Answer(
            status: response.status, body: String(decoding: response.body, as: UTF8.self))
    }

    /// Lets the server publish its state until the condition holds: one or two publications.
    func eventually(
        sourceLocation: SourceLocation = #_sourceLocation, _ isSo: () throws -> Bool
    ) rethrows {
        for _ in 0..<20 {
            if try isSo() { return }
            test.simulated.pass(milliseconds: 100)
        }
        Issue.record("never", sourceLocation: sourceLocation)
    }

    /// The samples of /metrics, by name and labels as written.
    func metrics() throws -> [String: Double] { try Scrape(get("/metrics").body).samples }
}
