import AssayEntitlements

/// Uses the product AssayEntitlements alone.
enum EntitlementsProduct {
    /// Returns the non-consumables that a receipt with one proves.
    static func products(at milliseconds: Int64) -> [String] {
        var purchase = InAppPurchaseReceipt()
        purchase.productId = "level"
        purchase.transactionId = "1"
        purchase.originalTransactionId = "1"
        purchase.productType = .nonConsumable
        var receipt = AppReceipt()
        receipt.bundleId = MintedEvidence.bundleId
        receipt.receiptType = "Production"
        receipt.inApp.append(purchase)
        let valid = Verification(
            verdict: .valid, detail: "", kind: .appReceipt, evidence: .appReceipt(receipt))
        let answer = Entitlements(
            of: [EvidenceItem(valid, label: "receipt")],
            at: Timestamp(milliseconds: milliseconds), policy: EntitlementPolicy())
        let apps: [AppEntitlements] = answer.apps
        return apps.flatMap(\.nonConsumables).filter(\.isEntitled).map(\.productId)
    }
}
