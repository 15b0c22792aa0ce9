/// The payload of a StoreKit 1 app receipt (PKCS#7). A field is nil where Apple writes an empty
/// string. A zero is kept, except in an in-app record's `webOrderLineItemId`.
public struct AppReceipt: Equatable, Sendable {
    /// Attribute 0 as written, such as `ProductionSandbox`.
    public var receiptType: String?
    /// Attribute 1: the app's App Store id; 0 in the sandbox.
    public var adamId: Int64?
    /// Attribute 2.
    public var bundleId: String?
    /// Attribute 3: CFBundleVersion (on macOS CFBundleShortVersionString).
    public var applicationVersion: String?
    /// Attribute 4: an input of `sha1Hash`.
    public var opaqueValue: [UInt8] = []
    /// Attribute 5: the SHA-1 that binds the receipt to one device.
    public var sha1Hash: [UInt8] = []
    /// Attribute 10: the age rating, such as `4+`.
    public var ageRating: String?
    /// Attribute 12: when the receipt was signed.
    public var receiptCreationDate: Timestamp?
    /// Attribute 15; 0 in the sandbox.
    public var downloadId: Int64?
    /// Attribute 16; 0 in the sandbox.
    public var versionExternalIdentifier: Int64?
    /// Attribute 17: the in-app records that the caller selected, in the receipt's order.
    public var inApp = InAppPurchases()
    /// Attribute 18: when the app was first bought.
    public var originalPurchaseDate: Timestamp?
    /// Attribute 19.
    public var originalApplicationVersion: String?
    /// Attribute 21: set for apps bought in volume and for receipts made by Xcode.
    public var expirationDate: Timestamp?
    /// Attribute 32.
    public var preorderDate: Timestamp?
    /// The value of attribute 2 with tag and length, an input of `sha1Hash`.
    public var bundleIdOctets: [UInt8] = []
    /// Attributes without a field here, in the receipt's order.
    public var unknownAttributes: [ReceiptAttribute] = []
    /// Remarks about the receipt. They never change the verdict.
    public var warnings: [EvidenceWarning] = []

    /// Creates an empty value.
    public init() {}

    /// The environment that `receiptType` names. Types that Apple adds later become an
    /// environment of the same name.
    public var environment: StoreEnvironment {
        switch receiptType {
        case nil: .unspecified
        case "Production", "ProductionVPP": .production
        case "ProductionSandbox", "ProductionVPPSandbox": .sandbox
        case .some(let other): StoreEnvironment(rawValue: other)
        }
    }
}

/// One attribute of a receipt as encoded: SEQUENCE { type, version, value }.
public struct ReceiptAttribute: Equatable, Sendable {
    /// The attribute's type.
    public var type: Int64
    /// The attribute's version.
    public var version: Int64
    /// The content of the OCTET STRING.
    public var value: [UInt8]

    /// Creates an attribute.
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
    /// Attribute 1705: shared by all renewals of one subscription.
    public var originalTransactionId: String?
    /// Attribute 1706.
    public var originalPurchaseDate: Timestamp?
    /// Attribute 1707.
    public var productType: InAppProductType?
    /// Attribute 1708: set for subscriptions only.
    public var expiresDate: Timestamp?
    /// Attribute 1710: the product's App Store id; 0 in the sandbox.
    public var itemId: Int64?
    /// Attribute 1711; nil where Apple writes 0.
    public var webOrderLineItemId: Int64?
    /// Attribute 1712: when the purchase was refunded or revoked.
    public var cancellationDate: Timestamp?
    /// Attribute 1713.
    public var isTrialPeriod: Bool?
    /// Attribute 1719.
    public var isInIntroOfferPeriod: Bool?
    /// Attribute 1720.
    public var cancellationReason: Int64?
    /// Attribute 1721.
    public var promotionalOfferId: String?
    /// Attributes without a field here.
    public var unknownAttributes: [ReceiptAttribute] = []
    /// Names the purchase: grant it once by this key. Not an attribute: it follows from the record,
    /// the receipt's environment and its bundle id. Nil until the receipt's signature verifies, and
    /// for a record without an identifier.
    public var dedupKey: String?

    /// Creates an empty value.
    public init() {}
}

/// The type of the product in an in-app record. An open enumeration: keeps values that Apple adds
/// later.
public struct InAppProductType: RawRepresentable, Hashable, Sendable {
    public let rawValue: Int64
    public init(rawValue: Int64) { self.rawValue = rawValue }

    /// Bought once, owned forever.
    public static let nonConsumable = Self(rawValue: 0)
    /// Used up, and bought again.
    public static let consumable = Self(rawValue: 1)
    /// A subscription without renewal.
    public static let nonRenewingSubscription = Self(rawValue: 2)
    /// A subscription that renews.
    public static let autoRenewableSubscription = Self(rawValue: 3)
}

/// A transaction receipt of iOS 3 to 6: the members of its signed purchase-info under their
/// original names (`original-transaction-id`), and typed fields.
public struct TransactionReceipt: Equatable, Sendable {
    /// One member of purchase-info. All values are strings.
    public struct Member: Equatable, Sendable {
        /// The name, such as `original-transaction-id`.
        public var name: String
        /// The value.
        public var value: String

        /// Creates a member.
        public init(name: String, value: String) {
            self.name = name
            self.value = value
        }
    }

    /// The members in purchase-info's order.
    public var members: [Member]
    /// The environment that the signed transaction id implies: sandbox ids have their own prefix.
    public var environment: StoreEnvironment
    /// `purchase-date`, with milliseconds where `purchase-date-ms` is present.
    public var purchaseDate: Timestamp?
    /// The member original-purchase-date.
    public var originalPurchaseDate: Timestamp?
    /// When the subscription expires; set for subscriptions only.
    public var expiresDate: Timestamp?
    /// When the purchase was refunded.
    public var cancellationDate: Timestamp?
    /// 2: signed with a 1024-bit key. 3: signed with a 2048-bit key.
    public var signatureVersion: Int
    /// Whether the old 1024-bit key signed the receipt. No other kind of evidence accepts that
    /// key.
    public var legacyKey: Bool
    /// Not covered by the signature; proves nothing.
    public var unsignedEnvironment: String?
    /// Not covered by the signature; proves nothing.
    public var unsignedPod: String?
    /// Not covered by the signature; proves nothing.
    public var unsignedSigningStatus: String?

    /// Creates a receipt with these members. The typed dates are nil.
    public init(members: [Member], environment: StoreEnvironment, signatureVersion: Int) {
        self.members = members
        self.environment = environment
        self.signatureVersion = signatureVersion
        legacyKey = signatureVersion == 2
    }

    /// The value of a member of purchase-info.
    public subscript(name: String) -> String? {
        members.first { $0.name == name }?.value
    }

    /// The app's bundle identifier (`bid`).
    public var bundleId: String? { self["bid"] }
    /// The app's version (`bvrs`).
    public var applicationVersion: String? { self["bvrs"] }
    /// The product identifier.
    public var productId: String? { self["product-id"] }
    /// The transaction identifier.
    public var transactionId: String? { self["transaction-id"] }
    /// The transaction identifier of the original purchase.
    public var originalTransactionId: String? { self["original-transaction-id"] }
    /// The identifier of a subscription purchase.
    public var webOrderLineItemId: String? { self["web-order-line-item-id"] }
    /// The number of items bought.
    public var quantity: Int64? { self["quantity"].flatMap { Int64($0) } }
    /// The product's App Store id.
    public var itemId: String? { self["item-id"] }
    /// The app's App Store id; absent in the sandbox.
    public var appItemId: Int64? { self["app-item-id"].flatMap { Int64($0) } }
    /// The App Store id of the app's version.
    public var versionExternalIdentifier: String? { self["version-external-identifier"] }
    /// The device identifier that iOS recorded.
    public var uniqueIdentifier: String? { self["unique-identifier"] }
    /// identifierForVendor.
    public var uniqueVendorIdentifier: String? { self["unique-vendor-identifier"] }
    /// Whether the period is a free trial.
    public var isTrialPeriod: Bool? { self["is-trial-period"].flatMap { Bool($0) } }
    /// Whether the period has an introductory price.
    public var isInIntroOfferPeriod: Bool? { self["is-in-intro-offer-period"].flatMap { Bool($0) } }
}
