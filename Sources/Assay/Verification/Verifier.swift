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
    let layouts = KnownLayouts()
    let signatures: ES256Verifiers
    private let keyTables: KeyTableBuilding

    /// - Parameter keyTables: who builds the tables that make a much used key three to four times
    ///   faster.
    public init(trust: TrustStore, keyTables: KeyTableBuilding = .withSignatures) {
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
    ///   - evidence: a compact JWS, with at most one line break after it; a notification also as
    ///     its POST body; a transaction receipt
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
        verifySignatures(&batch)
        return batch[0].verification
    }

    /// Whether this JWS brings a chain that has validated before, and nothing within it that could
    /// bring another: verifying it takes no more than one ES256 signature does. Costs about a
    /// microsecond; false for what is no JWS.
    public func hasKnownChain(_ evidence: Span<UInt8>, as kind: EvidenceKind) -> Bool {
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
    /// - Parameter unknown: what becomes of evidence whose chain has not validated before.
    public func prepare(
        _ evidence: Span<UInt8>, as kind: EvidenceKind, policy: Policy,
        expecting expectations: Expectations = .none, inApp: InAppSelection = .all,
        at now: Timestamp, unknownChains: UnknownChainPolicy = .validate
    ) -> PreparedVerification {
        let request = VerificationRequest(
            self, kind: kind, policy: policy, expectations: expectations, now: now,
            unknownChains: unknownChains)
        do throws(Refusal) {
            if kind == .appReceipt {
                var stream = AppReceiptStream(
                    self, policy: policy, expecting: expectations, inApp: inApp)
                stream.receive(evidence)
                return stream.prepare(at: now, unknownChains: unknownChains)
            }
            if kind == .transactionReceipt {
                let receipt = try VerifiedTransactionReceipt.verify(
                    evidence, trust: trust, links: links, now: now,
                    allowsLegacyKey: policy.allowsLegacyKey, unknownChains: unknownChains)
                return PreparedVerification(
                    request: request, state: try .init(receipt) { .answered(request.answer($0)) })
            }
            let jws = try unverified(evidence, request)
            return PreparedVerification(request: request, state: try .init(jws) { .jws($0) })
        } catch {
            return PreparedVerification(request: request, state: .answered(error.answer(kind)))
        }
    }

    /// Second half: checks the signatures of the whole batch in one call, then each policy. What a
    /// notification holds has its turn in a second call, once the notification itself is believed.
    ///
    /// - Precondition: all of the batch was prepared by this verifier.
    public func verifySignatures(_ batch: inout [PreparedVerification]) {
        // Receipts have none: their chain and signature were verified when they were prepared.
        if batch.contains(where: { $0.pendingSignatureCount > 0 }) { verifySignatures(of: &batch) }
        if keyTables == .withSignatures, hasPendingKeyTables { buildPendingKeyTables() }
    }

    private func verifySignatures(of batch: inout [PreparedVerification]) {
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
    }

    private func advance(_ batch: inout [PreparedVerification], _ holds: [Bool]) {
        var next = 0
        for index in batch.indices {
            let count = batch[index].pendingSignatureCount
            guard count > 0 else { continue }
            // Another's trust would be asked about what a notification holds.
            precondition(
                batch[index].request.verifier == ObjectIdentifier(self),
                "another verifier has prepared this")
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
    ) throws(Refusal) -> ChainOutcome<UnverifiedJWS> {
        switch request.kind {
        case .notification where evidence.count > 0 && evidence[0] == UInt8(ascii: "{"):
            let token = try Self.token(in: evidence, as: request.kind)
            return try UnverifiedJWS.read(
                token.span, chains: chains, now: request.now, unknownChains: request.unknownChains)
        case .transaction, .renewalInfo, .appTransaction, .notification, .realtimeRequest:
            let token = evidence.withoutLineBreak
            try Self.checkBeginsLikeJWS(token)
            return try UnverifiedJWS.read(
                token, chains: chains, now: request.now, unknownChains: request.unknownChains)
        case .appReceipt, .transactionReceipt:
            preconditionFailure("receipts are no JWS; prepare has them")
        }
    }

    /// Says what else it seems to be; every JWS begins with the base64 of an opening brace.
    private static func checkBeginsLikeJWS(_ evidence: Span<UInt8>) throws(Refusal) {
        guard evidence.count > 0 else { return }
        try evidence.checkTokenEdges()
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
    case withSignatures
    /// Whoever calls `Verifier.buildPendingKeyTables`, such as a server on a thread of its own.
    case onRequest
}
