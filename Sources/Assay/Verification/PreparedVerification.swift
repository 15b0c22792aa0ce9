package import AssayModels

/// What is asked about an item of evidence. A class: a batch moves references, and items of which
/// the same is asked share one.
package final class VerificationRequest: Sendable {
    /// The verifier that prepares it. Only an identifier: all threads would count a reference.
    let verifier: ObjectIdentifier
    let kind: EvidenceKind
    let policy: Policy
    package let expectations: Expectations
    let now: Timestamp
    let unknownChains: UnknownChainPolicy
    /// Records the checks, for an explanation.
    let log: CheckLog?
    /// Whether evidence that names no bundle passes the checks of the bundle. The caller leaves it
    /// out.
    let admitsMissingBundle: Bool

    init(
        _ verifier: Verifier, kind: EvidenceKind, policy: Policy,
        expectations: consuming Expectations, now: Timestamp, unknownChains: UnknownChainPolicy,
        log: CheckLog? = nil, admitsMissingBundle: Bool = false
    ) {
        self.admitsMissingBundle = admitsMissingBundle
        self.verifier = ObjectIdentifier(verifier)
        self.kind = kind
        self.policy = policy
        self.expectations = expectations
        self.now = now
        self.unknownChains = unknownChains
        self.log = log
    }
}

/// A verification in progress: its signatures are pending until `Verifier.verifySignatures`, or
/// it has an answer.
package struct PreparedVerification: Sendable {
    let request: VerificationRequest
    var state: State
    /// Whether the evidence shows no known kind, and the caller named none.
    package var hasUnknownKind = false
    /// The wrapper that the evidence was in.
    var wrapper: EvidenceWrapper?

    /// Large values are indirect: a batch moves and copies its items.
    enum State: Sendable {
        /// Its own signature is pending.
        case jws(UnverifiedJWS)
        /// Its own signature holds; those of its nested evidence are pending.
        indirect case notification(SignedNotification)
        /// Signatures of its members are pending.
        indirect case serverAnswer(PendingAnswer)
        case decided(Decision)
        /// No answer: a chain needs validation first.
        case deferred(ChainID)

        static func answered(_ verification: consuming Verification) -> State {
            .decided(Decision(verification))
        }

        init<Value>(
            _ outcome: ChainOutcome<Value>, _ next: (Value) throws(Refusal) -> State
        ) throws(Refusal) {
            switch outcome {
            case .validated(let value): self = try next(value)
            case .deferred(let chain): self = .deferred(chain)
            }
        }
    }

    /// The chain that needs validation, if the verification was deferred. Final after
    /// `Verifier.verifySignatures`.
    package var unknownChain: ChainID? {
        if case .deferred(let chain) = state { chain } else { nil }
    }

    /// The answer.
    ///
    /// - Precondition: `Verifier.verifySignatures` has processed it, and it was not deferred.
    package var decision: Decision {
        guard case .decided(let decision) = state else {
            preconditionFailure("the batch's signatures were not verified")
        }
        guard hasUnknownKind || wrapper != nil else { return decision }
        var answer = decision.verification
        if hasUnknownKind { answer = answer.ofUnknownKind }
        answer.unwrapped = wrapper?.rawValue
        return Decision(answer)
    }

    /// The same, as a value.
    package var verification: Verification { decision.verification }

    var pendingSignatureCount: Int {
        switch state {
        case .jws: 1
        case .notification(let notification): notification.nested.count
        case .serverAnswer(let answer): answer.pendingSignatureCount
        case .decided, .deferred: 0
        }
    }

    func appendPendingSignatures(to checks: inout [ES256Check]) {
        switch state {
        case .jws(let jws): checks.append(jws.signature)
        case .notification(let notification):
            for nested in notification.nested { checks.append(nested.jws.signature) }
        case .serverAnswer(let answer): answer.appendPendingSignatures(to: &checks)
        case .decided, .deferred: break
        }
    }

    /// Advances by one step, with the results of the pending signature checks.
    mutating func advance(_ holds: ArraySlice<Bool>, chains: ChainLookup) {
        do throws(Refusal) {
            switch state {
            case .jws(let unverified):
                let jws = try VerifiedJWS(
                    unverified, signatureHolds: holds[holds.startIndex], chains: chains,
                    log: request.log)
                state = try afterSignature(jws, chains: chains)
            case .notification(let notification):
                let evidence = try notification.verified(holds, request, chains: chains)
                state = .answered(
                    request.accepted(
                        notification.chain, notification.claims, evidence,
                        remark: notification.remark))
            case .serverAnswer(var answer):
                // Frees the storage that the local value changes.
                state = .answered(Verification(verdict: .malformed, detail: "", kind: nil))
                state = try answer.advance(holds, request, chains: chains)
            case .decided, .deferred:
                preconditionFailure("no verification is pending")
            }
        } catch {
            request.log?.didRefuse()
            state = .answered(refused(error))
        }
    }

    /// Decodes a JWS whose signature holds, and checks its kind, policy and expectations.
    private func afterSignature(
        _ jws: VerifiedJWS, chains: ChainLookup
    ) throws(Refusal) -> State {
        let remark = try request.checkRevocation(
            of: jws.chain, signed: jws.effectiveDate, log: request.log)
        var (evidence, claims) = try jws.decode(as: request.kind, log: request.log)
        if request.admitsMissingBundle, claims.bundleId == nil { claims.carriesBundleId = false }
        do throws(Refusal) {
            try claims.check(
                request.policy, request.expectations, chain: jws.chain, log: request.log)
            if case .notification(let verified) = evidence {
                let notification = try SignedNotification.read(
                    jws, verified.notification.payload, claims: claims, remark: remark,
                    chains: chains, now: request.now, unknownChains: request.unknownChains,
                    log: request.log)
                switch notification {
                case .deferred(let chain): return .deferred(chain)
                case .validated(let notification) where !notification.nested.isEmpty:
                    return .notification(notification)
                case .validated: break
                }
            }
            // Without a date of its own the evidence counts as of now, and is as old as its order.
            let date = min(jws.effectiveDate, claims.orderDate ?? jws.effectiveDate)
            try claims.check(request.expectations, effectiveDate: date, log: request.log)
        } catch {
            request.log?.didRefuse()
            return .answered(request.refused(error, jws.chain, claims))
        }
        return .answered(request.accepted(jws.chain, claims, evidence, remark: remark))
    }

    private func refused(_ refusal: Refusal) -> Verification {
        guard case .notification(let notification) = state else {
            return refusal.answer(request.kind)
        }
        return request.refused(refusal, notification.chain, notification.claims)
    }
}

extension VerificationRequest {
    /// The answer for evidence whose signature, policy and expectations hold.
    ///
    /// - Parameter remark: what the detail reports beside.
    func accepted(
        _ chain: some AnchoredChain, _ claims: EvidenceClaims, _ evidence: VerifiedEvidence,
        remark: String?
    ) -> Verification {
        var dedupKey = claims.dedupKey
        if case .notification(let notification) = evidence { dedupKey = notification.dedupKey }
        var detail = remark.map { chain.anchor.acceptance + "; " + $0 } ?? chain.anchor.acceptance
        var state: PurchaseState?
        if case .harmonyPurchase(let purchase) = evidence {
            state = purchase.payload.state
            detail += state?.remark ?? ""
        }
        return Verification(
            verdict: .valid, detail: detail,
            kind: kind, environment: claims.environment, dedupKey: dedupKey,
            evidenceKey: claims.evidenceKey, certificate: chain.signingCertificate(at: now),
            evidence: evidence, state: state)
    }

    /// The answer for evidence whose signature holds but whose claims are refused. It identifies
    /// the evidence but returns no payload.
    func refused(
        _ refusal: Refusal, _ chain: some AnchoredChain, _ claims: EvidenceClaims
    ) -> Verification {
        var answer = refusal.answer(kind)
        answer.environment = claims.environment
        answer.dedupKey = claims.dedupKey
        answer.evidenceKey = claims.evidenceKey
        answer.certificate = chain.signingCertificate(at: now)
        return answer
    }

    /// Checks policy and expectations of a verified transaction receipt.
    func answer(_ verified: VerifiedTransactionReceipt) -> Verification {
        var claims = EvidenceClaims(verified.receipt)
        claims.nameStatement(by: EvidenceClaims.digest(of: verified.purchaseInfo))
        let remark: String?
        do throws(Refusal) {
            remark = try checkRevocation(
                of: verified.chain, signed: verified.effectiveDate, log: log)
        } catch {
            log?.didRefuse()
            return error.answer(kind)
        }
        do throws(Refusal) {
            try claims.check(policy, expectations, chain: verified.chain, log: log)
            try claims.check(expectations, effectiveDate: verified.effectiveDate, log: log)
        } catch {
            log?.didRefuse()
            return refused(error, verified.chain, claims)
        }
        var answer = accepted(
            verified.chain, claims, .transactionReceipt(verified.receipt), remark: remark)
        if let disagreement = verified.disagreement { answer.detail += "; " + disagreement }
        return answer
    }
}

extension Refusal {
    func answer(_ kind: EvidenceKind) -> Verification {
        Verification(verdict: verdict, detail: detail, kind: kind)
    }
}

extension AnchoredChain {
    func signingCertificate(at now: Timestamp) -> SigningCertificate {
        SigningCertificate(
            serial: serial, notAfter: Timestamp(milliseconds: leaf.notAfter * 1000),
            expired: now.seconds > leaf.notAfter)
    }
}
