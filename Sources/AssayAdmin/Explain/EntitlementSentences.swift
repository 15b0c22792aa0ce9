import Assay
import AssayBytes
package import AssayModels

// What a customer owns, as sentences with their reasons.

extension AppEntitlements {
    /// The app, and the environment, or the store whose evidence names none.
    package var title: String { "\(bundleId) (\(environment?.rawValue ?? store.phrase))" }

    /// Each product, with its state and the evidence that says so, and whose it is.
    package var rows: [(product: String, state: String, owner: String)] {
        subscriptionGroups.map { group in
            let subscription = group.deciding
            return (subscription.productId ?? "?", subscription.sentence, subscription.owner)
        }
            + nonConsumables.map { ($0.productId, $0.sentence, $0.owner) }
            + nonRenewing.map { ($0.productId, $0.sentence, $0.owner) }
            + consumables.map { ($0.productId ?? "?", $0.sentence, $0.owner) }
    }
}

extension EvidenceStore {
    /// The name, for sentences and tables.
    package var phrase: String {
        switch self {
        case .apple: "the App Store"
        case .google: "Google Play"
        case .huawei, .harmony: "Huawei AppGallery"
        default: rawValue
        }
    }
}

extension Entitlements {
    /// When to ask again, and what the answer lacks, one line each.
    package var remarks: [String] {
        var lines: [String] = []
        if isStale { lines.append("stale: the newest evidence is older than --max-age") }
        if let nextChange { lines.append("ask again at \(nextChange.rfc3339)") }
        lines += refresh.map { moment in
            "ask \(moment.store.phrase) about \(moment.transactionId) at \(moment.at.rfc3339): "
                + moment.reason.rawValue
        }
        return lines + warnings.map { "warning: " + $0.message }
    }
}

/// Joins what is known of an entry's owner.
private func owner(
    bought date: Timestamp?, account: String?, renewsFor next: String? = nil, download: String?
) -> String {
    var words: [String] = []
    if let date { words.append("bought \(date.rfc3339)") }
    if let account { words.append("account \(account)") }
    if let next { words.append("renews for account \(next)") }
    if let download { words.append("app transaction \(download)") }
    return words.joined(separator: ", ")
}

/// When a purchase was refunded or revoked, how and why; empty where the evidence does not say it.
private func revocation(
    at date: Timestamp?, _ reason: RevocationReason?, _ type: RevocationType?
) -> String {
    var words: [String] = []
    if let type { words.append(type.rawValue) }
    switch reason {
    case .issue: words.append("reason 1: an issue with the app")
    case let reason?: words.append("reason \(reason.rawValue)")
    case nil: break
    }
    return (date.map { " " + $0.rfc3339 } ?? "")
        + (words.isEmpty ? "" : " (\(words.joined(separator: ", ")))")
}

/// Marks an entry that names another account than the expected one.
private func mark(_ isAnother: Bool) -> String { isAnother ? ", OF ANOTHER ACCOUNT" : "" }

extension Subscription {
    fileprivate var sentence: String {
        var words =
            status.words + revocation(at: revocationDate, revocationReason, revocationType)
        if let end = entitledUntil { words += " until \(end.rfc3339)" }
        if !isEntitled, let end = expiresDate, status != .revoked {
            words += ", " + period(to: end)
        }
        if isTrial { words += ", trial" }
        if let offerIdentifier { words += ", offer \(offerIdentifier)" }
        switch willRenew {
        case true?: words += renewsAs.map { ", renews as \($0)" } ?? ", renews"
        case false?: words += ", will not renew"
        case nil: break
        }
        if let end = commitmentExpiresDate {
            words += ", committed until \(end.rfc3339)"
            if let renews = commitmentWillRenew { words += renews ? " and on" : " and no longer" }
        }
        if let seats { words += seats == 1 ? ", 1 seat" : ", \(seats) seats" }
        if ownership == .familyShared { words += ", family shared" }
        return words + mark(belongsToAnotherAccount) + "; " + decidedBy.sentence
    }

    /// The end of a period that entitles nobody here.
    private func period(to end: Timestamp) -> String {
        switch status {
        // Another account's, or a shared one.
        case .active: "ends \(end.rfc3339)"
        // One that has not begun has not ended either.
        case .unknown:
            purchaseDate.map { "its period from \($0.rfc3339) to \(end.rfc3339)" }
                ?? "its period to \(end.rfc3339)"
        case .gracePeriod, .billingRetry, .expired, .revoked: "ended \(end.rfc3339)"
        }
    }

    fileprivate var owner: String {
        AssayAdmin.owner(
            bought: purchaseDate, account: appAccountToken, renewsFor: renewsForAppAccountToken,
            download: appTransactionId)
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
        if revocationDate != nil {
            words +=
                ", refunded or revoked"
                + revocation(at: revocationDate, revocationReason, revocationType)
        }
        if ownership == .familyShared { words += ", family shared" }
        if purchases.count > 1 { words += ", \(purchases.count) purchases" }
        return words + mark(belongsToAnotherAccount) + "; " + decidedBy.sentence
    }

    fileprivate var owner: String {
        AssayAdmin.owner(
            bought: purchaseDate, account: appAccountToken, download: appTransactionId)
    }
}

extension ConsumablePurchase {
    fileprivate var sentence: String {
        var words = "consumable, \(quantity) bought"
        if revokedPercentage > 0 {
            words +=
                ", \(revokedPercentage / 1000) % refunded"
                + revocation(at: revocationDate, revocationReason, revocationType)
        }
        return words + mark(belongsToAnotherAccount) + "; " + decidedBy.sentence
    }

    fileprivate var owner: String {
        AssayAdmin.owner(
            bought: purchaseDate, account: appAccountToken, download: appTransactionId)
    }
}

extension DecidedBy {
    fileprivate var sentence: String {
        "decided by transaction \(transactionId)"
            + (signedDate.map { ", signed \($0.rfc3339)" } ?? "")
    }
}
