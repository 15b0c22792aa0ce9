package import Assay
package import AssayModels

/// What a StoreKit 1 app has of a customer, and what the App Store sends to its backend.
extension ScenarioCustomer {
    /// The environment of the customer's purchases, by its name in scenarios.
    private static let home = "Production"

    /// The receipt of the customer's device now, and what the App Store knows beside it.
    ///
    /// - Parameter finished: the transactions that the app has finished.
    package func latestReceipt(
        at now: Timestamp, finished: Set<String>
    ) throws(MintError) -> LatestReceipt {
        var tokens = tokens(.receipt([]), at: now)
        return try tokens.latestReceipt(environment: Self.home, finished: finished)
    }

    /// The transaction receipt of one purchase, in base64.
    package func transactionReceipt(_ name: String) throws(MintError) -> [UInt8] {
        guard let receipts = signer.receipts else { throw .missingFile("receipt-leaf.pem") }
        let tokens = tokens(.receipt([name]), at: start)
        let transaction: JWSTransactionDecodedPayload = try tokens.decoded(
            try state.recorded(name, name))
        return try receipts.transactionReceipts.sign(
            InAppPurchaseReceipt(transaction), bundleId: identity.bundleId,
            isSandbox: transaction.environment == .sandbox)
    }

    /// The renewal of a subscription, as the App Store knows it.
    package func renewal(
        of subscription: StoredTransaction
    ) throws(MintError) -> JWSRenewalInfoDecodedPayload {
        let tokens = tokens(.renewalInfo(subscription.original), at: start)
        return try tokens.decoded(
            try state.renewal(subscription.original, subscription.original))
    }

    /// What version 1 sends about the event of a notification of version 2; it can be nothing.
    ///
    /// - Parameter password: the shared secret of the app.
    package func notificationsV1(
        about event: MintedNotification, password: String?, finished: Set<String>,
        at now: Timestamp
    ) throws(MintError) -> [MintedNotification] {
        guard let name = event.transaction else { return [] }
        var tokens = tokens(.receipt([]), at: now)
        return try tokens.notificationsV1(
            event.words, of: name, password: password, finished: finished
        ).map { type, body in
            MintedNotification(
                type: type.rawValue, subtype: nil, uuid: event.uuid,
                environment: event.environment, transaction: name, isVersion1: true, body: body)
        }
    }

    /// Attribute 4 of the customer's receipts, by which the App Store finds the customer.
    package var opaqueValue: [UInt8] { ReceiptSample.opaqueValue(seed: identity.receiptSeed) }
}
