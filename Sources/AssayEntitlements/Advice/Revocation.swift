import AssayModels

/// A refund or revocation that evidence states: since when, and why.
struct Revocation: Sendable {
    private enum Cause {
        case refund, familySharing, assignment
    }

    /// What to take back.
    enum Extent {
        case product
        /// The customer keeps the product by another purchase.
        case whatCameWithIt
    }

    let transactionId: String
    private let productId: String?
    private let date: Timestamp?
    /// The reason by its number, and the name of the member.
    private var reason: (member: String, number: Int64)?
    private var cause = Cause.refund
    /// A type that this version does not know.
    private var unknownType: String?
    /// Thousandths of a percent of the price.
    private var percentage: Int32?
    private var isConsumable = false
    private var store = EvidenceStore.apple
    /// When the statement was signed.
    private var signedDate: Timestamp?

    private init(_ transactionId: String, _ productId: String?, _ date: Timestamp?) {
        self.transactionId = transactionId
        self.productId = productId
        self.date = date
    }

    /// Returns nil if the transaction was not revoked.
    init?(_ transaction: JWSTransactionDecodedPayload) {
        guard let date = transaction.revocationDate else { return nil }
        self.init(transaction.transactionId ?? "", transaction.productId, date)
        reason = transaction.revocationReason.map { ("revocationReason", Int64($0.rawValue)) }
        percentage = transaction.revocationPercentage
        isConsumable = transaction.type == .consumable
        signedDate = transaction.signedDate
        switch transaction.revocationType {
        case .familyRevoke?: cause = .familySharing
        case .assignmentRevoke?: cause = .assignment
        case .refundFull?, .refundProrated?: break
        case nil:
            if transaction.inAppOwnershipType == .familyShared { cause = .familySharing }
            if transaction.inAppOwnershipType == .assigned { cause = .assignment }
        case .some(let other): unknownType = other.rawValue
        }
    }

    private init?(_ record: InAppPurchaseReceipt) {
        guard let date = record.cancellationDate else { return nil }
        self.init(record.transactionId ?? "", record.productId, date)
        reason = record.cancellationReason.map { ("cancellationReason", $0) }
        isConsumable = record.productType == .consumable
    }

    private init?(_ receipt: TransactionReceipt) {
        guard let date = receipt.cancellationDate else { return nil }
        self.init(receipt.transactionId ?? "", receipt.productId, date)
    }

    private init?(_ payload: any OtherStorePayload) {
        guard let purchase = payload.purchase, let date = purchase.revokedAt else { return nil }
        self.init(purchase.id, purchase.productIds.first, date)
        reason = purchase.revocationReason
        store = type(of: payload).store
    }

    /// What takes back a purchase whose evidence gives neither a date nor a reason.
    static func takingBack(_ productId: String?, _ transactionId: String) -> String {
        "Take \(Advice.name(productId)) back: transaction \(Advice.name(transactionId)) was "
            + "refunded or revoked."
    }

    /// The revoked purchases of an item by their transactions.
    static func all(in evidence: VerifiedEvidence?) -> [String: Revocation] {
        var found: [String: Revocation] = [:]
        func add(_ revocation: Revocation?) {
            guard let revocation else { return }
            if let known = found[revocation.transactionId]?.signedDate,
                let date = revocation.signedDate, date < known
            {
                return
            }
            found[revocation.transactionId] = revocation
        }
        switch evidence {
        case .transaction(let transaction): add(Revocation(transaction.payload))
        case .notification(let notification):
            add(notification.transaction.flatMap { Revocation($0.payload) })
        case .serverAnswer(let answer):
            for transaction in answer.transactions { add(Revocation(transaction.payload)) }
            for notification in answer.notifications {
                add(notification.transaction.flatMap { Revocation($0.payload) })
            }
        case .appReceipt(let receipt):
            for record in receipt.inApp.withoutKeys { add(Revocation(record)) }
        case .notificationV1(let notification):
            for record in notification.receipt.inApp.withoutKeys { add(Revocation(record)) }
        case .transactionReceipt(let receipt): add(Revocation(receipt))
        case .renewalInfo, .appTransaction, .realtimeRequest, nil: break
        case .some(let other): add(other.otherStore.flatMap { Revocation($0.payload) })
        }
        return found
    }

    /// The advice: what to take back, why, and since when it entitles to nothing.
    func takingBack(_ extent: Extent, _ words: AdviceDates) -> String {
        let product = Advice.name(productId)
        let transaction = "transaction \(Advice.name(transactionId))"
        let share = percentage.flatMap { $0 < 100_000 ? Advice.percent($0) : nil }
        // The rest of a consumable stays the customer's.
        if isConsumable, let share {
            return "Take \(share) of \(product) back: \(store.phrase) refunded this share of "
                + transaction + reasonText + words.at(date) + "."
        }
        let start =
            switch extent {
            case .product: "Take \(product) back: "
            case .whatCameWithIt: "Take back what came with \(product) then: "
            }
        let cause =
            switch cause {
            case .familySharing: "the family no longer shares \(transaction)"
            case .assignment: "the seat of \(transaction) is no longer assigned"
            case .refund where unknownType != nil: "\(store.phrase) revoked \(transaction)"
            case .refund:
                "\(store.phrase) refunded \(share.map { $0 + " of " } ?? "")\(transaction)"
            }
        let since = date.map { " Since \(words.date($0)) it entitles to nothing." } ?? ""
        return start + cause + reasonText + "." + since
    }

    /// Why, with the member that says so.
    private var reasonText: String {
        if let unknownType { return " (revocationType \(Advice.name(unknownType)))" }
        // Family sharing and seats end without a reason of the customer's.
        guard cause == .refund, let reason else { return "" }
        let member = "\(reason.member) \(reason.number)"
        guard store == .apple else { return " (\(member))" }
        switch reason.number {
        case 0: return " for another reason than an issue with the app (\(member))"
        case 1: return " because of an issue with the app (\(member))"
        default: return " for a reason that this version does not know (\(member))"
        }
    }
}

/// Writes dates into sentences.
struct AdviceDates: Sendable {
    let date: @Sendable (Timestamp) -> String

    func at(_ moment: Timestamp?) -> String { moment.map { " at " + date($0) } ?? "" }

    func until(_ end: Timestamp?) -> String { end.map { " until " + date($0) } ?? "" }
}

extension Advice {
    /// A percentage in thousandths of a percent as text, such as `12.5 %`.
    static func percent(_ thousandths: Int32) -> String {
        let (whole, rest) = thousandths.quotientAndRemainder(dividingBy: 1000)
        guard rest > 0 else { return "\(whole) %" }
        var digits = String(1000 + rest).dropFirst()
        while digits.last == "0" { digits.removeLast() }
        return "\(whole).\(digits) %"
    }
}

extension EvidenceStore {
    /// Who signs, refunds and charges.
    var phrase: String {
        switch self {
        case .apple: "Apple"
        case .google: "Google"
        case .huawei, .harmony: "Huawei"
        default: rawValue
        }
    }
}
