import AssayIO
import AssayMint
import AssayModels
import AssayServer
import AssayWire
import TestSupport
import Testing

/// Many requests, many connections, large requests, slow clients.
@Suite(.ownThread, .serialized, .timeLimit(.minutes(3))) struct ServerFlowTests {
    @Test func tenThousandRequestsOnOneConnection() throws {
        let token = try Minted.transaction.get()
        try withServer { test in
            let client = try RawClient(test.unix)
            var bytes: [UInt8] = []
            for id in 1...10_000 as ClosedRange<UInt64> {
                bytes +=
                    id % 20 == 0 ? RawClient.verify(id, .transaction, token) : RawClient.ping(id)
            }
            try client.send(bytes)
            try client.expectAnswers(1...10_000)
        }
    }

    @Test func twoHundredConnections() throws {
        let token = try Minted.transaction.get()
        try withServer { test in
            let clients = try (0..<200).map { try RawClient($0 % 2 == 0 ? test.unix : test.tcp) }
            for client in clients {
                try client.send(
                    RawClient.ping(1) + RawClient.verify(2, .transaction, token)
                        + RawClient.ping(3))
            }
            for client in clients { try client.expectAnswers(1...3) }
            #expect(test.server.heldResources?.connections == 200)
        }
    }

    @Test func oneByteAtATime() throws {
        let token = try Minted.transaction.get()
        try withServer { test in
            let client = try RawClient(test.tcp)
            for byte in RawClient.ping(1) + RawClient.verify(2, .transaction, token) {
                try client.send([byte])
                test.simulated.runUntilIdle()
            }
            try client.expectAnswers(1...2)
        }
    }

    /// Receipts in sequence and between other requests, split in many ways.
    @Test(arguments: [1_000_000, 65_536, 9_973, 300])
    func receiptsTornAndPipelined(cut: Int) throws {
        let token = try Minted.transaction.get()
        let large = try Minted.receipt(bytes: 150_000)
        let small = try Minted.receipt(bytes: 2_000)
        let base64 = ReceiptMinter.base64(large, lineLength: 64)
        try withServer { test in
            let bodies: [(EvidenceKind, [UInt8])] = [
                (.appReceipt, large), (.transaction, token), (.appReceipt, base64),
                (.appReceipt, small), (.appReceipt, large), (.transaction, token),
            ]
            var bytes: [UInt8] = []
            for (index, (kind, body)) in bodies.enumerated() {
                bytes += RawClient.verify(UInt64(index + 1), kind, body)
            }
            let client = try RawClient(test.unix)
            for start in stride(from: 0, to: bytes.count, by: cut) {
                try client.send(Array(bytes[start..<min(start + cut, bytes.count)]))
                test.simulated.runUntilIdle()
            }
            for _ in bodies {
                let head = try client.receive()?.head
                guard case .verification(let answer) = head?.result else {
                    Issue.record("\(head as Any)")
                    continue
                }
                #expect(answer.verdict == .valid, "\(answer.detail)")
            }
            #expect(test.server.heldResources?.bufferedBytes == 0)
        }
    }

    /// A receipt is not buffered while it arrives. Only requested records are kept.
    @Test
    func aHalfReceivedReceiptHoldsLittle() throws {
        let receipt = try Minted.receipt(bytes: 3_000_000)
        try withServer { test in
            let client = try RawClient(test.unix)
            for (inApp, held) in [
                (InAppSelection.none, 1_000...64 << 10), (.all, receipt.count / 3...receipt.count),
            ] {
                let frame = RawClient.verify(1, .appReceipt, receipt, inApp: inApp)
                try client.send(Array(frame.dropLast(1)))
                test.eventually { $0.requestsInFlight == 1 }
                try test.pass(milliseconds: 100)
                let heldResources = try #require(test.server.heldResources)
                #expect(heldResources.bufferedBytes == 0)
                #expect(
                    held.contains(heldResources.evidenceBytes), "\(heldResources.evidenceBytes)")
                try client.send(Array(frame.suffix(1)))
                #expect(try client.receive()?.head.status == .ok)
            }
        }
    }

    /// Requests that can wait stay in the socket above the in-flight limit, and the loop does
    /// not spin.
    @Test
    func requestsInFlightAreBounded() throws {
        let clock = HeldBackground()
        let token = try Minted.transaction.get()
        try withServer(heldBy: clock) {
            $0.limits.requestsInFlight = 100
        } _: { test in
            let client = try RawClient(test.unix)
            try client.expectPong()
            clock.arm()
            for id in 1...400 as ClosedRange<UInt64> {
                try client.send(RawClient.verify(id, .transaction, token, mayWait: true))
            }
            clock.isHeld.wait()
            test.eventually { $0.requestsInFlight == 100 }
            let before = try #require(test.server.heldResources)
            try test.pass(milliseconds: 500)
            let after = try #require(test.server.heldResources)
            #expect(after.requestsInFlight == 100)
            #expect(after.bufferedBytes < 256 << 10)
            #expect(after.turns - before.turns < 50, "the loop spins")
            // Another connection is served.
            try RawClient(test.tcp).expectPong()
            clock.release.open()
            try client.expectAnswers(1...400)
        }
    }

    /// The evidence of all connections is bounded. Other calls continue.
    @Test func evidenceIsBounded() throws {
        let clock = HeldBackground()
        let token = try Minted.transaction.get()
        try withServer(heldBy: clock) {
            $0.limits.evidenceBytes = 10 * token.count
        } _: { test in
            let client = try RawClient(test.unix)
            try client.expectPong()
            clock.arm()
            try client.send(RawClient.verify(1, .transaction, token))
            clock.isHeld.wait()
            for id in 2...30 as ClosedRange<UInt64> {
                try client.send(RawClient.verify(id, .transaction, token))
            }
            let answer = try #require(try client.receive()?.head)
            #expect(answer.status == .resourceExhausted && answer.retryAfterMilliseconds > 0)
            let held = try #require(test.server.heldResources?.evidenceBytes)
            #expect(held <= 10 * token.count)
            clock.release.open()
            for _ in 2...30 { #expect(try client.receive() != nil) }
            try client.expectPong()
        }
    }

    /// The server stops reading from a client that does not read, and closes it in the end.
    @Test("line 61: a slow reader is paused, then disconnected")
    func aSlowReaderIsPausedThenDisconnected() throws {
        try withServer {
            $0.limits.useDefaultTimeLimits()
        } _: { test in
            let client = try RawClient(test.unix, receiveBuffer: 4096)
            let info = RawClient.frame(RequestHead(id: 1, call: .info))
            for _ in 0..<20_000 { try client.send(info) }
            test.eventually { $0.unwrittenBytes > 256 << 10 }
            let heldResources = try #require(test.server.heldResources)
            // The limit and one more answer; a turn adds up to 40 KB of answers before the
            // check.
            #expect(heldResources.unwrittenBytes < 2 << 20, "\(heldResources)")
            #expect(heldResources.bufferedBytes < 256 << 10)
            // The system can take some more bytes at first.
            test.server.advanceClock(byMilliseconds: 2 * ServerLimits().writeStallMilliseconds)
            test.eventually { $0.connections == 0 }
            #expect(test.log.count(of: "does not read") == 1)
        }
    }

    /// A client that reads slowly gets every answer.
    @Test func aSlowReaderThatReadsIsServed() throws {
        try withServer {
            $0.limits.writeStallMilliseconds = 100_000
        } _: { test in
            let client = try RawClient(test.unix, receiveBuffer: 4096)
            var bytes: [UInt8] = []
            for id in 1...60 as ClosedRange<UInt64> {
                bytes += RawClient.frame(RequestHead(id: id, call: .info))
            }
            try client.send(bytes)
            client.socket.finishWriting()
            for id in 1...60 as ClosedRange<UInt64> {
                #expect(try client.receive()?.head.id == id)
                // Six times the limit of a stall, over all answers.
                test.server.advanceClock(byMilliseconds: 10_000)
            }
            #expect(try client.receive() == nil)
        }
    }

    /// A flood on one connection does not starve the others.
    @Test(
        "line 62: an endless flood does not starve other connections",
        .enabled(if: TimedTests.areEnabled)
    )
    func aFloodStarvesNobody() throws {
        try withSocketServer { test in
            let flood = SharedClient(try BlockingClient(test.unix))
            let pings = Array(repeatElement(RawClient.ping(1), count: 2_000).joined())
            let pool = try WorkerPool(count: 2, name: "flood")
            pool.submit { while (try? flood.client.send(pings)) != nil {} }
            pool.submit {
                while let more = try? flood.client.receive(upTo: 65_536), !more.isEmpty {}
            }
            let client = try RawClient(test.tcp)
            for id in 1...50 as ClosedRange<UInt64> {
                let before = ContinuousClock.now
                try client.expectPong(id)
                let taken = ContinuousClock.now - before
                #expect(taken < .seconds(5), "\(taken)")
            }
            let heldResources = try #require(test.server.heldResources)
            #expect(heldResources.bufferedBytes < 256 << 10, "\(heldResources)")
            flood.client.shutDown()
            pool.stop()
        }
    }
}
