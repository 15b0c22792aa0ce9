import AssayModels
import AssayWire
import Testing

/// Tests that the heads of Resolve survive a round trip through the codec.
@Suite("Resolve messages") struct ResolveMessageTests {
    private let codec = MessageCodec()

    private func roundTrip(_ call: ResolveCall) throws -> RequestHead.Call {
        var bytes: [UInt8] = []
        codec.encode(RequestHead(id: 1, call: .resolve(call)), into: &bytes)
        return try codec.decodeRequest(bytes.span).call
    }

    private func roundTrip(_ head: ResponseHead) throws -> ResponseHead {
        var bytes: [UInt8] = []
        codec.encode(head, into: &bytes)
        return try codec.decodeResponse(bytes.span)
    }

    @Test("calls: kinds, lengths, labels, time, policy, expectations and options")
    func calls() throws {
        let kinds =
            EvidenceKind.allCases.map { ResolveCall.Kind.named($0) }
            + [.detected, .unknown(99), .unknown(.max)]
        var policy = EntitlementPolicy()
        policy.maxAgeMilliseconds = 0
        policy.billingRetryLeniencyMilliseconds = 1
        policy.durations = ["a": 2, "b\0": -3, "": .max]
        policy.acceptsFamilySharing = false
        policy.expectedAppAccountToken = "t"
        let items = kinds.enumerated().map { index, kind in
            ResolveCall.Item(
                kind, length: index == 0 ? .max : UInt32(index),
                label: index % 2 == 0 ? nil : "item \(index)")
        }
        let table = [
            ResolveCall(items: []), ResolveCall(items: items),
            ResolveCall(items: items, at: Timestamp(milliseconds: .min)),
            ResolveCall(items: items, policy: policy),
            ResolveCall(items: items, expectations: Expectations(bundleId: "b", appAppleId: 1)),
            ResolveCall(items: items, returnsTypedPayloads: true),
            ResolveCall(items: items, returnsPayloadJSON: true),
        ]
        for call in table { #expect(try roundTrip(call) == .resolve(call)) }
    }

    @Test("a head lists 4,096 items, within its limits of size and memory") func fullHead() throws {
        for (kind, label) in [
            (ResolveCall.Kind.named(.transaction), ""), (.named(.transaction), nil),
            (.detected, nil),
        ] {
            let items = (0..<RequestLimits.resolveItems).map { index in
                ResolveCall.Item(kind, length: 5_000, label: label.map { $0 + "\(index)" })
            }
            let call = ResolveCall(items: items)
            var bytes: [UInt8] = []
            codec.encode(RequestHead(id: 1, call: .resolve(call)), into: &bytes)
            #expect(bytes.count <= FrameLimits.request.headBytes, "\(bytes.count)")
            #expect(try codec.decodeRequest(bytes.span).call == .resolve(call))
        }
    }

    private static let decided = DecidedBy(
        item: 4095, transactionId: "47", signedDate: Timestamp(milliseconds: 1))

    private static func subscription(_ status: SubscriptionState) -> Subscription {
        var subscription = Subscription(
            originalTransactionId: "40", status: status, isEntitled: true, productId: "p",
            entitledUntil: Timestamp(milliseconds: 2), ownership: .familyShared, isTrial: true,
            offerType: .introductory, billingPlanType: BillingPlanType(rawValue: "NEW"),
            willRenew: false, renewsAs: "q", expirationIntent: ExpirationIntent(rawValue: 9),
            revocationPercentage: 50_000, decidedBy: decided,
            expiresDate: Timestamp(milliseconds: 3))
        subscription.revocationDate = Timestamp(milliseconds: 9)
        subscription.revocationReason = RevocationReason(rawValue: -1)
        subscription.revocationType = RevocationType(rawValue: "NEW")
        subscription.offerIdentifier = "o"
        subscription.commitmentExpiresDate = Timestamp(milliseconds: 10)
        subscription.commitmentWillRenew = false
        return subscription
    }

    private static var entitlements: Entitlements {
        var app = AppEntitlements(
            environment: StoreEnvironment(rawValue: "New"), bundleId: "com.example")
        let subscriptions = SubscriptionState.allCases.map(Self.subscription)
        app.subscriptionGroups = [
            SubscriptionGroup(
                subscriptionGroupIdentifier: "2100", deciding: subscriptions[0],
                subscriptions: subscriptions),
            SubscriptionGroup(
                deciding: Subscription(originalTransactionId: "1", decidedBy: decided),
                subscriptions: [Subscription(originalTransactionId: "1", decidedBy: decided)]),
        ]
        app.nonConsumables = [
            ProductEntitlement(
                productId: "w", isEntitled: true, entitledUntil: Timestamp(milliseconds: 4),
                transactionId: "48", ownership: .purchased,
                revocationDate: Timestamp(milliseconds: 5), revocationPercentage: 6,
                decidedBy: decided)
        ]
        app.nonRenewing = [
            ProductEntitlement(
                productId: "n", transactionId: "49",
                decidedBy: DecidedBy(item: 0, transactionId: "49"))
        ]
        app.consumables = [
            ConsumablePurchase(
                transactionId: "50", productId: "g", quantity: .max, revokedPercentage: 100_000,
                dedupKey: "k", decidedBy: decided),
            ConsumablePurchase(transactionId: "51", dedupKey: "l", decidedBy: decided),
        ]
        app.nonConsumables[0].revocationReason = .issue
        app.nonConsumables[0].revocationType = .familyRevoke
        app.nonRenewing[0].purchases = [
            ProductPurchase(transactionId: "49", revocationDate: Timestamp(milliseconds: 10))
        ]
        app.nonRenewing[0].purchases[0].revocationReason = .other
        app.nonRenewing[0].purchases[0].revocationType = .refundFull
        app.consumables[0].revocationDate = Timestamp(milliseconds: 11)
        app.consumables[0].revocationReason = .issue
        app.consumables[0].revocationType = .refundProrated
        app.customers.appAccountTokens = ["a", "b"]
        app.customers.appTransactionIds = ["7"]
        app.customers.isConflicting = true
        var entitlements = Entitlements(at: Timestamp(milliseconds: 8))
        entitlements.apps = [app, AppEntitlements(environment: .sandbox, bundleId: "")]
        entitlements.newestSignedDate = Timestamp(milliseconds: 9)
        entitlements.isStale = true
        entitlements.nextChange = Timestamp(milliseconds: 10)
        entitlements.warnings = EntitlementWarning.Code.allCases.map {
            EntitlementWarning(code: $0, message: "why", item: $0 == .other ? nil : 4095)
        }
        return entitlements
    }

    @Test("results: every field of the entitlements, and refused items") func results() throws {
        for entitlements in [Self.entitlements, Entitlements(at: Timestamp(milliseconds: 0))] {
            let resolution = Resolution(
                items: [
                    ResolvedItem(
                        EvidenceItem(
                            Verification(verdict: .valid, detail: "d", kind: .transaction),
                            label: "a"),
                        payloadJSONLength: 12),
                    ResolvedItem(
                        EvidenceItem(Verification(verdict: .wrongKind, detail: "not detected"))),
                ],
                entitlements: entitlements)
            let head = ResponseHead(id: 3, result: .resolution(resolution))
            #expect(try roundTrip(head) == head)
        }
        let empty = Resolution(items: [], entitlements: Self.entitlements)
        let head = ResponseHead(id: 3, result: .resolution(empty))
        #expect(try roundTrip(head) == head)
    }

    @Test("calls of Fetch: lists, time, policy and options") func fetchCalls() throws {
        var policy = EntitlementPolicy()
        policy.durations = ["a": 2]
        let table = [
            FetchCall(of: ""), FetchCall(of: "470001500000001"), FetchCall(of: "a\0é"),
            FetchCall(of: "1", lists: [.statuses]), FetchCall(of: "1", lists: [.history]),
            FetchCall(of: "1", lists: [.history, .unknown(0), .unknown(.max), .history]),
            FetchCall(of: "1", at: Timestamp(milliseconds: .max)),
            FetchCall(of: "1", policy: policy), FetchCall(of: "1", returnsTypedPayloads: true),
        ]
        for call in table {
            var bytes: [UInt8] = []
            codec.encode(RequestHead(id: 1, call: .fetch(call)), into: &bytes)
            #expect(try codec.decodeRequest(bytes.span).call == .fetch(call))
        }
    }

    @Test("results of Fetch, and Apple's code of a refusal") func fetchResults() throws {
        let item = ResolvedItem(
            EvidenceItem(
                Verification(verdict: .valid, detail: "d", kind: .serverAnswer), label: "statuses"))
        let results = [
            Fetched(environment: .production, items: [], entitlements: Self.entitlements),
            Fetched(
                environment: .sandbox, revision: "r", items: [item, item],
                entitlements: Self.entitlements),
        ]
        for fetched in results {
            let head = ResponseHead(id: 3, result: .fetched(fetched))
            #expect(try roundTrip(head) == head)
        }
        for code: Int64? in [nil, 0, 4_040_010, .min, .max] {
            let head = ResponseHead(id: 3, status: .notFound, appStoreErrorCode: code)
            #expect(try roundTrip(head) == head)
        }
    }

    /// Values of a newer server: replaced byte for byte by text of the same length.
    @Test("an unknown status or warning of a newer server is kept as unknown") func newer() throws {
        var bytes: [UInt8] = []
        codec.encode(
            ResponseHead(
                id: 3,
                result: .resolution(Resolution(items: [], entitlements: Self.entitlements))),
            into: &bytes)
        var text = bytes
        let changes = [("BILLING_RETRY", "BILLING_NEVER"), ("CUSTOMERS_MIXED", "CUSTOMERS_OTHER")]
        for (old, new) in changes {
            let (old, new) = (Array(old.utf8), Array(new.utf8))
            let start = try #require(text.indices.first { text[$0...].starts(with: old) })
            text.replaceSubrange(start..<start + old.count, with: new)
        }
        guard case .resolution(let resolution) = try codec.decodeResponse(text.span).result else {
            Issue.record("no resolution")
            return
        }
        let groups = resolution.entitlements.apps[0].subscriptionGroups
        #expect(groups[0].subscriptions.count { $0.status == .unknown } == 2)
        #expect(resolution.entitlements.warnings.count { $0.code == .other } == 2)
        #expect(resolution.entitlements.warnings.count == EntitlementWarning.Code.allCases.count)
    }
}
