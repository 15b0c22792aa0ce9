public import AssayModels

/// Verifies App Store evidence against one trust store.
///
/// The door of this library. No clock, no socket, no file: bytes, a time, trust and a policy in,
/// a verdict out. Shared freely between threads; what it keeps is a cache of validated chains.
public final class Verifier: Sendable {
    public let trust: TrustStore

    public init(trust: TrustStore) {
        self.trust = trust
    }

    /// Verifies one piece of evidence.
    public func verify(
        _ evidence: Span<UInt8>, as kind: EvidenceKind, policy: Policy,
        expecting expectations: Expectations = .none, at now: Timestamp
    ) -> Verification {
        var batch = [prepare(evidence, as: kind, policy: policy, expecting: expectations, at: now)]
        settle(&batch)
        return batch[0].verification
    }

    /// First half: parses, finds the chain, digests. The result owns all that it needs of the
    /// bytes; `settle` does the signatures of many such at once.
    public func prepare(
        _ evidence: Span<UInt8>, as kind: EvidenceKind, policy: Policy,
        expecting expectations: Expectations = .none, at now: Timestamp
    ) -> PreparedVerification {
        fatalError()
    }

    /// Second half: checks the signatures of the whole batch in one call, then each policy.
    public func settle(_ batch: inout [PreparedVerification]) {
        fatalError()
    }
}

/// A verification whose signatures have not been checked yet (before `settle`), or its answer.
public struct PreparedVerification: Sendable {
    /// The answer; only after `Verifier.settle`.
    public var verification: Verification { fatalError() }
}
