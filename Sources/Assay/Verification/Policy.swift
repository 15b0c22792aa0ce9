public import AssayModels

/// What an operator accepts for one app.
public struct Policy: Sendable, Equatable {
    /// The app's bundle identifier, compared byte for byte; nil: reported, not checked.
    public var bundleId: String?
    /// The app's App Store id, demanded of Production payloads that carry one; nil: not checked.
    public var appAppleId: Int64?
    /// Environments whose evidence passes.
    public var environments: Set<StoreEnvironment>
    /// Whether transaction receipts signed with the key of 1024 bits, until 2015, pass.
    public var allowsLegacyKey: Bool

    public init(
        bundleId: String?, appAppleId: Int64? = nil,
        environments: Set<StoreEnvironment> = [.production], allowsLegacyKey: Bool = true
    ) {
        self.bundleId = bundleId
        self.appAppleId = appAppleId
        self.environments = environments
        self.allowsLegacyKey = allowsLegacyKey
    }
}
