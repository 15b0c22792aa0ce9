import Assay
import AssayEntitlements
import AssayModels

/// The answer as a table with one line per product.
extension Entitlements {
    func text(_ items: [EvidenceItem]) -> String {
        var lines: [String] = []
        for (index, item) in items.enumerated() where item.verification.verdict != .valid {
            lines.append(
                "refused: \(item.label ?? "item \(index)"): \(item.verification.verdict.name): "
                    + item.verification.detail)
        }
        if !lines.isEmpty { lines.append("") }
        for app in apps {
            lines.append("\(app.bundleId) (\(app.environment)) at \(at.rfc3339)")
            let rows = app.rows
            let width = rows.map(\.product.count).max() ?? 0
            for row in rows { lines.append("  \(row.product.padded(to: width))  \(row.state)") }
            if rows.isEmpty { lines.append("  no purchases") }
            if app.customers.isConflicting {
                lines.append("  CONFLICT: the evidence is of several customers")
            }
            lines.append("")
        }
        if apps.isEmpty { lines += ["no evidence of a purchase", ""] }
        if isStale { lines.append("stale: the newest evidence is older than --max-age") }
        if let nextChange { lines.append("ask again at \(nextChange.rfc3339)") }
        for warning in warnings { lines.append("warning: \(warning.message)") }
        while lines.last?.isEmpty == true { lines.removeLast() }
        return lines.joined(separator: "\n")
    }
}

extension AppEntitlements {
    fileprivate var rows: [(product: String, state: String)] {
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
