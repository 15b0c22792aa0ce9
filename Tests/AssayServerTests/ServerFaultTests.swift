import AssayIO
import AssayModels
import AssayServer
import AssayWire
import TestSupport
import Testing

/// Client errors, and the server's responses.
@Suite(.ownThread, .serialized, .timeLimit(.minutes(2))) struct ServerFaultTests {
    @Test(
        "line 59: invalid and oversized frames are answered and end the connection",
        arguments: ["unix", "tcp"])
    func invalidFramesEndTheConnection(over: String) throws {
        let much = [UInt8](repeating: 0x20, count: 3 << 20)
        let cases: [(String, [UInt8], AssayWire.Status)] = [
            ("zero length", [0, 0, 0, 0], .invalidArgument),
            ("a length of 1", [0, 0, 0, 1], .invalidArgument),
            ("too short a length", [0, 0, 0, 3], .invalidArgument),
            ("a head beyond its frame", [0, 0, 0, 10, 0, 0, 0, 7], .invalidArgument),
            ("above the limit", [0x02, 0, 0, 1], .resourceExhausted),
            ("above it, and its bytes", [0x02, 0, 0, 1] + much, .resourceExhausted),
            ("2^31", [0x80, 0, 0, 0], .resourceExhausted),
            ("2^31, and its bytes", [0x80, 0, 0, 0] + much, .resourceExhausted),
            ("2^32 - 1", [0xFF, 0xFF, 0xFF, 0xFF], .resourceExhausted),
            ("garbage", [UInt8](repeating: 0xFF, count: 64), .resourceExhausted),
            ("HTTP/1", Array("GET / HTTP/1.1\r\nHost: a\r\n\r\n".utf8), .invalidArgument),
            ("HTTP/2", Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8), .invalidArgument),
            ("TLS", [0x16, 3, 1, 2, 0, 1, 0, 1, 0xFC, 3, 3], .invalidArgument),
        ]
        try withServer { test in
            for (name, bytes, status) in cases {
                let client = try RawClient(over == "tcp" ? test.tcp : test.unix)
                // Earlier requests are still answered.
                try client.send(RawClient.ping(5) + bytes)
                #expect(try client.receive()?.head.id == 5, "\(name)")
                try client.expectEnd(status)
            }
        }
    }

    @Test("a client of HTTP on a port of frames gets an answer of HTTP")
    func httpOnAPortOfFrames() throws {
        try withServer { test in
            for request in [
                "GET / HTTP/1.1\r\nHost: a\r\n\r\n", "POST /v1/verify HTTP/1.1\r\n", "HEAD", "PUT ",
            ] {
                let client = try RawClient(test.tcp)
                try client.send(Array(request.utf8))
                let answer = String(decoding: try client.socket.receiveToEnd(), as: UTF8.self)
                #expect(answer.hasPrefix("HTTP/1.1 400 Bad Request\r\n"), "\(request): \(answer)")
                #expect(answer.contains("\r\nConnection: close\r\n"))
                #expect(answer.contains("use the port of --listen http://"), "\(answer)")
            }
            // Other bytes are answered with a frame, and so are the same after a frame.
            for bytes in [
                RawClient.ping(5) + Array("GET / HTTP/1.1\r\n\r\n".utf8),
                RawClient.ping(5) + Array("PRI * HTTP/2.0\r\n\r\n".utf8),
            ] {
                let client = try RawClient(test.tcp)
                try client.send(bytes)
                #expect(try client.receive()?.head.id == 5)
                try client.expectEnd(.invalidArgument)
            }
            for bytes in [Array("PRI * HTTP/2.0\r\n\r\n".utf8), [0x16, 3, 1, 2], [0, 0, 0, 1]] {
                let client = try RawClient(test.tcp)
                try client.send(bytes)
                try client.expectEnd(.invalidArgument)
            }
            for (reason, count) in [
                ("HTTP on a port of frames", 4), ("HTTP/2 on a port of frames", 1),
                ("TLS on a port without TLS", 1), ("invalid frame", 3),
            ] {
                #expect(test.log.count(of: reason) == count, "\(reason)")
            }
        }
    }

    @Test("line 60: invalid heads and floods of fields are answered and skipped")
    func invalidHeadsAreSkipped() throws {
        func frame(_ head: [UInt8]) -> [UInt8] {
            var bytes: [UInt8] = []
            FrameWriter.append(
                head: head.span, body: [UInt8](repeating: 1, count: 9).span, to: &bytes)
            return bytes
        }
        let limit = ServerLimits().headBytes
        let cases: [(String, [UInt8], AssayWire.Status, UInt64)] = [
            ("no message", [0xFF, 0xFF, 0xFF], .invalidArgument, 0),
            ("no message with an id", [0x08, 9, 0x1A, 2, 0xFF, 0xFF], .invalidArgument, 9),
            ("a length of 2^31", [0x08, 9, 0x1A, 0x80, 0x80, 0x80, 0x80, 8], .invalidArgument, 9),
            ("groups", [0x08, 9] + [UInt8](repeating: 0x7B, count: 60_000), .invalidArgument, 9),
            (
                "a flood of fields",
                [0x08, 9] + Array(repeatElement([0x7A, 0], count: 20_000).joined()),
                .resourceExhausted, 9
            ),
            ("too long", [UInt8](repeating: 0, count: limit + 1), .resourceExhausted, 0),
        ]
        try withServer { test in
            let client = try RawClient(test.unix)
            for (name, head, status, id) in cases {
                try client.send(frame(head))
                let answer = try #require(try client.receive()?.head)
                #expect(answer.status == status && answer.id == id, "\(name): \(answer)")
                #expect(!answer.message.isEmpty)
                try client.expectPong()
            }
        }
    }

    @Test("line 69: id 0, and requests that are refused")
    func refusedRequests() throws {
        let token = try Minted.transaction.get()
        let cases: [(String, [UInt8], AssayWire.Status, UInt64)] = [
            ("id 0", RawClient.ping(0), .invalidArgument, 0),
            ("no call", RawClient.frame(RequestHead(id: 3, call: .unknown)), .unimplemented, 3),
            ("no kind", RawClient.verify(3, nil, token), .unimplemented, 3),
            ("no such app", RawClient.verify(3, .transaction, token, app: "x"), .notFound, 3),
        ]
        try withServer { test in
            let client = try RawClient(test.tcp)
            for (name, bytes, status, id) in cases {
                try client.send(bytes)
                let answer = try #require(try client.receive()?.head)
                #expect(answer.status == status && answer.id == id, "\(name): \(answer)")
                #expect(!answer.message.isEmpty)
                try client.expectPong()
            }
        }
        try withServer {
            $0.defaultApp = nil
        } _: { test in
            let client = try RawClient(test.tcp)
            try client.send(RawClient.verify(3, .transaction, token))
            #expect(try client.receive()?.head.status == .notFound)
            try client.send(RawClient.verify(4, .transaction, token, app: "game"))
            #expect(try client.receive()?.head.status == .ok)
        }
    }

    /// The response comes before the body, or after the part that names it. The rest is skipped.
    @Test func longBodiesAreRefusedBeforeTheyArrive() throws {
        let jws = ServerLimits().jwsBytes
        func verify(_ kind: EvidenceKind) -> RequestHead.Call { .verify(VerifyCall(kind: kind)) }
        let cases: [(String, RequestHead.Call, Int, AssayWire.Status)] = [
            ("jws", verify(.transaction), jws + 1, .ok),
            ("long", verify(.transaction), 20 << 20, .ok),
            ("post", verify(.notification), ServerLimits().notificationBytes + 1, .ok),
            ("old", verify(.transactionReceipt), jws + 1, .ok),
            ("version 1", verify(.notificationV1), ServerLimits().notificationV1Bytes + 1, .ok),
            ("answer", verify(.serverAnswer), ServerLimits().serverAnswerBytes + 1, .ok),
            ("ping", .ping, jws + 1, .resourceExhausted),
            ("unknown", .unknown, 5 << 20, .unimplemented),
        ]
        try withServer { test in
            let client = try RawClient(test.unix)
            for (name, call, count, status) in cases {
                let body = [UInt8](repeating: 97, count: count)
                let frame = RawClient.frame(RequestHead(id: 4, call: call), body)
                let part = status == .ok ? FormLimits.headBytes : 0
                try client.send(Array(frame.dropLast(count - part)))
                let answer = try #require(try client.receive()?.head)
                #expect(answer.status == status && answer.id == 4, "\(name): \(answer)")
                if case .verification(let verification) = answer.result {
                    #expect(verification.verdict == .malformed, "\(name)")
                }
                try client.send(Array(body.dropFirst(part)))
                try client.expectPong()
            }
            let most = [UInt8](repeating: 97, count: jws)
            try client.send(RawClient.verify(5, .transaction, most))
            guard case .verification(let answer) = try client.receive()?.head.result else {
                Issue.record("a body at its limit is not verified")
                return
            }
            #expect(answer.verdict == .malformed)
        }
    }

    @Test("line 69: a duplicate id is refused")
    func idsInFlightAreUnique() throws {
        let token = try Minted.transaction.get()
        try withHeldWorker(8) { test, client, clock in
            try client.send(RawClient.ping(8) + RawClient.verify(8, .transaction, token))
            for _ in 0..<2 {
                let answer = try client.receive()?.head
                #expect(answer?.id == 8 && answer?.status == .alreadyExists)
            }
            clock.release.open()
            #expect(try client.receive()?.head.status == .ok)
            try client.send(RawClient.verify(8, .transaction, token))
            #expect(try client.receive()?.head.status == .ok)
        }
    }

    @Test("line 65: a deadline that passes in the queue is answered without work")
    func deadlinesThatPassInTheQueueCostNoWork() throws {
        let token = try Minted.transaction.get()
        try withHeldWorker(1) { test, client, clock in
            try client.send(RawClient.verify(2, .transaction, token, timeout: 150))
            let answer = try client.receive()?.head
            #expect(answer?.id == 2 && answer?.status == .deadlineExceeded)
            // A timeout of 0 selects the server's default.
            try client.send(RawClient.verify(3, .transaction, token, timeout: 0))
            clock.release.open()
            var ids: Set<UInt64> = []
            for _ in 0..<2 {
                let head = try #require(try client.receive()?.head)
                #expect(head.status == .ok)
                ids.insert(head.id)
            }
            #expect(ids == [1, 3])
        }
    }

    /// Requests of a disconnected client are skipped.
    @Test("lines 61 and 65: a disconnected client costs no work", arguments: [false, true])
    func aDisconnectedClientCostsNoWork(resets: Bool) throws {
        let token = try Minted.transaction.get()
        try withHeldWorker(1) { test, other, clock in
            let client = try RawClient(test.tcp)
            for id in 1...20 as ClosedRange<UInt64> {
                try client.send(RawClient.verify(id, .transaction, token))
            }
            test.eventually { $0.requestsInFlight == 21 }
            if resets {
                client.socket.reset()
                test.eventually { $0.connections == 1 }
            } else {
                client.socket.close()
            }
            let asked = clock.count
            clock.release.open()
            #expect(try other.receive()?.head.id == 1)
            test.eventually { $0.evidenceBytes == 0 }
            // Each slice calls the clock once, here the one that was held, and so does the thread
            // that validates the first chain. To the server a closed socket can look like one that
            // still waits for answers; a reset one can't.
            if resets {
                #expect(clock.count == asked + 2)
                #expect(test.server.metrics?.handled(.verify, .cancelled) == 20)
            }
        }
    }

    @Test("line 61: an incomplete frame at the end of the stream is answered")
    func anIncompleteFrameAtTheEndIsAnswered() throws {
        let token = try Minted.transaction.get()
        let receipt = try Minted.receipt(bytes: 100_000)
        try withServer { test in
            let whole = RawClient.ping(1)
            for part in [
                Array(whole.prefix(1)), Array(whole.prefix(6)), Array(whole.dropLast()),
                Array(RawClient.verify(2, .transaction, token).dropLast()),
                Array(RawClient.verify(2, .appReceipt, receipt).dropLast(10)),
            ] {
                let client = try RawClient(test.unix)
                try client.send(whole + part)
                client.socket.finishWriting()
                #expect(try client.receive()?.head.id == 1)
                try client.expectEnd(.invalidArgument)
            }
            let client = try RawClient(test.unix)
            client.socket.finishWriting()
            #expect(try client.receive() == nil)
        }
    }

    /// All requests before the end of the stream are answered, in any number.
    @Test("line 61: requests before the end of the stream are answered")
    func requestsBeforeTheEndAreAnswered() throws {
        let token = try Minted.transaction.get()
        try withServer { test in
            let client = try RawClient(test.unix)
            var bytes: [UInt8] = []
            for id in 1...300 as ClosedRange<UInt64> {
                bytes +=
                    id % 3 == 0 ? RawClient.verify(id, .transaction, token) : RawClient.ping(id)
            }
            try client.send(bytes)
            client.socket.finishWriting()
            try client.expectAnswers(1...300)
            #expect(try client.receive() == nil)
        }
    }
}
