import Assay

/// Verifies batches in this process: the signatures of a batch in one call.
struct LocalBulk: BulkEngine {
    let verifier: Verifier
    let question: EvidenceQuestion
    let member: String?

    func verify(_ batch: BulkBatch, _ done: @escaping @Sendable ([BulkAnswer]) -> Void) {
        let now = question.accepted.now
        var prepared: [PreparedVerification] = []
        let faults = batch.items.map { item -> BulkFault? in
            do throws(BulkFault) {
                let evidence = try item.evidence(member: member)
                prepared.append(question.prepare(evidence, verifier, at: now))
                return nil
            } catch {
                return error
            }
        }
        verifier.verifySignatures(&prepared)
        var next = 0
        done(
            faults.map { fault in
                if let fault { return .fault(fault) }
                defer { next += 1 }
                return .verified(question.report(prepared[next].verification))
            })
    }
}
