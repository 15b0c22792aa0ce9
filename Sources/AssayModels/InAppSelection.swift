/// Selects the in-app records of a receipt that the caller gets. The verdict depends neither on
/// the selection nor on the memory that the records take.
public enum InAppSelection: Equatable, Sendable {
    /// Every record.
    case all
    /// For each original transaction id, the record that expires (or was bought) last.
    case latest
    /// The records of one product.
    case product(String)
    /// No record.
    case none
}
