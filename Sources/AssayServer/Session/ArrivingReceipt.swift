import Assay
import AssayIO
import AssayModels
import AssayWire

/// An app receipt that is verified while it arrives. Its bytes are hashed and parsed in
/// the receive buffer, which is then released. Lives on the loop's thread until it is complete.
final class ArrivingReceipt {
    /// The request, whose reservation follows the memory that the receipt holds.
    private(set) var admitted: Admitted
    private(set) var remaining: Int
    /// Size of the receipt, in bytes. It grows for a receipt of unknown size.
    private(set) var size: Int
    private var stream: AppReceiptStream
    /// What is around the receipt, if it arrives in JSON; `size` is then that of the JSON.
    private(set) var envelope: ReceiptEnvelope?
    private(set) var rate: ArrivalRate

    init(
        _ admitted: consuming Admitted, size: Int, in envelope: ReceiptEnvelope? = nil,
        at now: UInt64
    ) {
        remaining = size
        self.size = size
        self.envelope = envelope
        rate = ArrivalRate(at: now)
        stream = AppReceiptStream(
            admitted.app.verifier, policy: admitted.app.policy,
            expecting: admitted.app.narrowed(admitted.call.expectations),
            inApp: admitted.call.inApp)
        admitted.reservation.begin(receipt: stream.heldBytes)
        self.admitted = admitted
    }

    var id: UInt64 { admitted.id }
    var deadline: UInt64 { admitted.deadline }

    /// Bytes that the receipt holds now, reserved or not.
    var wanted: Int { stream.heldBytes + (envelope?.heldBytes ?? 0) }

    /// Updates the arrival rate. Called several times a second.
    func measureRate(at now: UInt64) { rate.measure(size - remaining, at: now) }

    /// Announces further bytes of a receipt whose size is unknown.
    func willReceive(_ count: Int) {
        remaining += count
        size += count
    }

    /// Verifies the next bytes of the receipt.
    ///
    /// - Returns: whether the budget admits the memory that the receipt now holds.
    func receive(_ bytes: SlabBytes) -> Bool {
        if envelope == nil {
            stream.receive(bytes.span)
        } else {
            envelope?.receive(bytes.span) { stream.receive($0) }
        }
        remaining -= bytes.count
        // A hostile receipt can take more memory than its bytes, with empty records for example.
        return admitted.reservation.resize(receipt: wanted)
    }

    /// The complete receipt, for a worker to finish.
    var completed: AppReceiptStream {
        precondition(remaining == 0)
        return stream
    }

    /// Turns the memory of the complete receipt into that of a request; nil if the budget does not
    /// admit its answer.
    func handOver() -> Reservation? {
        let cost = RequestCost.receipt(admitted.reservation.receiptBytes, admitted.call)
        guard admitted.reservation.complete(cost) else { return nil }
        return admitted.reservation.move()
    }

    /// Gives the reserved memory back. Called when the receipt is dropped.
    func giveBackMemory() { admitted.reservation.release() }
}
