/// A version 1 App Store Server Notification. Apple signs only the receipt in it.
public struct VerifiedNotificationV1: Equatable, Sendable {
    /// `unified_receipt.latest_receipt`, verified.
    public var receipt: AppReceipt
    /// Unsigned members. They prove nothing.
    public var unsigned: UnsignedNotificationV1
    /// Remarks about the notification. They never change the verdict.
    public var warnings: [EvidenceWarning]

    /// Creates a notification.
    public init(
        receipt: AppReceipt, unsigned: UnsignedNotificationV1, warnings: [EvidenceWarning] = []
    ) {
        self.receipt = receipt
        self.unsigned = unsigned
        self.warnings = warnings
    }
}

/// The unsigned members of a version 1 notification, as text. Anybody can write them. The member
/// `password` is a secret and never returned.
public struct UnsignedNotificationV1: Equatable, Sendable {
    /// `notification_type`, such as DID_RENEW.
    public var notificationType: String?
    /// `environment`: PROD or Sandbox.
    public var environment: String?
    /// `bid`: the bundle identifier.
    public var bundleId: String?
    /// `bvrs`: the build version of the app.
    public var bundleVersion: String?
    /// `auto_renew_product_id`.
    public var autoRenewProductId: String?
    /// `auto_renew_status`.
    public var autoRenewStatus: String?

    /// Creates an empty value.
    public init() {}
}
