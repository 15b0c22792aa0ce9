package import AssayModels

/// A check that failed: the verdict, and the sentence that names the check and what was seen.
///
/// Every rule of this library refuses by throwing one; the first thrown is the answer.
package struct Refusal: Error, Equatable, Sendable {
    package var verdict: Verdict
    package var detail: String
    /// Not refused but put aside, before the check that would decide: for the sake of this chain.
    package private(set) var unseenChain: UnseenChain?

    package init(_ verdict: Verdict, _ detail: String) {
        self.verdict = verdict
        self.detail = detail
    }

    /// Thrown where a chain would have to be validated, and the caller wants that done elsewhere.
    package static func putAside(for chain: UnseenChain) -> Refusal {
        var refusal = Refusal(.untrustedChain, "the chain was not validated yet")
        refusal.unseenChain = chain
        return refusal
    }
}
