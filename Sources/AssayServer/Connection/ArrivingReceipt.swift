import Assay
import AssayIO
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
    /// Memory that it is known to hold, which counts as the server's until it is answered.
    private(set) var held: Int
    private(set) var remaining: Int
    /// All of it.
    let size: Int
    private var stream: AppReceiptStream
    /// The rate at which it arrived lately; nil in its first second.
    private(set) var bytesPerSecond: Int?
    private var window: (began: UInt64, remaining: Int)

    private static let windowMilliseconds: UInt64 = 1_000

    /// Nil for evidence that is not read as a stream: other kinds, and receipts so small that they
    /// come whole in one read or two.
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

    /// What it holds now, where there was no room for it.
    var wanted: Int { stream.heldBytes }

    /// Called some times a second.
    func measureRate(at now: UInt64) {
        let elapsed = now - window.began
        guard elapsed >= Self.windowMilliseconds else { return }
        bytesPerSecond = (window.remaining - remaining) * 1000 / Int(elapsed)
        window = (now, remaining)
    }

    /// - Returns: whether there is room for what it has come to hold.
    func receive(_ bytes: SlabBytes, in budget: inout Budget) -> Bool {
        stream.receive(bytes.span)
        remaining -= bytes.count
        // A hostile one is made of what takes more memory than bytes: records of nothing, say.
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

    /// All of it, for a worker to finish.
    var completed: AppReceiptStream {
        precondition(remaining == 0)
        return stream
    }
}
