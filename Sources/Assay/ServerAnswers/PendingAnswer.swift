import AssayBytes
import AssayModels

/// An answer of the App Store Server API whose signatures are pending. Each signed member goes
/// through the steps of a verification of its own, in the batch of all others.
struct PendingAnswer: Sendable {
    /// A signed member and its verification.
    private struct Member: Sendable {
        let path: String
        var prepared: PreparedVerification
    }

    private let body: ServerAnswerBody
    private var members: [Member] = []

    private init(_ body: ServerAnswerBody) { self.body = body }

    var pendingSignatureCount: Int {
        members.reduce(0) { $0 + $1.prepared.pendingSignatureCount }
    }

    func appendPendingSignatures(to checks: inout [ES256Check]) {
        for member in members { member.prepared.appendPendingSignatures(to: &checks) }
    }

    /// Parses an answer and prepares its signed members, without checking their signatures. The
    /// first member that is refused or deferred decides, so that an answer has one failing chain
    /// validated at most.
    static func read(
        _ evidence: Span<UInt8>, _ request: VerificationRequest, _ verifier: Verifier,
        chains: ChainLookup
    ) throws(Refusal) -> ChainOutcome<PendingAnswer> {
        let body = try ServerAnswerBody(evidence)
        var answer = PendingAnswer(body)
        answer.members.reserveCapacity(body.signed.count)
        var requests: [EvidenceKind: VerificationRequest] = [:]
        for member in body.signed {
            let log = request.log?.inside(member.path, member.kind)
            // With a log, each member has its own request.
            if requests[member.kind] == nil || log != nil {
                requests[member.kind] = VerificationRequest(
                    verifier, kind: member.kind, policy: request.policy,
                    expectations: request.expectations.ofEveryMember, now: request.now,
                    unknownChains: request.unknownChains, log: log,
                    admitsMissingBundle: body.isTransactionList)
            }
            let outcome: ChainOutcome<UnverifiedJWS>?
            do throws(Refusal) {
                outcome = try member.token.withUTF8 { token throws(Refusal) in
                    try UnverifiedJWS.read(
                        token, chains: chains, now: request.now,
                        unknownChains: request.unknownChains, log: log)
                }
            } catch {
                throw error.naming(member.path)
            }
            switch outcome {
            case .deferred(let chain): return .deferred(chain)
            case .validated(let jws):
                let prepared = PreparedVerification(
                    request: requests[member.kind]!, state: .jws(jws))
                answer.members.append(Member(path: member.path, prepared: prepared))
            case nil: preconditionFailure("the body's signed members are strings")
            }
        }
        return .validated(answer)
    }

    /// Advances all members by one step, with the results of the pending signature checks.
    /// Returns the state that follows: the first member that is refused or deferred decides.
    mutating func advance(
        _ holds: ArraySlice<Bool>, _ request: VerificationRequest, chains: ChainLookup
    ) throws(Refusal) -> PreparedVerification.State {
        var next = holds.startIndex
        for index in members.indices {
            let count = members[index].prepared.pendingSignatureCount
            guard count > 0 else { continue }
            members[index].prepared.advance(holds[next..<next + count], chains: chains)
            next += count
        }
        for member in members {
            switch member.prepared.state {
            case .deferred(let chain): return .deferred(chain)
            case .decided(let decision) where decision.verification.verdict != .valid:
                return .answered(Self.refused(decision.verification, request, member.path))
            case .decided, .jws, .notification, .serverAnswer: continue
            }
        }
        guard pendingSignatureCount == 0 else { return .serverAnswer(self) }
        return .answered(try verified(request))
    }

    /// The answer that a refused member refuses.
    private static func refused(
        _ verification: Verification, _ request: VerificationRequest, _ path: String
    ) -> Verification {
        var answer = Refusal(verification.verdict, verification.detail).naming(path)
            .answer(request.kind)
        answer.environment = verification.environment
        answer.certificate = verification.certificate
        return answer
    }

    /// The verification of the answer, once all its signatures hold.
    func verified(_ request: VerificationRequest) throws(Refusal) -> Verification {
        let found = AnswerMembers(
            members.map { ($0.path, $0.prepared.verification) }, of: body,
            expectsBundle: request.policy.bundleId != nil || request.expectations.bundleId != nil)
        request.log?.begin(.members, found: "\(members.count) members")
        try found.checkEnvironment()
        if request.policy.bundleId == nil, request.expectations.bundleId == nil {
            try found.checkBundle()
        }
        request.log?.begin(.memberExpectations)
        try found.check(request.expectations, now: request.now)
        var verification = Verification(
            verdict: .valid, detail: "the answer has no signed member: it proves nothing",
            kind: request.kind, environment: found.environment, evidenceKey: found.evidenceKey,
            evidence: .serverAnswer(found.answer))
        if let first = members.first?.prepared.verification {
            verification.certificate = first.certificate
            let count = members.count
            verification.detail = count == 1 ? first.detail : "\(count) members " + first.detail
        }
        return verification
    }
}

extension Expectations {
    /// The expectations that hold for every member of an answer. The others describe one purchase.
    fileprivate var ofEveryMember: Expectations {
        var expectations = Expectations(appAppleId: appAppleId, environments: environments)
        expectations.bundleId = bundleId
        return expectations
    }
}
