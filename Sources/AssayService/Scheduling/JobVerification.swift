import Assay
import AssayBytes
import AssayIO
import AssayModels
import AssayTelemetry
import AssayWire

/// Maps requests to verifications.
package enum JobVerification {
    /// What the last request of a slice asks. Most ask the same.
    private struct Question {
        let app: AppEntry
        let kind: EvidenceKind
        let asked: VerificationRequest

        /// Whether a request asks it.
        func isAsked(by request: Job, _ expectations: Expectations) -> Bool {
            app === request.app && kind == request.kind
                && asked.expectations.isCopy(of: expectations)
        }
    }

    /// Prepares the verification of a request.
    private static func prepare(
        _ request: Job, at now: Timestamp, unknownChains: UnknownChainPolicy,
        _ cache: ThreadCache?, _ last: inout Question?
    ) -> PreparedVerification {
        switch request.evidence {
        case .whole(let evidence) where request.detectsKind:
            request.app.verifier.prepareDetectingKind(
                evidence.span, policy: request.app.policy,
                expecting: request.app.narrowed(request.call.expectations),
                inApp: request.call.inApp, at: now, unknownChains: unknownChains, cache: cache)
        case .whole(let evidence):
            request.app.verifier.prepare(
                evidence.span, question(of: request, at: now, unknownChains, &last),
                inApp: request.call.inApp, cache: cache)
        case .receipt(let stream): stream.prepared(at: now, unknownChains: unknownChains)
        case .oversized(let evidence):
            request.app.verifier.refuse(evidence, policy: request.app.policy, at: now)
        }
    }

    private static func question(
        of request: Job, at now: Timestamp, _ unknownChains: UnknownChainPolicy,
        _ last: inout Question?
    ) -> VerificationRequest {
        let app = request.app
        let expectations = app.narrowed(request.call.expectations)
        if let last, last.isAsked(by: request, expectations) { return last.asked }
        let asked = app.verifier.request(
            as: request.kind, policy: app.policy, expecting: expectations, at: now,
            unknownChains: unknownChains)
        last = Question(app: app, kind: request.kind, asked: asked)
        return asked
    }

    /// Verifies all signatures of a slice with one call per verifier. Each request is then
    /// decided or deferred.
    ///
    /// - Parameter cache: the calling thread's, if it has one.
    static func verify(
        _ slice: [Job], at now: Timestamp, unknownChains: UnknownChainPolicy, cache: ThreadCache?
    ) -> [PreparedVerification] {
        let verifier = slice[0].app.verifier
        if slice.allSatisfy({ $0.app.verifier === verifier }) {
            return verify(slice, by: verifier, at: now, unknownChains, cache)
        }
        var answers = [PreparedVerification?](repeating: nil, count: slice.count)
        var rest = Array(slice.indices)
        while let first = rest.first {
            let verifier = slice[first].app.verifier
            let mine = rest.filter { slice[$0].app.verifier === verifier }
            rest.removeAll { slice[$0].app.verifier === verifier }
            let verifications = verify(
                mine.map { slice[$0] }, by: verifier, at: now, unknownChains, cache)
            for (index, verification) in zip(mine, verifications) { answers[index] = verification }
        }
        return answers.map { $0! }
    }

    private static func verify(
        _ slice: [Job], by verifier: Verifier, at now: Timestamp,
        _ unknownChains: UnknownChainPolicy, _ cache: ThreadCache?
    ) -> [PreparedVerification] {
        var batch: [PreparedVerification] = []
        batch.reserveCapacity(slice.count)
        var last: Question?
        for request in slice {
            batch.append(
                prepare(request, at: now, unknownChains: unknownChains, cache, &last))
            // Each chain takes a fraction of a millisecond. The loop, which can wait for the same
            // processor, answers known chains in between.
            if case .validate = unknownChains { Thread.yield() }
        }
        verifier.verifySignatures(&batch, cache: cache)
        return batch
    }
}

extension VerifiedEvidence {
    /// The signed JSON as one object: `payload`, and beside it the parts of a notification.
    package var json: [UInt8] {
        let members = payloadJSON
        // Longer than each name with its punctuation.
        var writer = JSONWriter(capacity: members.reduce(2) { $0 + $1.json.count + 24 })
        writer.object { object in
            for (name, json) in members { object.member(name, raw: json) }
        }
        return writer.text
    }
}
