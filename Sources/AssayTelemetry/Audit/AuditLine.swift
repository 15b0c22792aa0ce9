import AssayBytes
package import AssayModels
import AssayWire

/// A line of the audit without its time and its place: members of a JSON object, which the thread
/// encodes that has decided.
///
/// It is made of results and of names of the configuration, never of a request or an app entry. So
/// it can't hold what only these have: API keys, passwords, fields of HTTP, private keys.
package struct AuditLine: Sendable {
    /// When the server decided.
    let time: Timestamp
    /// A JSON object.
    let json: [UInt8]

    private init(
        _ call: CallLabel, at time: Timestamp, capacity: Int,
        _ members: (inout JSONWriter) -> Void
    ) {
        // Others than the operator chose some of the texts.
        var writer = JSONWriter(escaping: .unprintable, capacity: capacity)
        writer.object { line in
            line.member(constant: "call", call.method)
            members(&line)
        }
        self.time = time
        json = writer.text
    }

    /// The entry of a server without a configuration has no name.
    static func name(ofApp app: String) -> String { app.isEmpty ? "any" : app }

    /// Longer than the line of a notification with all of its keys.
    private static let usualBytes = 1024

    /// The line of a verification.
    ///
    /// - Parameters:
    ///   - item: its index in a Resolve; nil for a request of its own.
    ///   - evidence: nil where the audit has no evidence.
    package init(
        _ outcome: borrowing Outcome, _ verification: borrowing Verification, item: Int?,
        _ evidence: AuditEvidence?, at time: Timestamp
    ) {
        let (app, kind) = (Self.name(ofApp: outcome.app), outcome.kind)
        let verdict = verification.verdict
        let detail = verdict == .valid ? nil : verification.detail
        let (environment, state) = (verification.environment, verification.state)
        let (dedupKey, evidenceKey) = (verification.dedupKey, verification.evidenceKey)
        let payload = verification.evidence
        let capacity = Self.usualBytes + (evidence?.bytes ?? 0)
        self.init(item == nil ? .verify : .resolve, at: time, capacity: capacity) { line in
            line.member("item", item.map { Int64($0) })
            line.member(constant: "app", app)
            line.member(constant: "kind", kind.name)
            line.member(constant: "verdict", verdict.name)
            line.member(constant: "detail", detail)
            line.member(constant: "environment", environment?.rawValue)
            line.member(constant: "state", state?.rawValue)
            line.member(constant: "dedupKey", dedupKey)
            line.member(constant: "evidenceKey", evidenceKey)
            line.names(in: payload)
            evidence?.write(to: &line)
        }
    }

    /// The line of a Resolve or a Fetch: what the customer owns.
    package init(
        _ call: CallLabel, app: String, _ outcome: ResolveOutcome, items: Int,
        _ entitlements: Entitlements, at time: Timestamp
    ) {
        self.init(call, at: time, capacity: Self.usualBytes) { line in
            line.member(constant: "app", Self.name(ofApp: app))
            line.member("items", Int64(items))
            line.object("decision") { decision in
                decision.member("outcome", outcome.name)
                decision.entitled(entitlements)
            }
        }
    }

    /// The line of requests that got the same status other than OK, or a result without evidence.
    ///
    /// - Parameter count: the number of requests.
    init(
        _ call: CallLabel, _ subject: RequestSubject?, _ answer: ResponseHead, count: Int,
        at time: Timestamp
    ) {
        self.init(call, at: time, capacity: 256) { line in
            line.member(constant: "app", subject.map { Self.name(ofApp: $0.app) })
            line.member(constant: "kind", subject?.kind?.name)
            line.member(constant: "status", answer.status.grpcName)
            if answer.status != .ok { line.member("reason", RefusalLabel(answer).name) }
            if count > 1 { line.member("requests", Int64(count)) }
        }
    }
}

extension CallLabel {
    /// Whether answers have lines. Health, Info and Ping are about no evidence, and probes ask them
    /// all day.
    var isAudited: Bool {
        switch self {
        case .verify, .resolve, .fetch, .sign: true
        case .health, .info, .ping, .unknown: false
        }
    }
}

extension JSONWriter {
    /// Writes what a backend files evidence under, with the names of the HTTP interface.
    fileprivate mutating func names(in evidence: VerifiedEvidence?) {
        let identifiers = EvidenceIdentifiers(of: evidence)
        member(constant: "originalTransactionId", identifiers.originalTransactionId)
        member(constant: "appAccountToken", identifiers.appAccountToken)
        member(constant: "appTransactionId", identifiers.appTransactionId)
        member(constant: "notificationType", identifiers.notificationType?.rawValue)
        member(constant: "subtype", identifiers.subtype?.rawValue)
        switch evidence {
        case .notification(let notification):
            member(constant: "notificationUUID", notification.notification.payload.notificationUUID)
        // Nobody signs its type.
        case .notificationV1(let notification):
            member(
                constant: "unsignedNotificationType",
                AuditLimits.unsigned(notification.unsigned.notificationType))
        // The token of a push signs no message.
        case .googleNotification(let notification):
            member(constant: "messageId", AuditLimits.unsigned(notification.payload.messageId))
        default: break
        }
    }

    /// Writes the products that the customer owns now.
    fileprivate mutating func entitled(_ entitlements: Entitlements) {
        var products: Set<String> = []
        for app in entitlements.apps {
            for group in app.subscriptionGroups {
                for subscription in group.subscriptions where subscription.isEntitled {
                    products.insert(subscription.productId ?? "")
                }
            }
            for product in app.nonConsumables + app.nonRenewing where product.isEntitled {
                products.insert(product.productId)
            }
        }
        let sorted = products.sorted()
        array("entitled") { list in
            for product in sorted.prefix(AuditLimits.products) { list.value(product) }
        }
        let omitted = sorted.count - AuditLimits.products
        if omitted > 0 { member("entitledOmitted", Int64(omitted)) }
    }
}
