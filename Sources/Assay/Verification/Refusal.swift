package import AssayModels

/// A check that failed: the verdict, and the sentence that names the check and what was seen.
///
/// Every rule of this library refuses by throwing one; the first thrown is the answer.
package struct Refusal: Error, Equatable, Sendable {
    package var verdict: Verdict
    package var detail: String

    package init(_ verdict: Verdict, _ detail: String) {
        self.verdict = verdict
        self.detail = detail
    }
}
