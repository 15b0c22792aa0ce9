/// A purchase that Google Play signed: the JSON of `Purchase.getOriginalJson()`. It does not say
/// what happened since: expiry, renewal, refund, acknowledgement. Nor does it name an environment:
/// only Google's API knows a test purchase (`testPurchase`).
public struct GooglePurchase: Equatable, Sendable {
    /// Order identifier, such as GPA.1234-5678-9012-34567. Promotion codes, pending and cached
    /// purchases can have none.
    public var orderId: String?
    /// The app.
    public var packageName: String?
    /// Product identifiers, of `productId` or `productIds`.
    public var productIds: [String] = []
    /// When it was bought; the effective date of its verification.
    public var purchaseTime: Timestamp?
    /// 0 purchased, 4 pending; 1 canceled and 2 refunded in very old purchases.
    public var purchaseState: Int32?
    /// Names the purchase for Google's API.
    public var purchaseToken: String?
    /// The number of items; absent for one.
    public var quantity: Int32?
    /// Whether the purchase was acknowledged when it was signed.
    public var acknowledged: Bool?
    /// Whether the subscription renews, as of the signature. Absent for products.
    public var autoRenewing: Bool?
    /// The account that the app named in obfuscated form.
    public var obfuscatedAccountId: String?
    /// The profile that the app named in obfuscated form.
    public var obfuscatedProfileId: String?
    /// Text that the app added to the purchase.
    public var developerPayload: String?

    /// Creates a purchase without members.
    public init() {}

    /// The state at the moment of the signature.
    public var state: PurchaseState {
        switch purchaseState {
        case 0: .purchased
        case 1: .canceled
        case 2: .refunded
        case 4: .pending
        default: .unknown
        }
    }
}

extension GooglePurchase: OtherStorePayload {
    package static var store: EvidenceStore { .google }
    package var app: String? { packageName }
    package var identifiers: EvidenceIdentifiers {
        EvidenceIdentifiers(token: purchaseToken, account: obfuscatedAccountId)
    }

    package var purchase: StorePurchase? {
        // Only a consumable can be bought several times at once.
        let kind: StorePurchase.Kind =
            autoRenewing != nil ? .subscription : quantity ?? 1 > 1 ? .consumable : .product
        let token = purchaseToken ?? ""
        var purchase = StorePurchase(
            StoreEnvironment(rawValue: ""), kind, id: token, token: token, productIds: productIds,
            state: state, purchaseTime: purchaseTime, quantity: quantity)
        purchase.account = obfuscatedAccountId
        purchase.willRenew = autoRenewing
        purchase.rank = [
            state.rank, purchaseTime?.milliseconds ?? .min, acknowledged == true ? 1 : 0,
            autoRenewing == false ? 1 : 0,
        ]
        return purchase
    }
}
