import Assay
import AssayBytes
import AssayEntitlements
import AssayMint

/// Writes an answer in the form of a scenario's `expected.json`: without the messages of warnings.
struct AnswerJSON {
    let files: [MintedFile]

    func text(_ answer: Entitlements) -> [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("at", answer.at.milliseconds)
            object.array("items") { list in
                for (index, file) in files.enumerated() {
                    list.object { item in
                        item.member("index", Int64(index))
                        item.member("label", file.path)
                        item.member("kind", file.kind)
                        item.member("verdict", "VALID")
                    }
                }
            }
            object.array("apps") { list in
                for app in answer.apps { self.app(app, &list) }
            }
            object.member("newestSignedDate", answer.newestSignedDate?.milliseconds)
            object.member("stale", answer.isStale)
            object.member("nextChange", answer.nextChange?.milliseconds)
            object.array("warnings") { list in
                for warning in answer.warnings {
                    list.object { $0.member("code", warning.code.rawValue) }
                }
            }
        }
        return writer.text
    }

    private func app(_ app: AppEntitlements, _ list: inout JSONWriter) {
        list.object { object in
            object.member("environment", app.environment?.rawValue)
            object.member("bundleId", app.bundleId)
            object.member("store", app.store.rawValue)
            object.array("subscriptionGroups") { list in
                for group in app.subscriptionGroups {
                    list.object { object in
                        object.member(
                            "subscriptionGroupIdentifier", group.subscriptionGroupIdentifier)
                        subscription(group.deciding, &object)
                        object.array("subscriptions") { list in
                            for one in group.subscriptions {
                                list.object { subscription(one, &$0) }
                            }
                        }
                    }
                }
            }
            products("nonConsumables", app.nonConsumables, &object)
            products("nonRenewing", app.nonRenewing, &object)
            object.array("consumables") { list in
                for purchase in app.consumables { consumable(purchase, &list) }
            }
            object.object("customers") { object in
                object.array("appAccountTokens") { list in
                    for token in app.customers.appAccountTokens { list.value(token) }
                }
                object.array("appTransactionIds") { list in
                    for id in app.customers.appTransactionIds { list.value(id) }
                }
                object.member("conflict", app.customers.isConflicting)
            }
        }
    }

    private func subscription(_ one: Subscription, _ object: inout JSONWriter) {
        object.member("originalTransactionId", one.originalTransactionId)
        object.member("status", one.status.rawValue)
        object.member("entitled", one.isEntitled)
        object.member("productId", one.productId)
        object.member("entitledUntil", one.entitledUntil?.milliseconds)
        object.member("expiresDate", one.expiresDate?.milliseconds)
        object.member("ownership", one.ownership?.rawValue)
        object.member("isTrial", one.isTrial)
        object.member("offerType", one.offerType.map { Int64($0.rawValue) })
        object.member("offerIdentifier", one.offerIdentifier)
        object.member("billingPlanType", one.billingPlanType?.rawValue)
        object.member("commitmentExpiresDate", one.commitmentExpiresDate?.milliseconds)
        object.member("commitmentWillRenew", one.commitmentWillRenew)
        object.member("willRenew", one.willRenew)
        object.member("renewsAs", one.renewsAs)
        object.member("expirationIntent", one.expirationIntent.map { Int64($0.rawValue) })
        object.member("revocationDate", one.revocationDate?.milliseconds)
        object.member("revocationReason", one.revocationReason.map { Int64($0.rawValue) })
        object.member("revocationType", one.revocationType?.rawValue)
        object.member("revocationPercentage", one.revocationPercentage.map(Int64.init))
        object.member("appAccountToken", one.appAccountToken)
        object.member("appTransactionId", one.appTransactionId)
        object.member("purchaseDate", one.purchaseDate?.milliseconds)
        object.member("renewsForAppAccountToken", one.renewsForAppAccountToken)
        object.member("belongsToAnotherAccount", one.belongsToAnotherAccount)
        decidedBy(one.decidedBy, &object)
    }

    private func products(
        _ name: String, _ products: [ProductEntitlement], _ object: inout JSONWriter
    ) {
        object.array(name) { list in
            for product in products {
                list.object { object in
                    object.member("productId", product.productId)
                    object.member("entitled", product.isEntitled)
                    object.member("entitledUntil", product.entitledUntil?.milliseconds)
                    object.member("transactionId", product.transactionId)
                    object.member("ownership", product.ownership?.rawValue)
                    object.member("revocationDate", product.revocationDate?.milliseconds)
                    object.member(
                        "revocationReason", product.revocationReason.map { Int64($0.rawValue) })
                    object.member("revocationType", product.revocationType?.rawValue)
                    object.member(
                        "revocationPercentage", product.revocationPercentage.map(Int64.init))
                    object.member("appAccountToken", product.appAccountToken)
                    object.member("appTransactionId", product.appTransactionId)
                    object.member("purchaseDate", product.purchaseDate?.milliseconds)
                    if product.belongsToAnotherAccount {
                        object.member("belongsToAnotherAccount", true)
                    }
                    decidedBy(product.decidedBy, &object)
                }
            }
        }
    }

    private func consumable(_ purchase: ConsumablePurchase, _ list: inout JSONWriter) {
        list.object { object in
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
            decidedBy(purchase.decidedBy, &object)
        }
    }

    private func decidedBy(_ evidence: DecidedBy, _ object: inout JSONWriter) {
        object.object("decidedBy") { object in
            object.member("item", Int64(evidence.item))
            object.member("transactionId", evidence.transactionId)
            object.member("signedDate", evidence.signedDate?.milliseconds)
        }
    }
}
