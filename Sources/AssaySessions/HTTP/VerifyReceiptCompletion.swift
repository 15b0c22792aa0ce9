import Assay
import AssayEntitlements
import AssayModels
import AssayService
import AssayWire

/// The answer of Apple's endpoint to a receipt with an auto-renewable subscription, with what the
/// App Store says of its customer.
struct VerifyReceiptCompletion: StoreCompletion {
    private let verification: Verification
    private let receipt: AppReceipt
    private let request: VerifyReceiptQuery
    private let subscription: InAppPurchaseReceipt
    let query: CustomerQuery

    /// Returns nil for what is refused, and for a receipt without such a subscription: Apple's
    /// endpoint says nothing more of it.
    init?(of verification: Verification, to request: VerifyReceiptQuery) {
        guard case .appReceipt(let receipt) = verification.evidence,
            let subscription = verification.latestSubscription,
            let id = subscription.transactionId
        else { return nil }
        self.verification = verification
        self.receipt = receipt
        self.request = request
        self.subscription = subscription
        // The statuses have the latest renewal of each subscription.
        query = CustomerQuery(
            of: id, lists: request.excludesOldTransactions ? .statuses : .all)
    }

    func answer(_ found: CustomerState?, receipt: [UInt8]?, at now: Timestamp) -> [UInt8] {
        guard let found, verification.isOf(found.environment) else {
            return answer(from: .receipt(.unknownTransaction), at: now)
        }
        let latest = LatestPurchases(found.items.lazy.map(\.verification))
        guard latest.has(subscription) else {
            return answer(from: .receipt(.otherSubscriptions), at: now)
        }
        let known = latest.latestReceipt(with: self.receipt, receiptData: receipt)
        return answer(.app(known), from: .appStore, at: now)
    }

    private func answer(
        _ known: KnownReceipt? = nil, from source: LatestSource, at now: Timestamp
    ) -> [UInt8] {
        verifyReceiptResponse(
            for: verification, to: request, requestDate: now, known: known, source: source
        ).line
    }

    func answer(_ failure: ResponseHead) -> [UInt8] {
        verifyReceiptFailure(
            of: verification, failure.message, code: failure.appStoreErrorCode
        ).line
    }
}
