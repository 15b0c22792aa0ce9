import Assay
import AssayAdmin
import AssayBytes
import AssayHTTP
import AssayIO
import AssayServer
import TestSupport

extension FuzzTarget {
    /// A connection to the admin listener, and a direct call of the site. Invariants: a connection
    /// gets one complete answer or none; only the site's pages answer 200 or 503; a local listener
    /// refuses requests for another site's name.
    ///
    /// First byte: the split of the rest into writes.
    static func admin(_ authority: FuzzAuthority) -> FuzzTarget {
        let admin = FuzzAdmin(authority)
        let seeds = adminSeeds
        return FuzzTarget(
            "Admin", seeds: seeds, words: adminWords,
            mutate: { LineMutation.mutate($0, &$1, from: seeds) }
        ) { bytes in
            guard bytes.count > 1 else { return }
            let stream = bytes.array(1..<bytes.count)
            FuzzSite.check(stream, admin.sites)
            HTTPText.check(admin.answer(to: stream, cut: Int(bytes[0]) + 1))
        }
    }

    private static let adminSeeds: [[UInt8]] =
        ["/", "/healthz", "/readyz", "/metrics", "/status", "/none?a=b", "/%73tatus"].map {
            request("GET \($0) HTTP/1.1")
        } + [
            request("HEAD /status HTTP/1.1"),
            request("GET /healthz HTTP/1.0", host: "evil.example:80"),
            request("GET http://localhost/readyz HTTP/1.1", host: "[::1]"),
            request("OPTIONS * HTTP/1.1", "Expect: 100-continue\r\nConnection: keep-alive\r\n"),
            request("POST / HTTP/1.1", "Content-Length: 3\r\n", body: "abc"),
            request(
                "PUT / HTTP/1.1", "Transfer-Encoding: chunked\r\nTrailer: a\r\n",
                body: "3;a=\"b\"\r\nabc\r\n0\r\nA: b\r\n\r\n"),
            request("GET / HTTP/1.1", "Cookie: a=b; c=\"d\"\r\nX: y\r\n\tz\r\n")
                + request("GET / HTTP/1.1").dropFirst(),
            request(
                "GET / HTTP/1.1", "Authorization: Digest username=\"a\", realm=\"b\", uri=\"/\"\r\n"
            ),
        ]

    private static func request(
        _ line: String, _ headers: String = "", host: String = "localhost", body: String = ""
    ) -> [UInt8] {
        [200] + Array("\(line)\r\nHost: \(host)\r\n\(headers)\r\n\(body)".utf8)
    }

    private static let adminWords = [
        "GET ", "HEAD ", "POST ", "HTTP/1.1", "HTTP/1.0", "HTTP/1.2", "\r\n\r\n", "Host: ",
        "Content-Length: ", "Transfer-Encoding: chunked", "Connection: keep-alive",
        "Connection: Upgrade", "Expect: 100-continue", "127.0.0.1", "[::1]:80", "localhost",
        "/healthz", "/readyz", "/metrics", "/status", "%00", "%2f", "18446744073709551615",
        "ffffffffffffffff", "multipart/form-data; boundary=a", "Cookie: ",
    ]
}

/// A server with its admin listener, started with the first input.
private final class FuzzAdmin: Sendable {
    private let authority: FuzzAuthority
    private let running = Locked<(endpoint: Endpoint, sites: [AdminSite])?>(nil)

    init(_ authority: FuzzAuthority) { self.authority = authority }

    private struct NoLog: LogSink { func write(_ line: String) {} }

    private func started() -> (endpoint: Endpoint, sites: [AdminSite]) {
        running.withLock { running in
            if let running { return running }
            do {
                let name = "@assay-fuzz-\(SystemClock.monotonicNanoseconds)"
                let app = AppEntry(
                    verifier: Verifier(trust: authority.trust), policy: FuzzAuthority.policy)
                var configuration = ServerConfiguration(
                    listen: [.unix(path: name)], apps: ["": app], workers: 1, log: NoLog())
                configuration.monitor = ServerMonitor()
                _ = try Server(configuration)
                let admin = try AdminServer(
                    at: .unix(path: name + "-admin"), of: configuration.monitor!)
                Self.kept.withLock { $0.append(admin) }
                let new = (
                    admin.endpoint,
                    [configuration.monitor!, ServerMonitor()].map { AdminSite(monitor: $0) }
                )
                running = new
                return new
            } catch {
                preconditionFailure("no admin listener: \(error)")
            }
        }
    }

    /// The time to wait for an answer, in milliseconds.
    private static let patience: Int32 = 20

    /// Kept until the process ends.
    private static let kept = Locked<[AdminServer]>([])

    /// The sites of a ready server and of one that is not ready yet.
    var sites: [AdminSite] { started().sites }

    /// Returns all bytes that a connection receives until its end.
    func answer(to stream: [UInt8], cut: Int) -> [UInt8] {
        do {
            let client = try BlockingClient(started().endpoint)
            for start in stride(from: 0, to: stream.count, by: cut) {
                let part = Array(stream[start..<min(start + cut, stream.count)])
                // The server can have closed early.
                guard (try? client.send(part)) != nil else { break }
            }
            // The listener waits seconds for a head that does not end. The client does not wait:
            // only answers are under test.
            _ = try? client.send(Array("\r\n\r\n".utf8))
            guard client.hasMore(milliseconds: Self.patience) else {
                client.reset()
                return []
            }
            return try client.receiveToEnd()
        } catch let failure as BlockingClient.Failure where failure.what.hasSuffix(" 104") {
            // A reset: the listener has closed with bytes unread.
            return []
        } catch {
            preconditionFailure("the admin listener does not answer: \(error)")
        }
    }
}

/// The site without HTTP. The first words of the input are method, path and host.
private enum FuzzSite {
    private static let statuses: Set = [200, 404, 405, 503]
    private static let pages: Set = ["/", "/healthz", "/readyz", "/metrics", "/status"]
    private static let methods: [String: HTTPHead.Method] = [
        "GET": .get, "HEAD": .head, "POST": .post, "PUT": .put,
    ]
    private static let local = HTTPOriginPolicy(.loopback("127.0.0.1"), hasPages: true)

    static func check(_ stream: [UInt8], _ sites: [AdminSite]) {
        let words = String(decoding: stream, as: UTF8.self)
            .split(maxSplits: 5) { $0.isWhitespace }.map(String.init)
        guard words.count > 1 else { return }
        let host = words.firstIndex(of: "Host:").flatMap { index in
            index + 1 < words.count ? words[index + 1] : nil
        }
        let request = HTTPRequest(
            method: methods[words[0]] ?? .other, path: words[1], host: host)
        for site in sites {
            let answer = site.answer(request)
            precondition(statuses.contains(answer.status))
            precondition(!answer.body.isEmpty)
            if answer.status == 200 || answer.status == 503 {
                precondition(pages.contains(words[1]), "a page that is none")
                precondition(["GET", "HEAD"].contains(words[0]), "a method that is not allowed")
            }
        }
        if let host, local.refusal(of: request) == nil { checkOwnName(host) }
    }

    /// Checks that a host is an address or `localhost`, and not a name from a browser's DNS
    /// lookup.
    private static func checkOwnName(_ host: String) {
        let name = host.lowercased()
        let isOwn = name == "localhost" || name.hasPrefix("localhost:")
        precondition(isOwn || name.allSatisfy { "0123456789abcdef.:[]%".contains($0) }, host)
    }
}

/// Checks that the bytes are one complete HTTP response and nothing more.
private enum HTTPText {
    static func check(_ bytes: [UInt8]) {
        var rest = String(decoding: bytes, as: UTF8.self)[...]
        // An interim response can come first.
        if rest.hasPrefix("HTTP/1.1 100 "), let end = rest.firstRange(of: "\r\n\r\n") {
            rest = rest[end.upperBound...]
        }
        guard !rest.isEmpty else { return }
        precondition(rest.hasPrefix("HTTP/1."), "an answer that is no HTTP")
        guard let end = rest.firstRange(of: "\r\n\r\n") else {
            preconditionFailure("an answer that is cut short")
        }
        let head = rest[..<end.lowerBound].split(separator: "\r\n")
        let status = head[0].split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        precondition(status == 200 || (400..<600).contains(status), "status \(status)")
        let lengths = head.dropFirst().compactMap { line -> Int? in
            let parts = line.split(separator: ":", maxSplits: 1)
            guard parts[0].lowercased() == "content-length" else { return nil }
            return parts.count == 2 ? Int(parts[1].drop { $0 == " " }) : nil
        }
        precondition(lengths.count == 1, "no length, or several")
        let body = rest[end.upperBound...].utf8.count
        precondition(body == lengths[0] || body == 0, "\(body) bytes of \(lengths[0])")
    }
}
