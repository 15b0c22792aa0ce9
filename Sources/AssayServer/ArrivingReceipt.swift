import Assay
import AssayLoop
import AssayModels
import AssayWire

/// A frame of which more is to come.
enum ArrivingFrame {
    /// Its head is complete; its body is collected.
    case whole(RequestHead)
    /// A receipt, verified as it arrives.
    case receipt(ArrivingReceipt)
    /// Refused: so many bytes are still to come, and are thrown away.
    case skipped(remaining: Int)

    var head: RequestHead? {
        if case .whole(let head) = self { head } else { nil }
    }
}

/// An app receipt that is verified while its frame arrives: its bytes are hashed and read where
/// they were received, and handed back at once. Lives on the loop's thread until it is complete.
final class ArrivingReceipt {
    let head: RequestHead
    let call: VerifyCall
    let app: AppEntry
    let deadline: UInt64
    /// Bytes that it may come to keep, and that count as the server's until it is answered.
    private(set) var reserved: Int
    private(set) var remaining: Int
    /// All of it.
    let size: Int
    private var stream: AppReceiptStream

    /// Nil for evidence that is not read as a stream: other kinds, and receipts so small that they
    /// come whole in one read or two.
    init?(_ head: RequestHead, _ frame: FrameDecoder.Frame, _ server: ServerLoop, began: UInt64?) {
        guard case .verify(let call) = head.call, let kind = call.kind,
            server.isStreamed(kind, frame.body.count), let app = server.app(named: head.app)
        else { return nil }
        self.head = head
        self.call = call
        self.app = app
        reserved = server.reservation(call, frame.body.count)
        deadline = server.deadline(of: head, began: began)
        remaining = frame.body.count
        size = frame.body.count
        stream = AppReceiptStream(
            app.verifier, policy: app.policy, expecting: app.narrowed(call.expectations),
            inApp: call.inApp)
    }

    /// - Returns: whether there is room for what it has come to hold.
    func receive(_ bytes: SlabBytes, in budget: inout Budget) -> Bool {
        stream.receive(bytes.span)
        remaining -= bytes.count
        // A hostile one is made of what takes more memory than bytes: records of nothing, say.
        let more = stream.heldBytes - reserved
        guard more > 0 else { return true }
        guard budget.admits(receipt: more) else { return false }
        budget.give(receipt: more)
        reserved += more
        return true
    }

    /// All of it, for a worker to finish.
    var completed: AppReceiptStream {
        precondition(remaining == 0)
        return stream
    }
}
