import Assay
import AssayIO
import AssayModels
import AssayWire

/// A frame that has arrived in part.
enum ArrivingFrame {
    /// The head is complete; the body is being collected.
    case whole(RequestHead)
    /// A receipt, verified as it arrives.
    case receipt(ArrivingReceipt)
    /// Rejected: the next `remaining` bytes are discarded.
    case skipped(remaining: Int)

    var head: RequestHead? {
        if case .whole(let head) = self { head } else { nil }
    }
}

/// An app receipt that is verified while its frame arrives. Its bytes are hashed and parsed in
/// the receive buffer, which is then released. Lives on the loop's thread until it is complete.
final class ArrivingReceipt {
    let head: RequestHead
    let call: VerifyCall
    let app: AppEntry
    let deadline: UInt64
    /// Bytes counted in the server's budget for this receipt until it is answered.
    private(set) var held: Int
    private(set) var remaining: Int
    /// Size of the receipt, in bytes.
    let size: Int
    private var stream: AppReceiptStream
    /// The recent arrival rate; nil in the first second.
    private(set) var bytesPerSecond: Int?
    private var window: (began: UInt64, remaining: Int)

    private static let windowMilliseconds: UInt64 = 1_000

    /// Returns nil for evidence that is not streamed: other kinds, and receipts small enough to
    /// arrive whole in one or two reads.
    init?(_ head: RequestHead, _ frame: FrameDecoder.Frame, _ server: ServerLoop, began: UInt64?) {
        guard case .verify(let call) = head.call, let kind = call.kind,
            server.isStreamed(kind, frame.body.count), let app = server.app(named: head.app)
        else { return nil }
        self.head = head
        self.call = call
        self.app = app
        deadline = server.deadline(of: head, began: began)
        remaining = frame.body.count
        size = frame.body.count
        window = (server.now, remaining)
        stream = AppReceiptStream(
            app.verifier, policy: app.policy, expecting: app.narrowed(call.expectations),
            inApp: call.inApp)
        held = stream.heldBytes
    }

    /// Bytes that the receipt holds now, counted or not.
    var wanted: Int { stream.heldBytes }

    /// Updates the arrival rate. Called several times a second.
    func measureRate(at now: UInt64) {
        let elapsed = now - window.began
        guard elapsed >= Self.windowMilliseconds else { return }
        bytesPerSecond = (window.remaining - remaining) * 1000 / Int(elapsed)
        window = (now, remaining)
    }

    /// Verifies the next bytes of the receipt.
    ///
    /// - Returns: whether the budget admits the memory that the receipt now holds.
    func receive(_ bytes: SlabBytes, in budget: inout Budget) -> Bool {
        stream.receive(bytes.span)
        remaining -= bytes.count
        // A hostile receipt can take more memory than its bytes, with empty records for example.
        let now = stream.heldBytes
        if now > held {
            guard budget.admits(receipt: now - held), budget.mayFit(receipt: now) else {
                return false
            }
            budget.give(receipt: now - held)
        } else {
            budget.takeBack(receipt: held - now)
        }
        held = now
        return true
    }

    /// The complete receipt, for a worker to finish.
    var completed: AppReceiptStream {
        precondition(remaining == 0)
        return stream
    }
}
