import AssayModels

/// The state of one purchase as one item of evidence shows it.
///
/// The newest snapshot of a purchase wins as a whole. Fields of two signed snapshots are never
/// merged, so a reversed refund takes effect, and so does one that arrives before its purchase.
///
/// A class: it is sorted into several lists, and a copy would count a reference for each text.
final class Snapshot {
    /// Names the purchase, whichever of its transactions this is.
    let purchase: PurchaseIdentity
    /// Of `purchase`: it is hashed once, and look-ups compare it before the texts.
    let digest: Int
    let transactionId: String
    let originalTransactionId: String
    let productId: String?
    /// Milliseconds since 1970, as the dates below.
    let signedDate: Int64
    let purchaseDate: Int64
    private(set) var expiresDate: Int64?
    /// The revocation that this item states.
    private var ownRevocation: Int64?
    private(set) var quantity: Int64 = 1
    private(set) var isTrial = false
    private(set) var isSeatAddition = false
    /// It is nil for what is no offer, and none of the others.
    private var terms: Terms?
    /// Taken from a StoreKit 1 receipt. Its cancellation can mean a refund or an upgrade.
    private(set) var isFromReceipt = false
    /// What this item says, and a receipt cannot.
    private var ownStatements = SignedStatements()
    private let ownType: Kind
    /// The newest signed transaction of the purchase, where a record of a receipt is newer.
    private(set) var signedBeneath: Snapshot?
    private var ownAccount: String?
    private var ownAppTransaction: String?
    /// It is nil if no other statement about this purchase names a newer customer.
    private var inherited: Customer?
    /// The signed JSON; empty for a record of a receipt.
    private(set) var json: [UInt8] = []
    /// Index of the item.
    let item: Int

    /// What a receipt cannot say: its newer record takes none of it away.
    private struct SignedStatements {
        var ownership: InAppOwnershipType?
        var group: String?
        var isUpgraded = false
        var links: Links?
    }

    // What few purchases have is apart, because one call can hold 100,000 of them.

    /// The terms of few purchases.
    private final class Terms {
        let revocationPercentage: Int32?
        let revocationReason: RevocationReason?
        let revocationType: RevocationType?
        /// It is nil if it is not of a group or an organisation.
        let revokedSeats: Int64?
        let offerType: OfferType?
        let offerIdentifier: String?
        let billingPlanType: BillingPlanType?
        let commitmentExpiresDate: Timestamp?
        /// The product type that it states; nil if this version knows it.
        let unknownType: String?

        /// Returns nil if the payload has none of them.
        init?(_ payload: borrowing JWSTransactionDecodedPayload, _ kind: Kind) {
            unknownType =
                kind.isAssumed(for: payload.type?.isOfSubscriptions == true)
                ? payload.type?.rawValue : nil
            guard
                payload.revocationDate != nil || payload.revocationPercentage != nil
                    || unknownType != nil || payload.multiSeatInfo != nil
                    || payload.offerType != nil || payload.offerIdentifier != nil
                    || payload.billingPlanType != nil || payload.commitmentInfo != nil
            else { return nil }
            revocationPercentage = payload.revocationPercentage
            revocationReason = payload.revocationReason
            revocationType = payload.revocationType
            revokedSeats = payload.multiSeatInfo.map { Int64($0.revokedSeatQuantity ?? 0) }
            offerType = payload.offerType
            offerIdentifier = payload.offerIdentifier
            billingPlanType = payload.billingPlanType
            commitmentExpiresDate = payload.commitmentInfo?.commitmentExpiresDate
        }

        /// Returns nil if the record has none of them.
        init?(_ record: InAppPurchaseReceipt, _ kind: Kind) {
            let reason = record.cancellationReason
            unknownType =
                kind.isAssumed(for: record.productType == .autoRenewableSubscription)
                ? record.productType.map { "number \($0.rawValue)" } : nil
            guard reason != nil || unknownType != nil else { return nil }
            revocationReason = reason.flatMap(Int32.init(exactly:)).map(RevocationReason.init)
            (revocationPercentage, revocationType, revokedSeats) = (nil, nil, nil)
            (offerType, offerIdentifier) = (nil, nil)
            (billingPlanType, commitmentExpiresDate) = (nil, nil)
        }
    }

    /// Other subscriptions that a purchase names.
    private final class Links {
        /// The original before the subscription moved.
        let previousOriginal: String?
        /// The original of the bundle that it is a component of, and the bundle's group.
        let bundleOriginal: String?
        let bundleGroup: String?

        /// Returns nil if the payload names none.
        init?(_ payload: borrowing JWSTransactionDecodedPayload) {
            guard
                payload.previousOriginalTransactionId != nil
                    || payload.bundleOriginalTransactionID != nil
                    || payload.bundleSubscriptionGroupID != nil
            else { return nil }
            previousOriginal = payload.previousOriginalTransactionId
            bundleOriginal = payload.bundleOriginalTransactionID
            bundleGroup = payload.bundleSubscriptionGroupID
        }
    }

    /// The customer that other statements about a purchase name.
    private final class Customer {
        var account: Named?
        var appTransaction: Named?
    }

    /// A name that an item gives.
    struct Named {
        var name: String
        var signedDate: Int64
        var item: Int

        func isNewer(than other: Named?) -> Bool {
            guard let other else { return true }
            if signedDate != other.signedDate { return signedDate > other.signedDate }
            return name == other.name ? item < other.item : name > other.name
        }
    }

    enum Kind: UInt8 {
        case consumable
        case nonConsumable
        case nonRenewing
        case autoRenewable
        case unknown
    }

    private init(
        _ purchase: PurchaseIdentity, transactionId: String, originalTransactionId: String,
        productId: String?, type: Kind, signedDate: Int64, purchaseDate: Int64, item: Int
    ) {
        self.purchase = purchase
        digest = purchase.hashValue
        self.transactionId = transactionId
        self.originalTransactionId = originalTransactionId
        self.productId = productId
        ownType = type
        self.signedDate = signedDate
        self.purchaseDate = purchaseDate
        self.item = item
    }

    /// Whose statements count.
    private var signed: Snapshot { signedBeneath ?? self }
    var type: Kind { signed.ownType }
    // Each member alone: a copy of all counts a reference for each.
    var ownership: InAppOwnershipType? { signed.ownStatements.ownership }
    var group: String? { signed.ownStatements.group }
    var isUpgraded: Bool { signed.ownStatements.isUpgraded }
    private var links: Links? { signed.ownStatements.links }
    var previousOriginal: String? { links?.previousOriginal }
    var bundleOriginal: String? { links?.bundleOriginal }
    var bundleGroup: String? { links?.bundleGroup }
    /// A receipt that is silent takes back no signed revocation.
    var revocationDate: Int64? { ownRevocation ?? signedBeneath?.ownRevocation }
    private var revocation: Terms? { ownRevocation == nil ? signedBeneath?.terms : terms }
    var revocationPercentage: Int32? { isRevoked ? revocation?.revocationPercentage : nil }
    var revocationReason: RevocationReason? { isRevoked ? revocation?.revocationReason : nil }
    var revocationType: RevocationType? { isRevoked ? revocation?.revocationType : nil }
    var revokedAt: Timestamp? { revocationDate.map(Timestamp.init) }
    var revokedSeats: Int64? { terms?.revokedSeats }
    var offerType: OfferType? { terms?.offerType }
    var offerIdentifier: String? { terms?.offerIdentifier }
    var billingPlanType: BillingPlanType? { terms?.billingPlanType }
    var unknownType: String? { signed.terms?.unknownType }
    var commitmentExpiresDate: Timestamp? { terms?.commitmentExpiresDate }
    /// The account of the newest statement about this purchase that names one, in lower case.
    var account: Named? { inherited?.account ?? ownAccount.map { named($0.inLowerCase) } }
    var appTransaction: Named? { inherited?.appTransaction ?? ownAppTransaction.map(named) }
    var isRevoked: Bool { revocationDate != nil }
    func isRevoked(at now: Int64) -> Bool { revocationDate.map { $0 <= now } ?? false }
    /// When a receipt says that the purchase was cancelled, which can mean a refund or an upgrade.
    /// It is nil if a signed transaction says that it was refunded.
    var cancelledInReceipt: Int64? {
        isFromReceipt && signedBeneath?.ownRevocation == nil ? ownRevocation : nil
    }
    var isFamilyShared: Bool { ownership == .familyShared }

    var decidedBy: DecidedBy {
        DecidedBy(
            item: item, transactionId: transactionId,
            signedDate: signedDate == .min ? nil : Timestamp(milliseconds: signedDate))
    }

    // MARK: Statements about one purchase

    /// Whether this snapshot wins over another of the same purchase. Of two with the same signed
    /// date the one that takes away more wins; then the greater transaction, the signed bytes and
    /// the fields decide, so that the order of the evidence never does.
    func wins(over other: Snapshot) -> Bool {
        if signedDate != other.signedDate { return signedDate > other.signedDate }
        if (ownRevocation == nil) != (other.ownRevocation == nil) { return ownRevocation != nil }
        if ownStatements.isUpgraded != other.ownStatements.isUpgraded {
            return ownStatements.isUpgraded
        }
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

    /// Takes from another statement about the same purchase, which this one beats, what this one
    /// does not say.
    func complete(from other: Snapshot) {
        if isFromReceipt, let signed = other.isFromReceipt ? other.signedBeneath : other,
            signedBeneath.map({ signed.wins(over: $0) }) ?? true
        {
            signedBeneath = signed
        }
        if let named = other.account, named.isNewer(than: account) {
            customer().account = named
        }
        if let named = other.appTransaction, named.isNewer(than: appTransaction) {
            customer().appTransaction = named
        }
    }

    private func customer() -> Customer {
        let customer = inherited ?? Customer()
        inherited = customer
        return customer
    }

    private func named(_ name: String) -> Named {
        Named(name: name, signedDate: signedDate, item: item)
    }

    /// The items without which this statement would be another one.
    func noteItems(_ note: (Int) -> Void) {
        note(item)
        if let signedBeneath { note(signedBeneath.item) }
        if let account = inherited?.account { note(account.item) }
        if let appTransaction = inherited?.appTransaction { note(appTransaction.item) }
    }

    /// Distinguishes records of receipts with the same signed date.
    private var fields: [Int64] {
        [
            Int64(ownType.rawValue), purchaseDate, expiresDate ?? .min, ownRevocation ?? .min,
            quantity, isTrial ? 1 : 0, Int64(terms?.revocationReason?.rawValue ?? -1),
        ]
    }

    private var texts: [String] { [productId ?? "", originalTransactionId] }
}

extension Snapshot {
    /// Returns nil if the transaction has no identifier.
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
                productId: payload.productId,
                type: Kind(payload.type, isPeriodic: payload.expiresDate != nil),
                signedDate: payload.signedDate?.milliseconds ?? .min,
                purchaseDate: payload.purchaseDate?.milliseconds ?? .min, item: item)
            snapshot.read(payload)
            snapshot.json = evidence.json
            return snapshot
        }
    }

    private func read(_ payload: borrowing JWSTransactionDecodedPayload) {
        expiresDate = payload.expiresDate?.milliseconds
        ownRevocation = payload.revocationDate?.milliseconds
        quantity = payload.quantity.map(Int64.init) ?? 1
        isTrial = payload.offerType == .introductory && payload.offerDiscountType == .freeTrial
        isSeatAddition = payload.additionalTransactionReason == .seatAddition
        terms = Terms(payload, ownType)
        ownStatements.ownership = payload.inAppOwnershipType
        ownStatements.group = payload.subscriptionGroupIdentifier
        ownStatements.isUpgraded = payload.isUpgraded == true
        ownStatements.links = Links(payload)
        ownAccount = payload.appAccountToken
        ownAppTransaction = payload.appTransactionId
    }

    /// Returns nil if the record names no purchase.
    convenience init?(_ record: InAppPurchaseReceipt, created: Timestamp?, item: Int) {
        guard let id = record.transactionId, let purchase = PurchaseIdentity(record) else {
            return nil
        }
        // Xcode writes 0 for all originals, too: a product is a subscription of its own there.
        let original = record.originalTransactionId ?? id
        self.init(
            purchase, transactionId: id,
            originalTransactionId: original == "0" ? "0/" + (record.productId ?? "") : original,
            productId: record.productId,
            type: Kind(record.productType, isPeriodic: record.expiresDate != nil),
            signedDate: created?.milliseconds ?? .min,
            purchaseDate: record.purchaseDate?.milliseconds ?? .min, item: item)
        expiresDate = record.expiresDate?.milliseconds
        ownRevocation = record.cancellationDate?.milliseconds
        quantity = record.quantity ?? 1
        isTrial = record.isTrialPeriod == true
        terms = Terms(record, ownType)
        isFromReceipt = true
    }

    /// Returns nil if the receipt names no purchase.
    convenience init?(_ receipt: TransactionReceipt, item: Int) {
        guard let id = receipt.transactionId, let purchase = PurchaseIdentity(receipt) else {
            return nil
        }
        let purchased = receipt.purchaseDate?.milliseconds ?? .min
        self.init(
            purchase, transactionId: id, originalTransactionId: receipt.originalTransactionId ?? id,
            productId: receipt.productId,
            type: receipt.expiresDate == nil ? .unknown : .autoRenewable,
            signedDate: purchased, purchaseDate: purchased, item: item)
        expiresDate = receipt.expiresDate?.milliseconds
        ownRevocation = receipt.cancellationDate?.milliseconds
        quantity = receipt.quantity ?? 1
        isTrial = receipt.isTrialPeriod == true
        isFromReceipt = true
    }
}

extension Snapshot.Kind {
    /// - Parameter isPeriodic: whether the transaction has an end. It decides then, as that of a
    ///   subscription, whatever type Apple adds later; without an end such a type grants nothing.
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

    /// Whether no type that this version knows says so.
    ///
    /// - Parameter isSubscription: whether the type is that of a subscription.
    fileprivate func isAssumed(for isSubscription: Bool) -> Bool {
        self == .unknown || self == .autoRenewable && !isSubscription
    }
}

extension ProductType {
    /// Whether it is a subscription by its name, as bundles and suites are. How the App Store
    /// writes these types in full is unconfirmed.
    fileprivate var isOfSubscriptions: Bool {
        self == .autoRenewableSubscription
            || rawValue.hasPrefix(Self.autoRenewableSubscription.rawValue + " ")
    }
}
