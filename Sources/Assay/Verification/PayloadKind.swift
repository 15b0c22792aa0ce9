import AssayBytes
import AssayModels

/// Detects the kind of a payload from its members.
enum PayloadKind {
    /// Apple's members that occur in payloads of one kind only.
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
                "externalPurchaseToken", "appData", "unclaimInfo",
            ]
        ),
        (.realtimeRequest, ["requestIdentifier", "userLocale"]),
    ]

    private static let kinds = distinctive.map(\.kind)

    /// Whether the payload has all members that every payload of this kind has.
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
            // The App Store Server API omits the version of the app on the device.
            guard payload.has("receiptType") else { return false }
            return payload.has("applicationVersion") ? true : payload.has("receiptCreationDate")
        case .notification:
            guard payload.has("notificationType") else { return false }
            return payload.has("notificationUUID")
        case .realtimeRequest:
            guard payload.has("requestIdentifier") else { return false }
            return payload.has("userLocale")
        default: return false
        }
    }

    /// The only kind that the payload's members identify, or nil when none or several match.
    static func detect(_ payload: JSONDocument) -> EvidenceKind? {
        payload.withRootMembers { members in
            var fitting: [EvidenceKind] = []
            for kind in kinds where identifies(&members, as: kind) { fitting.append(kind) }
            return fitting.count == 1 ? fitting[0] : nil
        }
    }

    /// Refuses a payload of another kind.
    ///
    /// A transaction or renewal info is accepted with few members, as in Apple's own test
    /// vectors, which have only environment, bundle and date. It must not have a member of
    /// another kind.
    static func check(_ payload: inout JSONMembers, is kind: EvidenceKind) throws(Refusal) {
        if identifies(&payload, as: kind) {
            for other in kinds where other != kind && identifies(&payload, as: other) {
                throw Refusal(
                    .wrongKind, "the payload is both \(kind.phrase) and \(other.phrase)")
            }
            return
        }
        for (other, members) in distinctive where other != kind {
            for member in members where payload.has(member) {
                throw Refusal(
                    .wrongKind,
                    "the payload has \(member.text), a member of \(other.phrase), not of "
                        + kind.phrase)
            }
        }
        guard kind == .transaction || kind == .renewalInfo else {
            throw Refusal(.wrongKind, "the payload lacks the members of \(kind.phrase)")
        }
    }
}

extension EvidenceKind {
    /// The name with its article, for messages.
    fileprivate var phrase: String { (name.first == "a" ? "an " : "a ") + name }
}
