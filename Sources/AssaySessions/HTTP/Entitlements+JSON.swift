import Assay
import AssayBytes
package import AssayModels
import AssayTelemetry

/// The JSON of `assay entitlements`, of `POST /v1/entitlements` and `/v1/fetch`. Dates are
/// milliseconds since 1970. Members without a value are omitted.
extension Entitlements {
    /// - Parameters:
    ///   - environment: of a Fetch, the environment that knows the customer.
    ///   - revision: of a Fetch, the revision at the end of the history.
    package func json(
        _ items: [EvidenceItem], of environment: StoreEnvironment? = nil, revision: String? = nil
    ) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { answer in
            answer.member("environment", environment?.rawValue)
            answer.member("revision", revision)
            answer.member("at", at.milliseconds)
            answer.array("items") { list in
                let superseded = Set(superseded)
                for (index, item) in items.enumerated() {
                    list.item(item, index, isSuperseded: superseded.contains(index))
                }
            }
            answer.array("apps") { list in
                for app in apps { list.app(app) }
            }
            answer.member("newestSignedDate", newestSignedDate?.milliseconds)
            answer.member("stale", isStale)
            answer.member("nextChange", nextChange?.milliseconds)
            answer.array("refresh") { list in
                for moment in refresh { list.refresh(moment) }
            }
            answer.array("warnings") { list in
                for warning in warnings { list.warning(warning) }
            }
        }
        return writer.text
    }
}

extension JSONWriter {
    fileprivate mutating func item(_ item: EvidenceItem, _ index: Int, isSuperseded: Bool) {
        object { object in
            object.member("index", Int64(index))
            object.member("label", item.label)
            object.member("kind", item.verification.kind?.name)
            object.member("verdict", item.verification.verdict.name)
            object.member("state", item.verification.state?.rawValue)
            object.member("dedupKey", item.verification.dedupKey)
            object.member("evidenceKey", item.verification.evidenceKey)
            object.member("superseded", isSuperseded)
            object.identifiers(item.identifiers)
            object.member("detail", item.verification.detail)
        }
    }

    private mutating func identifiers(_ identifiers: EvidenceIdentifiers) {
        member("originalTransactionId", identifiers.originalTransactionId)
        member("appAccountToken", identifiers.appAccountToken)
        member("appTransactionId", identifiers.appTransactionId)
        member("notificationType", identifiers.notificationType?.rawValue)
        member("subtype", identifiers.subtype?.rawValue)
    }

    fileprivate mutating func app(_ app: AppEntitlements) {
        object { object in
            object.member("environment", app.environment?.rawValue)
            object.member("bundleId", app.bundleId)
            object.member("store", app.store.rawValue)
            object.array("subscriptionGroups") { list in
                for group in app.subscriptionGroups { list.group(group) }
            }
            object.array("nonConsumables") { list in
                for product in app.nonConsumables { list.product(product) }
            }
            object.array("nonRenewing") { list in
                for product in app.nonRenewing { list.product(product) }
            }
            object.array("consumables") { list in
                for purchase in app.consumables { list.consumable(purchase) }
            }
            object.object("customers") { customers in
                customers.strings("appAccountTokens", app.customers.appAccountTokens)
                customers.strings("appTransactionIds", app.customers.appTransactionIds)
                customers.member("conflict", app.customers.isConflicting)
            }
        }
    }

    private mutating func strings(_ name: String, _ values: [String]) {
        array(name) { list in
            for value in values { list.value(value) }
        }
    }

    private mutating func group(_ group: SubscriptionGroup) {
        object { object in
            object.member("subscriptionGroupIdentifier", group.subscriptionGroupIdentifier)
            object.members(of: group.deciding)
            object.array("subscriptions") { list in
                for subscription in group.subscriptions {
                    list.object { $0.members(of: subscription) }
                }
            }
        }
    }

    private mutating func members(of subscription: Subscription) {
        member("originalTransactionId", subscription.originalTransactionId)
        member("status", subscription.status.rawValue)
        member("entitled", subscription.isEntitled)
        member("productId", subscription.productId)
        member("entitledUntil", subscription.entitledUntil?.milliseconds)
        member("expiresDate", subscription.expiresDate?.milliseconds)
        member("ownership", subscription.ownership?.rawValue)
        member("isTrial", subscription.isTrial)
        member("offerType", subscription.offerType.map { Int64($0.rawValue) })
        member("offerIdentifier", subscription.offerIdentifier)
        member("billingPlanType", subscription.billingPlanType?.rawValue)
        member("commitmentExpiresDate", subscription.commitmentExpiresDate?.milliseconds)
        member("commitmentWillRenew", subscription.commitmentWillRenew)
        member("willRenew", subscription.willRenew)
        member("renewsAs", subscription.renewsAs)
        member("expirationIntent", subscription.expirationIntent.map { Int64($0.rawValue) })
        member("revocationDate", subscription.revocationDate?.milliseconds)
        member("revocationReason", subscription.revocationReason.map { Int64($0.rawValue) })
        member("revocationType", subscription.revocationType?.rawValue)
        member("revocationPercentage", subscription.revocationPercentage.map(Int64.init))
        member("seats", subscription.seats)
        member("appAccountToken", subscription.appAccountToken)
        member("appTransactionId", subscription.appTransactionId)
        member("purchaseDate", subscription.purchaseDate?.milliseconds)
        member("renewsForAppAccountToken", subscription.renewsForAppAccountToken)
        member("belongsToAnotherAccount", subscription.belongsToAnotherAccount)
        decidedBy(subscription.decidedBy)
    }

    private mutating func product(_ product: ProductEntitlement) {
        object { object in
            object.member("productId", product.productId)
            object.member("entitled", product.isEntitled)
            object.member("entitledUntil", product.entitledUntil?.milliseconds)
            object.member("transactionId", product.transactionId)
            object.member("ownership", product.ownership?.rawValue)
            object.member("revocationDate", product.revocationDate?.milliseconds)
            object.member("revocationReason", product.revocationReason.map { Int64($0.rawValue) })
            object.member("revocationType", product.revocationType?.rawValue)
            object.member("revocationPercentage", product.revocationPercentage.map(Int64.init))
            object.member("appAccountToken", product.appAccountToken)
            object.member("appTransactionId", product.appTransactionId)
            object.member("purchaseDate", product.purchaseDate?.milliseconds)
            if product.belongsToAnotherAccount { object.member("belongsToAnotherAccount", true) }
            if !product.purchases.isEmpty {
                object.array("purchases") { list in
                    for purchase in product.purchases { list.purchase(purchase) }
                }
            }
            object.decidedBy(product.decidedBy)
        }
    }

    private mutating func purchase(_ purchase: ProductPurchase) {
        object { object in
            object.member("transactionId", purchase.transactionId)
            object.member("purchaseDate", purchase.purchaseDate?.milliseconds)
            object.member("from", purchase.periodStart?.milliseconds)
            object.member("until", purchase.periodEnd?.milliseconds)
            object.member("revocationDate", purchase.revocationDate?.milliseconds)
            object.member("revocationReason", purchase.revocationReason.map { Int64($0.rawValue) })
            object.member("revocationType", purchase.revocationType?.rawValue)
        }
    }

    private mutating func consumable(_ purchase: ConsumablePurchase) {
        object { object in
            object.member("transactionId", purchase.transactionId)
            object.member("productId", purchase.productId)
            object.member("quantity", purchase.quantity)
            object.member("revokedPercentage", Int64(purchase.revokedPercentage))
            object.member("revocationDate", purchase.revocationDate?.milliseconds)
            object.member("revocationReason", purchase.revocationReason.map { Int64($0.rawValue) })
            object.member("revocationType", purchase.revocationType?.rawValue)
            object.member("dedupKey", purchase.dedupKey)
            object.member("purchaseDate", purchase.purchaseDate?.milliseconds)
            object.member("appAccountToken", purchase.appAccountToken)
            object.member("appTransactionId", purchase.appTransactionId)
            if purchase.belongsToAnotherAccount { object.member("belongsToAnotherAccount", true) }
            object.decidedBy(purchase.decidedBy)
        }
    }

    private mutating func decidedBy(_ evidence: DecidedBy) {
        object("decidedBy") { object in
            object.member("item", Int64(evidence.item))
            object.member("transactionId", evidence.transactionId)
            object.member("signedDate", evidence.signedDate?.milliseconds)
        }
    }

    fileprivate mutating func refresh(_ refresh: EntitlementRefresh) {
        object { object in
            object.member("transactionId", refresh.transactionId)
            object.member("at", refresh.at.milliseconds)
            object.member("reason", refresh.reason.rawValue)
            object.member("store", refresh.store.rawValue)
        }
    }

    fileprivate mutating func warning(_ warning: EntitlementWarning) {
        object { object in
            object.member("code", warning.code.rawValue)
            object.member("message", warning.message)
            object.member("item", warning.item.map(Int64.init))
        }
    }
}
