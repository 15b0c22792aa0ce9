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
    public var google: PurchasePolicy {
        get { otherStores?.policies.google ?? PurchasePolicy() }
        set { change { $0.google = newValue } }
    }
    /// The pushes of Google Play's notifications that are accepted. `google` has the package names.
    public var googlePush: PushPolicy {
        get { otherStores?.policies.googlePush ?? PushPolicy() }
        set { change { $0.googlePush = newValue } }
    }
    /// The purchases of Huawei AppGallery on Android that are accepted.
    public var huawei: PurchasePolicy {
        get { otherStores?.policies.huawei ?? PurchasePolicy() }
        set { change { $0.huawei = newValue } }
    }
    /// The accepted apps of HarmonyOS, by application id or bundle name, compared byte for byte.
    /// Empty: the bundle id. The trust store has the roots.
    public var harmonyApplicationIds: [String] {
        get { otherStores?.policies.harmonyApplicationIds ?? [] }
        set { change { $0.harmonyApplicationIds = newValue } }
    }
    /// One reference, because each verification copies its policy.
    private var otherStores: OtherStores?

    private final class OtherStores: Sendable, Equatable {
        let policies: Policies

        init(_ policies: Policies) { self.policies = policies }

        static func == (left: OtherStores, right: OtherStores) -> Bool {
            left === right || left.policies == right.policies
        }
    }

    private struct Policies: Sendable, Equatable {
        var google = PurchasePolicy()
        var googlePush = PushPolicy()
        var huawei = PurchasePolicy()
        var harmonyApplicationIds: [String] = []
    }

    private mutating func change(_ change: (inout Policies) -> Void) {
        var policies = otherStores?.policies ?? Policies()
        change(&policies)
        otherStores = policies == Policies() ? nil : OtherStores(policies)
    }

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
