public import Assay
public import AssayModels

/// One app: whose evidence is verified, and what of it passes. Entries with the same trust share
/// a verifier, and so its cache. A class, as every request holds one.
public final class AppEntry: Sendable {
    public let verifier: Verifier
    public let policy: Policy
    /// The environments of a request that names none; nil: all of the policy. The entry of a
    /// server without configuration allows any environment that a request names, and Production
    /// alone where it names none.
    public let unnamedEnvironments: [StoreEnvironment]?

    public init(
        verifier: Verifier, policy: Policy, unnamedEnvironments: [StoreEnvironment]? = nil
    ) {
        self.verifier = verifier
        self.policy = policy
        self.unnamedEnvironments = unnamedEnvironments
    }

    /// Pinned roots that are not Apple's and can validate Production evidence of this app.
    package var foreignProductionRoots: [TrustAnchor] {
        let environments = policy.environments
        guard environments.contains(.production) || environments.contains(.unspecified) else {
            return []
        }
        return verifier.trust.anchors.filter { !$0.isApple && !$0.development }
    }

    func narrowed(_ expectations: Expectations) -> Expectations {
        guard let unnamedEnvironments, expectations.environments.isEmpty else {
            return expectations
        }
        var narrowed = expectations
        narrowed.environments = unnamedEnvironments
        return narrowed
    }
}
