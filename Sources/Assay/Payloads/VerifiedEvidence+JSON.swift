import AssayBytes
package import AssayModels

extension VerifiedEvidence {
    /// The payload as JSON, and for a notification its nested payloads, under the names that the
    /// command line and the wire use.
    ///
    /// StoreKit 2 payloads are the exact bytes that were signed. Receipts are not JSON: their
    /// attributes are rendered under Apple's names, with dates in milliseconds and without absent
    /// ones.
    package var payloadJSON: [(name: String, json: [UInt8])] {
        switch self {
        case .transaction(let payload): [("payload", payload.json)]
        case .renewalInfo(let payload): [("payload", payload.json)]
        case .appTransaction(let payload): [("payload", payload.json)]
        case .realtimeRequest(let payload): [("payload", payload.json)]
        case .notification(let verified): verified.membersJSON
        case .appReceipt(let receipt):
            [("payload", receipt.json)] + receipt.warnings.members
        case .transactionReceipt(let receipt): [("payload", receipt.json)]
        case .serverAnswer(let answer): answer.membersJSON
        case .notificationV1(let notification): notification.membersJSON
        case let other: other.otherStore.map { [("payload", $0.json)] } ?? []
        }
    }
}

extension VerifiedNotification {
    var membersJSON: [(name: String, json: [UInt8])] {
        [
            ("payload", notification.json), ("transaction", transaction?.json),
            ("renewalInfo", renewalInfo?.json), ("appTransaction", appTransaction?.json),
        ].compactMap { name, json in json.map { (name, $0) } } + warnings.members
    }
}

extension VerifiedNotificationV1 {
    fileprivate var membersJSON: [(name: String, json: [UInt8])] {
        [("payload", receipt.json), ("unsigned", unsigned.json)]
            + (receipt.warnings + warnings).members
    }
}

extension UnsignedNotificationV1 {
    /// Under the names of the notification.
    fileprivate var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("notification_type", notificationType)
            object.member("environment", environment)
            object.member("bid", bundleId)
            object.member("bvrs", bundleVersion)
            object.member("auto_renew_product_id", autoRenewProductId)
            object.member("auto_renew_status", autoRenewStatus)
        }
        return writer.text
    }
}

extension AppReceipt {
    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("receiptType", receiptType)
            object.member("adamId", adamId)
            object.member("bundleId", bundleId)
            object.member("applicationVersion", applicationVersion)
            object.member("originalApplicationVersion", originalApplicationVersion)
            object.member("receiptCreationDate", receiptCreationDate?.milliseconds)
            object.member("expirationDate", expirationDate?.milliseconds)
            object.member("originalPurchaseDate", originalPurchaseDate?.milliseconds)
            object.member("preorderDate", preorderDate?.milliseconds)
            object.member("downloadId", downloadId)
            object.member("versionExternalIdentifier", versionExternalIdentifier)
            object.member("ageRating", ageRating)
            object.member("organizationName", organizationName)
            object.octets("opaqueValue", opaqueValue)
            object.octets("sha1Hash", sha1Hash)
            object.unknownAttributes(unknownAttributes)
            object.array("inApp") { array in
                for purchase in inApp { array.object { $0.recordMembers(of: purchase) } }
            }
        }
        return writer.text
    }
}

extension JSONWriter {
    mutating func recordMembers(of purchase: InAppPurchaseReceipt) {
        member("quantity", purchase.quantity)
        member("productId", purchase.productId)
        member("transactionId", purchase.transactionId)
        member("originalTransactionId", purchase.originalTransactionId)
        member("purchaseDate", purchase.purchaseDate?.milliseconds)
        member("originalPurchaseDate", purchase.originalPurchaseDate?.milliseconds)
        member("expiresDate", purchase.expiresDate?.milliseconds)
        member("cancellationDate", purchase.cancellationDate?.milliseconds)
        member("webOrderLineItemId", purchase.webOrderLineItemId)
        member("productType", purchase.productType?.rawValue)
        member("isTrialPeriod", purchase.isTrialPeriod)
        member("isInIntroOfferPeriod", purchase.isInIntroOfferPeriod)
        member("promotionalOfferId", purchase.promotionalOfferId)
        member("cancellationReason", purchase.cancellationReason)
        unknownAttributes(purchase.unknownAttributes)
        member("dedupKey", purchase.dedupKey)
    }
}

extension TransactionReceipt {
    /// The members of purchase-info under their own names, and whether the legacy key signed it.
    fileprivate var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            for member in members { object.member(member.name, member.value) }
            if legacyKey { object.member("legacyKey", true) }
        }
        return writer.text
    }
}
