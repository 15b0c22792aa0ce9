import Assay
import AssayIO
import AssayModels
import AssayWire

/// Delivers the answers to their connections.
extension Scheduler {
    func deliver(_ answers: SliceAnswers, of slice: [AcceptedRequest]) {
        let now = SystemClock.monotonicNanoseconds
        let verified = answers.outcomes.count { $0 != nil }
        if verified > 0 { context.telemetry.metrics.didVerify(batchOf: verified) }
        for detail in answers.refusedReceipts { context.telemetry.logRefusedReceipt(detail) }
        var start = 0
        for (index, end) in answers.ends.enumerated() {
            if let item = answers.items[index] {
                resolver.take(item, of: slice[index], began: answers.began)
            } else if let outcome = answers.outcomes[index] {
                context.telemetry.metrics.didAnswer(
                    outcome, arrived: slice[index].arrived, began: answers.began, now: now)
                answered(slice[index]) { connection in
                    connection.append(answers.bytes[start..<end], to: slice[index].id)
                }
            } else if let chain = answers.unknownChains[index] {
                enqueueUnknownChain(slice[index], for: chain)
            }
            start = end
        }
    }

    /// Answers a request that was verified on the loop's thread.
    func answer(_ request: AcceptedRequest, _ verification: Verification, at now: Timestamp) {
        if let detail = request.refusedReceipt(verification, at: now) {
            context.telemetry.logRefusedReceipt(detail)
        }
        answered(request) { connection in
            connection.session.answer(to: request.id, connection) { output in
                request.form.append(
                    verification, answering: request.id, request.call, at: now, by: codec,
                    to: &output)
            }
        }
    }

    /// Answers a request, and gives its memory back to the budget. Each request comes here once.
    func answered(_ request: AcceptedRequest, _ answer: (Connection) -> Void) {
        let connection = request.connection.value
        budget.takeBack(request.cost)
        connection.inFlight.remove(request.id, request.cost)
        answer(connection)
        turns.touch(connection)
    }

    func drop(_ request: AcceptedRequest) {
        refuse(request, .deadlineExceeded(request.id))
    }

    /// Answers a request without a verdict. A Resolve ends with the first of its items.
    func refuse(_ request: AcceptedRequest, _ answer: ResponseHead) {
        if let place = request.place { return resolver.refuse(place.resolve.value, answer) }
        context.telemetry.metrics.didDrop(.verify, request.connection.value.isClosed ? nil : answer)
        answered(request) { $0.answer(answer) }
    }
}
