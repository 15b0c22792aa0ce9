import Assay
import AssayBytes
package import AssayModels

/// Samples of what the App Store sent before StoreKit 2: one purchase in a version 1 notification
/// or in a transaction receipt.
package struct OldSample: Sendable {
    /// Each index is a different purchase.
    package var index: Int
    package var bundleId: String
    package var appAppleId: Int64
    package var environment: StoreEnvironment
    package var signedDate: Timestamp
    /// The default is a product of the bundle identifier.
    package var productId: String?
    /// The shared secret in notifications.
    package var password: String?

    package init(
        index: Int, bundleId: String, appAppleId: Int64, environment: StoreEnvironment,
        signedDate: Timestamp, productId: String? = nil, password: String? = nil
    ) {
        self.index = index
        self.bundleId = bundleId
        self.appAppleId = appAppleId
        self.environment = environment
        self.signedDate = signedDate
        self.productId = productId
        self.password = password
    }

    /// A transaction receipt of a renewal, in base64.
    package func transactionReceipt(_ chain: SigningChain) throws(MintError) -> [UInt8] {
        let purchase = InAppPurchaseReceipt(OldPurchase(subscription: self).transaction)
        return try TransactionReceiptMinter(chain).sign(
            purchase, bundleId: bundleId, isSandbox: environment == .sandbox)
    }

    /// A version 1 notification of this type.
    package func notification(
        _ type: NotificationV1Type, _ chain: SigningChain
    ) throws(MintError) -> [UInt8] {
        let purchase = OldPurchase(self, type)
        var sample = ReceiptSample(
            bundleId: bundleId, appAppleId: appAppleId, environment: environment,
            creationDate: signedDate)
        sample.seed = UInt64(index) + 1
        var payload = ReceiptPayload()
        for attribute in sample.attributes { payload.append(attribute) }
        payload.append(ReceiptPayload.inApp(InAppPurchaseReceipt(purchase.transaction)))
        let receipt = ReceiptMinter.base64(try ReceiptMinter(chain).sign(payload.bytes))
        let latest = LatestReceipt(
            receipt: receipt, transactions: [LatestReceiptInfo(purchase.transaction)],
            renewals: purchase.renewals)
        let content = NotificationV1Content(
            type: type, environment: environment, bundleId: bundleId, password: password,
            sent: signedDate, originalTransactionId: purchase.transaction.originalTransactionId,
            renewal: purchase.renewals.first, latest: latest)
        return content.json
    }
}

/// The purchase of a sample.
private struct OldPurchase {
    var transaction = JWSTransactionDecodedPayload()
    /// Of a subscription, one.
    var renewals: [JWSRenewalInfoDecodedPayload] = []

    /// The purchase as it is when a notification of the type is sent.
    init(_ sample: OldSample, _ type: NotificationV1Type) {
        if type == .refund || type == .consumptionRequest {
            self.init(consumable: sample)
        } else {
            self.init(subscription: sample)
        }
        switch type {
        case .initialBuy:
            transaction.originalTransactionId = transaction.transactionId
            transaction.originalPurchaseDate = transaction.purchaseDate
            renewals[0].originalTransactionId = transaction.transactionId
        case .didFailToRenew:
            transaction.purchaseDate = sample.signedDate.advanced(by: -Samples.month)
            transaction.expiresDate = sample.signedDate
            renewals[0].isInBillingRetryPeriod = true
            renewals[0].expirationIntent = .billingError
        case .didChangeRenewalPreference:
            renewals[0].autoRenewProductId = sample.bundleId + ".basic.monthly"
        case .didChangeRenewalStatus: renewals[0].autoRenewStatus = .off
        case .priceIncreaseConsent: renewals[0].priceIncreaseStatus = .notResponded
        case .cancel:
            transaction.revocationDate = sample.signedDate
            renewals[0].autoRenewStatus = .off
        case .revoke:
            transaction.inAppOwnershipType = .familyShared
            transaction.revocationDate = sample.signedDate
            renewals[0].autoRenewStatus = .off
        case .refund: transaction.revocationDate = sample.signedDate
        case .consumptionRequest, .interactiveRenewal, .didRenew, .didRecover, .renewal: break
        }
    }

    /// A renewal of a subscription.
    init(subscription sample: OldSample) {
        let (index, environment) = (sample.index, sample.environment)
        transaction.transactionId = Samples.transactionId(index, environment)
        transaction.originalTransactionId = Samples.originalTransactionId(index, environment)
        transaction.webOrderLineItemId = String(790_000_312_345_000 + Int64(index))
        transaction.productId = sample.productId ?? sample.bundleId + ".premium.monthly"
        transaction.subscriptionGroupIdentifier = "21353425"
        transaction.type = .autoRenewableSubscription
        transaction.purchaseDate = sample.signedDate
        transaction.originalPurchaseDate = sample.signedDate.advanced(by: -3 * Samples.month)
        transaction.expiresDate = sample.signedDate.advanced(by: Samples.month)
        transaction.inAppOwnershipType = .purchased
        var renewal = JWSRenewalInfoDecodedPayload()
        renewal.originalTransactionId = transaction.originalTransactionId
        renewal.productId = transaction.productId
        renewal.autoRenewProductId = transaction.productId
        renewal.autoRenewStatus = .on
        renewals = [renewal]
    }

    private init(consumable sample: OldSample) {
        transaction.transactionId = Samples.transactionId(sample.index, sample.environment)
        transaction.originalTransactionId = transaction.transactionId
        transaction.productId = sample.productId ?? sample.bundleId + ".gold.100"
        transaction.type = .consumable
        transaction.purchaseDate = sample.signedDate
        transaction.originalPurchaseDate = sample.signedDate
        transaction.inAppOwnershipType = .purchased
    }
}
