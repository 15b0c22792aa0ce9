import AssayModels

/// The state of one purchase as one item of evidence shows it.
///
/// The newest snapshot of a purchase wins as a whole. Fields of two snapshots are never merged,
/// so a reversed refund takes effect, and so does a refund that arrives before its purchase.
///
/// A class: it is sorted into several lists, and a copy would count a reference for each text.
final class Snapshot {
    /// The purchase, of which Apple can make several transactions.
    let purchase: PurchaseIdentity
    let transactionId: String
    let originalTransactionId: String
    let productId: String?
    let group: String?
    let type: Kind
    /// Milliseconds since 1970, as the dates below.
    let signedDate: Int64
    let purchaseDate: Int64
    private(set) var expiresDate: Int64?
    private(set) var revocationDate: Int64?
    private(set) var revocationPercentage: Int32?
    private(set) var quantity: Int64 = 1
    private(set) var isUpgraded = false
    private(set) var isTrial = false
    /// Taken from a StoreKit 1 receipt. Its cancellation can mean a refund or an upgrade.
    private(set) var isFromReceipt = false
    private(set) var ownership: InAppOwnershipType?
    private(set) var offerType: OfferType?
    private(set) var billingPlanType: BillingPlanType?
    /// The original before the subscription moved.
    private(set) var previousOriginal: String?
    /// The original of the bundle that it is a component of, and the bundle's group.
    private(set) var bundleOriginal: String?
    private(set) var bundleGroup: String?
    /// The signed JSON; empty for a record of a receipt.
    private(set) var json: [UInt8] = []
    /// Index of the item.
    let item: Int

    private init(
        _ purchase: PurchaseIdentity, transactionId: String, originalTransactionId: String,
        productId: String?, group: String? = nil, type: Kind, signedDate: Int64,
        purchaseDate: Int64, item: Int
    ) {
        self.purchase = purchase
        self.transactionId = transactionId
        self.originalTransactionId = originalTransactionId
        self.productId = productId
        self.group = group
        self.type = type
        self.signedDate = signedDate
        self.purchaseDate = purchaseDate
        self.item = item
    }

    enum Kind: UInt8 {
        case consumable
        case nonConsumable
        case nonRenewing
        case autoRenewable
        case unknown
    }

    var isRevoked: Bool { revocationDate != nil }
    var isFamilyShared: Bool { ownership == .familyShared }

    var decidedBy: DecidedBy {
        DecidedBy(
            item: item, transactionId: transactionId,
            signedDate: signedDate == .min ? nil : Timestamp(milliseconds: signedDate))
    }

    /// Whether this snapshot wins over another of the same purchase. Of two with the same signed
    /// date the one that takes away more wins, then the greater transaction id; then the signed
    /// bytes and the fields decide, so that the order of the evidence never does.
    func wins(over other: Snapshot) -> Bool {
        if signedDate != other.signedDate { return signedDate > other.signedDate }
        if isRevoked != other.isRevoked { return isRevoked }
        if isUpgraded != other.isUpgraded { return isUpgraded }
        if transactionId != other.transactionId {
            return TransactionNumber.isLess(other.transactionId, transactionId)
        }
        if json != other.json { return other.json.lexicographicallyPrecedes(json) }
        let (mine, theirs) = (fields, other.fields)
        if mine != theirs { return theirs.lexicographicallyPrecedes(mine) }
        let (text, otherText) = (texts, other.texts)
        if text != otherText { return otherText.lexicographicallyPrecedes(text) }
        return item < other.item
    }

    /// Distinguishes records of receipts with the same signed date.
    private var fields: [Int64] {
        [
            Int64(type.rawValue), purchaseDate, expiresDate ?? .min, revocationDate ?? .min,
            quantity, isTrial ? 1 : 0,
        ]
    }

    private var texts: [String] { [productId ?? "", originalTransactionId] }
}

extension Snapshot {
    /// Nil: the transaction has no identifier.
    static func of(
        _ evidence: VerifiedPayload<JWSTransactionDecodedPayload>, item: Int
    ) -> Snapshot? {
        evidence.withPayload { payload in
            guard let id = payload.transactionId, let purchase = PurchaseIdentity(payload) else {
                return nil
            }
            let snapshot = Snapshot(
                purchase, transactionId: id,
                originalTransactionId: payload.originalTransactionId ?? id,
                productId: payload.productId, group: payload.subscriptionGroupIdentifier,
                type: Kind(payload.type, isPeriodic: payload.expiresDate != nil),
                signedDate: payload.signedDate?.milliseconds ?? .min,
                purchaseDate: payload.purchaseDate?.milliseconds ?? .min, item: item)
            snapshot.expiresDate = payload.expiresDate?.milliseconds
            snapshot.revocationDate = payload.revocationDate?.milliseconds
            snapshot.revocationPercentage = payload.revocationPercentage
            snapshot.quantity = payload.quantity.map(Int64.init) ?? 1
            snapshot.isUpgraded = payload.isUpgraded == true
            snapshot.isTrial =
                payload.offerType == .introductory && payload.offerDiscountType == .freeTrial
            snapshot.ownership = payload.inAppOwnershipType
            snapshot.offerType = payload.offerType
            snapshot.billingPlanType = payload.billingPlanType
            snapshot.previousOriginal = payload.previousOriginalTransactionId
            snapshot.bundleOriginal = payload.bundleOriginalTransactionID
            snapshot.bundleGroup = payload.bundleSubscriptionGroupID
            snapshot.json = evidence.json
            return snapshot
        }
    }

    /// Nil: the record has no identifier. Xcode writes 0.
    convenience init?(_ record: InAppPurchaseReceipt, created: Timestamp?, item: Int) {
        guard let id = record.transactionId, id != "0", let purchase = PurchaseIdentity(record)
        else { return nil }
        self.init(
            purchase, transactionId: id,
            originalTransactionId: record.originalTransactionId ?? id,
            productId: record.productId,
            type: Kind(record.productType, isPeriodic: record.expiresDate != nil),
            signedDate: created?.milliseconds ?? .min,
            purchaseDate: record.purchaseDate?.milliseconds ?? .min, item: item)
        expiresDate = record.expiresDate?.milliseconds
        revocationDate = record.cancellationDate?.milliseconds
        quantity = record.quantity ?? 1
        isTrial = record.isTrialPeriod == true
        isFromReceipt = true
    }

    /// Nil: the receipt has no transaction identifier.
    convenience init?(_ receipt: TransactionReceipt, item: Int) {
        guard let id = receipt.transactionId, let purchase = PurchaseIdentity(receipt) else {
            return nil
        }
        let purchased = receipt.purchaseDate?.milliseconds ?? .min
        self.init(
            purchase, transactionId: id,
            originalTransactionId: receipt.originalTransactionId ?? id,
            productId: receipt.productId,
            type: receipt.expiresDate == nil ? .unknown : .autoRenewable,
            signedDate: purchased, purchaseDate: purchased, item: item)
        expiresDate = receipt.expiresDate?.milliseconds
        revocationDate = receipt.cancellationDate?.milliseconds
        quantity = receipt.quantity ?? 1
        isTrial = receipt.isTrialPeriod == true
        isFromReceipt = true
    }
}

extension Snapshot.Kind {
    /// - Parameter isPeriodic: whether the transaction has an end. A type that Apple adds later is
    ///   taken for a subscription then; otherwise it grants nothing.
    init(_ type: ProductType?, isPeriodic: Bool) {
        switch type {
        case .consumable: self = .consumable
        case .nonConsumable: self = .nonConsumable
        case .nonRenewingSubscription: self = .nonRenewing
        case .autoRenewableSubscription: self = .autoRenewable
        default: self = isPeriodic ? .autoRenewable : .unknown
        }
    }

    init(_ type: InAppProductType?, isPeriodic: Bool) {
        switch type {
        case .consumable: self = .consumable
        case .nonConsumable: self = .nonConsumable
        case .nonRenewingSubscription: self = .nonRenewing
        case .autoRenewableSubscription: self = .autoRenewable
        default: self = isPeriodic ? .autoRenewable : .unknown
        }
    }
}
