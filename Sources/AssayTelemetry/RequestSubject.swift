package import AssayModels

/// What a request was about, as far as the configuration names it.
package struct RequestSubject: Sendable {
    /// The name of the app entry.
    let app: String
    /// Nil for a call with several items.
    let kind: EvidenceKind?

    package init(app: String, kind: EvidenceKind?) {
        self.app = app
        self.kind = kind
    }
}
