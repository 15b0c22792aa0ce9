import Assay
import AssayIO
import AssayMint
import AssayModels
import AssayServer
import AssayWire
import Glibc
import TestSupport
import Testing

@Suite(.ownThread, .serialized, .timeLimit(.minutes(3))) struct HostileResolveTests {
    private typealias Items = [(kind: EvidenceKind?, evidence: [UInt8])]

    private static func periods(_ count: Int, account: Int = 1) throws -> Items {
        try (0..<count).map { (.transaction, try Minted.period($0, account: account)) }
    }

    private static func resolution(_ head: ResponseHead?) throws -> Resolution {
        guard case .resolution(let resolution)? = head?.result else {
            throw BlockingClient.Failure(what: "no resolution: \(head as Any)")
        }
        return resolution
    }

    @Test("line 100: numbers of items, lengths and kinds that do not fit are refused at once")
    func shapes() throws {
        let token = try Minted.transaction.get()
        func items(_ count: Int) -> Items { Array(repeating: (.transaction, [65]), count: count) }
        let limit = RequestLimits.resolveItems
        let table: [(what: String, frame: [UInt8], status: AssayWire.Status)] = [
            ("no items", RawClient.resolve(1, []), .invalidArgument),
            ("the limit", RawClient.resolve(1, items(limit)), .ok),
            ("above the limit", RawClient.resolve(1, items(limit + 1)), .resourceExhausted),
            ("an empty item", RawClient.resolve(1, [(.transaction, [])]), .invalidArgument),
            (
                "too short",
                RawClient.resolve(1, [(.transaction, token)]) { $0.items[0].length -= 1 },
                .invalidArgument
            ),
            (
                "too long",
                RawClient.resolve(1, [(.transaction, token)]) { $0.items[0].length += 1 },
                .invalidArgument
            ),
            (
                "the sum overflows 32 bits",
                RawClient.resolve(1, [(.transaction, token), (.transaction, token)]) {
                    $0.items[0].length = .max
                    $0.items[1].length = UInt32(2 * token.count) &+ 1
                }, .invalidArgument
            ),
            (
                "more items than bytes",
                RawClient.resolve(1, [(.transaction, token)]) {
                    $0.items += [ResolveCall.Item(length: .max), ResolveCall.Item(length: 1)]
                }, .invalidArgument
            ),
        ]
        try withServer { test in
            let client = try RawClient(test.unix)
            for (what, frame, status) in table {
                try client.send(frame)
                let head = try client.receive()?.head
                #expect(head?.id == 1 && head?.status == status, "\(what): \(head as Any)")
                #expect((head?.message.isEmpty == false) == (status != .ok), "\(what)")
                #expect(head?.retryAfterMilliseconds == 0, "\(what)")
                try client.expectPong()
            }
            // A kind of a newer client. This codec cannot write one: field 1 of the item is 99.
            var frame = RawClient.resolve(5, [(.transaction, token)])
            let kind = try #require(
                frame.indices.first { index in
                    // EvidenceItem, length 5 or 6: kind = TRANSACTION.
                    frame[index] == 0x08 && frame[index + 1] == 1 && frame[index + 2] == 0x10
                })
            frame[kind + 1] = 99
            try client.send(frame)
            let head = try client.receive()?.head
            #expect(head?.id == 5 && head?.status == .unimplemented, "\(head as Any)")
            try client.expectPong()
        }
    }

    @Test("line 100: an item inside an item is not evidence")
    func itemInsideAnItem() throws {
        let token = try Minted.period(1)
        let inner = RawClient.resolve(9, [(.transaction, token)])
        let items: Items = [
            (.transaction, token), (nil, token + [0x0A] + token), (nil, inner),
            (nil, token + token),
            (.notification, Array("{\"signedPayload\":\"".utf8) + token + Array("\"}".utf8)),
        ]
        try withServer { test in
            let client = try RawClient(test.unix)
            try client.send(RawClient.resolve(1, items))
            let resolution = try Self.resolution(client.receive()?.head)
            let verdicts = resolution.items.map(\.verification.verdict)
            #expect(verdicts[0] == .valid && !verdicts.dropFirst().contains(.valid))
            #expect(resolution.entitlements.apps.count == 1)
            let group = resolution.entitlements.apps[0].subscriptionGroups.first
            #expect(group?.deciding.decidedBy.item == 0)
        }
    }

    @Test("line 100: one bad token among a hundred refuses itself alone")
    func oneBadToken() throws {
        var items = try Self.periods(100)
        items[99].evidence = Minted.tampered(items[99].evidence)
        try withServer { test in
            let client = try RawClient(test.unix)
            try client.send(RawClient.resolve(1, items))
            let resolution = try Self.resolution(client.receive()?.head)
            let verdicts = resolution.items.map(\.verification.verdict)
            #expect(verdicts.count { $0 == .valid } == 99 && verdicts[99] == .invalidSignature)
            let deciding = resolution.entitlements.apps.first?.subscriptionGroups.first?.deciding
            #expect(deciding?.decidedBy.item == 98)
        }
    }

    @Test("line 100: the client's moment does not revive an expired certificate")
    func expiredCertificate() throws {
        let hour: Int64 = 3_600_000
        let now = Minted.now.milliseconds
        let chain = try Minted.authority.get().issueChain(
            validity: Validity(
                notBefore: Timestamp(milliseconds: now - 20 * hour),
                notAfter: Timestamp(milliseconds: now - 5 * hour)))
        func token(_ date: String) throws -> [UInt8] {
            let payload = """
                {"transactionId":"1","productId":"p","purchaseDate":\(now - 10 * hour),\
                "bundleId":"\(Minted.bundleId)","environment":"Sandbox"\(date)}
                """
            return try Minter(chain).sign(Array(payload.utf8))
        }
        let dated = try token(",\"signedDate\":\(now - 10 * hour)")
        let items: Items = [(.transaction, try token("")), (.transaction, dated)]
        try withServer { test in
            let client = try RawClient(test.unix)
            for moment in [nil, now, now - 10 * hour] {
                try client.send(
                    RawClient.resolve(1, items) { $0.at = moment.map(Timestamp.init) })
                let resolution = try Self.resolution(client.receive()?.head)
                #expect(
                    resolution.items.map(\.verification.verdict) == [.certificateExpired, .valid])
            }
        }
    }

    @Test("line 100: two customers in one request are a conflict")
    func twoCustomers() throws {
        try withServer { test in
            let client = try RawClient(test.unix)
            for second in 1...2 {
                let items = try Self.periods(9) + Self.periods(9, account: second)
                try client.send(RawClient.resolve(1, items))
                let entitlements = try Self.resolution(client.receive()?.head).entitlements
                #expect(entitlements.apps.count == 1)
                #expect(entitlements.apps[0].customers.isConflicting == (second == 2))
                #expect(
                    entitlements.warnings.contains { $0.code == .customersMixed } == (second == 2))
            }
        }
    }

    @Test("line 100: a deadline that passes while half is verified is answered once")
    func deadline() throws {
        try withHeldWorker(1) { test, client, clock in
            let items = try Self.periods(300)
            try client.send(RawClient.resolve(2, items, timeout: 100_000))
            test.eventually { $0.requestsInFlight == 2 && $0.waiting == 300 }
            try test.pass(milliseconds: 100_100)
            let head = try client.receive()?.head
            #expect(head?.id == 2 && head?.status == .deadlineExceeded)
            clock.release.open()
            #expect(try client.receive()?.head.id == 1)
            // The id is free again, and nothing of the first request is left.
            try client.send(RawClient.resolve(2, Array(items.prefix(10))))
            #expect(try Self.resolution(client.receive()?.head).items.count == 10)
        }
    }

    @Test("line 100: a deadline that passes while the frame arrives skips the rest")
    func deadlineWhileArriving() throws {
        let frame = RawClient.resolve(2, try Self.periods(50), timeout: 100_000)
        try withServer { test in
            let client = try RawClient(test.unix)
            try client.send(Array(frame[..<(frame.count / 2)]))
            test.eventually { $0.requestsInFlight == 1 && $0.waiting == 0 }
            try test.pass(milliseconds: 100_100)
            let head = try client.receive()?.head
            #expect(head?.id == 2 && head?.status == .deadlineExceeded)
            try client.send(Array(frame[(frame.count / 2)...]))
            try client.expectPong()
        }
    }

    @Test("line 100: a drain answers what it accepted, and refuses a new Resolve")
    func drain() throws {
        let clock = HeldBackground()
        let items = try Self.periods(100)
        let test = try TestServer(heldBy: clock)
        let client = try RawClient(test.unix)
        try client.expectPong()
        clock.arm()
        try client.send(RawClient.resolve(1, items))
        clock.isHeld.wait()
        test.server.drain()
        #expect(try client.receive()?.head.id == 0)
        try client.send(RawClient.resolve(2, items))
        let refused = try client.receive()?.head
        #expect(refused?.id == 2 && refused?.status == .unavailable)
        clock.release.open()
        let head = try client.receive()?.head
        #expect(head?.id == 1)
        #expect(try Self.resolution(head).items.count == 100)
        #expect(try client.receive() == nil)
        client.socket.close()
        test.server.wait()
    }

    @Test("line 100: a client that disconnects costs no work and leaves nothing behind")
    func disconnect() throws {
        try withHeldWorker(1) { test, client, clock in
            let items = try Self.periods(300)
            let other = try RawClient(test.tcp)
            try other.send(RawClient.resolve(2, items))
            let half = try RawClient(test.tcp)
            let frame = RawClient.resolve(3, items)
            try half.send(Array(frame[..<(frame.count / 2)]))
            test.eventually { $0.requestsInFlight == 3 && $0.waiting > 300 }
            let before = test.verifier.statistics.hits
            other.socket.reset()
            half.socket.reset()
            test.eventually { $0.connections == 1 && $0.requestsInFlight == 1 }
            clock.release.open()
            #expect(try client.receive()?.head.id == 1)
            test.eventually { $0.waiting == 0 && $0.evidenceBytes == 0 }
            #expect(test.verifier.statistics.hits - before < 20)
        }
    }

    @Test("line 100: a Resolve counts its bytes and 1 KB an item, within the memory")
    func memory() throws {
        try withHeldWorker(1) { test, client, clock in
            let items = try Self.periods(100)
            let bytes = items.reduce(0) { $0 + $1.evidence.count }
            let before = try #require(test.server.heldResources).evidenceBytes
            try client.send(RawClient.resolve(2, items))
            test.eventually { $0.waiting == 100 }
            let held = try #require(test.server.heldResources).evidenceBytes - before
            #expect(held == bytes + 100 * 1024)
            clock.release.open()
            try client.expectAnswers(1...2)
        }
        let items = try Self.periods(100)
        try withServer {
            $0.limits.evidenceBytes = 400_000
        } _: { test in
            let client = try RawClient(test.unix)
            try client.send(RawClient.resolve(1, items))
            let head = try client.receive()?.head
            #expect(head?.id == 1 && head?.status == .resourceExhausted)
            #expect(head?.retryAfterMilliseconds == 0, "it never fits")
            try client.send(RawClient.resolve(2, Array(items.prefix(20))))
            try client.expectAnswers(2...2)
        }
    }

    @Test("line 100: a Resolve above the connection's share of memory is read to its end")
    func largerThanTheShare() throws {
        let items = try Self.periods(100)
        try withServer {
            $0.limits.evidenceBytesPerConnection = 100_000
            $0.limits.evidenceBytes = 4 << 20
        } _: { test in
            let client = try RawClient(test.unix)
            let frame = RawClient.resolve(1, items) { $0.returnsPayloadJSON = true }
            try client.send(frame + RawClient.resolve(2, items))
            try client.expectAnswers(1...2)
        }
    }

    @Test("line 100: a receipt inside a Resolve is not kept while it arrives")
    func streamedReceipt() throws {
        let receipt = try Minted.receipt(bytes: 4 << 20)
        let items: Items = [(.transaction, try Minted.period(1)), (nil, receipt)]
        let frame = RawClient.resolve(1, items)
        try withServer { test in
            let client = try RawClient(test.unix)
            try client.send(Array(frame.dropLast(10)))
            test.eventually { $0.evidenceBytes > 0 && $0.bufferedBytes == 0 }
            let held = try #require(test.server.heldResources)
            #expect(held.evidenceBytes < receipt.count, "\(held)")
            try client.send(Array(frame.suffix(10)))
            let resolution = try Self.resolution(client.receive()?.head)
            #expect(resolution.items.allSatisfy { $0.verification.verdict == .valid })
            #expect(resolution.items[1].verification.kind == .appReceipt)
        }
    }
}
