import AssayHTTP
import AssayIO
import Glibc
import TestSupport
import Testing

/// The server of the admin listener and of the local App Store.
@Suite("HTTP server", .timeLimit(.minutes(2)))
struct HTTPServerTests {
    private static let host = "Host: localhost\r\n"
    private static let last = host + "Connection: close\r\n"

    /// Rows: the request, the status, and a text of the answer.
    private static let refused: [(request: String, status: Int, text: String)] = [
        ("GET / HTTP/1.1\r\n\r\n", 400, "no valid Host"),
        ("GET / HTTP/1.1\r\nHost: a b\r\n\r\n", 400, "no valid Host"),
        ("GET / HTTP/2.0\r\n\(host)\r\n", 505, "HTTP/1.1"),
        ("GET / HTTP/1.1\n\(host)\r\n", 400, "LF"),
        ("GET  / HTTP/1.1\r\n\(host)\r\n", 400, "request line"),
        ("\0\u{1}\u{2}", 400, "request line"),
        ("GET / HTTP/1.1\r\n\(host) folded\r\n\r\n", 400, "white space"),
        ("GET / HTTP/1.1\r\n\(host)\(host)\r\n", 400, "occurs twice"),
        (
            "GET /" + String(repeating: "a", count: 9_000) + " HTTP/1.1\r\n\(host)\r\n", 414,
            "target"
        ),
        (
            "GET / HTTP/1.1\r\n\(host)A: " + String(repeating: "a", count: 17_000) + "\r\n\r\n",
            431, "head"
        ),
        (
            "GET / HTTP/1.1\r\n\(host)" + String(repeating: "A: b\r\n", count: 100) + "\r\n", 431,
            "fields"
        ),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: x\r\n\r\n", 400, "Content-Length"),
        (
            "POST / HTTP/1.1\r\n\(host)Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            400, "both"
        ),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: gzip\r\n\r\n", 400, "chunked"),
        ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n5,a=b\r\n", 400, "chunk"),
        (
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n1\r\nab\r\n", 400, "chunk"
        ),
        (
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n0\r\nA: b\r\n\r\n", 400,
            "last chunk"
        ),
        ("GET / HTTP/1.1\r\n\(host)Expect: 200-ok\r\n\r\n", 417, "expectation"),
        ("POST / HTTP/1.1\r\n\(host)Content-Length: 101\r\n\r\n", 413, "limit of 100"),
        (
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n65\r\n", 413,
            "limit of 100"
        ),
        (
            "POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n64\r\n", 413,
            "limit of 100"
        ),
        ("GET / HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421, "localhost"),
        ("GET http://evil.example/ HTTP/1.1\r\n\(host)\r\n", 421, "localhost"),
        ("GET / HTTP/1.1\r\n\(host)Origin: http://evil.example\r\n\r\n", 403, "another site"),
        ("POST / HTTP/1.1\r\n\(host)Sec-Fetch-Site: cross-site\r\n\r\n", 403, "another site"),
        ("GET /head HTTP/1.1\r\nHost: evil.example\r\n\r\n", 421, "localhost"),
    ]

    @Test("what is refused ends the connection, after the answer") func refusals() throws {
        let server = try SmallServer()
        for (request, status, text) in Self.refused {
            // A second request, which is not read.
            for rest in ["", "GET / HTTP/1.1\r\n\(Self.last)\r\n"] {
                let answer = try server.exchange(request + rest)
                #expect(SmallServer.statuses(answer) == [status], "\(request.prefix(80))")
                #expect(answer.contains(text), "\(request.prefix(80)): \(answer)")
                #expect(answer.contains("\r\nConnection: close\r\n"))
            }
        }
        #expect(try server.withSite { $0.answers } == 0)
    }

    /// Rows: the request and the body of the answer; nil if the connection closes without one.
    private static let served: [(request: String, body: String?)] = [
        ("GET / HTTP/1.1\r\n\(last)\r\n", ""), ("GET / HTTP/1.0\r\n\r\n", ""),
        ("\r\nGET /?a=%zz HTTP/1.1\r\n\(last)\r\n", ""),
        ("PATCH / HTTP/1.1\r\n\(last)Content-Length: 3\r\n\r\nabc", "abc"),
        (
            "POST / HTTP/1.1\r\n\(last)Content-Length: 100\r\n\r\n"
                + String(repeating: "b", count: 100), String(repeating: "b", count: 100)
        ),
        (
            "POST / HTTP/1.1\r\n\(last)Transfer-Encoding: chunked\r\n\r\n1\r\na\r\n2\r\nbc\r\n"
                + "0\r\n\r\n", "abc"
        ),
        ("GET /head HTTP/1.1\r\n\(host)\r\n", "head"),
        ("POST /head HTTP/1.1\r\n\(host)Content-Length: 999999999999\r\n\r\nabc", "head"),
        ("HEAD /head HTTP/1.1\r\n\(host)\r\n", ""),
        ("GET / HTTP/1.1\r\n\(last)Origin: http://localhost\r\n\r\n", ""),
        ("GET / HTTP/1.1\r\n\(last)Sec-Fetch-Site: cross-site\r\n\r\n", ""),
    ]

    @Test("what is served does not depend on how it arrives") func servedRequests() throws {
        let server = try SmallServer()
        for (request, body) in Self.served {
            for cut in [1, 7, .max] {
                let answer = try server.exchange(request, cut: cut)
                #expect(SmallServer.statuses(answer) == [200], "\(request): \(answer)")
                #expect(answer.components(after: "\r\n\r\n") == body, "\(request): \(answer)")
            }
        }
    }

    @Test("the fields of an answer") func fields() throws {
        let server = try SmallServer()
        let text = "POST / HTTP/1.1\r\n\(Self.host)Content-Length: 2\r\n\r\nab"
        let answer = try server.exchange(text + "HEAD /large HTTP/1.1\r\n\(Self.last)\r\n")
        let heads = answer.split(separator: "\r\n\r\n")
        let always = "\r\nCache-Control: no-store\r\nX-Content-Type-Options: nosniff"
        let date = try #require(heads[0].split(separator: "\r\n").dropFirst().first)
        #expect(date.hasPrefix("Date: ") && date.hasSuffix(" GMT"))
        #expect(
            heads[0] == "HTTP/1.1 200 OK\r\n\(date)\r\nContent-Type: text/plain; charset=utf-8"
                + "\r\nContent-Length: 2\(always)")
        #expect(heads[1].hasPrefix("abHTTP/1.1 200 OK\r\nDate: "))
        #expect(heads[1].hasSuffix("Content-Length: 262144\(always)\r\nConnection: close"))
    }

    @Test("a client that waits for 100 Continue gets it once, and not with a refusal")
    func interim() throws {
        let server = try SmallServer()
        let fields = "\(Self.last)Expect: 100-continue\r\n"
        for (length, statuses) in [(3, [100, 200]), (101, [413]), (0, [200])] {
            let body = String(repeating: "a", count: length == 3 ? 3 : 0)
            let text = "POST / HTTP/1.1\r\n\(fields)Content-Length: \(length)\r\n\r\n\(body)"
            #expect(SmallServer.statuses(try server.exchange(text)) == statuses, "\(length)")
        }
    }

    @Test("a server whose connections carry one request") func oneRequest() throws {
        let server = try SmallServer { $0.keepsAlive = false }
        let text = "GET / HTTP/1.1\r\n\(Self.host)\r\n"
        let answer = try server.exchange(text + text)
        #expect(SmallServer.statuses(answer) == [200])
        #expect(answer.contains("\r\nConnection: close\r\n"))
    }

    @Test("a reply answers its own request, once") func replies() throws {
        let server = try SmallServer()
        let held = "GET /held HTTP/1.1\r\n\(Self.host)\r\n"
        let client = try server.client()
        try client.send(Array((held + held).utf8))
        try server.waitForHeld(1)
        func send(_ index: Int, _ text: String) throws -> Bool {
            try server.withSite { site in
                defer { site.held[index].send(HTTPResponse(200, body: Array(text.utf8))) }
                return site.held[index].isOpen
            }
        }
        #expect(try send(0, "first"))
        try server.waitForHeld(2)
        #expect(try !send(0, "again"))
        #expect(try send(1, "second"))
        client.finishWriting()
        let text = String(decoding: try client.receiveToEnd(), as: UTF8.self)
        #expect(SmallServer.statuses(text) == [200, 200])
        #expect(text.contains("first") && text.hasSuffix("second") && !text.contains("again"))
        // The connection has closed.
        #expect(try !send(1, "late"))
    }

    @Test("a client that leaves while its answer is prepared") func leaving() throws {
        let server = try SmallServer { $0.connections = 1 }
        let client = try server.client()
        try client.send(Array("GET /held HTTP/1.1\r\n\(Self.host)\r\n".utf8))
        try server.waitForHeld(1)
        client.reset()
        try server.withSite { $0.held[0].send(HTTPResponse(200, body: [])) }
        let answer = try server.exchange("GET / HTTP/1.1\r\n\(Self.last)\r\n")
        #expect(SmallServer.statuses(answer) == [200])
    }
}

extension String {
    /// The text after the first occurrence of a separator.
    fileprivate func components(after separator: String) -> String? {
        firstRange(of: separator).map { String(self[$0.upperBound...]) }
    }
}
