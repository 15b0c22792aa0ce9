import AssayHTTP
import AssayIO
import AssayModels
@testable import AssayServer
@testable import AssaySessions
@testable import AssayTelemetry
import TestSupport
import Testing

/// Hostile clients of the HTTP listener: lines 101 and up of the catalogue of hostile input.
@Suite("Hostile HTTP", .ownThread, .serialized, .timeLimit(.minutes(3)))
struct HostileHTTPTests {
    @Test("line 101: malformed requests are answered, and end the connection")
    func malformed() throws {
        try withHTTPServer { test, endpoint in
            for request in HTTPFaults.heads + HTTPFaults.bodies {
                let client = try HTTPClient(endpoint)
                // Earlier requests are still answered, later ones never.
                try client.send(Array(HTTPClient.get("/v1/health").utf8) + request.bytes)
                try client.send(HTTPClient.get("/v1/info"))
                #expect(try client.receive()?.status == 200, "\(request.name)")
                let response = try #require(try client.receive())
                #expect(response.status == request.fault.status, "\(request.name)")
                #expect(response.member("detail") == request.fault.description)
                #expect(response.field("connection") == "close")
                #expect(try client.receive() == nil, "\(request.name)")
            }
            #expect(test.log.count(of: "invalid HTTP request") > 0)
        }
    }

    @Test("line 102: bodies that lie about their length")
    func lyingLengths() throws {
        let token = try Minted.transaction.get()
        let target = "/v1/verify?kind=transaction"
        try withHTTPServer { test, endpoint in
            // Shorter than announced, and then the end of the stream.
            for request in [
                HTTPClient.post(target, token).dropLast(),
                HTTPClient.post(target, token, chunk: 100).dropLast(),
                HTTPClient.post("/v1/verify?kind=app-receipt", [UInt8](repeating: 0, count: 99_999))
                    .dropLast(),
                HTTPClient.post("/v1/verify", json: "{}").dropLast(),
                Array(HTTPClient.get("/v1/health").utf8).dropLast(),
            ] {
                let client = try HTTPClient(endpoint)
                try client.send(Array(request))
                client.socket.finishWriting()
                let response = try #require(try client.receive())
                #expect(response.status == 400 && response.field("connection") == "close")
                #expect(try client.receive() == nil)
            }
            // Longer than announced: the rest is no request.
            let client = try HTTPClient(endpoint)
            try client.send(HTTPClient.post(target, token) + [0x00, 0x41])
            #expect(try client.receive()?.member("verdict") == "VALID")
            #expect(try client.receive()?.status == 400)
            #expect(try client.receive() == nil)
        }
    }

    @Test("line 103: bodies above their limit are refused by their length, or at the limit")
    func largeBodies() throws {
        let text = [UInt8](repeating: 0x41, count: 30_000_000)
        let json = Array("{\"kind\":\"app-receipt\",\"evidence\":\"".utf8) + text
        try withHTTPServer { test, endpoint in
            let announced = try HTTPClient(endpoint)
            try announced.send(
                "POST /v1/verify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    + "Content-Length: \(json.count + 2)\r\n\r\n")
            let early = try announced.receive()
            #expect(early?.status == 413 && early?.field("connection") == "close")
            // The body is not worth reading.
            #expect(try announced.receive() == nil)
            let chunked = try HTTPClient(endpoint)
            // The server closes within the body.
            try? chunked.send(
                HTTPClient.post("/v1/verify", json, type: "application/json", chunk: 65_536))
            let refused = try chunked.receive()
            #expect(refused?.status == 413 && refused?.field("connection") == "close")
            // Longer than any body: not worth reading.
            let endless = try HTTPClient(endpoint)
            try endless.send(
                "POST /v1/verify?kind=app-receipt HTTP/1.1\r\nHost: localhost\r\n"
                    + "Content-Type: application/pkcs7-mime\r\n"
                    + "Content-Length: 999999999999\r\n\r\n")
            let last = try endless.receive()
            #expect(last?.status == 413 && last?.field("connection") == "close")
            #expect(try endless.receive() == nil)
        }
    }

    @Test(
        "line 104: slow heads, slow bodies and idle connections end",
        .enabled(if: TimedTests.areEnabled)
    )
    func slow() throws {
        let starts: [(String, Int?)] = [
            ("GET /v1/hea", 408), (HTTPClient.get("/v1/health").dropLast(2).description, 408),
            (
                "POST /v1/verify?kind=auto HTTP/1.1\r\nHost: localhost\r\n"
                    + "Content-Type: application/jose\r\nContent-Length: 9000\r\n\r\nabc", 408
            ),
            (
                "POST /v1/verify HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                    + "Transfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", 408
            ),
            (
                "POST /v1/verify?kind=app-receipt&timeout=600 HTTP/1.1\r\nHost: localhost\r\n"
                    + "Content-Type: application/pkcs7-mime\r\nContent-Length: 900000\r\n\r\n0", 408
            ),
            (
                "POST /v1/verify?kind=app-receipt&timeout=0.5 HTTP/1.1\r\nHost: localhost\r\n"
                    + "Content-Type: application/pkcs7-mime\r\nContent-Length: 900000\r\n\r\n0", 408
            ),
            // Refused already: no second answer.
            ("POST /v1/none HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000\r\n\r\nabc", 404),
        ]
        try withHTTPServer {
            $0.limits.useDefaultTimeLimits()
        } _: { test, endpoint in
            let clients = try starts.map { start, _ in
                let client = try HTTPClient(endpoint)
                try client.send(start)
                return client
            }
            let idle = try HTTPClient(endpoint)
            try idle.expectHealth()
            test.eventually { $0.connections == clients.count + 1 }
            try test.pass(milliseconds: 6_000)
            for (client, (start, status)) in zip(clients, starts) {
                #expect(try client.receive()?.status == status, "\(start)")
                #expect(try client.receive() == nil, "\(start)")
            }
            try idle.expectHealth()
            try test.pass(milliseconds: 301_000)
            // Without a response, which the client would take for that to its next request.
            #expect(try idle.receive() == nil)
        }
    }

    @Test("line 105: a page of another site, and a name of its choice")
    func sites() throws {
        let cases: [(fields: String, isRemote: Bool, status: Int)] = [
            ("Host: localhost\r\n", false, 200), ("Host: 127.0.0.1:7445\r\n", false, 200),
            ("Host: [::1]:7445\r\n", false, 200), ("Host: LOCALHOST\r\n", false, 200),
            ("Host: evil.example\r\n", false, 403),
            ("Host: localhost.evil.example\r\n", false, 403),
            ("Host: 10.0.0.1\r\n", false, 403), ("Host: known.example:7445\r\n", false, 200),
            ("Host: localhost\r\nOrigin: https://evil.example\r\n", false, 403),
            ("Host: localhost\r\nOrigin: http://localhost\r\n", false, 403),
            ("Host: localhost\r\nOrigin: null\r\n", false, 403),
            ("Host: localhost\r\nOrigin: https://tools.example\r\n", false, 200),
            ("Host: localhost\r\nOrigin: https://tools.example.evil\r\n", false, 403),
            ("Host: localhost\r\nSec-Fetch-Site: cross-site\r\n", false, 403),
            ("Host: localhost\r\nSec-Fetch-Site: same-site\r\n", false, 403),
            ("Host: localhost\r\nSec-Fetch-Site: none\r\n", false, 200),
        ]
        try withHTTPServer {
            $0.http.allowedOrigins = ["https://tools.example"]
            $0.http.hosts = ["known.example"]
        } _: { test, endpoint in
            let client = try HTTPClient(endpoint)
            for (fields, _, status) in cases {
                for (method, body) in [("GET", ""), ("OPTIONS", "")] {
                    let response = try client.ask(
                        "\(method) /v1/info HTTP/1.1\r\n\(fields)\r\n\(body)")
                    let isServed = response.status == 200 || response.status == 204
                    #expect(isServed == (status == 200), "\(method) \(fields)")
                    let origin = response.field("access-control-allow-origin")
                    let isAllowed = fields.contains("https://tools.example\r\n")
                    #expect((origin == "https://tools.example") == isAllowed)
                    #expect((response.field("vary") == "origin") == isAllowed)
                }
            }
            // What a page can post without asking: a form, and text.
            let token = try Minted.transaction.get()
            for type in ["text/plain", "application/x-www-form-urlencoded", "application/jose"] {
                let post = HTTPClient.post(
                    "/v1/verify?kind=transaction", token, type: type,
                    "Origin: https://evil.example\r\n")
                #expect(try client.ask(post).status == 403)
            }
            let allowed = HTTPClient.post(
                "/v1/verify?kind=transaction", token, "Origin: https://tools.example\r\n")
            let response = try client.ask(allowed)
            #expect(response.member("verdict") == "VALID")
            #expect(response.field("access-control-allow-origin") == "https://tools.example")
        }
        // No origin is allowed without configuration, and a listener that other machines reach has
        // any name.
        try withServer {
            $0.listen.append(.http(host: "0.0.0.0", port: 0))
        } _: { test in
            let client = try HTTPClient(test.addresses[2])
            let named = "GET /v1/health HTTP/1.1\r\nHost: any.example\r\n"
            #expect(try client.ask(named + "\r\n").status == 200)
            let page = try client.ask(named + "Origin: https://tools.example\r\n\r\n")
            #expect(page.status == 403)
            #expect(page.field("access-control-allow-origin") == nil)
        }
    }

    @Test("line 106: a client that waits for 100 Continue")
    func expectations() throws {
        let token = try Minted.transaction.get()
        func head(_ target: String, _ fields: String = "") -> String {
            "POST \(target) HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/jose\r\n"
                + "Content-Length: \(token.count)\r\nExpect: 100-continue\r\n\(fields)\r\n"
        }
        try withHTTPServer { test, endpoint in
            let client = try HTTPClient(endpoint)
            for _ in 0..<2 {
                try client.send(head("/v1/verify?kind=transaction"))
                #expect(try client.receive()?.status == 100)
                try client.send(token)
                #expect(try client.receive()?.member("verdict") == "VALID")
            }
            // Behind another request, whose answer comes first.
            try client.send(HTTPClient.get("/v1/health") + head("/v1/verify?kind=transaction"))
            #expect(try client.receive()?.status == 200)
            #expect(try client.receive()?.status == 100)
            try client.send(token)
            #expect(try client.receive()?.member("verdict") == "VALID")
            // A refusal comes instead, and ends the connection: the body possibly never comes.
            try client.send(head("/v1/verify?kind=none"))
            let refused = try client.receive()
            #expect(refused?.status == 400 && refused?.field("connection") == "close")
            #expect(try client.receive() == nil)
        }
    }

    @Test("line 107: refusals have the reasons of frames: memory, drain")
    func refusals() throws {
        let token = try Minted.transaction.get()
        let receipt = try Minted.receipt(bytes: 200_000)
        try withHTTPServer {
            $0.limits.evidenceBytes = 4_000
        } _: { test, endpoint in
            let client = try HTTPClient(endpoint)
            for request in [
                HTTPClient.post("/v1/verify?kind=transaction", token),
                HTTPClient.post("/v1/verify?kind=app-receipt&in-app=all", receipt),
            ] {
                let response = try client.ask(request)
                #expect([413, 429].contains(response.status), "\(response.text)")
                #expect(response.member("code") == "RESOURCE_EXHAUSTED")
                #expect((response.field("retry-after") == nil) == (response.status == 413))
            }
        }
        let clock = HeldBackground()
        let test = try TestServer(heldBy: clock) {
            $0.listen.append(.http(host: "127.0.0.1", port: 0))
        }
        let client = try HTTPClient(test.addresses[2])
        let idle = try HTTPClient(test.addresses[2])
        try client.expectHealth()
        try idle.expectHealth()
        clock.arm()
        try client.send(HTTPClient.post("/v1/verify?kind=transaction&timeout=30", token))
        clock.isHeld.wait()
        test.server.drain()
        // An idle connection ends, one with a request in flight goes on.
        #expect(try idle.receive() == nil)
        try client.send(HTTPClient.post("/v1/verify?kind=transaction", token))
        try client.send(HTTPClient.get("/v1/health"))
        clock.release.open()
        #expect(try client.receive()?.member("verdict") == "VALID")
        let refused = try #require(try client.receive())
        #expect(refused.status == 503 && refused.member("code") == "UNAVAILABLE")
        #expect(refused.field("retry-after") == "1")
        #expect(try client.receive()?.member("status") == "NOT_SERVING")
        #expect(try client.receive() == nil)
        test.server.wait()
    }

    @Test("line 107: an overloaded server answers 429 with Retry-After")
    func overload() throws {
        let clock = HeldBackground()
        let token = try Minted.transaction.get()
        try withHTTPServer(heldBy: clock) {
            $0.limits.queueDelayMilliseconds = 1
            $0.limits.requestsPerSlice = 1
        } _: { test, endpoint in
            let client = try HTTPClient(endpoint)
            try client.expectHealth()
            clock.arm()
            let request = HTTPClient.post("/v1/verify?kind=transaction", token)
            try client.send(request)
            clock.isHeld.wait()
            // The queue of the held worker grows beyond a millisecond.
            var all: [UInt8] = []
            for _ in 0..<500 { all += request }
            let other = try HTTPClient(endpoint)
            try other.send(all)
            // Refusals wait behind a request that was accepted, or were written already.
            test.eventually { $0.unwrittenBytes > 1_000 || other.socket.hasMore(milliseconds: 0) }
            clock.release.open()
            var refused = 0
            for _ in 0..<500 {
                let response = try #require(try other.receive())
                guard response.status != 200 else { continue }
                #expect(response.status == 429)
                // Whole seconds, not fewer than the milliseconds: a slow machine asks for longer.
                let milliseconds = try #require(response.member("retryAfterMs").flatMap { Int($0) })
                #expect(milliseconds > 0)
                #expect(response.field("retry-after") == "\((milliseconds + 999) / 1000)")
                refused += 1
            }
            #expect(refused > 0)
            #expect(try client.receive()?.status == 200)
        }
    }

    @Test("line 108: a client that reads nothing, or that leaves")
    func absentClients() throws {
        let token = try Minted.transaction.get()
        let json =
            "{\"kind\":\"transaction\",\"evidence\":\"\(String(decoding: token, as: UTF8.self))\"}"
        let padded = json.dropLast() + String(repeating: " ", count: 100_000) + "}"
        try withHTTPServer { test, endpoint in
            for round in 0..<20 {
                let client = try HTTPClient(endpoint)
                let requests = [
                    HTTPClient.post("/v1/verify?kind=transaction", token),
                    // Parsed by a worker.
                    HTTPClient.post("/v1/verify", json: String(padded)),
                    HTTPClient.post(
                        "/v1/verify?kind=app-receipt", [UInt8](repeating: 0x30, count: 90_000)),
                ]
                for request in requests { try client.send(request) }
                try client.send(Array(requests[round % 3].prefix(300 + round)))
                if round % 2 == 0 { client.socket.reset() } else { client.socket.close() }
            }
            let client = try HTTPClient(endpoint)
            try client.expectHealth()
            #expect(
                try client.ask(HTTPClient.post("/v1/verify", json: String(padded)))
                    .member("verdict") == "VALID")
            // Info is long: the server stops reading a client that takes none.
            let silent = try HTTPClient(endpoint)
            let info = Array(HTTPClient.get("/v1/info").utf8)
            for _ in 0..<50_000 { try silent.send(info) }
            test.eventually { $0.unwrittenBytes > 256 << 10 }
            #expect(try #require(test.server.heldResources).unwrittenBytes < 1 << 20)
            try client.expectHealth()
            silent.socket.shutDown()
        }
    }
}
