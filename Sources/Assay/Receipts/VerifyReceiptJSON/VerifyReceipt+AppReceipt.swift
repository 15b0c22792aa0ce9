import AssayBytes
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

    mutating func members(of purchase: InAppPurchaseReceipt) {
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
    package mutating func dates(_ name: String, _ date: Timestamp?) {
        guard let date else { return }
        member(name, VerifyReceiptDate.gmt(date))
        member(name + "_ms", String(date.milliseconds))
        member(name + "_pst", VerifyReceiptDate.pacific(date))
    }
}

/// The dates of verifyReceipt: `2014-07-24 09:11:00 Etc/GMT`, and the same in Pacific time.
package enum VerifyReceiptDate {
    /// 1 January 2018. Apple's answers to receipts of 2015 and 2017 list the oldest purchase first;
    /// those of the years since list the newest first.
    static let newestFirst = Timestamp(milliseconds: 1_514_764_800_000)

    package static func gmt(_ date: Timestamp) -> String {
        text(CivilTime(secondsSince1970: date.seconds)) + " Etc/GMT"
    }

    package static func pacific(_ date: Timestamp) -> String {
        text(PacificTime.local(secondsSince1970: date.seconds)) + " America/Los_Angeles"
    }

    private static func text(_ time: CivilTime) -> String { time.dateText + " " + time.timeText }
}
