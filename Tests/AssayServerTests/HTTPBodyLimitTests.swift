@testable import AssayIO
import AssayModels
@testable import AssayServer
@testable import AssayService
@testable import AssaySessions
@testable import AssayTelemetry
import AssayWire
import TestSupport
import Testing

/// What a client sends to the HTTP listener is bounded, counted and shared before it is parsed:
/// lines 111 to 115 of the catalogue of hostile input.
@Suite("HTTP bodies", .ownThread, .serialized, .timeLimit(.minutes(3)))
struct HTTPBodyLimitTests {
    private static func wait(_ client: HTTPClient, _ status: Int) throws {
        #expect(try client.receive()?.status == status)
    }

    // MARK: Collecting

    @Test("line 111: collecting copies a body twice at most, however small its parts are")
    func collecting() {
        let size = 4 << 20
        let tiny = [size - 40_000] + [Int](repeating: 1, count: 40_000)
        for (parts, most) in [([size], 1), (tiny, 2)] {
            var collected = CollectedBytes(pool: SlabPool())
            for part in parts {
                collected.append([UInt8](repeating: 7, count: part).span, limit: size)
            }
            #expect(collected.count == size && collected.heldCount == size)
            #expect(collected.copiedCount <= 2 * size && collected.allocations == most)
            #expect(collected.take()?.count == size)
            #expect(collected.isEmpty && collected.heldCount == 0 && collected.take() == nil)
        }
        // From nothing, by one byte at a time.
        var collected = CollectedBytes(pool: SlabPool())
        for index in 0..<40_000 {
            collected.append([UInt8(truncatingIfNeeded: index)].span, limit: size)
        }
        #expect(collected.copiedCount < 3 * 40_000 && collected.allocations == 7)
        let bytes = collected.take()?.array
        #expect(bytes == (0..<40_000).map { UInt8(truncatingIfNeeded: $0) })
    }

    @Test("line 111: a body of one large chunk and thousands of one byte")
    func tinyChunks() throws {
        let token = try Minted.transaction.get()
        let text = String(decoding: token, as: UTF8.self)
        let json = Array(#"{"kind":"transaction","evidence":"\#(text)""#.utf8)
        let space = [UInt8](repeating: 0x20, count: 400_000)
        try withHTTPServer { test, endpoint in
            var body = HTTPClient.post(
                "/v1/verify", json + space, type: "application/json", chunk: 500_000)
            body.removeLast(5)
            for byte in [UInt8](repeating: 0x20, count: 4_000) + Array("}".utf8) {
                body += Array("1\r\n".utf8) + [byte, 13, 10]
            }
            let client = try HTTPClient(endpoint)
            try client.send(body + Array("0\r\n\r\n".utf8))
            #expect(try client.receive()?.member("verdict") == "VALID")
            test.eventually { $0.bufferedBytes == 0 && $0.evidenceBytes == 0 }
        }
    }

    // MARK: Members

    private static func list(_ count: Int, _ element: (Int) -> String) -> String {
        (0..<count).map(element).joined(separator: ",")
    }

    @Test("line 113: numbers of members have limits, above which the body is refused")
    func members() throws {
        let token = String(decoding: try Minted.transaction.get(), as: UTF8.self)
        func verify(_ expectations: String) -> String {
            #"{"kind":"transaction","evidence":"\#(token)","expectations":{\#(expectations)}}"#
        }
        func products(_ count: Int) -> String {
            verify(#""productIds":[\#(Self.list(count) { "\"p\($0)\"" })]"#)
        }
        func environments(_ count: Int) -> String {
            verify(#""environments":[\#(Self.list(count) { _ in "\"Sandbox\"" })]"#)
        }
        func resolve(_ items: String, durations count: Int = 0) -> String {
            #"{"items":[\#(items)],"policy":{"durationsMs":{"#
                + Self.list(count) { #""p\#($0)":1"# } + "}}}"
        }
        let item = #"{"evidence":"\#(token)"}"#
        let few = ServerLimits.products
        let many = Self.list(ServerLimits.jsonValues) { _ in "0" }
        let table: [(path: String, json: String, detail: String?)] = [
            ("/v1/verify", products(few), nil),
            ("/v1/verify", products(few + 1), "productIds has 2049 elements; the limit is 2048"),
            ("/v1/verify", environments(16), nil),
            ("/v1/verify", environments(17), "environments has 17 elements; the limit is 16"),
            ("/v1/entitlements", resolve(item, durations: few), nil),
            (
                "/v1/entitlements", resolve(item, durations: few + 1),
                "durationsMs has 2049 members; the limit is 2048"
            ),
            ("/v1/entitlements", resolve(item + "," + item), nil),
            (
                "/v1/entitlements", resolve(item + "," + item + "," + item),
                "items has 3 elements; the limit is 2"
            ),
            (
                "/v1/verify", verify(#""productIds":[\#(many)]"#),
                "the body has more than 100000 JSON names and values"
            ),
        ]
        try withHTTPServer {
            $0.limits.resolveItems = 2
        } _: { test, endpoint in
            let client = try HTTPClient(endpoint)
            for (path, json, detail) in table {
                let answer = try client.ask(HTTPClient.post(path, json: json))
                #expect(answer.status == (detail == nil ? 200 : 400), "\(answer.text)")
                if let detail { #expect(answer.member("detail") == detail) }
            }
            // Apple's endpoint ignores other members, but not their number.
            let ignored = #"{"receipt-data":"MA==","other":[\#(many)]}"#
            let apple = try client.ask(HTTPClient.post("/verifyReceipt", json: ignored))
            #expect(apple.member("detail")?.contains("100000") == true, "\(apple.text)")
            test.eventually { $0.bufferedBytes == 0 && $0.evidenceBytes == 0 }
        }
    }

    @Test("line 113: product ids and durations of a Resolve count while it is in flight")
    func costOfCall() {
        var call = ResolveCall(items: [])
        #expect(RequestCost.call(call) == .none)
        let long = String(repeating: "p", count: 1_000)
        call.expectations.productIds = [long, long, long]
        let products = RequestCost.call(call).bytes
        #expect((3_000...3_500).contains(products))
        call.policy.durations = [String(repeating: "q", count: 9_000): 1]
        #expect((products + 9_000...products + 9_500).contains(RequestCost.call(call).bytes))
    }

    // MARK: Fetch

    @Test("line 112: a fetch is refused by its head where nobody can fetch, or its body is large")
    func fetchBodies() throws {
        func head(_ length: String) -> String {
            "POST /v1/fetch HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
                + "\(length)\r\n\r\n"
        }
        let limit = ServerLimits.fetchEvidenceBytes
        let json = Array(#"{"transactionId":"1"}"#.utf8)
        func padded(_ count: Int) -> [UInt8] {
            json + [UInt8](repeating: 0x20, count: count - json.count)
        }
        // The answer comes without the body.
        try withHTTPServer { _, endpoint in
            for length in ["Content-Length: \(limit)", "Transfer-Encoding: chunked"] {
                let client = try HTTPClient(endpoint)
                try client.send(head(length))
                let answer = try client.receive()
                #expect(answer?.status == 500, "\(answer?.text ?? "")")
                #expect(answer?.member("code") == "FAILED_PRECONDITION")
            }
        }
        let fetcher = ScriptedFetcher(ScriptedFetcher.answer)
        try withHTTPServer {
            $0.ask(fetcher)
        } _: { _, endpoint in
            let large = try HTTPClient(endpoint)
            try large.send(head("Content-Length: \(limit + 1)"))
            try Self.wait(large, 413)
            let chunked = try HTTPClient(endpoint)
            try chunked.send(
                HTTPClient.post(
                    "/v1/fetch", padded(limit + 1), type: "application/json", chunk: 9_999))
            try Self.wait(chunked, 413)
            #expect(try chunked.receive() == nil)
            for chunk in [limit, 9_999] {
                let request = HTTPClient.post(
                    "/v1/fetch", padded(limit), type: "application/json", chunk: chunk)
                #expect(try HTTPClient(endpoint).ask(request).status == 200)
            }
        }
        #expect(fetcher.asked.count == 2)
    }

    // MARK: Memory

    @Test(
        "line 114: bodies get half of the memory, and silent ones give way",
        arguments: [false, true])
    func withheldBytes(isChunked: Bool) throws {
        let token = try Minted.transaction.get()
        let body = [UInt8](repeating: 0x20, count: 500_000)
        try withHTTPServer {
            $0.limits.evidenceBytes = 8 << 20
            $0.limits.frameGraceMilliseconds = 60_000
        } _: { test, endpoint in
            var clients: [HTTPClient] = []
            for _ in 0..<12 {
                let request =
                    isChunked
                    ? HTTPClient.post("/v1/verify", body, type: "application/json", chunk: 90_000)
                        .dropLast(5)
                    : HTTPClient.post("/v1/verify", body, type: "application/json")
                let client = try HTTPClient(endpoint)
                try client.send(Array(request.dropLast()))
                clients.append(client)
            }
            // At once: later, slow ones give way.
            test.simulated.runUntilIdle()
            #expect(test.server.metrics?.refused(.overloaded) ?? 0 >= 2)
            let half = 4 << 20
            // The one that exceeds the half has read no more than its socket had.
            #expect(test.simulated.heldResources.bufferedBytes < half + body.count)
            let honest = try HTTPClient(endpoint)
            #expect(
                try honest.ask(HTTPClient.post("/v1/verify?kind=transaction", token))
                    .member("verdict") == "VALID")
            for _ in 0..<3 { try test.pass(milliseconds: 1_100) }
            test.eventually { $0.bufferedBytes <= half / 4 * 3 + body.count }
            // The slow ones got an answer.
            var refused = 0
            for client in clients {
                client.socket.finishWriting()
                let status = try client.receive()?.status
                #expect([400, 429].contains(status))
                if status == 429 { refused += 1 }
            }
            #expect(refused >= 5)
            test.eventually { $0.bufferedBytes == 0 }
        }
    }

    @Test("line 114: a body is not parsed without memory for its parsed form")
    func parsedForm() throws {
        let json = [UInt8](repeating: 0x20, count: 60_000)
        try withHTTPServer {
            $0.limits.evidenceBytes = 1 << 20
        } _: { test, endpoint in
            let client = try HTTPClient(endpoint)
            let answer = try client.ask(
                HTTPClient.post("/v1/verify", json, type: "application/json"))
            #expect(answer.status == 413 && answer.member("code") == "RESOURCE_EXHAUSTED")
            try client.expectHealth()
            #expect(test.server.heldResources?.bufferedBytes == 0)
        }
    }

    @Test("line 114: the shares of bodies in the budget")
    func budget() {
        let budget = Budget(sharing: SharedBudget(limit: 8 << 20, workers: 1))
        #expect(budget.admits(bodyOf: 1 << 20) && !budget.isLow)
        budget.give(body: 3 << 20)
        #expect(budget.held == 3 << 20 && !budget.isLow)
        (budget.buffered, budget.collected) = (1 << 20, 1 << 20)
        #expect(budget.isLow && budget.admits(bodyOf: 1 << 20))
        budget.buffered += 1
        budget.collected += 1
        #expect(!budget.admits(bodyOf: 64 << 10 + 1) && budget.admits(bodyOf: 64 << 10))
        budget.give(parsed: 4 << 20)
        #expect(budget.isFull && !budget.admits(bodyOf: 1))
        budget.takeBack(parsed: 4 << 20)
        budget.takeBack(body: 3 << 20)
        #expect(budget.held == 1 << 20 + 1 && budget.admits(bodyOf: 1 << 20))
    }

    @Test("the rate of an arrival is measured by the second")
    func rates() {
        var rate = ArrivalRate(at: 1_000)
        rate.measure(4 << 20, at: 1_999)
        #expect(rate.bytesPerSecond == nil && rate.slow == nil)
        rate.measure(4 << 20, at: 2_000)
        #expect(rate.bytesPerSecond == 4 << 20 && rate.slow == nil)
        rate.measure(4 << 20, at: 2_500)
        #expect(rate.slow == nil)
        rate.measure(4 << 20 + 100, at: 3_000)
        #expect(rate.slow == 100)
    }

    // MARK: Order

    @Test("line 113: short bodies are parsed before long ones, which get every fourth turn")
    func order() {
        let peer = ParseOrder<String>.Peer()
        let short = ParseOrder<String>.shortBytes
        var order = ParseOrder<String>()
        for index in 1...3 { order.add("long \(index)", bytes: short + 1, of: peer) }
        for index in 1...5 { order.add("\(index)", bytes: short, of: peer) }
        var taken: [String] = []
        while let job = order.next() { taken.append(job) }
        #expect(taken == ["1", "2", "3", "long 1", "4", "5", "long 2", "long 3"])
        #expect(order.isEmpty)
        order.add("6", bytes: 1, of: peer)
        #expect(order.next() == "6" && order.next() == nil)
    }

    @Test("line 113: a client with many bodies does not delay the body of another one")
    func orderOfClients() {
        let (many, one) = (ParseOrder<String>.Peer(), ParseOrder<String>.Peer())
        for bytes in [1_000, ParseOrder<String>.shortBytes + 1] {
            var order = ParseOrder<String>()
            for index in 1...100 { order.add("\(index)", bytes: bytes, of: many) }
            order.add("other", bytes: bytes, of: one)
            var before = 0
            while let job = order.next(), job != "other" { before += 1 }
            // At most one round of short ones.
            #expect(before <= max(ParseOrder<String>.shortBytes / bytes, 1), "\(bytes)")
            while order.next() != nil {}
        }
    }

    @Test("line 113: pipelined bodies of one connection are parsed one after the other")
    func pipelined() throws {
        let token = String(decoding: try Minted.transaction.get(), as: UTF8.self)
        let padding = String(repeating: " ", count: 20_000)
        let json = #"{"kind":"transaction","evidence":"\#(token)"\#(padding)}"#
        try withHTTPServer { test, endpoint in
            let client = try HTTPClient(endpoint)
            let request = HTTPClient.post("/v1/verify", json: json)
            try client.send(Array(repeatElement(request, count: 9).joined()))
            for _ in 0..<9 { #expect(try client.receive()?.member("verdict") == "VALID") }
            // One that has closed meanwhile is not waited for.
            let gone = try HTTPClient(endpoint)
            try gone.send(request)
            gone.socket.reset()
            test.eventually { $0.connections == 1 && $0.bufferedBytes == 0 }
            try client.expectHealth()
        }
    }

    // MARK: Turns

    @Test("line 115: heads and JSON count by their size in the work of a turn")
    func work() {
        #expect(Work.request(headBytes: 200).requests == 1)
        #expect(Work.request(headBytes: 15 << 10).requests == 61)
        #expect(Work.json(Array("{\"a\":1,\"b\":2}".utf8).span).requests == 0)
        let zeros = Array("[\(Self.list(4_096) { _ in "0" })]".utf8)
        #expect(Work.json(zeros.span).requests == 128)
        // A byte names a field of the table, which is then checked.
        for (frames, sent, decoded, requests) in [
            (1, 20, 40, 1), (8, 20, 40, 2), (1, 2_560, 100, 11), (1, 20, 5_120, 11),
        ] {
            let work = Work.step(frames: frames, fieldBytes: sent, decoded: decoded)
            #expect(work.requests == requests, "\(frames), \(sent), \(decoded)")
        }
    }

    @Test("line 115: a refused body is read up to 4 MiB, then the connection ends")
    func refusedBodies() throws {
        let head = "POST /v1/none HTTP/1.1\r\nHost: localhost\r\n"
        let limit = ServerLimits.refusedBodyBytes
        try withHTTPServer { _, endpoint in
            let known = try HTTPClient(endpoint)
            try known.send("\(head)Content-Length: \(limit)\r\n\r\n")
            try Self.wait(known, 404)
            try known.send([UInt8](repeating: 0, count: limit))
            try known.expectHealth()
            try known.send("\(head)Content-Length: \(limit + 1)\r\n\r\n")
            let last = try known.receive()
            #expect(last?.status == 404 && last?.field("connection") == "close")
            #expect(try known.receive() == nil)
            let chunked = try HTTPClient(endpoint)
            try chunked.send("\(head)Transfer-Encoding: chunked\r\n\r\n")
            try Self.wait(chunked, 404)
            let chunk = Array("10000\r\n".utf8) + [UInt8](repeating: 0, count: 65_536) + [13, 10]
            for _ in 0..<60 { try chunked.send(chunk) }
            try chunked.send(Array("0\r\n\r\n".utf8))
            try chunked.expectHealth()
            try chunked.send("\(head)Transfer-Encoding: chunked\r\n\r\n")
            try Self.wait(chunked, 404)
            // Its end is not read any more.
            for _ in 0..<65 { try? chunked.send(chunk) }
            do {
                #expect(try chunked.receive() == nil)
            } catch {
                #expect("\(error)".contains("reset"))
            }
        }
    }
}
