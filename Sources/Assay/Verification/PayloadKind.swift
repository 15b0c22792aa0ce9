import AssayModels

/// What a payload's members say it is.
enum PayloadKind {
    /// Members of Apple's that occur in payloads of one kind alone.
    private static let distinctive: [(kind: EvidenceKind, members: [JSONName])] = [
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
    private static func identifies(_ payload: inout JSONMembers, as kind: EvidenceKind) -> Bool {
        switch kind {
        case .transaction:
            guard payload.has("transactionId"), payload.has("productId") else { return false }
            return payload.has("purchaseDate")
        case .renewalInfo:
            let renews = payload.has("autoRenewProductId") ? true : payload.has("autoRenewStatus")
            guard renews, payload.has("originalTransactionId") else { return false }
            return !payload.has("transactionId")
        case .appTransaction:
            guard payload.has("receiptType") else { return false }
            return payload.has("applicationVersion")
        case .notification:
            guard payload.has("notificationType") else { return false }
            return payload.has("notificationUUID")
        case .realtimeRequest:
            guard payload.has("requestIdentifier") else { return false }
            return payload.has("userLocale")
        case .appReceipt, .transactionReceipt: return false
        }
    }

    /// The one kind whose members the payload has; nil where none or several fit.
    static func detect(_ payload: JSONDocument) -> EvidenceKind? {
        payload.withRootMembers { members in
            var fitting: [EvidenceKind] = []
            for kind in kinds where identifies(&members, as: kind) { fitting.append(kind) }
            return fitting.count == 1 ? fitting[0] : nil
        }
    }

    /// Refuses a payload that is not of that kind.
    ///
    /// A transaction or renewal info may be minimal (Apple's own test vectors name environment,
    /// bundle and date alone), as long as it has nothing that belongs to another kind.
    static func check(_ payload: inout JSONMembers, is kind: EvidenceKind) throws(Refusal) {
        if identifies(&payload, as: kind) {
            for other in kinds where other != kind && identifies(&payload, as: other) {
                throw Refusal(
                    .wrongKind, "the payload is \(kind.phrase) and \(other.phrase) at once")
            }
            return
        }
        for (other, members) in distinctive where other != kind {
            for member in members where payload.has(member) {
                throw Refusal(
                    .wrongKind,
                    "the payload has \(member.text), which belongs to \(other.phrase), not to "
                        + kind.phrase)
            }
        }
        guard kind == .transaction || kind == .renewalInfo else {
            throw Refusal(.wrongKind, "the payload lacks what \(kind.phrase) always has")
        }
    }
}

extension EvidenceKind {
    /// With its article.
    fileprivate var phrase: String { (name.first == "a" ? "an " : "a ") + name }
}
