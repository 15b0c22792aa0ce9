/// The payload of a signed app transaction (Apple: AppTransaction).
public struct AppTransaction: Equatable, Sendable {
    /// The environment of the app transaction.
    public var receiptType: StoreEnvironment?
    public var appAppleId: Int64?
    public var bundleId: String?
    public var applicationVersion: String?
    public var versionExternalIdentifier: Int64?
    public var receiptCreationDate: Timestamp?
    public var originalPurchaseDate: Timestamp?
    public var originalApplicationVersion: String?
    /// Base64 of 48 bytes: the SHA-384 that binds the payload to one device.
    public var deviceVerification: String?
    /// The UUID that is an input of `deviceVerification`.
    public var deviceVerificationNonce: String?
    public var preorderDate: Timestamp?
    public var appTransactionId: String?
    public var originalPlatform: PurchasePlatform?
    /// When the device requested the app transaction.
    public var requestDate: Timestamp?

    public init() {}
}

/// An open enumeration: keeps values that Apple adds later.
public struct PurchasePlatform: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    public static let iOS = Self(rawValue: "iOS")
    public static let macOS = Self(rawValue: "macOS")
    public static let tvOS = Self(rawValue: "tvOS")
    public static let visionOS = Self(rawValue: "visionOS")
}
