import AssayHTTP
import AssayIO
import Glibc
import TestSupport
import Testing

/// Clients that cost the server of the admin listener and of the local App Store time or memory.
@Suite("Hostile: HTTP server", .timeLimit(.minutes(2)))
struct HostileHTTPServerTests {
    private static let host = "Host: localhost\r\n"
    private static let simple = "GET / HTTP/1.1\r\n\(host)\r\n"
    private static let last = "GET / HTTP/1.1\r\n\(host)Connection: close\r\n\r\n"

    /// Rows: the first bytes, milliseconds between further ones, and the time at which the
    /// connection closes.
    @Test(
        "136: a silent or slow client has a time limit",
        arguments: [
            ("", 0, 5_000), ("GET / HTTP/1.1\r\nX: ", 0, 5_000),
            ("GET / HTTP/1.1\r\nX: ", 2_000, 10_000),
            ("POST / HTTP/1.1\r\n\(host)Content-Length: 90\r\n\r\n", 0, 5_000),
            ("POST / HTTP/1.1\r\n\(host)Content-Length: 90\r\n\r\n", 2_000, 10_000),
            ("POST / HTTP/1.1\r\n\(host)Transfer-Encoding: chunked\r\n\r\n5a\r\n", 2_000, 10_000),
        ])
    func slow(text: String, interval: Int, limit: Int) throws {
        let server = try SmallServer()
        let client = try server.client()
        // The server has accepted the connection, and read its bytes, once it serves a later one.
        func serveAnother() throws { _ = try server.exchange(Self.last) }
        try client.send(Array(text.utf8))
        try serveAnother()
        var time = 0
        while interval > 0, time + interval < limit {
            try server.advance(milliseconds: UInt64(interval))
            time += interval
            try client.send([0x61])
            try serveAnother()
        }
        try server.advance(milliseconds: UInt64(limit - time))
        #expect(!client.hasMore(milliseconds: 0), "the limit is not over")
        try server.advance(milliseconds: 1)
        #expect(try client.receiveToEnd().isEmpty)
    }

    @Test("136: a client that does not read its answer has a time limit") func unread() throws {
        let server = try SmallServer()
        for fields in ["", "Connection: close\r\n"] {
            let client = try server.client(receiveBuffer: 4_096)
            let text = "GET /large HTTP/1.1\r\n\(Self.host)\(fields)\r\n"
            // More than the system's buffers take.
            try client.send(Array(String(repeating: text, count: 64).utf8))
            _ = try server.exchange(Self.last)
            try server.advance(milliseconds: 10_001)
            var received = 0
            // The close is a reset if the server has bytes that it did not read.
            while let bytes = try? client.receive(upTo: 64 << 10), !bytes.isEmpty {
                received += bytes.count
            }
            #expect(received < 64 * 256 << 10)
        }
    }

    @Test("136: while an answer is prepared, no limit counts") func held() throws {
        let server = try SmallServer()
        let client = try server.client()
        try client.send(Array("GET /held HTTP/1.1\r\n\(Self.host)\r\n".utf8))
        try server.waitForHeld(1)
        try server.advance(milliseconds: 1_000_000)
        #expect(!client.hasMore(milliseconds: 0))
        try server.withSite { $0.held[0].send(HTTPResponse(200, body: [0x61])) }
        client.finishWriting()
        let text = String(decoding: try client.receiveToEnd(), as: UTF8.self)
        #expect(SmallServer.statuses(text) == [200])
    }

    @Test("136: no more requests are read than answers are") func pipelining() throws {
        let server = try SmallServer()
        let client = try server.client(receiveBuffer: 4_096)
        let count = 100
        let request = "GET /large HTTP/1.1\r\n\(Self.host)\r\n"
        try client.send(Array(String(repeating: request, count: count - 1).utf8))
        _ = try server.exchange(Self.last)
        // The system's buffers take some.
        let answered = try server.withSite { $0.answers }
        #expect((2..<count / 2).contains(answered), "\(answered) answers for a client that sleeps")
        try client.send(Array(Self.last.utf8))
        let text = String(decoding: try client.receiveToEnd(), as: UTF8.self)
        #expect(SmallServer.statuses(text).count == count)
    }

    @Test("136: connections above the limit wait") func connections() throws {
        let server = try SmallServer { $0.connections = 2 }
        let open = [try server.client(), try server.client()]
        let waiting = try server.client()
        try waiting.send(Array(Self.last.utf8))
        #expect(!waiting.hasMore(milliseconds: 100))
        open[0].close()
        let text = String(decoding: try waiting.receiveToEnd(), as: UTF8.self)
        #expect(SmallServer.statuses(text) == [200])
        try open[1].send(Array(Self.last.utf8))
        #expect(try !open[1].receiveToEnd().isEmpty)
    }

    @Test("136: bodies above the limit are refused, and a close makes place for another")
    func bodies() throws {
        let server = try SmallServer { $0.bodies = 2 }
        let head = "POST / HTTP/1.1\r\n\(Self.host)Connection: close\r\nContent-Length: 3\r\n\r\n"
        let arriving = [try server.client(), try server.client()]
        for client in arriving { try client.send(Array((head + "a").utf8)) }
        _ = try server.exchange(Self.last)
        let busy = try server.exchange(head)
        #expect(SmallServer.statuses(busy) == [503])
        #expect(busy.contains("\r\nRetry-After: 1\r\n"))
        // A request without a body is served.
        #expect(SmallServer.statuses(try server.exchange(Self.last)) == [200])
        arriving[0].close()
        _ = try server.exchange(Self.last)
        let third = try server.client()
        try third.send(Array((head + "ab").utf8))
        _ = try server.exchange(Self.last)
        #expect(SmallServer.statuses(try server.exchange(head)) == [503])
        for (client, rest) in [(arriving[1], "bc"), (third, "c")] {
            try client.send(Array(rest.utf8))
            let text = String(decoding: try client.receiveToEnd(), as: UTF8.self)
            #expect(text.hasSuffix("abc"))
        }
        #expect(SmallServer.statuses(try server.exchange(head + "abc")) == [200])
    }

    @Test("136: a client that sends on after a refusal gets the answer, and is cut off")
    func endless() throws {
        let server = try SmallServer()
        let head = "POST / HTTP/1.1\r\n\(Self.host)Content-Length: 999999999999\r\n\r\n"
        let part = [UInt8](repeating: 0x61, count: 1 << 20)
        let short = try server.client()
        try short.send(Array(head.utf8))
        for _ in 0..<8 { try short.send(part) }
        #expect(AdminTest.answer(try short.receiveToEnd()).status == 413)
        let endless = try server.client()
        try endless.send(Array(head.utf8))
        #expect((0..<64).contains { _ in (try? endless.send(part)) == nil })
    }
}
