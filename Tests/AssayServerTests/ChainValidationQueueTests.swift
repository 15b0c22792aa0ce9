@testable import Assay
import AssayIO
import AssayMint
import AssayModels
import AssayWire
import TestSupport
import Testing

@testable import AssayServer
@testable import AssayService
@testable import AssayTelemetry

@Suite struct TokenBucketTests {
    /// Ten tokens a second. Rows: the milliseconds of a request, and whether it gets a token.
    @Test func fillsAsTimePasses() {
        var bucket = TokenBucket(perSecond: 10)
        func expect(_ now: UInt64, _ isThere: Bool) {
            let wait = bucket.wait(for: 1, at: now)
            #expect((wait == 0) == isThere, "\(now)")
            if isThere { bucket.spend(1, at: now) }
        }
        for _ in 0..<10 { expect(5, true) }
        for (now, isThere) in [
            (5, false), (104, false), (105, true), (105, false), (305, true), (305, true),
            (305, false),
        ] as [(UInt64, Bool)] {
            expect(now, isThere)
        }
        // The bucket holds at most one second's tokens.
        for _ in 0..<10 { expect(100_000, true) }
        expect(100_000, false)
        for (count, now, wait) in [
            (1, 100_000, 100), (7, 100_050, 650), (7, 101_000, 0),
        ] as [(Int, UInt64, UInt64)] {
            let waits = bucket.wait(for: count, at: now)
            #expect(waits == wait)
        }
    }

    @Test func debtDelaysLaterTokens() {
        var bucket = TokenBucket(perSecond: 1_000)
        bucket.spend(999, at: 0)
        for (spent, now, wait) in [(1, 0, 1), (50, 0, 51), (0, 30, 21), (0, 51, 0)]
            as [(Int, UInt64, UInt64)]
        {
            bucket.spend(spent, at: now)
            let waits = bucket.wait(for: 1, at: now)
            #expect(waits == wait, "\(now)")
        }
    }
}

@Suite struct StallWatchTests {
    @Test func noticesUnreleasedMemory() {
        var watch = StallWatch(limit: 100)
        func check(_ now: UInt64, changes: Bool, isStalled: Bool) {
            let hasChanged = watch.check(at: now)
            #expect(hasChanged == changes && watch.isStalled == isStalled, "\(now)")
        }
        let (first, second) = (watch.begin(at: 0), watch.begin(at: 50))
        check(100, changes: false, isStalled: false)
        watch.end(first)
        check(150, changes: false, isStalled: false)
        check(151, changes: true, isStalled: true)
        check(152, changes: false, isStalled: true)
        watch.end(second)
        check(153, changes: true, isStalled: false)
    }
}

@Suite struct ReadingRestTests {
    @Test func followsTheSizeOfReads() {
        var (rest, total) = (ReadBackoff(), 0 as UInt64)
        func next(_ reads: [UInt64]) -> UInt64 {
            for bytes in reads {
                total += bytes
                rest.didRead(total: total)
            }
            return rest.next(atMost: 4)
        }
        // Small reads: longer, up to the limit.
        for expected in [2, 3, 4, 4] as [UInt64] { #expect(next([1_000, 60_000]) == expected) }
        #expect(next([]) == 4)
        // Mostly full reads: shorter, down to none, and then longer again.
        for expected in [3, 2, 1, 0, 0] as [UInt64] {
            #expect(next([65_536, 100, 60_000]) == expected)
        }
        #expect(next([57_343]) == 1 && rest.milliseconds == 1)
        #expect(next([57_344]) == 0)
        // Bytes that were already read do not count as a read.
        #expect(next([60_000, 0, 0, 0]) == 0 && next([100, 0]) == 1)
    }
}

/// Lines 36 to 39 of the catalogue of hostile input, for the server.
@Suite("Hostile unknown chains", .ownThread, .serialized, .timeLimit(.minutes(5)))
struct ChainValidationQueueTests {
    /// Tokens under leaf certificates of their own, issued by the known intermediate.
    private static func unknownChains(_ count: Int) throws -> [[UInt8]] {
        let authority = try Minted.authority.get()
        let validity = Validity.around(Minted.now, days: 300)
        return try (0..<count).map { _ in
            try Minter(authority.issueChain(validity: validity)).mint(
                .transaction, index: 0, bundleId: Minted.bundleId, appAppleId: 1_234_567_890,
                environment: .sandbox, signedDate: Minted.now)
        }
    }

    private static func verdict(_ head: ResponseHead?) -> Verdict? {
        if case .verification(let answer) = head?.result { answer.verdict } else { nil }
    }

    @Test("line 38: 10,000 tokens of one new chain at once: one validation")
    func stampede() throws {
        let token = try Minted.transaction.get()
        try withServer {
            $0.limits.evidenceBytes = 1 << 30
        } _: { test in
            let clients = try (0..<10).map { _ in try RawClient(test.unix) }
            for client in clients {
                for id in 1...1000 as ClosedRange<UInt64> {
                    try client.send(RawClient.verify(id, .transaction, token))
                }
            }
            for client in clients { try client.expectAnswers(1...1000) }
            let verified = try #require(test.server.metrics).validatedChains
            // One validation. A few more find it in the cache: of each worker that had just looked
            // when it finished, and the more the slower the processor is.
            #expect((1..<100).contains(verified), "\(verified)")
            #expect(test.verifier.chains.validations == 1)
        }
    }

    @Test("line 38: a chain refused for one app entry is valid for another with other roots")
    func failureIsNotShared() throws {
        let token = try Minted.transaction.get()
        let other = AppEntry(verifier: Verifier(trust: .apple), policy: Minted.policy)
        try withServer {
            $0.apps["other"] = other
        } _: { test in
            for round in 0..<3 as Range<UInt64> {
                let client = try RawClient(test.unix)
                var bytes: [UInt8] = []
                for id in 1...40 as ClosedRange<UInt64> {
                    bytes += RawClient.verify(
                        id, .transaction, token, app: id % 2 == 0 ? "game" : "other")
                }
                try client.send(bytes)
                for _ in 1...40 {
                    let head = try client.receive()?.head
                    let isGame = (head?.id ?? 1) % 2 == 0
                    #expect(
                        Self.verdict(head) == (isGame ? .valid : .untrustedChain), "\(round)")
                }
            }
        }
    }

    /// The verdicts of the queue equal those of the verifier alone, for every kind and many
    /// defects.
    @Test("line 39: verdicts do not depend on the queue")
    func sameVerdicts() throws {
        var evidence: [(EvidenceKind, [UInt8])] = []
        for kind in Minted.jwsKinds {
            let token = try Minted.token(kind)
            evidence += [
                (kind, token), (kind, Minted.tampered(token)),
                (kind, try Minted.token(kind, by: Minted.foreign.get())),
                (kind, try Minted.token(kind, bundleId: "com.example.other")),
                (kind, try Minted.token(kind, environment: .production)),
            ]
        }
        let receipt = try Minted.receipt(bytes: 100_000)
        for receipt in [receipt, try Minted.receipt(bytes: 2_000)] {
            evidence += [
                (.appReceipt, receipt), (.appReceipt, ReceiptMinter.base64(receipt)),
                (.appReceipt, receipt.dropLast(1) + [receipt[receipt.count - 1] ^ 1]),
            ]
        }
        for (kind, bytes) in evidence {
            let alone = try Minted.verifier().verify(
                bytes.span, as: kind, policy: Minted.policy, at: Minted.now)
            // A new server for each item, so that its chain is unknown.
            try withServer { test in
                let client = try RawClient(test.unix)
                for id in 1...3 as ClosedRange<UInt64> {
                    try client.send(RawClient.verify(id, kind, bytes))
                    guard case .verification(let answer) = try client.receive()?.head.result else {
                        Issue.record("\(kind): no verdict")
                        continue
                    }
                    #expect(answer.verdict == alone.verdict, "\(kind): \(alone.detail)")
                    #expect(answer.detail == alone.detail && answer.dedupKey == alone.dedupKey)
                }
            }
        }
    }

    @Test("line 39: unknown chains above the rate and the queue are refused, known ones served")
    func flood() throws {
        let token = try Minted.transaction.get()
        let unknownChains = try Self.unknownChains(60)
        try withServer {
            $0.workers = 1
            $0.limits.unknownChainsPerSecond = 1
            $0.limits.unknownChainsWaiting = 8
        } _: { test in
            let client = try RawClient(test.unix)
            // The one validation that each second allows.
            try client.send(RawClient.verify(1, .transaction, token))
            #expect(Self.verdict(try client.receive()?.head) == .valid)

            let attacker = try RawClient(test.tcp)
            for (index, token) in unknownChains.enumerated() {
                try attacker.send(RawClient.verify(UInt64(index + 1), .transaction, token))
            }
            var refused = 0
            while refused < 40 {
                let head = try #require(try attacker.receive()?.head)
                guard head.status != .ok else { continue }
                #expect(head.status == .resourceExhausted && head.retryAfterMilliseconds >= 100)
                refused += 1
            }
            // Requests with known chains do not wait behind the others.
            for id in 2...200 as ClosedRange<UInt64> {
                try client.send(RawClient.verify(id, .transaction, token))
                #expect(Self.verdict(try client.receive()?.head) == .valid)
            }
            let metrics = try #require(test.server.metrics)
            #expect(metrics.refused(.overloaded) >= 40, "\(metrics)")
            #expect(metrics.validatedChains <= 12, "\(metrics)")
            #expect(try #require(test.server.heldResources).unknownChains <= 9)
            attacker.socket.reset()
        }
    }

    @Test("line 39: in a flood of unknown chains the one with most waiters is first")
    func mostWanted() throws {
        let token = try Minted.transaction.get()
        let unknownChains = try Self.unknownChains(60)
        try withServer {
            $0.limits.unknownChainsPerSecond = 4
        } _: { test in
            let client = try RawClient(test.unix)
            for (index, token) in unknownChains.enumerated() {
                try client.send(RawClient.verify(UInt64(index + 1), .transaction, token))
            }
            for id in 1_001...1_020 as ClosedRange<UInt64> {
                try client.send(RawClient.verify(id, .transaction, token))
            }
            // Other chains go first only until the wanted ones arrive. In order of arrival the
            // wanted ones would be last, after fifteen seconds.
            var (answered, before) = (0, 0)
            while answered < 20 {
                let head = try #require(try client.receive()?.head)
                #expect(Self.verdict(head) == .valid)
                if head.id > 1_000 { answered += 1 } else { before += 1 }
            }
            #expect(before < 20, "\(before)")
            client.socket.reset()
        }
    }

    @Test("line 39: a deadline that passes in the queue is answered without a validation")
    func deadlines() throws {
        let unknownChains = try Self.unknownChains(15)
        try withServer {
            $0.limits.unknownChainsPerSecond = 1
        } _: { test in
            let client = try RawClient(test.unix)
            // On a busy machine a second can pass between the two writes, and then nothing has
            // to wait: tries again.
            var statuses: [Status] = []
            for round in 0..<5 where statuses.last != .deadlineExceeded {
                let tokens = Array(unknownChains[3 * round..<3 * round + 3])
                statuses.append(try overdue(client, tokens))
            }
            #expect(statuses.last == .deadlineExceeded, "\(statuses)")
        }
    }

    /// Uses up the budget of one second. The next chain would wait a second, longer than its
    /// timeout, and is refused at once. A request with enough time waits, and so does another
    /// one with the same chain and less time.
    ///
    /// - Returns: the status of the last one.
    private func overdue(_ client: RawClient, _ unknownChains: [[UInt8]]) throws -> Status {
        func receive(_ count: Int) throws -> [UInt64: ResponseHead] {
            var answers: [UInt64: ResponseHead] = [:]
            while answers.count < count {
                let head = try #require(try client.receive()).head
                answers[head.id] = head
            }
            return answers
        }
        try client.send(RawClient.verify(1, .transaction, unknownChains[0], timeout: 20_000))
        #expect(Self.verdict(try receive(1)[1]) == .valid)
        try client.send(
            RawClient.verify(3, .transaction, unknownChains[2], timeout: 20_000)
                + RawClient.verify(4, .transaction, unknownChains[2], timeout: 100)
                + RawClient.verify(2, .transaction, unknownChains[1], timeout: 200))
        let answers = try receive(3)
        #expect(Self.verdict(answers[3]) == .valid)
        let last = try #require(answers[4]?.status)
        if last == .deadlineExceeded {
            #expect(answers[2]?.status == .resourceExhausted)
            #expect(answers[2]?.retryAfterMilliseconds ?? 0 > 0)
        }
        return last
    }

    @Test("line 36: a flood of invalid chains costs one validation for each")
    func refusedChains() throws {
        let foreign = try Minted.token(.transaction, by: Minted.foreign.get())
        let receipt = try Minted.receipt(bytes: 2_000)
        var forged = receipt
        forged[forged.count / 2] ^= 1
        try withServer { test in
            let client = try RawClient(test.unix)
            for id in 1...300 as ClosedRange<UInt64> {
                try client.send(RawClient.verify(id, .transaction, foreign))
            }
            for _ in 1...300 {
                #expect(Self.verdict(try client.receive()?.head) == .untrustedChain)
            }
            #expect(test.verifier.chains.validations == 1)
            let chains = try #require(test.server.metrics).validatedChains
            // One, and those already on their way to the queue.
            #expect((1...10).contains(chains))
            for id in 1...50 as ClosedRange<UInt64> {
                try client.send(RawClient.verify(id, .appReceipt, id % 2 == 0 ? receipt : forged))
            }
            for _ in 1...50 {
                let head = try client.receive()?.head
                let isGood = (head?.id ?? 1) % 2 == 0
                #expect((Self.verdict(head) == .valid) == isGood)
            }
            let receipts = try #require(test.server.metrics).validatedChains - chains
            #expect((1...10).contains(receipts))
        }
    }
}
