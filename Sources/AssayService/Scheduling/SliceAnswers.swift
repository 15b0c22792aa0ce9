import Assay
import AssayIO
import AssayModels
import AssayTelemetry
import AssayWire

/// The encoded answers of a slice, made on the thread that verified it.
package struct SliceAnswers: Sendable {
    private(set) var bytes: [UInt8] = []
    /// The end of each request's answer in `bytes`.
    private(set) var ends: [Int] = []
    /// The outcomes for the metrics; nil for a deferred request.
    private(set) var outcomes: [Outcome?] = []
    let began: UInt64
    let ended: UInt64
    /// The work of the answered requests.
    private(set) var load = WorkLoad()
    /// The unknown chains of deferred requests, by index in the slice.
    private(set) var unknownChains: [Int: ChainID] = [:]
    /// The decisions on items of Resolve requests, by index in the slice. They have no bytes here:
    /// their answer needs the other items.
    private(set) var items: [Int: Decision] = [:]
    /// What the App Store is asked for the answers to receipts, by index in the slice. They have
    /// no bytes here.
    private(set) var lookups: [Int: ReceiptLookup] = [:]
    /// Why requests have no result, by index in the slice.
    private(set) var faults: [Int: AnswerFault] = [:]
    /// Why answers in the form of verifyReceipt have a status other than 0.
    private(set) var refusedReceipts: [String] = []

    /// The usual size of a transaction's typed fields.
    private static let usualAnswerBytes = 1024

    init(
        _ slice: [Job], _ verifications: [PreparedVerification], began: UInt64,
        at now: Timestamp, codec: MessageCodec, clock: EventLoop, audit: AuditLog?
    ) {
        precondition(slice.count == verifications.count)
        self.began = began
        ends.reserveCapacity(slice.count)
        outcomes.reserveCapacity(slice.count)
        bytes.reserveCapacity(slice.count * Self.usualAnswerBytes)
        // A span has its elements read in place.
        let verified = verifications.span
        for index in slice.indices {
            let request = slice[index]
            if let chain = verified[index].unknownChain {
                unknownChains[index] = chain
                outcomes.append(nil)
            } else {
                let decision = verified[index].decision
                outcomes.append(request.outcome(decision.verification, at: now, audit))
                load.add(request.work)
                if let detail = request.refusedReceipt(decision.verification, at: now) {
                    refusedReceipts.append(detail)
                }
                if request.slot != nil {
                    items[index] = decision
                } else if let lookup = request.lookup(decision.verification) {
                    lookups[index] = lookup
                } else {
                    let start = bytes.count
                    do throws(AnswerFault) {
                        try request.form.append(
                            decision.verification, answering: request.id, request.call, at: now,
                            by: codec, to: &bytes)
                    } catch {
                        bytes.removeLast(bytes.count - start)
                        faults[index] = error
                    }
                }
            }
            ends.append(bytes.count)
        }
        ended = clock.nanoseconds
    }
}
