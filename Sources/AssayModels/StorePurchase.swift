/// The store that signed evidence. An open enumeration: keeps values that later versions add.
public struct EvidenceStore: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Apple's App Store.
    public static let apple = Self(rawValue: "APPLE")
    /// Google Play.
    public static let google = Self(rawValue: "GOOGLE")
    /// Huawei AppGallery on Android (HMS).
    public static let huawei = Self(rawValue: "HUAWEI")
    /// Huawei AppGallery on HarmonyOS (IAP Kit).
    public static let harmony = Self(rawValue: "HARMONY")
}

/// The state of a purchase at the moment of its signature. An open enumeration: keeps values that
/// later versions add. Only `purchased` is paid.
public struct PurchaseState: RawRepresentable, Hashable, Sendable {
    public let rawValue: String
    public init(rawValue: String) { self.rawValue = rawValue }

    /// Paid.
    public static let purchased = Self(rawValue: "PURCHASED")
    /// Not paid yet, for example in cash. Grant nothing.
    public static let pending = Self(rawValue: "PENDING")
    /// Canceled. Grant nothing.
    public static let canceled = Self(rawValue: "CANCELED")
    /// Refunded. Grant nothing.
    public static let refunded = Self(rawValue: "REFUNDED")
    /// The purchase names no state, or one that this version does not know. Grant nothing.
    public static let unknown = Self(rawValue: "UNKNOWN")
}
