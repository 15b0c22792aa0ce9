import AssayClient

/// What became of one call. Its members are values of JSON, which never change: hence
/// `@unchecked Sendable`.
struct CaseResult: @unchecked Sendable {
    let members: JSON

    init(_ members: JSON) { self.members = members }

    static func members(of error: ClientError) -> JSON {
        var members: JSON = [
            "error": kind(of: error), "retryable": error.isRetryable, "message": "\(error)",
        ]
        if let status = error.status {
            members["status"] = "\(status.code)".screamed
            let pause = status.retryAfterMilliseconds
            if pause > 0 { members["retryAfterMs"] = Int(pause) }
            if let code = status.appStoreErrorCode { members["appStoreErrorCode"] = String(code) }
        }
        return members
    }

    private static func kind(of error: ClientError) -> String {
        switch error.reason {
        case .invalidAddress: "address"
        case .invalidArgument: "argument"
        case .tlsFailed: "tls"
        case .connectFailed: "connect"
        case .connectionLost: "lost"
        case .deadlineExceeded: "deadline"
        case .cancelled: "cancelled"
        case .status: "status"
        case .protocolViolation: "protocol"
        case .closed: "closed"
        case .requestTooLarge: "too-large"
        case .tooManyWaiting: "too-many"
        default: error.reason.description
        }
    }

    static func members(of info: ServerInfo) -> JSON {
        [
            "ok": "info", "version": info.version, "kinds": info.kinds.map { name(of: $0) },
            "frameBytes": Int(info.limits.frameBytes),
            "resolveItems": Int(info.limits.resolveItems), "roots": info.trustedRoots.count,
        ]
    }

    static func members(of answer: VerifyAnswer) -> JSON {
        let verification = answer.verification
        var members: JSON = [
            "ok": "verification", "verdict": verification.verdict.name,
            "valid": verification.verdict == .valid, "detail": verification.detail,
        ]
        if let kind = verification.kind { members["kind"] = name(of: kind) }
        if let environment = verification.environment {
            members["environment"] = environment.rawValue
        }
        if let key = verification.dedupKey { members["dedupKey"] = key }
        if let certificate = verification.certificate {
            members["serial"] = certificate.serial
            members["notAfter"] = String(certificate.notAfter.milliseconds)
        }
        if let evidence = verification.evidence { members["payload"] = payload(evidence) }
        if case .transaction(let signed) = verification.evidence {
            if let id = signed.payload.transactionId { members["transactionId"] = id }
            if let product = signed.payload.productId { members["productId"] = product }
            if let price = signed.payload.price { members["price"] = String(price) }
        }
        if !answer.payloadJSON.isEmpty { members["jsonBytes"] = answer.payloadJSON.count }
        return members
    }

    private static func payload(_ evidence: VerifiedEvidence) -> String {
        switch evidence {
        case .transaction: "transaction"
        case .renewalInfo: "renewalInfo"
        case .appTransaction: "appTransaction"
        case .notification: "notification"
        case .realtimeRequest: "realtimeRequest"
        case .appReceipt: "appReceipt"
        case .transactionReceipt: "transactionReceipt"
        case .serverAnswer: "serverAnswer"
        case .notificationV1: "notificationV1"
        case .googlePurchase: "googlePurchase"
        case .huaweiPurchase: "huaweiPurchase"
        case .harmonyPurchase: "harmonyPurchase"
        case .harmonySubscription: "harmonySubscription"
        case .harmonyNotification: "harmonyNotification"
        case .googleNotification: "googleNotification"
        case .huaweiNotification: "huaweiNotification"
        }
    }

    static func members(of answer: ResolveAnswer) -> JSON {
        var members = members(of: answer.entitlements)
        members["ok"] = "resolution"
        members["items"] = answer.items.map(\.verification.verdict.name)
        members["labels"] = answer.items.map { $0.label ?? "" }
        let superseded = answer.items.indices.filter { answer.items[$0].isSuperseded }
        if !superseded.isEmpty { members["superseded"] = superseded }
        func name(_ member: String, _ texts: [String?]) {
            guard texts.contains(where: { $0 != nil }) else { return }
            members[member] = texts.map { $0 ?? "" }
        }
        name("evidenceKeys", answer.items.map(\.verification.evidenceKey))
        name("originals", answer.items.map(\.identifiers.originalTransactionId))
        name("accounts", answer.items.map(\.identifiers.appAccountToken))
        name("downloads", answer.items.map(\.identifiers.appTransactionId))
        name("notifications", answer.items.map { $0.identifiers.notificationType?.rawValue })
        name("subtypes", answer.items.map { $0.identifiers.subtype?.rawValue })
        return members
    }

    static func members(of fetched: FetchAnswer) -> JSON {
        var members = members(of: fetched.entitlements)
        members["ok"] = "fetch"
        members["items"] = fetched.items.map(\.verification.verdict.name)
        members["labels"] = fetched.items.map { $0.label ?? "" }
        members["environment"] = fetched.environment.rawValue
        if let revision = fetched.revision { members["revision"] = revision }
        return members
    }

    private static func members(of entitlements: Entitlements) -> JSON {
        var entitled: [String] = []
        var decidedBy: [Int] = []
        for app in entitlements.apps {
            entitled += app.subscriptionGroups.filter(\.deciding.isEntitled).compactMap {
                $0.deciding.productId
            }
            entitled += (app.nonConsumables + app.nonRenewing).filter(\.isEntitled).map(\.productId)
            if let group = app.subscriptionGroups.first {
                decidedBy.append(group.deciding.decidedBy.item)
            }
        }
        var members: JSON = ["entitled": entitled.sorted(), "decidedBy": decidedBy]
        if entitlements.isStale { members["isStale"] = true }
        let subscriptions = entitlements.apps.flatMap(\.subscriptionGroups).map(\.deciding)
        let products = entitlements.apps.flatMap { $0.nonConsumables + $0.nonRenewing }
        let seats = subscriptions.compactMap(\.seats).map { String($0) }
        if !seats.isEmpty { members["seats"] = seats }
        let others =
            subscriptions.filter(\.belongsToAnotherAccount).compactMap(\.productId)
            + products.filter(\.belongsToAnotherAccount).map(\.productId)
        if !others.isEmpty { members["ofAnother"] = others.sorted() }
        let refresh = entitlements.refresh.map {
            "\($0.transactionId):\($0.at.milliseconds):\($0.reason.rawValue)"
        }
        if !refresh.isEmpty { members["refresh"] = refresh }
        return members
    }

    private static func name(of kind: EvidenceKind) -> String {
        kind.name.uppercased().replacing("-", with: "_")
    }
}

extension String {
    /// `resourceExhausted` becomes `RESOURCE_EXHAUSTED`.
    fileprivate var screamed: String {
        reduce(into: "") { name, letter in
            if letter.isUppercase { name += "_" }
            name += letter.uppercased()
        }
    }
}
