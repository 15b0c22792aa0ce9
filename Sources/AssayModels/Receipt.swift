/// The payload of a StoreKit 1 app receipt (PKCS#7). What Apple writes as an empty string is absent
/// here; a zero is kept, but that of an in-app record's `webOrderLineItemId`.
public struct AppReceipt: Equatable, Sendable {
    /// Attribute 0 as it is written, such as `ProductionSandbox`.
    public var receiptType: String?
    /// Attribute 1, the app's App Store id; 0 in the sandbox.
    public var adamId: Int64?
    /// Attribute 2.
    public var bundleId: String?
    /// Attribute 3, CFBundleVersion (on macOS CFBundleShortVersionString).
    public var applicationVersion: String?
    /// Attribute 4: goes into `sha1Hash`.
    public var opaqueValue: [UInt8] = []
    /// Attribute 5: SHA-1 that binds the receipt to one device.
    public var sha1Hash: [UInt8] = []
    /// Attribute 10, such as `4+`.
    public var ageRating: String?
    /// Attribute 12: when the receipt was signed.
    public var receiptCreationDate: Timestamp?
    /// Attribute 15; 0 in the sandbox.
    public var downloadId: Int64?
    /// Attribute 16; 0 in the sandbox.
    public var versionExternalIdentifier: Int64?
    /// Attribute 17, in the receipt's order; those that the caller asked for.
    public var inApp = InAppPurchases()
    /// Attribute 18, when the app was first bought.
    public var originalPurchaseDate: Timestamp?
    /// Attribute 19.
    public var originalApplicationVersion: String?
    /// Attribute 21, of apps bought in volume and of Xcode.
    public var expirationDate: Timestamp?
    /// Attribute 32.
    public var preorderDate: Timestamp?
    /// The octets of attribute 2, tag and length included, as they go into `sha1Hash`.
    public var bundleIdOctets: [UInt8] = []
    /// What has no name here, in the receipt's order.
    public var unknownAttributes: [ReceiptAttribute] = []

    public init() {}

    /// What `receiptType` says; types that Apple adds later stand for themselves.
    public var environment: StoreEnvironment {
        switch receiptType {
        case nil: .unspecified
        case "Production", "ProductionVPP": .production
        case "ProductionSandbox", "ProductionVPPSandbox": .sandbox
        case .some(let other): StoreEnvironment(rawValue: other)
        }
    }
}

/// One attribute of a receipt as it stands there: SEQUENCE { type, version, value }.
public struct ReceiptAttribute: Equatable, Sendable {
    public var type: Int64
    public var version: Int64
    /// Content of the OCTET STRING.
    public var value: [UInt8]

    public init(type: Int64, version: Int64, value: [UInt8]) {
        self.type = type
        self.version = version
        self.value = value
    }
}

/// One in-app record of an app receipt (attribute 17).
public struct InAppPurchaseReceipt: Equatable, Sendable {
    /// Attribute 1701.
    public var quantity: Int64?
    /// Attribute 1702.
    public var productId: String?
    /// Attribute 1703.
    public var transactionId: String?
    /// Attribute 1704.
    public var purchaseDate: Timestamp?
    /// Attribute 1705: the same for all renewals of one subscription.
    public var originalTransactionId: String?
    /// Attribute 1706.
    public var originalPurchaseDate: Timestamp?
    /// Attribute 1707.
    public var productType: InAppProductType?
    /// Attribute 1708: subscriptions alone have one.
    public var expiresDate: Timestamp?
    /// Attribute 1710, the App Store id of the product; 0 in the sandbox.
    public var itemId: Int64?
    /// Attribute 1711; absent where Apple writes 0.
    public var webOrderLineItemId: Int64?
    /// Attribute 1712: refunded or revoked then.
    public var cancellationDate: Timestamp?
    /// Attribute 1713.
    public var isTrialPeriod: Bool?
    /// Attribute 1719.
    public var isInIntroOfferPeriod: Bool?
    /// Attribute 1720.
    public var cancellationReason: Int64?
    /// Attribute 1721.
    public var promotionalOfferId: String?
    /// What has no name here.
    public var unknownAttributes: [ReceiptAttribute] = []

    public init() {}
}

/// What kind of product was bought. Values that Apple adds later are kept as they come.
public struct InAppProductType: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    public static let nonConsumable = Self(rawValue: 0)
    public static let consumable = Self(rawValue: 1)
    public static let nonRenewingSubscription = Self(rawValue: 2)
    public static let autoRenewableSubscription = Self(rawValue: 3)
}

/// A transaction receipt of iOS 3 to 6: the members of its signed purchase-info, by their names
/// there (`original-transaction-id`), and typed ones.
public struct TransactionReceipt: Equatable, Sendable {
    /// One member of purchase-info; all of them are strings.
    public struct Member: Equatable, Sendable {
        public var name: String
        public var value: String

        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// In the order of purchase-info.
    public var members: [Member]
    /// What the signed transaction id says: sandbox ids have a prefix of their own.
    public var environment: StoreEnvironment
    /// `purchase-date`, to the millisecond where `purchase-date-ms` is there.
    public var purchaseDate: Timestamp?
    public var originalPurchaseDate: Timestamp?
    /// Of subscriptions.
    public var expiresDate: Timestamp?
    /// Refunded then.
    public var cancellationDate: Timestamp?
    /// 2: signed with a key of 1024 bits; 3: of 2048.
    public var signatureVersion: Int
    /// Signed with the old key of 1024 bits, which no other kind of evidence may have.
    public var legacyKey: Bool
    /// Outside of what is signed; it proves nothing.
    public var unsignedEnvironment: String?
    /// Outside of what is signed; it proves nothing.
    public var unsignedPod: String?
    /// Outside of what is signed; it proves nothing.
    public var unsignedSigningStatus: String?

    public init(members: [Member], environment: StoreEnvironment, signatureVersion: Int) {
        self.members = members
        self.environment = environment
        self.signatureVersion = signatureVersion
        legacyKey = signatureVersion == 2
    }

    /// A member of purchase-info.
    public subscript(name: String) -> String? {
        members.first { $0.name == name }?.value
    }

    public var bundleId: String? { self["bid"] }
    public var applicationVersion: String? { self["bvrs"] }
    public var productId: String? { self["product-id"] }
    public var transactionId: String? { self["transaction-id"] }
    public var originalTransactionId: String? { self["original-transaction-id"] }
    public var webOrderLineItemId: String? { self["web-order-line-item-id"] }
    public var quantity: Int64? { self["quantity"].flatMap { Int64($0) } }
    /// The App Store id of the product.
    public var itemId: String? { self["item-id"] }
    /// The App Store id of the app; absent in the sandbox.
    public var appItemId: Int64? { self["app-item-id"].flatMap { Int64($0) } }
    public var versionExternalIdentifier: String? { self["version-external-identifier"] }
    /// The device, as iOS told it then.
    public var uniqueIdentifier: String? { self["unique-identifier"] }
    /// identifierForVendor.
    public var uniqueVendorIdentifier: String? { self["unique-vendor-identifier"] }
    public var isTrialPeriod: Bool? { self["is-trial-period"].flatMap { Bool($0) } }
    public var isInIntroOfferPeriod: Bool? { self["is-in-intro-offer-period"].flatMap { Bool($0) } }
}
