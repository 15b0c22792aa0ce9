/// Which in-app records of a receipt the caller wants. The verdict does not depend on it, nor
/// does it on the memory that they take.
public enum InAppSelection: Equatable, Sendable {
    case all
    /// The one that expires (or was bought) last, for each original transaction id.
    case latest
    case product(String)
    case none
}
