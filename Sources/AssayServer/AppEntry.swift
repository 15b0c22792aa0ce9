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

    func narrowed(_ expectations: Expectations) -> Expectations {
        guard let unnamedEnvironments, expectations.environments.isEmpty else {
            return expectations
        }
        var narrowed = expectations
        narrowed.environments = unnamedEnvironments
        return narrowed
    }
}
