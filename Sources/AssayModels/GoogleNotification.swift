/// A real-time developer notification of Google Play, which Pub/Sub pushed. It says that something
/// changed; ask Google's API what.
public struct GoogleNotification: Equatable, Sendable {
    /// Names the message; retries have the same.
    public var messageId: String?
    /// The Pub/Sub subscription that pushed it.
    public var subscription: String?
    /// The app.
    public var packageName: String?
    /// When it happened.
    public var eventTimeMillis: Timestamp?
    /// What it is about.
    public var about: GoogleNotificationSubject?
    /// The event by Google's number, of a subscription or a one-time product. Absent if it is about
    /// something else.
    public var notificationType: Int32?
    /// Names the purchase for Google's API. Absent in a test.
    public var purchaseToken: String?
    /// The product of a subscription, in notifications that name it.
    public var subscriptionId: String?
    /// The one-time product.
    public var sku: String?
    /// Identifier of the order, of a voided purchase.
    public var orderId: String?
    /// 1 subscription, 2 one-time product, of a voided purchase.
    public var productType: Int32?
    /// 1 full refund, 2 partial refund by quantity, of a voided purchase.
    public var refundType: Int32?
    /// Names a refund that waits for the backend's word: send it with `orders.reviewrefund`.
    public var pendingRefundToken: String?
    /// Why the customer asks for the refund, by Google's number.
    public var refundReason: Int32?
    /// The account of a pending refund that the app named in obfuscated form.
    public var obfuscatedAccountId: String?
    /// The profile of a pending refund that the app named in obfuscated form.
    public var obfuscatedProfileId: String?
    /// Until when Google waits for the backend's word about a pending refund: 24 hours after the
    /// event.
    public var respondBy: Timestamp?

    /// Creates a notification without members.
    public init() {}
}

/// The member of Google's notification that says what it is about. An open enumeration: keeps
/// values that later versions add.
public struct GoogleNotificationSubject: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// A subscription changed.
    public static let subscription = Self(rawValue: "subscriptionNotification")
    /// A one-time product was bought or canceled.
    public static let oneTimeProduct = Self(rawValue: "oneTimeProductNotification")
    /// A purchase was voided.
    public static let voidedPurchase = Self(rawValue: "voidedPurchaseNotification")
    /// A bank asks for a refund, and Google for the backend's word within 24 hours.
    public static let pendingRefundReview = Self(rawValue: "pendingRefundReviewNotification")
    /// A test that Play Console sent.
    public static let test = Self(rawValue: "testNotification")
}

extension GoogleNotification: OtherStorePayload {
    package static var store: EvidenceStore { .google }
    package var app: String? { packageName }
    package var identifiers: EvidenceIdentifiers {
        EvidenceIdentifiers(
            token: purchaseToken, type: about?.rawValue,
            subtype: notificationType.map { String($0) })
    }
    package var purchase: StorePurchase? { nil }
}
