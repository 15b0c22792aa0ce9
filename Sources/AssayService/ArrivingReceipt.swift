import Assay
import AssayBytes
package import AssayIO
import AssayModels
import AssayTelemetry
import AssayWire

/// An app receipt that is verified while it arrives. Its bytes are hashed and parsed in
/// the receive buffer, which is then released. Lives on the loop's thread until it is complete.
///
/// Evidence above the limit of its kind arrives in the same way: its first bytes are kept, and name
/// it.
package final class ArrivingReceipt {
    /// The request, whose reservation follows the memory that the receipt holds.
    private(set) var admitted: Admitted
    private var left: Int
    /// Size of the receipt, in bytes. It grows for a receipt of unknown size.
    private(set) var size: Int
    private var evidence: Evidence
    /// What is around the receipt, if it arrives in JSON; `size` is then that of the JSON.
    private var around: (any Envelope)?
    private var arrival: ArrivalRate

    private enum Evidence {
        case receipt(Reading)
        case oversized(OversizedEvidence)
        /// Its kind shows in the first two bytes, of which one can have arrived.
        case undetected([UInt8])
    }

    /// A receipt that is being read. A class: the stream changes in place, with each part of the
    /// bytes.
    private final class Reading {
        var stream: AppReceiptStream

        init(_ admitted: borrowing Admitted) { stream = AppReceiptStream(admitted) }
    }

    /// - Parameter detectsKind: whether the kind is an estimate: the first bytes decide it.
    init(
        _ admitted: consuming Admitted, size: Int, in envelope: (any Envelope)? = nil,
        detectsKind: Bool = false, at now: UInt64
    ) {
        left = size
        self.size = size
        around = envelope
        arrival = ArrivalRate(at: now)
        if detectsKind {
            evidence = .undetected([])
        } else if let limit = admitted.exceeded {
            evidence = .oversized(OversizedEvidence(as: admitted.kind, limit: limit))
        } else {
            evidence = .receipt(Reading(admitted))
        }
        self.admitted = admitted
        self.admitted.reservation.begin(receipt: evidenceBytes)
    }

    package var id: UInt64 { admitted.id }
    /// How its answer is written. What is around a receipt can decide it: known at its end.
    package var form: any AnswerForm {
        get { admitted.form }
        set { admitted.form = newValue }
    }
    package var deadline: UInt64 { admitted.deadline }
    /// Bytes that have not arrived.
    package var remaining: Int { left }
    /// What is around the receipt, if it arrives in JSON.
    package var envelope: (any Envelope)? { around }
    package var rate: ArrivalRate { arrival }

    /// Whether the password of its request is that of its app.
    package func admits(password: String?) -> Bool {
        admitted.app.secrets.admits(password: password)
    }

    /// Bytes that the receipt holds now, reserved or not.
    var wanted: Int { evidenceBytes + (around?.heldBytes ?? 0) }

    private var evidenceBytes: Int {
        switch evidence {
        case .receipt(let reading): reading.stream.heldBytes
        case .oversized(let evidence): evidence.heldBytes
        case .undetected: 0
        }
    }

    /// Whether the rest of the evidence changes nothing but its size.
    package var isNamed: Bool {
        if case .oversized(let evidence) = evidence { evidence.isNamed } else { false }
    }

    /// Updates the arrival rate. Called several times a second.
    package func measureRate(at now: UInt64) { arrival.measure(size - left, at: now) }

    /// Announces further bytes of a receipt whose size is unknown.
    package func willReceive(_ count: Int) {
        left += count
        size += count
    }

    /// Verifies the next bytes of the receipt.
    ///
    /// - Returns: whether the budget admits the memory that the receipt now holds.
    package func receive(_ bytes: SlabBytes) -> Bool {
        if around == nil {
            receive(bytes.span)
        } else {
            around?.receive(bytes.span) { receive($0) }
        }
        left -= bytes.count
        // A hostile receipt can take more memory than its bytes, with empty records for example.
        return admitted.reservation.resize(receipt: wanted)
    }

    private func receive(_ bytes: Span<UInt8>) {
        switch evidence {
        case .receipt(let reading): reading.stream.receive(bytes)
        case .oversized(var oversized):
            evidence = .undetected([])
            oversized.receive(bytes)
            evidence = .oversized(oversized)
        case .undetected(let first):
            let known = first + bytes.array(0..<min(bytes.count, 2))
            guard known.count >= 2 else { return evidence = .undetected(known) }
            evidence =
                Verifier.beginsLikeAppReceipt(known.span)
                ? .receipt(Reading(admitted))
                : .oversized(OversizedEvidence(as: nil, limit: EvidenceKind.largestByteLimit))
            receive(first.span)
            receive(bytes)
        }
    }

    /// The complete receipt, for the thread that verifies its signature.
    var completed: Job.Evidence {
        precondition(left == 0 || isNamed)
        switch evidence {
        case .receipt(let reading): return .receipt(reading.stream)
        case .oversized(var evidence):
            evidence.skip(left)
            return .oversized(evidence)
        case .undetected(let bytes):
            var evidence = OversizedEvidence(as: nil, limit: EvidenceKind.largestByteLimit)
            evidence.receive(bytes.span)
            return .oversized(evidence)
        }
    }

    /// Turns the memory of the complete receipt into that of a request; nil if the budget does not
    /// admit its answer.
    func handOver() -> Reservation? {
        let cost = RequestCost.receipt(admitted.reservation.receiptBytes, admitted.call)
        guard admitted.reservation.complete(cost) else { return nil }
        return admitted.reservation.move()
    }

    /// Gives the reserved memory back. Called when the receipt is dropped.
    package func giveBackMemory() { admitted.reservation.release() }
}

/// What is around a receipt that arrives as a part of a larger body.
package protocol Envelope: Sendable {
    /// Bytes of the parts around the receipt.
    var heldBytes: Int { get }
    /// Passes on the bytes of the receipt among those of the body.
    mutating func receive(_ bytes: Span<UInt8>, _ receipt: (Span<UInt8>) -> Void)
}

extension AppReceiptStream {
    fileprivate init(_ admitted: borrowing Admitted) {
        self.init(
            admitted.app.verifier, policy: admitted.app.policy,
            expecting: admitted.app.narrowed(admitted.call.expectations),
            inApp: admitted.call.inApp)
    }
}
