/// A payload of another store than Apple's. What decides reads these members, and none that only
/// one store has: a store that is added states them.
package protocol OtherStorePayload: Equatable, Sendable {
    /// Who signed it.
    static var store: EvidenceStore { get }
    /// The name of the app: a package or an application.
    var app: String? { get }
    /// What a backend files it under.
    var identifiers: EvidenceIdentifiers { get }
    /// The purchase that it states; nil if it states none.
    var purchase: StorePurchase? { get }
}

extension VerifiedEvidence {
    /// The payload of another store than Apple's and its signed JSON; nil for Apple's evidence.
    package var otherStore: (payload: any OtherStorePayload, json: [UInt8])? {
        switch self {
        case .googlePurchase(let evidence): (evidence.payload, evidence.json)
        case .googleNotification(let evidence): (evidence.payload, evidence.json)
        case .huaweiPurchase(let evidence): (evidence.payload, evidence.json)
        case .huaweiNotification(let evidence): (evidence.payload, evidence.json)
        case .harmonyPurchase(let evidence): (evidence.payload, evidence.json)
        case .harmonySubscription(let evidence): (evidence.payload, evidence.json)
        case .harmonyNotification(let evidence): (evidence.payload, evidence.json)
        case .transaction, .renewalInfo, .appTransaction, .notification, .realtimeRequest,
            .appReceipt, .transactionReceipt, .serverAnswer, .notificationV1:
            nil
        }
    }
}

extension EvidenceIdentifiers {
    /// The identifiers of another store's payload.
    init(token: String?, account: String? = nil, type: String? = nil, subtype: String? = nil) {
        originalTransactionId = token
        appAccountToken = account
        notificationType = type.map { NotificationTypeV2(rawValue: $0) }
        self.subtype = subtype.map { Subtype(rawValue: $0) }
    }
}
