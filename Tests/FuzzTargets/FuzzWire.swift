import AssayModels
import AssayWire

/// Frames and heads, each on its own.
extension FuzzTarget {
    /// A frame is found at the same offset for every split of its bytes.
    static let frame = FuzzTarget(
        "Frame", seeds: frameSeeds, words: ["GET / HTTP/1.1\r\n\r\n", "PRI * HTTP/2.0", "SSH-2.0-"]
    ) { bytes in
        let limits = FrameLimits(frameBytes: 4096, headBytes: 1024)
        let decoder = FrameDecoder(limits: limits)
        let reporting = FrameDecoder(limits: limits, reportsHeads: true)
        var position = 0
        while true {
            let rest = bytes.extracting(position..<bytes.count)
            let whole = decoder.next(in: rest)
            checkPrefixes(rest, whole, decoder)
            let end: Int
            switch whole {
            case .needMore(let minimum):
                precondition(minimum > rest.count)
                if case .head(let frame) = reporting.next(in: rest) {
                    precondition(frame.end == minimum && frame.head.upperBound <= rest.count)
                }
                return
            case .head: preconditionFailure("not asked for")
            case .frame(let frame):
                precondition(frame.head.upperBound == frame.body.lowerBound)
                precondition(frame.end <= rest.count && frame.end >= FrameDecoder.prefixBytes)
                precondition(reporting.next(in: rest) == whole)
                end = frame.end
            case .fault(let fault):
                guard let skip = fault.skip else { return }
                precondition(skip > 0)
                end = skip
            }
            guard end <= rest.count else { return }
            position += end
        }
    }

    private static func checkPrefixes(
        _ bytes: Span<UInt8>, _ whole: FrameDecoder.Step, _ decoder: FrameDecoder
    ) {
        for count in 0..<min(bytes.count, 24) {
            switch decoder.next(in: bytes.extracting(0..<count)) {
            case .needMore(let minimum): precondition(minimum > count)
            case .head: preconditionFailure("not asked for")
            case .frame(let frame): precondition(whole == .frame(frame))
            case .fault(let fault): precondition(whole == .fault(fault))
            }
        }
    }

    /// A head that decodes is equal after another encoding and decoding.
    static let head = FuzzTarget("Head", seeds: headSeeds) { bytes in
        let codec = MessageCodec()
        _ = MessageCodec.leadingId(of: bytes)
        if let request = try? codec.decodeRequest(bytes) {
            if let id = MessageCodec.idOfVerify(bytes) {
                precondition(request.id == id, "the id without decoding")
                guard case .verify = request.call else { preconditionFailure("another call") }
            }
            var encoded: [UInt8] = []
            codec.encode(request, into: &encoded)
            precondition((try? codec.decodeRequest(encoded.span)) == request, "request twice")
        }
        if let response = try? codec.decodeResponse(bytes) {
            var encoded: [UInt8] = []
            codec.encode(response, into: &encoded)
            precondition((try? codec.decodeResponse(encoded.span)) == response, "response twice")
        }
    }

    // MARK: Seeds

    static let calls: [RequestHead.Call] = [
        .ping, .health, .info,
        .verify(
            VerifyCall(
                kind: .notification,
                expectations: Expectations(
                    bundleId: FuzzAuthority.bundle, appAppleId: 1,
                    environments: [.production, .sandbox], productIds: ["a", "b"],
                    appAccountToken: "t", transactionId: "1", deviceIdentifier: [1, 2, 3],
                    otherDeviceIdentifiers: [[4], []], notOlderThan: FuzzAuthority.now),
                returnsPayloadJSON: true, inApp: .latest)),
        .resolve(resolveCall),
        .fetch(FetchCall(of: "1")),
        .fetch(
            FetchCall(
                of: "1", lists: [.history, .statuses, .unknown(9)], at: FuzzAuthority.now,
                policy: resolveCall.policy, returnsTypedPayloads: true)),
    ]

    /// Items of three bytes together, and every option.
    private static let resolveCall = {
        var policy = EntitlementPolicy()
        policy.maxAgeMilliseconds = 1
        policy.billingRetryLeniencyMilliseconds = 2
        policy.durations = ["pass": 3]
        policy.acceptsFamilySharing = false
        policy.expectedAppAccountToken = "t"
        return ResolveCall(
            items: [
                ResolveCall.Item(.named(.transaction), length: 1, label: "a"),
                ResolveCall.Item(length: 2),
            ],
            at: FuzzAuthority.now, policy: policy,
            expectations: Expectations(bundleId: FuzzAuthority.bundle),
            returnsTypedPayloads: true, returnsPayloadJSON: true)
    }()

    private static let entitlements = {
        let decided = DecidedBy(item: 0, transactionId: "1", signedDate: FuzzAuthority.now)
        let subscription = Subscription(
            originalTransactionId: "1", status: .active, isEntitled: true, productId: "p",
            decidedBy: decided)
        var app = AppEntitlements(environment: .production, bundleId: FuzzAuthority.bundle)
        app.subscriptionGroups = [
            SubscriptionGroup(deciding: subscription, subscriptions: [subscription])
        ]
        app.nonConsumables = [
            ProductEntitlement(productId: "p", transactionId: "2", decidedBy: decided)
        ]
        app.consumables = [
            ConsumablePurchase(transactionId: "3", dedupKey: "k", decidedBy: decided)
        ]
        app.customers.appAccountTokens = ["t"]
        var entitlements = Entitlements(at: FuzzAuthority.now)
        entitlements.apps = [app]
        entitlements.warnings = [EntitlementWarning(code: .customersMixed, message: "m", item: 0)]
        return entitlements
    }()

    private static let transaction = {
        var payload = JWSTransactionDecodedPayload()
        payload.transactionId = "1"
        payload.bundleId = FuzzAuthority.bundle
        payload.signedDate = FuzzAuthority.now
        return payload
    }()

    static let results: [ResponseHead.CallResult] = [
        .none, .pong, .health(serving: true),
        .verification(
            Verification(
                verdict: .valid, detail: "d", kind: .transaction, environment: .production,
                dedupKey: "k",
                certificate: SigningCertificate(
                    serial: "1f", notAfter: FuzzAuthority.now, expired: false),
                evidence: .transaction(VerifiedPayload(transaction, json: [])))),
        .verification(Verification(verdict: .wrongBundle, detail: "another bundle")),
        .resolution(
            Resolution(
                items: [
                    ResolvedItem(
                        EvidenceItem(Verification(verdict: .malformed, detail: "d"), label: "a"))
                ],
                entitlements: entitlements)),
        .fetched(
            Fetched(
                environment: .sandbox, revision: "r",
                items: [
                    ResolvedItem(
                        EvidenceItem(
                            Verification(verdict: .valid, detail: "d", kind: .serverAnswer),
                            label: "history 1"))
                ],
                entitlements: entitlements)),
    ]

    private static var headSeeds: [[UInt8]] {
        let codec = MessageCodec()
        func encoded(_ encode: (inout [UInt8]) -> Void) -> [UInt8] {
            var bytes: [UInt8] = []
            encode(&bytes)
            return bytes
        }
        return calls.map { call in
            encoded { codec.encode(RequestHead(id: 7, call: call, app: "a"), into: &$0) }
        }
            + results.map { result in
                encoded { codec.encode(ResponseHead(id: 7, result: result), into: &$0) }
            }
    }

    private static var frameSeeds: [[UInt8]] {
        let codec = MessageCodec()
        var frames: [UInt8] = []
        for call in calls {
            codec.encodeFrame(RequestHead(id: 7, call: call), body: [1, 2, 3], into: &frames)
        }
        return [frames, Array("GET / HTTP/1.1\r\n\r\n".utf8), [0, 0, 0, 4, 0, 0, 0, 0]]
    }
}
