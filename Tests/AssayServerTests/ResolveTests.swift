import Assay
import AssayClient
import AssayEntitlements
import AssayIO
import AssayMint
import AssayModels
import AssayServer
import AssayWire
import TestSupport
import Testing

/// Compares the server's answers to Resolve with the library's.
@Suite("Resolve", .ownThread, .serialized, .timeLimit(.minutes(3))) struct ResolveTests {
    /// One item of each kind, refused items, and receipts of which one is verified as it arrives.
    private static func mixture() throws -> [ResolveItem] {
        let foreign = try Minted.foreign.get()
        var items = try Minted.jwsKinds.map { kind in
            ResolveItem(try Minted.token(kind), as: kind, label: kind.name)
        }
        items += [
            ResolveItem(try Minted.receipt(bytes: 3_000), as: .appReceipt),
            ResolveItem(try Minted.receipt(bytes: 200_000), as: .appReceipt, label: "large"),
            ResolveItem(Minted.tampered(try Minted.token(.transaction)), as: .transaction),
            ResolveItem(try Minted.token(.transaction, by: foreign), as: .transaction),
            ResolveItem(
                try Minted.token(.transaction, bundleId: "com.example.other"), as: .transaction),
            ResolveItem(try Minted.token(.renewalInfo), as: .transaction),
            ResolveItem(Array("neither".utf8), as: .notification),
        ]
        return items
    }

    /// What the library says about the items, without the JSON that the wire does not carry.
    private static func expected(
        _ items: [ResolveItem], _ verifier: Verifier, at moment: Timestamp = Minted.now,
        _ policy: EntitlementPolicy = EntitlementPolicy()
    ) -> (verifications: [Verification], entitlements: Entitlements) {
        let verifications = items.map { item in
            let kind = item.kind ?? Verifier.likelyKind(of: item.evidence.span)
            let verification = verifier.verify(
                item.evidence.span, as: kind ?? .transaction, policy: Minted.policy, at: moment)
            return kind == nil ? verification.ofUnknownKind : verification
        }
        let evidence = zip(items, verifications).map { EvidenceItem($1, label: $0.label) }
        return (verifications, Entitlements(of: evidence, at: moment, policy: policy))
    }

    private func expectSame(
        _ answer: ResolveAnswer, _ items: [ResolveItem], _ test: SocketServer,
        at moment: Timestamp = Minted.now, _ policy: EntitlementPolicy = EntitlementPolicy(),
        sourceLocation: SourceLocation = #_sourceLocation
    ) {
        let own = Self.expected(items, test.verifier, at: moment, policy)
        #expect(answer.entitlements == own.entitlements, sourceLocation: sourceLocation)
        #expect(answer.items.map(\.label) == items.map(\.label), sourceLocation: sourceLocation)
        for (theirs, var mine) in zip(answer.items.map(\.verification), own.verifications) {
            mine.evidence = nil
            #expect(theirs == mine, sourceLocation: sourceLocation)
        }
    }

    @Test("Verdicts and entitlements are the library's, with named kinds and with detected ones")
    func sameAsTheLibrary() async throws {
        let named = try Self.mixture()
        let detected = named.map { ResolveItem($0.evidence, label: $0.label) }
        try await withClient { test, client in
            for items in [named, detected, Array(named.prefix(2)), Array(detected.suffix(6))] {
                expectSame(try await client.resolve(items), items, test)
                let reversed = Array(items.reversed())
                expectSame(try await client.resolve(reversed, mayWait: true), reversed, test)
            }
        }
    }

    @Test("Payloads are returned on request: typed, as JSON, or both")
    func payloads() async throws {
        let items = try Self.mixture()
        try await withClient { test, client in
            for payloads in [ReturnedPayloads.typed, .json, [.typed, .json]] {
                let answer = try await client.resolve(items, returning: payloads)
                for (index, item) in answer.items.enumerated() {
                    let alone = try await client.verify(
                        items[index].evidence,
                        VerifyCall(
                            kind: items[index].kind,
                            returnsTypedPayload: payloads.contains(.typed),
                            returnsPayloadJSON: payloads.contains(.json)))
                    #expect(item.verification == alone.verification, "item \(index)")
                    let isValid = item.verification.verdict == .valid
                    let json = isValid || index != items.count - 1 ? alone.payloadJSON : []
                    #expect(item.payloadJSON == json, "item \(index)")
                }
                #expect(answer.items.contains { $0.verification.verdict == .valid })
            }
        }
    }

    @Test("Time and policy decide; evidence is verified at the server's time")
    func timeAndPolicy() async throws {
        let periods = try (0..<12).map { ResolveItem(try Minted.period($0)) }
        try await withClient { test, client in
            let later = Timestamp(milliseconds: Minted.now.milliseconds + 90_000)
            let future = try await client.resolve(periods, at: later)
            #expect(future.entitlements.at == later)
            #expect(future.entitlements.apps.first?.subscriptionGroups.first?.isEntitled == true)
            // The client's time never makes the server accept evidence of its future.
            let unborn = try await client.resolve(
                [ResolveItem(try Minted.period(1, later: 600_000))],
                at: Timestamp(milliseconds: Minted.now.milliseconds + 700_000))
            #expect(unborn.items.map(\.verification.verdict) == [.invalidDate])
            // What was signed later counts, unless the policy leaves it out.
            let earlier = Timestamp(milliseconds: Minted.now.milliseconds - 600)
            let past = try await client.resolve(periods, at: earlier)
            #expect(past.items.allSatisfy { $0.verification.verdict == .valid })
            #expect(past.entitlements.apps.first?.subscriptionGroups.first?.isEntitled == true)
            var known = EntitlementPolicy()
            known.knownAt = earlier
            let then = try await client.resolve(periods, at: earlier, policy: known)
            #expect(then.items.allSatisfy { $0.verification.verdict == .valid })
            #expect(then.entitlements.apps.isEmpty)
            var policy = EntitlementPolicy()
            policy.maxAgeMilliseconds = 0
            policy.durations = ["pass": 1, "season": 2]
            policy.acceptsFamilySharing = false
            policy.billingRetryLeniencyMilliseconds = 5
            policy.expectedAppAccountToken = "00000000-0000-0000-0000-000000000002"
            let strict = try await client.resolve(periods, at: Minted.now, policy: policy)
            expectSame(strict, periods, test, at: Minted.now, policy)
            let group = strict.entitlements.apps.first?.subscriptionGroups.first
            #expect(group?.deciding.belongsToAnotherAccount == true && group?.isEntitled == false)
            let other = try await client.resolve(
                periods, expecting: Expectations(productIds: ["another"]))
            #expect(other.items.allSatisfy { $0.verification.verdict == .mismatch })
        }
    }

    @Test("How the bytes are split never changes the answer", arguments: [1, 997, 5_000, 65_536])
    func chunks(size: Int) throws {
        var items = try (0..<20).map { ResolveItem(try Minted.period($0)) }
        items.insert(ResolveItem(try Minted.receipt(bytes: size == 1 ? 3_000 : 150_000)), at: 10)
        let frame = RawClient.resolve(5, items.map { ($0.kind, $0.evidence) })
        try withServer { test in
            let client = try RawClient(test.unix)
            var position = 0
            while position < frame.count {
                let end = min(position + size, frame.count)
                try client.send(Array(frame[position..<end]))
                test.simulated.runUntilIdle()
                position = end
            }
            let head = try client.receive()?.head
            #expect(head?.id == 5 && head?.status == .ok)
            guard case .resolution(let resolution) = head?.result else {
                Issue.record("no resolution: \(head as Any)")
                return
            }
            #expect(resolution.entitlements == Self.expected(items, test.verifier).entitlements)
            try client.expectPong()
        }
    }

    @Test("Requests on one connection are answered beside a large Resolve")
    func beside() throws {
        let token = try Minted.transaction.get()
        let items = try (0..<300).map { (EvidenceKind?.some(.transaction), try Minted.period($0)) }
        try withServer { test in
            let client = try RawClient(test.tcp)
            var bytes: [UInt8] = []
            for id in 1...10 as ClosedRange<UInt64> {
                bytes += RawClient.verify(id, .transaction, token)
                bytes += RawClient.resolve(id + 10, items.map { ($0.0, $0.1) })
            }
            try client.send(bytes)
            try client.expectAnswers(1...20)
        }
    }

    @Test("Metrics count requests by outcome, and each item by verdict")
    func metrics() throws {
        let admin = try SimulatedAdminTest()
        defer { admin.end() }
        let token = try Minted.transaction.get()
        let periods = try (0..<3).map { (EvidenceKind?.none, try Minted.period($0)) }
        let bad = (EvidenceKind?.none, Minted.tampered(token))
        let client = try RawClient(admin.test.unix)
        try client.send(RawClient.resolve(1, periods))
        try client.send(RawClient.resolve(2, periods + [bad]))
        try client.send(RawClient.resolve(3, [bad]))
        try client.send(RawClient.resolve(4, [(nil, try Minted.period(1, account: 2))] + periods))
        try client.expectAnswers(1...4)
        try client.send(RawClient.resolve(5, []))
        #expect(try client.receive()?.head.status == .invalidArgument)
        let resolve = #"{grpc_type="unary",grpc_service="assay.v1.Assay",grpc_method="Resolve"}"#
        let handled = "grpc_server_handled_total" + resolve.dropLast() + ",grpc_code="
        let verdicts = #"assay_verifications_total{kind="transaction",verdict="#
        let expected: [String: Double] = [
            "grpc_server_started_total" + resolve: 5, handled + "\"OK\"}": 4,
            handled + "\"InvalidArgument\"}": 1,
            "grpc_server_handling_seconds_count" + resolve: 4,
            #"assay_resolves_total{outcome="valid"}"#: 1,
            #"assay_resolves_total{outcome="partly_refused"}"#: 1,
            #"assay_resolves_total{outcome="refused"}"#: 1,
            #"assay_resolves_total{outcome="conflict"}"#: 1,
            verdicts + #""VALID",environment="Sandbox",app="game"}"#: 10,
            verdicts + #""INVALID_SIGNATURE",environment="none",app="game"}"#: 2,
            "assay_queue_delay_seconds_count": 12,
        ]
        var metrics: [String: Double] = [:]
        try admin.eventually {
            metrics = try admin.metrics()
            return metrics[#"assay_frames_total{direction="sent"}"#] == 5
        }
        for (name, value) in expected { #expect(metrics[name] == value, "\(name)") }
        client.socket.close()
    }
}
