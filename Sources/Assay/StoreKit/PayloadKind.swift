import AssayModels

/// What a payload's members say it is.
enum PayloadKind {
    /// Members of Apple's that occur in payloads of one kind alone.
    private static let distinctive: [(kind: EvidenceKind, members: [String])] = [
        (
            .transaction,
            [
                "transactionId", "purchaseDate", "quantity", "inAppOwnershipType",
                "transactionReason", "webOrderLineItemId", "revocationDate", "revocationReason",
            ]
        ),
        (
            .renewalInfo,
            [
                "autoRenewProductId", "autoRenewStatus", "expirationIntent",
                "isInBillingRetryPeriod", "gracePeriodExpiresDate", "priceIncreaseStatus",
                "recentSubscriptionStartDate", "renewalDate", "renewalPrice",
                "eligibleWinBackOfferIds",
            ]
        ),
        (
            .appTransaction,
            [
                "receiptType", "applicationVersion", "receiptCreationDate",
                "originalApplicationVersion", "versionExternalIdentifier", "preorderDate",
                "originalPlatform",
            ]
        ),
        (
            .notification,
            [
                "notificationType", "notificationUUID", "data", "summary",
                "externalPurchaseToken", "appData",
            ]
        ),
        (.realtimeRequest, ["requestIdentifier", "userLocale"]),
    ]

    private static let kinds = distinctive.map(\.kind)

    /// Whether the payload has all that a payload of that kind always has.
    static func identifies(_ payload: JSONValue, as kind: EvidenceKind) -> Bool {
        func has(_ name: String) -> Bool { payload.hasMember(name) }
        switch kind {
        case .transaction:
            return has("transactionId") && has("productId") && has("purchaseDate")
        case .renewalInfo:
            return (has("autoRenewProductId") || has("autoRenewStatus"))
                && has("originalTransactionId") && !has("transactionId")
        case .appTransaction: return has("receiptType") && has("applicationVersion")
        case .notification: return has("notificationType") && has("notificationUUID")
        case .realtimeRequest: return has("requestIdentifier") && has("userLocale")
        case .appReceipt, .transactionReceipt: return false
        }
    }

    /// The one kind whose members the payload has; nil where none or several fit.
    static func detect(_ payload: JSONValue) -> EvidenceKind? {
        let fitting = kinds.filter { identifies(payload, as: $0) }
        return fitting.count == 1 ? fitting[0] : nil
    }

    /// Refuses a payload that is not of that kind.
    ///
    /// A transaction or renewal info may be minimal (Apple's own test vectors name environment,
    /// bundle and date alone), as long as it has nothing that belongs to another kind.
    static func check(_ payload: JSONValue, is kind: EvidenceKind) throws(Refusal) {
        if identifies(payload, as: kind) {
            guard
                let other = kinds.first(where: { $0 != kind && identifies(payload, as: $0) })
            else { return }
            throw Refusal(.wrongKind, "the payload is a \(kind.name) and a \(other.name) at once")
        }
        for (other, members) in distinctive where other != kind {
            guard let member = members.first(where: { payload.hasMember($0) }) else { continue }
            throw Refusal(
                .wrongKind,
                "the payload has \(member), which belongs to a \(other.name), not to a "
                    + kind.name)
        }
        guard kind == .transaction || kind == .renewalInfo else {
            throw Refusal(.wrongKind, "the payload lacks what a \(kind.name) always has")
        }
    }
}
