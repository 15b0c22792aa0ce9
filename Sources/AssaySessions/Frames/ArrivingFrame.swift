import AssayService
import AssayWire

/// A frame that has arrived in part.
enum ArrivingFrame {
    /// The head is complete; the body is being collected.
    case whole(RequestHead)
    /// A receipt, verified as it arrives.
    case receipt(ArrivingReceipt)
    /// A Resolve, whose items are verified as they arrive.
    case resolve(ArrivingResolve)
    /// Rejected: the next `remaining` bytes are discarded.
    case skipped(remaining: Int)

    var head: RequestHead? {
        if case .whole(let head) = self { head } else { nil }
    }

    /// The receipt at the front: a request's own, or an item of a Resolve.
    var receipt: ArrivingReceipt? {
        switch self {
        case .receipt(let receipt): receipt
        case .resolve(let arrival): arrival.receipt
        case .whole, .skipped: nil
        }
    }
}
