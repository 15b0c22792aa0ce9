import AssayLocks

/// The layouts of valid receipts, as the starting point for the next receipt. They affect how
/// fast a record is read, never the result. Only valid receipts add layouts: records of other
/// receipts prove nothing and would displace useful layouts.
final class KnownLayouts: Sendable {
    private let layouts = Locked(InAppLayouts())

    var current: InAppLayouts { layouts.withLock { $0 } }

    func keep(_ new: InAppLayouts) { layouts.withLock { $0 = new } }
}
