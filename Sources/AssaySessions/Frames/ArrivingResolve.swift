import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// A Resolve request whose frame is arriving. Each item is verified once its bytes are complete,
/// and a large receipt while they arrive. Belongs to the loop's thread.
final class ArrivingResolve {
    let resolve: AcceptedResolve
    /// Index of the item whose bytes come next.
    private(set) var index = 0
    /// Bytes of the frame that were not taken yet.
    private(set) var remaining: Int
    /// The receipt that is being verified as it arrives.
    private(set) var receipt: ArrivingReceipt?

    init(_ resolve: AcceptedResolve) {
        self.resolve = resolve
        remaining = resolve.admitted.call.evidenceBytes
    }

    /// Bytes of the next item.
    var length: Int { Int(resolve.admitted.call.items[index].length) }

    /// Starts to verify the next item as it arrives.
    func begin(_ receipt: ArrivingReceipt) { self.receipt = receipt }

    /// Records bytes that were taken from the connection.
    func didTake(_ count: Int) { remaining -= count }

    /// Ends the next item.
    func didEndItem() {
        index += 1
        receipt = nil
    }

    /// Drops the receipt that is arriving.
    func dropReceipt() {
        receipt?.giveBackMemory()
        receipt = nil
    }
}
