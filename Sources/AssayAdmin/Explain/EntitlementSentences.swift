import Assay
package import AssayModels

// What a customer owns, as sentences with their reasons.

extension AppEntitlements {
    /// Each product, with its state and the evidence that says so.
    package var rows: [(product: String, state: String)] {
        subscriptionGroups.map { ($0.deciding.productId ?? "?", $0.deciding.sentence) }
            + nonConsumables.map { ($0.productId, $0.sentence) }
            + nonRenewing.map { ($0.productId, $0.sentence) }
            + consumables.map { ($0.productId ?? "?", $0.sentence) }
    }
}

extension Subscription {
    fileprivate var sentence: String {
        var words = status.words
        if let end = entitledUntil { words += " until \(end.rfc3339)" }
        if !isEntitled, let end = expiresDate, status != .revoked {
            words += ", ended \(end.rfc3339)"
        }
        if isTrial { words += ", trial" }
        switch willRenew {
        case true?: words += renewsAs.map { ", renews as \($0)" } ?? ", renews"
        case false?: words += ", will not renew"
        case nil: break
        }
        if ownership == .familyShared { words += ", family shared" }
        return words + "; " + decidedBy.sentence
    }
}

extension SubscriptionState {
    fileprivate var words: String {
        switch self {
        case .active: "active"
        case .gracePeriod: "in grace period"
        case .billingRetry: "in billing retry"
        case .expired: "expired"
        case .revoked: "refunded or revoked"
        case .unknown: "not in force"
        }
    }
}

extension ProductEntitlement {
    fileprivate var sentence: String {
        var words = isEntitled ? "owned" : "not owned"
        if let end = entitledUntil { words += " until \(end.rfc3339)" }
        if let date = revocationDate { words += ", refunded \(date.rfc3339)" }
        if ownership == .familyShared { words += ", family shared" }
        return words + "; " + decidedBy.sentence
    }
}

extension ConsumablePurchase {
    fileprivate var sentence: String {
        var words = "consumable, \(quantity) bought"
        if revokedPercentage > 0 { words += ", \(revokedPercentage / 1000) % refunded" }
        return words + "; " + decidedBy.sentence
    }
}

extension DecidedBy {
    fileprivate var sentence: String {
        "decided by transaction \(transactionId)"
            + (signedDate.map { ", signed \($0.rfc3339)" } ?? "")
    }
}
