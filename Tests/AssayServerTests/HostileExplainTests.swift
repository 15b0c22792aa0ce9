import AssayAdmin
import AssayHTTP
import AssayIO
import AssayMint
import AssayModels
import AssayServer
import Synchronization
import TestSupport
import Testing

/// Pages that take long, and forms that are made to: the listener answers probes meanwhile.
@Suite("Hostile: explain", .ownThread, .serialized, .timeLimit(.minutes(3)))
struct HostileExplainTests {
    /// Holds each page until the test lets it go on.
    private struct HeldSite: AdminPages {
        let site: AdminSite
        let begun: Semaphore
        let mayEnd: Semaphore

        func bodyLimit(of request: HTTPRequest) -> Int? { site.bodyLimit(of: request) }

        func answer(_ request: HTTPRequest) -> HTTPResponse {
            if request.body != nil {
                begun.signal()
                mayEnd.wait()
            }
            return site.answer(request)
        }
    }

    private static func form(_ contents: [[UInt8]]) -> [UInt8] {
        var form: [UInt8] = []
        for content in contents {
            form += Array("--x\r\nContent-Disposition: form-data; name=\"evidence\"\r\n\r\n".utf8)
            form += content + [13, 10]
        }
        form += Array("--x\r\nContent-Disposition: form-data; name=\"app\"\r\n\r\ngame\r\n".utf8)
        return form + Array("--x--\r\n".utf8)
    }

    private static func post(_ admin: AdminTest, _ form: [UInt8]) throws -> BlockingClient {
        let client = try BlockingClient(admin.admin.endpoint)
        let head =
            "POST /explain HTTP/1.1\r\nHost: localhost\r\n"
            + "Content-Type: multipart/form-data; boundary=x\r\n"
            + "Content-Length: \(form.count)\r\n\r\n"
        try client.send(Array(head.utf8) + form)
        return client
    }

    @Test("130: probes are answered while a page is made; a second page is refused")
    func probes() throws {
        let (begun, mayEnd) = (try Semaphore(), try Semaphore())
        let admin = try AdminTest(
            explains: true, around: { HeldSite(site: $0, begun: begun, mayEnd: mayEnd) })
        defer { admin.end() }
        let form = Self.form([try Minted.transaction.get()])
        let client = try Self.post(admin, form)
        begun.wait()
        for path in ["/healthz", "/readyz", "/metrics", "/status", "/explain"] {
            #expect(admin.get(path).status == 200, "\(path)")
        }
        let second = AdminTest.answer(try Self.post(admin, form).receiveToEnd())
        #expect(second.status == 503 && second.head.contains("\r\nRetry-After: 1"), "\(second)")
        mayEnd.signal()
        let first = AdminTest.answer(try client.receiveToEnd())
        #expect(first.status == 200 && first.body.contains(">VALID</span>"))

        // A client that leaves does not keep the next one out, nor does one whose time is over.
        let left = try Self.post(admin, form)
        begun.wait()
        left.reset()
        #expect(admin.get("/healthz").status == 200)
        mayEnd.signal()
        mayEnd.signal()
        try admin.eventually {
            let answer = AdminTest.answer(try Self.post(admin, form).receiveToEnd())
            return answer.status == 200
        }
    }

    @Test("130: a stop waits for the page that is being made, and the client has it") func stop()
        throws
    {
        let (begun, mayEnd) = (try Semaphore(), try Semaphore())
        let admin = try AdminTest(
            explains: true, around: { HeldSite(site: $0, begun: begun, mayEnd: mayEnd) })
        let client = try Self.post(admin, Self.form([try Minted.transaction.get()]))
        begun.wait()
        mayEnd.signal()
        admin.end()
        let rest = (try? client.receiveToEnd()) ?? []
        #expect([0, 200].contains(AdminTest.answer(rest).status))
    }

    @Test("130: a page takes no further item when its time is over") func time() throws {
        let admin = try AdminTest()
        defer { admin.end() }
        // Each reading of the clock is a second later, and a page reads it once an item.
        let clock = Atomic<UInt64>(0)
        let site = AdminSite(monitor: admin.monitor, explains: true) {
            clock.add(1_000_000_000, ordering: .relaxed).newValue
        }
        admin.eventually { admin.monitor.latest != nil }
        let token = try Minted.transaction.get() + [10]
        var request = HTTPRequest(method: .post, path: "/explain")
        request.contentType = "multipart/form-data; boundary=x"
        request.body = Self.form([(0..<20).flatMap { _ in token }])
        let answer = site.answer(request)
        let page = String(decoding: answer.body, as: UTF8.self)
        #expect(answer.status == 200)
        #expect(page.contains("<p>15 more items are left out: a page shows at most 32"), "\(page)")
        #expect(page.contains("5. pasted:5") && !page.contains("6. pasted:6"))
    }

    @Test("130: no more items of a text are kept than a page explains") func sources() throws {
        let token = Array("ey.a.b\n".utf8)
        let table: [(text: [UInt8], items: Int, omitted: Int)] = [
            ([], 0, 0), (Array(" \r\n ".utf8), 0, 0), (token, 1, 0), (token + token, 2, 0),
            (token + Array("x\n".utf8) + token, 1, 0), (Array("x\ny".utf8), 1, 0),
            ((0..<100).flatMap { _ in token }, 32, 68),
            ([0x30] + (0..<100).flatMap { _ in token }, 1, 0),
            (Array(repeating: [0x61, 0x0A], count: 1_000).flatMap(\.self), 1, 0),
        ]
        for (text, items, omitted) in table {
            var sources = ExplanationSources()
            sources.add(text[...], label: "a")
            #expect(sources.items.count == items, "\(text.count)")
            #expect(sources.omitted == omitted, "\(text.count)")
            sources.add(text[...], label: "b")
            #expect(sources.items.count == min(32, 2 * items), "\(text.count)")
        }
        var sources = ExplanationSources()
        sources.add((token + token + [10, 32] + token)[...], label: "a")
        #expect(sources.items.map(\.label) == ["a:1", "a:2", "a:3"])
        #expect(sources.items.allSatisfy { $0.evidence == Array(token.dropLast()) })
    }
}
