import AssayEntitlements
import AssayModels
import AssayServer
import AssayWire
import TestSupport
import Testing

/// One client that asks for more fetches than its share, or leaves before they are answered.
@Suite("Shares of fetches", .ownThread, .serialized, .timeLimit(.minutes(3)))
struct FetchShareTests {
    @Test("line 126: a connection's first fetch is accepted while fewer than the limit have one")
    func shares() throws {
        let held = HeldFetches()
        let fetcher = held.fetcher
        try withServer {
            $0.ask(fetcher)
            $0.limits.fetches = 8
        } _: { test in
            defer { held.release() }
            // Each takes what it gets: a half, then a half of the rest.
            var clients: [RawClient] = []
            var running = 0
            for accepted in [4, 2, 1, 1, 0] {
                let client = try RawClient(test.unix)
                clients.append(client)
                for id in 1...8 as ClosedRange<UInt64> { try client.send(RawClient.fetch(id)) }
                for _ in 0..<8 - accepted {
                    #expect(try client.receive()?.head.status == .resourceExhausted)
                }
                running += accepted
                test.eventually { $0.fetches == running }
            }
        }
    }

    @Test("line 126: a client of HTTP that ends its writing cancels its fetches at once")
    func leftByHTTP() throws {
        let held = HeldFetches()
        let fetcher = held.fetcher
        try withHTTPServer {
            $0.ask(fetcher)
            $0.limits.fetches = 1
        } _: { test, endpoint in
            for count in 1...3 {
                let client = try HTTPClient(endpoint)
                try client.send(HTTPClient.post("/v1/fetch", json: #"{"transactionId":"1"}"#))
                test.eventually { $0.fetches == 1 && $0.requestsInFlight == 1 }
                client.socket.finishWriting()
                let answer = try #require(try client.receive())
                #expect(answer.status == 500 && answer.member("code") == "CANCELLED")
                #expect(try client.receive() == nil)
                test.eventually { $0.fetches == 0 }
                #expect(held.cancelled == count)
            }
        }
    }

    @Test("line 126: a client of frames that ends its writing gets its answer, or gives way")
    func leftByFrames() throws {
        let held = HeldFetches()
        let fetcher = held.fetcher
        try withServer {
            $0.ask(fetcher)
            $0.limits.fetches = 3
            // The oldest is a worker's own.
            $0.workers = 1
        } _: { test in
            defer { held.release() }
            let half = try (1...3 as ClosedRange<UInt64>).map { id in
                let client = try RawClient(test.unix)
                try client.send(RawClient.fetch(id))
                test.eventually { $0.fetches == Int(id) }
                client.socket.finishWriting()
                return client
            }
            let other = try RawClient(test.unix)
            // The end of the third is read before the other's next request.
            try other.expectPong()
            try other.send(RawClient.fetch(4))
            let oldest = try half[0].receive()?.head
            #expect(oldest?.id == 1 && oldest?.status == .resourceExhausted)
            test.eventually { $0.requestsInFlight == 3 }
            held.release()
            try half[1].expectAnswers(2...2)
            try half[2].expectAnswers(3...3)
            try other.expectAnswers(4...4)
            #expect(try half[1].receive() == nil)
        }
    }

    @Test("line 126: a fetch reserves memory as its answers arrive, all a quarter of the limit")
    func memory() throws {
        let held = HeldFetches()
        let held64 = 64 << 10
        let fetcher = ScriptedFetcher { question async throws(FetchError) in
            let bytes = Int(question.query.transactionId) ?? 0
            for part in [0, bytes / 2, bytes] {
                guard await question.hold(part) else { throw FetchError(.cancelled, "no memory") }
            }
            try await held.wait()
            return try ScriptedFetcher.answer(question)
        }
        let token = try Minted.transaction.get()
        try withServer {
            $0.ask(fetcher)
            $0.limits.evidenceBytes = 64 * held64
        } _: { test in
            defer { held.release() }
            let client = try RawClient(test.unix)
            func bytes() -> Int { test.server.heldResources?.evidenceBytes ?? 0 }
            try client.send(RawClient.fetch(1, FetchCall(of: "1")))
            test.eventually { $0.fetches == 1 && $0.evidenceBytes == held64 + 2 }
            // Six times the start: the answers, and what is parsed of them.
            try client.send(RawClient.fetch(2, FetchCall(of: "\(5 * held64 / 2)")))
            test.eventually { $0.fetches == 2 && $0.evidenceBytes == 7 * held64 + 2 }
            // A quarter is 16: nine are left, less what the first has received.
            for (id, parts, retries) in [(3, 9, true), (4, 40, false)] {
                try client.send(
                    RawClient.fetch(UInt64(id), FetchCall(of: "\(parts * held64 / 2)")))
                let head = try client.receive()?.head
                #expect(head?.id == UInt64(id) && head?.status == .resourceExhausted)
                #expect((head?.retryAfterMilliseconds ?? 0 > 0) == retries, "\(parts)")
                test.eventually { $0.fetches == 2 && $0.evidenceBytes == 7 * held64 + 2 }
            }
            // Requests that prefer waiting to refusal are not refused because of fetches.
            try client.send(RawClient.verify(5, .transaction, token, mayWait: true))
            #expect(try client.receive()?.head.status == .ok)
            held.release()
            try client.expectAnswers(1...2)
            test.eventually { $0.evidenceBytes == 0 }
        }
    }
}
