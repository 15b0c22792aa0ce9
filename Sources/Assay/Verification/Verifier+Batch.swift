public import AssayModels

extension Verifier {
    /// One item of a batch: evidence, its kind, and the policy and expectations for it.
    public struct BatchItem: Sendable {
        /// The evidence, in any form that `verify(_:as:policy:expecting:inApp:at:)` accepts.
        public var evidence: [UInt8]
        /// The kind of the evidence.
        public var kind: EvidenceKind
        /// The evidence that the operator accepts.
        public var policy: Policy
        /// The caller's expectations, which narrow the policy.
        public var expectations: Expectations
        /// The in-app records of an app receipt to return.
        public var inApp: InAppSelection

        /// Creates an item.
        public init(
            _ evidence: [UInt8], as kind: EvidenceKind, policy: Policy,
            expecting expectations: Expectations = .none, inApp: InAppSelection = .all
        ) {
            self.evidence = evidence
            self.kind = kind
            self.policy = policy
            self.expectations = expectations
            self.inApp = inApp
        }
    }

    /// Verifies a batch of items. The signatures of all its JWS are checked together, which takes
    /// less time than one call per item.
    ///
    /// - Parameters:
    ///   - batch: the items, of any kinds.
    ///   - now: the current time, for all items.
    /// - Returns: one verification per item, in order. Each is the one that a call for the item
    ///   alone returns.
    public func verify(_ batch: [BatchItem], at now: Timestamp) -> [Verification] {
        var prepared = batch.map { item in
            prepare(
                item.evidence.span, as: item.kind, policy: item.policy,
                expecting: item.expectations, inApp: item.inApp, at: now)
        }
        verifySignatures(&prepared)
        return prepared.map(\.verification)
    }
}
