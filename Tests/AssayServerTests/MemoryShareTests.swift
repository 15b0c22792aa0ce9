import AssayIO
import AssayMint
import AssayModels
import AssayServer
import AssayWire
import Glibc
import TestSupport
import Testing

/// Lines 76, 79, 80 and 83: a client's memory use affects only that client.
@Suite("Hostile shares of memory", .ownThread, .serialized, .timeLimit(.minutes(5)))
struct MemoryShareTests {
    private static let info = RawClient.frame(RequestHead(id: 1, call: .info))

    /// A receipt with in-app records of `bytes` bytes, which the server keeps in memory.
    private static func records(_ bytes: Int) throws -> [UInt8] { try Minted.receipt(bytes: bytes) }

    @Test(
        "line 80: connections request Info and do not read: others are served in the limit")
    func unreadAnswers() throws {
        let token = try Minted.transaction.get()
        let limit = 8 << 20
        Descriptors.raiseLimit()
        try withServer {
            $0.limits.evidenceBytes = limit
            $0.limits.writeStallMilliseconds = 60_000
        } _: { test in
            let requests = Array(repeatElement(Self.info, count: 40).joined())
            let clients = try (0..<300).map { _ in
                let client = try RawClient(test.unix, receiveBuffer: 4096)
                try client.send(requests)
                return client
            }
            // A quarter of the limit is reserved for answers.
            test.eventually { $0.unwrittenBytes > limit / 8 }
            let other = try RawClient(test.tcp)
            for id in 1...100 as ClosedRange<UInt64> {
                try other.send(RawClient.verify(id, .transaction, token))
                try other.expectAnswers(id...id)
                let heldResources = try #require(test.server.heldResources)
                // Refused answers take some bytes each, too.
                #expect(heldResources.unwrittenBytes <= limit / 4 + clients.count * 1024)
                #expect(heldResources.heldBytes <= limit)
            }
            for client in clients { client.socket.reset() }
        }
    }

    @Test("line 80: no further answers are made for a connection that does not read")
    func noFurtherAnswers() throws {
        try withServer {
            $0.limits.outputBytes = 64 << 10
        } _: { test in
            let client = try RawClient(test.unix, receiveBuffer: 4096)
            try client.send(Array(repeatElement(Self.info, count: 400).joined()))
            test.eventually { $0.unwrittenBytes > 64 << 10 }
            try test.pass(milliseconds: 100)
            let sent = try #require(test.server.metrics).answersSent
            #expect(sent < 40)
            try test.pass(milliseconds: 300)
            #expect(test.server.metrics?.answersSent == sent)
            // All answers arrive once the client reads.
            for _ in 0..<400 { #expect(try client.receive()?.head.status == .ok) }
        }
    }

    @Test("line 81: a waiting token does not hold the refused bytes around it")
    func refusedBytesAreFreed() throws {
        let token = try Minted.transaction.get()
        let refused = RawClient.frame(
            RequestHead(id: 1, call: .verify(VerifyCall(kind: .transaction)), app: "unknown"),
            [UInt8](repeating: 97, count: 60_000))
        let count = 400
        try withHeldWorker(1_000) { test, _, _ in
            let client = try RawClient(test.unix)
            for id in 2..<UInt64(2 + count) {
                try client.send(RawClient.verify(id, .transaction, token) + refused)
                #expect(try client.receive()?.head.status == .notFound)
            }
            test.eventually { $0.waiting == count }
            let heldResources = try #require(test.server.heldResources)
            #expect(heldResources.heldBytes < count * refused.count / 2, "\(heldResources)")
        }
    }

    @Test("line 79: a stalled receipt that holds much memory is refused in favor of others")
    func slowReceiptsGiveWay() throws {
        let slow = try Self.records(4_000_000), other = try Self.records(2_000_000)
        try withServer {
            $0.limits.evidenceBytes = 8 << 20
            $0.limits.frameGraceMilliseconds = 60_000
        } _: { test in
            let clients = try (0..<3).map { _ in try RawClient(test.unix) }
            let frame = RawClient.verify(1, .appReceipt, slow, timeout: 30_000)
            // Together above half of the limit: the last one is refused, or an earlier one is
            // cancelled for it.
            for client in clients { try client.send(Array(frame.dropLast(1))) }
            test.eventually { $0.bufferedBytes == 0 && $0.evidenceBytes < 3 << 20 }
            #expect(test.server.metrics?.refused(.overloaded) ?? 0 >= 1)
            let client = try RawClient(test.tcp)
            try client.send(RawClient.verify(2, .appReceipt, other))
            #expect(try client.receive()?.head.status == .ok)
            let refused = try clients.filter { $0.socket.hasMore(milliseconds: 0) }.map {
                try #require(try $0.receive()).head
            }
            #expect(!refused.isEmpty)
            for head in refused {
                #expect(head.status == .resourceExhausted && head.retryAfterMilliseconds > 0)
            }
            for client in clients { client.socket.reset() }
        }
    }

    @Test("line 79: receipts that keep much memory are refused before the limit is reached")
    func theLimitHolds() throws {
        let receipt = try Self.records(4_000_000)
        let limit = 8 << 20
        try withServer {
            $0.limits.evidenceBytes = limit
        } _: { test in
            let clients = try (0..<8).map { _ in try RawClient(test.unix) }
            for client in clients {
                try client.send(RawClient.verify(1, .appReceipt, receipt))
            }
            var most = 0
            while test.simulated.step() {
                most = max(most, test.simulated.heldResources.heldBytes)
            }
            #expect(most <= limit)
            for client in clients {
                let status = try client.receive()?.head.status
                #expect(status == .ok || status == .resourceExhausted)
            }
        }
    }

    @Test("line 76: large receipts on many connections all complete")
    func receiptsTakeTurns() throws {
        let receipt = try Self.records(3_000_000)
        try withServer { test in
            let clients = try (0..<8).map { _ in try RawClient(test.unix) }
            for client in clients {
                for id in 1...2 as ClosedRange<UInt64> {
                    try client.send(RawClient.verify(id, .appReceipt, receipt, inApp: .none))
                }
            }
            // Other clients meanwhile.
            let other = try RawClient(test.tcp)
            for id in 1...50 as ClosedRange<UInt64> { try other.expectPong(id) }
            for client in clients {
                for _ in 1...2 {
                    guard case .verification(let answer) = try client.receive()?.head.result else {
                        Issue.record("no verdict")
                        continue
                    }
                    #expect(answer.verdict == .valid)
                }
            }
        }
    }
}
