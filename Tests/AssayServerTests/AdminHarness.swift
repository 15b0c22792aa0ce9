import AssayAdmin
import AssayIO
import AssayServer
import TestSupport
import Testing

/// A server with an admin listener, and a scraper's view of it.
struct AdminTest {
    let test: SocketServer
    let admin: AdminServer
    let monitor: ServerMonitor

    init(
        explains: Bool = false, _ change: (inout ServerConfiguration) -> Void = { _ in },
        clock: @escaping @Sendable () -> UInt64 = { SystemClock.monotonicNanoseconds },
        monitor: ServerMonitor = ServerMonitor(),
        around wrap: (AdminSite) -> any AdminPages = { $0 }
    ) throws {
        self.monitor = monitor
        admin = try AdminServer(
            at: .tcp(host: "127.0.0.1", port: 0), of: monitor, explains: explains, clock: clock,
            around: wrap)
        test = try SocketServer {
            change(&$0)
            $0.monitor = monitor
        }
    }

    func end() {
        test.server.drain()
        test.server.wait()
        admin.stop()
    }

    struct Answer: Equatable {
        var status = 0
        var head = ""
        var body = ""
    }

    func get(_ path: String) -> Answer { (try? ask("GET \(path) HTTP/1.1\r\n")) ?? Answer() }

    /// - Parameter request: the request line and headers, without Host and the empty line.
    func ask(_ request: String, host: String = "localhost") throws -> Answer {
        let client = try BlockingClient(admin.endpoint)
        try client.send(Array("\(request)Host: \(host)\r\n\r\n".utf8))
        return Self.answer(try client.receiveToEnd())
    }

    static func answer(_ bytes: [UInt8]) -> Answer {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.firstRange(of: "\r\n\r\n") else { return Answer() }
        let head = String(text[..<end.lowerBound])
        let status = head.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return Answer(status: status, head: head, body: String(text[end.upperBound...]))
    }

    /// Has the server publish its state until the condition holds, which takes one or two
    /// publications, or a few turns of the listener's loop.
    func eventually(
        sourceLocation: SourceLocation = #_sourceLocation, _ isSo: () throws -> Bool
    ) rethrows {
        for _ in 0..<1_000 {
            if try isSo() { return }
            test.server.advanceClock(byMilliseconds: 100)
        }
        Issue.record("never", sourceLocation: sourceLocation)
    }

    /// The samples of /metrics, by name and labels as written.
    func metrics() throws -> [String: Double] { try Scrape(get("/metrics").body).samples }
}

/// A strict parser of Prometheus' text format: anything else is an error.
struct Scrape {
    private(set) var samples: [String: Double] = [:]
    private(set) var families: [String: String] = [:]

    struct Malformed: Error { let line: Substring }

    init(_ text: String) throws {
        guard text.hasSuffix("\n") else { throw Malformed(line: text.suffix(80)) }
        let sample = /([a-z_]+)(\{(?:[a-z_0-9]+="(?:[^"\\]|\\.)*",?)+\})? (\S+)/
        var family = ""
        var helped = ""
        for line in text.dropLast().split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("# HELP ") {
                helped = String(line.dropFirst(7).prefix { $0 != " " })
                continue
            }
            if line.hasPrefix("# TYPE ") {
                let words = line.split(separator: " ")
                guard words.count == 4, words[2] == helped, families[helped] == nil,
                    ["counter", "gauge", "histogram"].contains(words[3])
                else { throw Malformed(line: line) }
                family = helped
                families[family] = String(words[3])
                continue
            }
            let match = line.wholeMatch(of: sample)
            guard let match, let value = Double(match.3) else { throw Malformed(line: line) }
            let name = String(match.1)
            let suffixes = families[family] == "histogram" ? ["_bucket", "_sum", "_count"] : [""]
            guard suffixes.contains(where: { name == family + $0 }) else {
                throw Malformed(line: line)
            }
            let key = name + String(match.2 ?? "")
            guard samples.updateValue(value, forKey: key) == nil else {
                throw Malformed(line: line)
            }
        }
    }
}
