import AssayIO
import AssayModels
import AssayWire

/// The answers of the scripted server.
enum Answer {
    /// The name of a call in events.
    static func name(_ call: RequestHead.Call) -> String {
        switch call {
        case .verify: "verify"
        case .resolve: "resolve"
        case .fetch: "fetch"
        case .health: "health"
        case .info: "info"
        case .ping: "ping"
        case .unknown: "unknown"
        }
    }

    /// What a call carries, for events that name it.
    static func details(_ call: RequestHead.Call, bodyCount: Int) -> String {
        if case .resolve(let resolve) = call { return details(resolve.policy) }
        guard case .fetch(let fetch) = call else { return "" }
        let lists = fetch.lists.map { "\($0)" }.joined(separator: "+")
        let moment = fetch.at.map { ":at=\($0.milliseconds)" } ?? ""
        let leniency = fetch.policy.billingRetryLeniencyMilliseconds
        let evidence = bodyCount == 0 ? "" : ":by=\(bodyCount)"
        return ":of=\(fetch.transactionId)\(evidence):lists=\(lists)\(moment)"
            + (leniency == 0 ? "" : ":leniency=\(leniency)")
            + details(fetch.policy) + (fetch.returnsTypedPayloads ? ":typed" : "")
    }

    private static func details(_ policy: EntitlementPolicy) -> String {
        let renewal = policy.renewalLeniencyMilliseconds
        let durations = policy.durations.sorted { $0.key < $1.key }.map { product, duration in
            ":\(product)=\(duration)" + (policy.stackedProducts.contains(product) ? "+" : "")
        }
        return (renewal == 0 ? "" : ":renewal=\(renewal)")
            + (policy.knownAt.map { ":known=\($0.milliseconds)" } ?? "")
            + (policy.expectedAppAccountToken.map { ":account=\($0)" } ?? "")
            + durations.joined()
    }

    /// Returns the frame of an answer; without a request that of a notice.
    static func frame(
        _ codec: MessageCodec, _ request: RequestHead?, _ id: UInt64, _ options: AnswerOptions?
    ) -> [UInt8] {
        var head = ResponseHead(
            id: options?.id ?? id, status: options?.status ?? .ok,
            message: options?.message ?? "", retryAfterMilliseconds: options?.retryAfter ?? 0,
            appStoreErrorCode: options?.appStoreErrorCode)
        var body: [UInt8] = []
        if head.status == .ok, let request {
            head.result = result(of: options?.result ?? name(request.call), request.call)
            body = json(for: request.call)
        }
        if let count = options?.bodyCount { body = [UInt8](repeating: 0, count: count) }
        var bytes: [UInt8] = []
        codec.encode(head, into: &bytes)
        bytes += options?.append ?? []
        return prefix(4 + bytes.count + body.count) + prefix(bytes.count) + bytes + body
    }

    private static func prefix(_ count: Int) -> [UInt8] {
        stride(from: 24, through: 0, by: -8).map { UInt8(truncatingIfNeeded: count >> $0) }
    }

    private static func json(for call: RequestHead.Call) -> [UInt8] {
        switch call {
        case .verify(let verify) where verify.returnsPayloadJSON: Array(#"{"payload":{}}"#.utf8)
        case .resolve(let resolve) where resolve.returnsPayloadJSON:
            resolve.items.flatMap { _ in Array("{}".utf8) }
        default: []
        }
    }

    private static func result(
        of name: String, _ call: RequestHead.Call
    ) -> ResponseHead.CallResult {
        switch name {
        case "verify": .verification(valid(call))
        case "refused":
            .verification(
                Verification(
                    verdict: .invalidSignature, detail: "the signature does not verify",
                    kind: .transaction))
        case "resolve": .resolution(resolution(call))
        case "owned": .resolution(OwnedAnswer.resolution)
        case "fetch": .fetched(fetched(call))
        case "health": .health(serving: true)
        case "not-serving": .health(serving: false)
        case "info": .info(info)
        case "ping": .pong
        default: .none
        }
    }

    private static func valid(_ call: RequestHead.Call) -> Verification {
        var transaction = JWSTransactionDecodedPayload()
        transaction.transactionId = "470001"
        transaction.productId = "gold"
        // Above the integers that a binary64 number holds.
        transaction.price = .max
        return Verification(
            verdict: .valid, detail: "one sentence", kind: .transaction, environment: .production,
            dedupKey: "Production/com.example.game/470001",
            certificate: SigningCertificate(
                serial: "73cdbc543c7c4ea6", notAfter: Timestamp(milliseconds: .max),
                expired: false),
            evidence: .transaction(VerifiedPayload(transaction, json: [])))
    }

    private static func resolution(_ call: RequestHead.Call) -> Resolution {
        guard case .resolve(let resolve) = call else {
            return Resolution(items: [], entitlements: Entitlements(at: Timestamp(milliseconds: 0)))
        }
        let items = resolve.items.map { item in
            ResolvedItem(
                EvidenceItem(
                    Verification(verdict: .valid, detail: "one sentence"), label: item.label),
                payloadJSONLength: resolve.returnsPayloadJSON ? 2 : 0)
        }
        return Resolution(
            items: items,
            entitlements: Entitlements(at: resolve.at ?? Timestamp(milliseconds: 0)))
    }

    private static func fetched(_ call: RequestHead.Call) -> Fetched {
        guard case .fetch(let fetch) = call else {
            return Fetched(
                environment: .production, items: [],
                entitlements: Entitlements(at: Timestamp(milliseconds: 0)))
        }
        let lists = fetch.lists.isEmpty ? [.history, .statuses] : fetch.lists
        return Fetched(
            environment: .sandbox,
            revision: lists.contains(.history) ? "revision of \(fetch.transactionId)" : nil,
            items: lists.map { list in
                ResolvedItem(
                    EvidenceItem(
                        Verification(verdict: .valid, detail: "one sentence", kind: .serverAnswer),
                        label: list == .history ? "history 1" : "statuses"))
            },
            entitlements: Entitlements(at: fetch.at ?? Timestamp(milliseconds: 0)))
    }

    private static var info: ServerInfo {
        ServerInfo(
            version: "0.0.0", kinds: EvidenceKind.allCases,
            limits: ServerInfo.Limits(
                frameBytes: 33_554_432, headBytes: 65_536, jwsBytes: 65_536,
                notificationBytes: 262_144, requestsInFlight: 1024, resolveItems: 4096),
            trustedRoots: [], proto: "", engine: "")
    }
}
