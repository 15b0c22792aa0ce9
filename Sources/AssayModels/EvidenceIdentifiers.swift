/// What a backend files an item of evidence under, beside its keys. Absent where the item does not
/// name it, or names several.
public struct EvidenceIdentifiers: Equatable, Sendable {
    /// Transaction identifier of the original purchase.
    public var originalTransactionId: String?
    /// A UUID that the app supplied.
    public var appAccountToken: String?
    /// Identifier of the app's download.
    public var appTransactionId: String?
    /// The event of a notification.
    public var notificationType: NotificationTypeV2?
    /// The detail of the event.
    public var subtype: Subtype?

    /// Names nothing.
    public init() {}

    /// The identifiers that verified evidence names.
    public init(of evidence: VerifiedEvidence?) {
        switch evidence {
        case .transaction(let transaction): read(transaction.payload)
        case .renewalInfo(let renewal): read(renewal.payload)
        case .appTransaction(let transaction):
            appTransactionId = transaction.payload.appTransactionId
        case .transactionReceipt(let receipt): originalTransactionId = receipt.originalTransactionId
        case .notification(let notification): read(notification)
        case .appReceipt, .serverAnswer, .realtimeRequest, .notificationV1, nil: break
        case .some(let other):
            if let identifiers = other.otherStore?.payload.identifiers { self = identifiers }
        }
    }

    private mutating func read(_ notification: VerifiedNotification) {
        let payload = notification.notification.payload
        if let transaction = notification.transaction {
            read(transaction.payload)
        } else if let renewal = notification.renewalInfo {
            read(renewal.payload)
        } else {
            originalTransactionId = payload.unclaimInfo?.originalTransactionId
        }
        notificationType = payload.notificationType
        subtype = payload.subtype
    }

    private mutating func read(_ payload: JWSTransactionDecodedPayload) {
        originalTransactionId = payload.originalTransactionId
        appAccountToken = payload.appAccountToken
        appTransactionId = payload.appTransactionId
    }

    private mutating func read(_ payload: JWSRenewalInfoDecodedPayload) {
        originalTransactionId = payload.originalTransactionId
        appAccountToken = payload.appAccountToken
        appTransactionId = payload.appTransactionId
    }
}
