package import AssayModels

extension JSONWriter {
    /// Writes the unified shape, in Apple's order. Absent fields are omitted, as Apple does.
    package mutating func members(of receipt: AppReceipt, requestDate: Timestamp) {
        member("receipt_type", receipt.receiptType)
        member("adam_id", receipt.adamId)
        member("app_item_id", receipt.adamId)
        member("bundle_id", receipt.bundleId)
        member("application_version", receipt.applicationVersion)
        member("download_id", receipt.downloadId)
        member("version_external_identifier", receipt.versionExternalIdentifier)
        dates("receipt_creation_date", receipt.receiptCreationDate)
        dates("request_date", requestDate)
        dates("original_purchase_date", receipt.originalPurchaseDate)
        member("original_application_version", receipt.originalApplicationVersion)
        dates("expiration_date", receipt.expirationDate)
        dates("preorder_date", receipt.preorderDate)
        array("in_app") { inApp in
            for purchase in receipt.inApp.withoutKeys {
                inApp.object { $0.members(of: purchase) }
            }
        }
    }

    /// Writes the purchases that the receipt proves, in its order. Apple's endpoint also knows
    /// later ones.
    mutating func latest(of purchases: InAppPurchases, _ query: VerifyReceiptQuery) {
        guard !purchases.isEmpty else { return }
        let latest = query.excludesOldTransactions ? Self.latestRenewals(of: purchases) : [:]
        array("latest_receipt_info") { list in
            for (index, purchase) in purchases.withoutKeys.enumerated() {
                let subscription = purchase.expiresDate.map { _ in purchase.originalTransactionId }
                if let subscription, let last = latest[subscription], last.index != index {
                    continue
                }
                list.object { $0.members(of: purchase) }
            }
        }
    }

    /// The place of the latest renewal of each subscription, by its original transaction id.
    private static func latestRenewals(
        of purchases: InAppPurchases
    ) -> [String?: (index: Int, expires: Timestamp)] {
        var latest: [String?: (index: Int, expires: Timestamp)] = [:]
        for (index, purchase) in purchases.withoutKeys.enumerated() {
            guard let expires = purchase.expiresDate else { continue }
            if let last = latest[purchase.originalTransactionId], last.expires > expires {
                continue
            }
            latest[purchase.originalTransactionId] = (index, expires)
        }
        return latest
    }

    private mutating func members(of purchase: InAppPurchaseReceipt) {
        member("quantity", purchase.quantity.map { String($0) })
        member("product_id", purchase.productId)
        member("transaction_id", purchase.transactionId)
        member("original_transaction_id", purchase.originalTransactionId)
        dates("purchase_date", purchase.purchaseDate)
        dates("original_purchase_date", purchase.originalPurchaseDate)
        dates("expires_date", purchase.expiresDate)
        member("web_order_line_item_id", purchase.webOrderLineItemId.map { String($0) })
        member("is_trial_period", purchase.isTrialPeriod.map { String($0) })
        member("is_in_intro_offer_period", purchase.isInIntroOfferPeriod.map { String($0) })
        member("promotional_offer_id", purchase.promotionalOfferId)
        dates("cancellation_date", purchase.cancellationDate)
        member("cancellation_reason", purchase.cancellationReason.map { String($0) })
    }

    /// Writes one date in Apple's three forms.
    private mutating func dates(_ name: String, _ date: Timestamp?) {
        guard let date else { return }
        member(name, VerifyReceiptDate.gmt(date))
        member(name + "_ms", String(date.milliseconds))
        member(name + "_pst", VerifyReceiptDate.pacific(date))
    }
}

/// The dates of verifyReceipt: `2014-07-24 09:11:00 Etc/GMT`, and the same in Pacific time.
package enum VerifyReceiptDate {
    package static func gmt(_ date: Timestamp) -> String {
        text(CivilTime(secondsSince1970: date.seconds)) + " Etc/GMT"
    }

    package static func pacific(_ date: Timestamp) -> String {
        text(PacificTime.local(secondsSince1970: date.seconds)) + " America/Los_Angeles"
    }

    private static func text(_ time: CivilTime) -> String { time.dateText + " " + time.timeText }
}
