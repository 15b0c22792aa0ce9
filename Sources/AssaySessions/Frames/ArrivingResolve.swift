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
    private var filled = FilledBytes()
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

    /// Whether the items around the next one fill the memory that it is in.
    func fillsMemory(_ unread: SlabBytes) -> Bool {
        filled.includes(length, remaining: remaining, in: unread)
    }

    /// Records bytes that were taken from the connection.
    func didTake(_ count: Int) {
        remaining -= count
        filled.didTake(count)
    }

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

/// The next bytes of a frame, if they fill the memory that they were received in: an item among
/// them keeps few bytes of others alive. What has arrived decides, not what was announced.
struct FilledBytes {
    private var count = 0

    /// Whether the next item is among them. Looks at memory anew where it is not.
    ///
    /// - Parameter remaining: bytes of the frame.
    mutating func includes(_ length: Int, remaining: Int, in unread: SlabBytes) -> Bool {
        if count < length {
            let own = min(unread.count, remaining)
            count = unread.isFilled(by: own) ? own : 0
        }
        return count >= length
    }

    mutating func didTake(_ taken: Int) { count = max(count - taken, 0) }
}
