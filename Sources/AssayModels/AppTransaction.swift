/// The payload of a signed app transaction (Apple: AppTransaction).
public struct AppTransaction: Equatable, Sendable {
    /// The environment of the app transaction.
    public var receiptType: StoreEnvironment?
    /// App Store identifier of the app.
    public var appAppleId: Int64?
    /// Bundle identifier of the app.
    public var bundleId: String?
    /// Version of the app.
    public var applicationVersion: String?
    /// App Store identifier of the app's version.
    public var versionExternalIdentifier: Int64?
    /// When Apple signed this payload; the effective date of its verification.
    public var receiptCreationDate: Timestamp?
    /// When the original purchase was made.
    public var originalPurchaseDate: Timestamp?
    /// Version of the app at the original purchase.
    public var originalApplicationVersion: String?
    /// Base64 of 48 bytes: the SHA-384 that binds the payload to one device.
    public var deviceVerification: String?
    /// The UUID that is an input of `deviceVerification`.
    public var deviceVerificationNonce: String?
    /// When the customer pre-ordered the app.
    public var preorderDate: Timestamp?
    /// Identifier of the app's download, unique per Apple Account and app.
    public var appTransactionId: String?
    /// Platform of the original purchase.
    public var originalPlatform: PurchasePlatform?
    /// When the device requested the app transaction.
    public var requestDate: Timestamp?
    /// The store that the customer has the app from.
    public var storeType: StoreType?
    /// When Apple revoked the app. The spelling in Apple's JSON is unconfirmed.
    public var revocationDate: Timestamp?

    /// Creates an empty value.
    public init() {}
}

/// The store that a customer has an app from. An open enumeration: keeps values that Apple adds
/// later. Apple documents one value; StoreKit has more, whose spelling is unconfirmed.
public struct StoreType: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// The App Store.
    public static let consumer = Self(rawValue: "CONSUMER")
}

/// The platform of a purchase. An open enumeration: keeps values that Apple adds later.
public struct PurchasePlatform: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// iOS and iPadOS.
    public static let iOS = Self(rawValue: "iOS")
    /// macOS.
    public static let macOS = Self(rawValue: "macOS")
    /// tvOS.
    public static let tvOS = Self(rawValue: "tvOS")
    /// visionOS.
    public static let visionOS = Self(rawValue: "visionOS")
}
