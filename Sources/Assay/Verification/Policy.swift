public import AssayModels

/// The evidence that an operator accepts for one app.
public struct Policy: Sendable, Equatable {
    /// The app's bundle identifier, compared byte for byte. Nil reports it without a check.
    public var bundleId: String?
    /// The app's App Store id, required in Production payloads with such a member. Nil skips the
    /// check.
    public var appAppleId: Int64?
    /// The accepted environments.
    public var environments: Set<StoreEnvironment>
    /// Whether transaction receipts signed with the 1024-bit key, until 2015, are accepted.
    public var allowsLegacyKey: Bool
    /// What the revocation statuses of the certificates decide.
    public var revocation: RevocationPolicy
    /// The purchases of Google Play that are accepted.
    public var google = PurchasePolicy()
    /// The pushes of Google Play's notifications that are accepted. `google` has the package names.
    public var googlePush = PushPolicy()
    /// The purchases of Huawei AppGallery on Android that are accepted.
    public var huawei = PurchasePolicy()
    /// The accepted apps of HarmonyOS, by application id or bundle name, compared byte for byte.
    /// Empty: the bundle id. The trust store has the roots.
    public var harmonyApplicationIds: [String] = []

    /// Creates a policy. By default it accepts only Production, and statuses decide nothing.
    public init(
        bundleId: String?, appAppleId: Int64? = nil,
        environments: Set<StoreEnvironment> = [.production], allowsLegacyKey: Bool = true,
        revocation: RevocationPolicy = .off
    ) {
        self.bundleId = bundleId
        self.appAppleId = appAppleId
        self.environments = environments
        self.allowsLegacyKey = allowsLegacyKey
        self.revocation = revocation
    }
}
