import Assay
import AssayIO
import AssayModels
import AssayTelemetry
import AssayWire

/// Passes answers to the ports of their requests.
extension Scheduler {
    func deliver(_ answers: SliceAnswers, of slice: [Job]) {
        let now = context.loop.nanoseconds
        let verified = answers.outcomes.count { $0 != nil }
        if verified > 0 { context.telemetry.didVerify(batchOf: verified) }
        for detail in answers.refusedReceipts { context.telemetry.logRefusedReceipt(detail) }
        var start = 0
        for (index, end) in answers.ends.enumerated() {
            if let item = answers.items[index], let outcome = answers.outcomes[index] {
                resolver.take(item, outcome, of: slice[index], began: answers.began)
            } else if let outcome = answers.outcomes[index] {
                let result = ReplyPort.Result.verified(outcome, began: answers.began)
                if let lookup = answers.lookups[index] {
                    fetches.start(lookup, for: slice[index], result)
                    start = end
                    continue
                }
                let bytes = start..<end
                slice[index].answer(result, at: now, bytes: bytes.count) {
                    output throws(AnswerFault) in
                    if let fault = answers.faults[index] { throw fault }
                    output.append(contentsOf: answers.bytes[bytes])
                }
            } else if let chain = answers.unknownChains[index] {
                enqueueUnknownChain(slice[index], for: chain)
            }
            start = end
        }
    }

    /// Answers with a verification of the loop's own thread.
    ///
    /// - Parameters:
    ///   - began: when it began, in nanoseconds of the monotonic clock.
    ///   - ended: when it ended.
    func answer(
        _ job: Job, _ decision: Decision, at time: Timestamp, began: UInt64, ended: UInt64
    ) {
        let result = ReplyPort.Result.verified(
            job.outcome(decision.verification, at: time, context.telemetry.audit), began: began)
        if let detail = job.refusedReceipt(decision.verification, at: time) {
            context.telemetry.logRefusedReceipt(detail)
        }
        if let lookup = job.lookup(decision.verification) {
            return fetches.start(lookup, for: job, result)
        }
        job.answer(result, at: ended) { output throws(AnswerFault) in
            try job.form.append(
                decision.verification, answering: job.id, job.call, at: time, by: codec,
                to: &output)
        }
    }

    func drop(_ job: Job) { job.refuse(.deadlineExceeded(job.id)) }
}
