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

    /// Parses the text of a selection: `all`, `latest`, `none` or `product=ID`.
    package init?(text: String) {
        switch text {
        case "all": self = .all
        case "latest": self = .latest
        case "none": self = .none
        case _ where text.hasPrefix("product=") && text.utf8.count > "product=".utf8.count:
            self = .product(String(text.dropFirst("product=".count)))
        default: return nil
        }
    }
}
