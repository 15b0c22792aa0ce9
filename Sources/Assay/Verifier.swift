public import AssayModels

/// Verifies App Store evidence against one trust store.
///
/// The door of this library. No clock, no socket, no file: bytes, a time, trust and a policy in,
/// a verdict out. Shared freely between threads; what it keeps is a cache of validated chains,
/// which never changes an answer.
///
/// ```swift
/// let verifier = Verifier(trust: .apple)
/// let answer = verifier.verify(
///     token.utf8.span, as: .transaction, policy: Policy(bundleId: "com.example.game"), at: now)
/// if case .transaction(let transaction) = answer.evidence { … }
/// ```
public final class Verifier: Sendable {
    public let trust: TrustStore
    let chains: KnownChains
    let links = ValidatedLinks()
    let signatures: ES256Verifiers
    private let keyTables: KeyTableBuilding

    /// - Parameter keyTables: who builds the tables that make a much used key three to four times
    ///   faster.
    public init(trust: TrustStore, keyTables: KeyTableBuilding = .inSettle) {
        self.trust = trust
        self.keyTables = keyTables
        chains = KnownChains(trust: trust)
        signatures = ES256Verifiers(tables: KeyTables(isEnabled: keyTables != .never))
    }

    /// Whether `buildPendingKeyTables` has something to do; costs nothing to ask.
    public var hasPendingKeyTables: Bool { signatures.tables.hasPending }

    /// Builds a table for each key that has come into frequent use; others verify meanwhile. Takes
    /// some 16 to 30 ms each: a thread's work that has nothing better to do.
    ///
    /// - Returns: how many were built.
    @discardableResult
    public func buildPendingKeyTables() -> Int { signatures.tables.buildPending() }

    /// Verifies one piece of evidence.
    ///
    /// - Parameters:
    ///   - evidence: a compact JWS; a notification may also be its POST body; a transaction receipt
    ///     is its text or base64 of it; an app receipt is DER, BER or base64 of it.
    ///   - inApp: the in-app records of an app receipt that are returned.
    ///   - now: the present; evidence signed later is refused (with five minutes' allowance).
    public func verify(
        _ evidence: Span<UInt8>, as kind: EvidenceKind, policy: Policy,
        expecting expectations: Expectations = .none, inApp: InAppSelection = .all,
        at now: Timestamp
    ) -> Verification {
        var batch = [
            prepare(
                evidence, as: kind, policy: policy, expecting: expectations, inApp: inApp, at: now)
        ]
        settle(&batch)
        return batch[0].verification
    }

    /// Whether this JWS brings a chain that has validated before, and nothing within it that could
    /// bring another: verifying it takes no more than one ES256 signature does. Costs about a
    /// microsecond; false for what is no JWS.
    public func isQuick(_ evidence: Span<UInt8>, as kind: EvidenceKind) -> Bool {
        switch kind {
        case .transaction, .renewalInfo, .appTransaction, .realtimeRequest:
            if chains.recent(evidence, counts: false) != nil { return true }
            guard let stop = evidence.firstIndex(of: UInt8(ascii: "."), from: 0) else {
                return false
            }
            return chains.isKnown(header: evidence.extracting(0..<stop))
        case .notification, .appReceipt, .transactionReceipt: return false
        }
    }

    /// First half: parses, finds the chain, digests. The result owns all that it needs of the
    /// bytes; `settle` does the signatures of many such at once.
    ///
    /// - Parameter unseen: what becomes of evidence whose chain has not validated before.
    public func prepare(
        _ evidence: Span<UInt8>, as kind: EvidenceKind, policy: Policy,
        expecting expectations: Expectations = .none, inApp: InAppSelection = .all,
        at now: Timestamp, unseen: UnseenChains = .validate
    ) -> PreparedVerification {
        let request = VerificationRequest(
            kind: kind, policy: policy, expectations: expectations, now: now, unseen: unseen)
        do throws(Refusal) {
            if kind == .appReceipt {
                var stream = AppReceiptStream(
                    self, policy: policy, expecting: expectations, inApp: inApp)
                stream.receive(evidence)
                return stream.prepared(at: now, unseen: unseen)
            }
            if kind == .transactionReceipt {
                let receipt = try VerifiedTransactionReceipt(
                    evidence, trust: trust, links: links, now: now,
                    allowsLegacyKey: policy.allowsLegacyKey, unseen: unseen)
                return PreparedVerification(
                    request: request, state: .answered(request.answer(receipt)))
            }
            let jws = try unverified(evidence, request)
            return PreparedVerification(request: request, state: .jws(jws))
        } catch {
            return PreparedVerification(request: request, state: .init(error, kind))
        }
    }

    /// Second half: checks the signatures of the whole batch in one call, then each policy. What a
    /// notification holds has its turn in a second call, once the notification itself is believed.
    ///
    /// - Precondition: all of the batch was prepared by this verifier.
    public func settle(_ batch: inout [PreparedVerification]) {
        signatures.withVerifier { verifier in
            while true {
                verifier.clear()
                for index in batch.indices {
                    batch[index].appendPendingSignatures(to: &verifier.checks)
                }
                guard !verifier.checks.isEmpty else { return }
                verifier.verify()
                advance(&batch, verifier.holds)
            }
        }
        if keyTables == .inSettle, hasPendingKeyTables { buildPendingKeyTables() }
    }

    private func advance(_ batch: inout [PreparedVerification], _ holds: [Bool]) {
        var next = 0
        for index in batch.indices {
            let count = batch[index].pendingSignatureCount
            guard count > 0 else { continue }
            batch[index].advance(holds[next..<next + count], chains: chains)
            next += count
        }
    }

    /// The kind that a payload seems to be of, before anything of it is verified; for tools that
    /// let people leave the kind open. Nil where it is no evidence that is known here.
    public static func likelyKind(of evidence: Span<UInt8>) -> EvidenceKind? {
        switch EvidenceShape.detect(evidence) {
        case .appReceipt: return .appReceipt
        case .transactionReceipt: return .transactionReceipt
        case .jws, .json, nil: break
        }
        guard let token = try? token(in: evidence, as: .notification) else { return nil }
        guard let segments = try? JWSSegments(token.span),
            let text = try? Base64URL.decode(token.span.extracting(segments.payload)),
            let payload = try? JSONDocument.parse(text), payload.root.kind == .object
        else { return nil }
        return PayloadKind.detect(payload)
    }

    private func unverified(
        _ evidence: Span<UInt8>, _ request: VerificationRequest
    ) throws(Refusal) -> UnverifiedJWS {
        switch request.kind {
        case .notification where evidence.count > 0 && evidence[0] == UInt8(ascii: "{"):
            let token = try Self.token(in: evidence, as: request.kind)
            return try UnverifiedJWS(
                token.span, chains: chains, now: request.now, unseen: request.unseen)
        case .transaction, .renewalInfo, .appTransaction, .notification, .realtimeRequest:
            try Self.checkBeginsLikeJWS(evidence)
            return try UnverifiedJWS(
                evidence, chains: chains, now: request.now, unseen: request.unseen)
        case .appReceipt, .transactionReceipt:
            preconditionFailure("receipts are no JWS; prepare has them")
        }
    }

    /// Says what else it seems to be; every JWS begins with the base64 of an opening brace.
    private static func checkBeginsLikeJWS(_ evidence: Span<UInt8>) throws(Refusal) {
        guard evidence.count > 0 else { return }
        switch evidence[0] {
        case UInt8(ascii: "{"):
            throw Refusal(
                .malformed,
                "this is JSON or a property list, not a compact JWS; a notification's POST body "
                    + "is of the kind notification")
        case UInt8(ascii: "M"), Tag.sequence.rawValue:
            throw Refusal(.malformed, "this looks like an app receipt, not like a compact JWS")
        default: return
        }
    }

    /// The JWS inside of a notification's POST body, `{"signedPayload": "…"}`; other evidence is
    /// its own token.
    private static func token(
        in evidence: Span<UInt8>, as kind: EvidenceKind
    ) throws(Refusal) -> [UInt8] {
        guard evidence.count <= Limits.notificationBytes else {
            throw Refusal(
                .malformed,
                "the evidence has \(evidence.count) bytes; the limit is "
                    + "\(Limits.notificationBytes)")
        }
        guard evidence.count > 0, evidence[0] == UInt8(ascii: "{") else { return evidence.array }
        let body = try JSONDocument.payload(evidence.array, named: "notification body")
        guard let token = body.root["signedPayload"]?.string else {
            throw Refusal(.malformed, "the notification body has no signedPayload string")
        }
        return Array(token.utf8)
    }
}

/// Who builds the table of a key that has come into frequent use. Until it is there, and without
/// one, OpenSSL's own verification answers; the answers are the same.
public enum KeyTableBuilding: Sendable {
    /// Nobody.
    case never
    /// `Verifier.settle` (and so `verify`), on the thread that calls it: one call in a key's life,
    /// for Apple's one in about two years, takes some 16 to 30 ms longer.
    case inSettle
    /// Whoever calls `Verifier.buildPendingKeyTables`, such as a server on a thread of its own.
    case onRequest
}

/// What was asked of one verification. A class, so that a batch moves references.
final class VerificationRequest: Sendable {
    let kind: EvidenceKind
    let policy: Policy
    let expectations: Expectations
    let now: Timestamp
    let unseen: UnseenChains

    init(
        kind: EvidenceKind, policy: Policy, expectations: Expectations, now: Timestamp,
        unseen: UnseenChains = .validate
    ) {
        self.kind = kind
        self.policy = policy
        self.expectations = expectations
        self.now = now
        self.unseen = unseen
    }
}

/// A verification on its way: its signatures wait for the batch (before `Verifier.settle`), or it
/// is answered.
public struct PreparedVerification: Sendable {
    let request: VerificationRequest
    var state: State

    enum State: Sendable {
        /// Waits for its own signature.
        case jws(UnverifiedJWS)
        /// Its own signature holds; waits for those of what is nested in it.
        case notification(SignedNotification)
        indirect case answered(Verification)
        /// Not answered: a chain has to be validated first.
        case putAside(UnseenChain)

        init(_ refusal: Refusal, _ kind: EvidenceKind) {
            self = refusal.unseenChain.map { .putAside($0) } ?? .answered(refusal.answer(kind))
        }
    }

    /// The chain that keeps it without an answer, where it was put aside. Known when
    /// `Verifier.settle` has had it.
    public var unseenChain: UnseenChain? {
        if case .putAside(let chain) = state { chain } else { nil }
    }

    /// The answer.
    ///
    /// - Precondition: `Verifier.settle` has had it, and it was not put aside.
    public var verification: Verification {
        guard case .answered(let verification) = state else {
            preconditionFailure("the batch was not settled")
        }
        return verification
    }

    var pendingSignatureCount: Int {
        switch state {
        case .jws: 1
        case .notification(let notification): notification.nested.count
        case .answered, .putAside: 0
        }
    }

    func appendPendingSignatures(to checks: inout [ES256Check]) {
        switch state {
        case .jws(let jws): checks.append(jws.signature)
        case .notification(let notification):
            for nested in notification.nested { checks.append(nested.jws.signature) }
        case .answered, .putAside: break
        }
    }

    /// One step: what was pending is known now.
    mutating func advance(_ holds: ArraySlice<Bool>, chains: KnownChains) {
        do throws(Refusal) {
            switch state {
            case .jws(let unverified):
                let jws = try VerifiedJWS(
                    unverified, signatureHolds: holds[holds.startIndex], chains: chains)
                state = try afterSignature(jws, chains: chains)
            case .notification(let notification):
                let evidence = try notification.verified(
                    holds, expecting: request.expectations, chains: chains)
                state = .answered(
                    request.accepted(notification.chain, notification.facts, evidence))
            case .answered, .putAside:
                preconditionFailure("nothing was pending")
            }
        } catch {
            state = error.unseenChain.map { .putAside($0) } ?? .answered(refused(error))
        }
    }

    /// Kind, typed fields and policy of bytes that are believed now.
    private func afterSignature(
        _ jws: VerifiedJWS, chains: KnownChains
    ) throws(Refusal) -> State {
        let (evidence, facts) = try jws.decode(as: request.kind)
        do throws(Refusal) {
            try facts.check(request.policy, request.expectations, chain: jws.chain)
            if case .notification(let verified) = evidence {
                let notification = try SignedNotification(
                    jws, verified.notification.payload, facts: facts, chains: chains,
                    now: request.now, unseen: request.unseen)
                guard notification.nested.isEmpty else { return .notification(notification) }
            }
            try facts.check(request.expectations, effectiveDate: jws.effectiveDate)
        } catch {
            if error.unseenChain != nil { throw error }
            return .answered(request.refused(error, jws.chain, facts))
        }
        return .answered(request.accepted(jws.chain, facts, evidence))
    }

    private func refused(_ refusal: Refusal) -> Verification {
        guard case .notification(let notification) = state else {
            return refusal.answer(request.kind)
        }
        return request.refused(refusal, notification.chain, notification.facts)
    }
}

extension VerificationRequest {
    /// Evidence whose signature, policy and expectations hold.
    func accepted(
        _ chain: some AnchoredChain, _ facts: EvidenceFacts, _ evidence: VerifiedEvidence
    ) -> Verification {
        Verification(
            verdict: .valid,
            detail: chain.anchor.acceptance,
            kind: kind, environment: facts.environment, dedupKey: facts.dedupKey,
            certificate: chain.signingCertificate(at: now), evidence: evidence)
    }

    /// A refusal of evidence whose signature holds says what it is, and still returns no payload.
    func refused(
        _ refusal: Refusal, _ chain: some AnchoredChain, _ facts: EvidenceFacts
    ) -> Verification {
        var answer = refusal.answer(kind)
        answer.environment = facts.environment
        answer.dedupKey = facts.dedupKey
        answer.certificate = chain.signingCertificate(at: now)
        return answer
    }

    /// Policy and expectations of a transaction receipt that is believed.
    func answer(_ verified: VerifiedTransactionReceipt) -> Verification {
        let facts = EvidenceFacts(verified.receipt)
        do throws(Refusal) {
            try facts.check(policy, expectations, chain: verified.chain)
            try facts.check(expectations, effectiveDate: verified.effectiveDate)
        } catch {
            return refused(error, verified.chain, facts)
        }
        var answer = accepted(verified.chain, facts, .transactionReceipt(verified.receipt))
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
