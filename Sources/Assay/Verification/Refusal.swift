package import AssayModels

/// A failed check: the verdict, and a sentence that names the check and the value found.
///
/// Every rule of this library throws one to refuse. The first one thrown is the answer.
package struct Refusal: Error, Equatable, Sendable {
    package var verdict: Verdict
    package var detail: String

    package init(_ verdict: Verdict, _ detail: String) {
        self.verdict = verdict
        self.detail = detail
    }

    /// The refusal of evidence because of one of its members.
    func naming(_ member: String) -> Refusal { Refusal(verdict, member + ": " + detail) }
}
