import AssayBytes
package import AssayModels

/// Where the purchases of `latest_receipt_info` are from. The member `assay` of an answer says it.
package enum LatestSource: Sendable {
    /// From the receipt alone.
    case receipt(Reason)
    /// From the App Store, and from the receipt where the App Store lists less.
    case appStore

    /// Why the answer has the receipt alone.
    package enum Reason: Sendable {
        /// The server has no key for the app, or the client shows no password.
        case notAsked
        /// The receipt is a transaction receipt.
        case transactionReceipt
        /// The App Store does not know the transaction.
        case unknownTransaction
        /// The App Store's answer does not have the subscription.
        case otherSubscriptions

        fileprivate var text: String {
            switch self {
            case .notAsked:
                "from the receipt alone: the server does not ask the App Store for this app. "
                    + "[app.store] of its configuration has the key; with api-keys there, the app "
                    + "needs a shared-secret too"
            case .transactionReceipt:
                "from the receipt alone: the App Store is not asked for transaction receipts"
            case .unknownTransaction:
                "from the receipt alone: the App Store does not know its transaction"
            case .otherSubscriptions:
                "from the receipt alone: the App Store's answer lacks its subscription"
            }
        }
    }
}

/// The members of an answer about what happened since the receipt was made.
extension JSONWriter {
    /// Writes the purchases that are known now, sorted by their date. By Apple's documentation they
    /// are absent without an auto-renewable subscription.
    mutating func latest(
        of receipt: AppReceipt, _ query: VerifyReceiptQuery, _ known: KnownReceipt?,
        _ source: LatestSource?
    ) {
        if case .app(let latest) = known {
            guard latest.hasSubscription else { return }
            members(of: latest, excludingOld: query.excludesOldTransactions)
        } else {
            let purchases = receipt.inApp.withoutKeys
            guard purchases.contains(where: \.isAutoRenewable) else { return }
            let isOldestFirst =
                receipt.receiptCreationDate.map { $0 < VerifyReceiptDate.newestFirst } ?? false
            member(
                listing: LatestReceiptInfo.list(
                    purchases.map(LatestReceiptInfo.init),
                    excludingOld: query.excludesOldTransactions, isOldestFirst: isOldestFirst))
        }
        if let source { member(of: source) }
    }

    /// Writes where the latest purchases are from, a member that Apple's endpoint does not have.
    mutating func member(of source: LatestSource) {
        object("assay") { object in
            switch source {
            case .receipt(let reason):
                object.member("latest", "receipt")
                object.member("detail", reason.text)
            case .appStore: object.member("latest", "app-store")
            }
        }
    }
}

/// The answer to a genuine receipt of whose customer the App Store said nothing. It has no
/// purchases: those of the receipt alone can lack a renewal, and have one that was refunded since.
/// A backend keeps what it knows, and repeats the request.
///
/// - Parameters:
///   - reason: why, in a sentence.
///   - code: Apple's code of the failure.
package func verifyReceiptFailure(
    of verification: Verification, _ reason: String, code: Int64?
) -> [UInt8] {
    let isDeleted = code == accountNotFound
    let status = isDeleted ? VerifyReceiptStatus.accountNotFound : .storeFailed
    var writer = JSONWriter()
    writer.object { response in
        response.member("status", status.rawValue)
        if !isDeleted {
            response.member("is-retryable", true)
            response.member("environment", verification.environment?.nameOfApple)
        }
        response.member("detail", "the receipt is genuine, but " + reason)
    }
    return writer.text
}

/// Apple's code of an account that can't be found, and will not be.
private let accountNotFound: Int64 = 4_040_001
