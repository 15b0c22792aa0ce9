public import AssayModels

/// Verifies App Store evidence against one trust store.
///
/// The entry point of this library. It uses no clock, socket or file: the inputs are bytes, a
/// time, a trust store and a policy; the output is a verdict. Threads share one verifier freely.
/// It keeps a cache of validated chains, which never changes an answer.
///
/// ```swift
/// let verifier = Verifier(trust: .apple)
/// let answer = verifier.verify(
///     token.utf8.span, as: .transaction, policy: Policy(bundleId: "com.example.game"), at: now)
/// if case .transaction(let transaction) = answer.evidence { … }
/// ```
public final class Verifier: Sendable {
    /// The trust store.
    public let trust: TrustStore
    let chains: KnownChains
    let links = ValidatedLinks()
    let layouts = KnownLayouts()
    let signatures: ES256Verifiers
    /// The signature engine, and the audit of its answers.
    public let engine: EngineInUse
    let issuerTables: IssuerTables
    private let keyTables: KeyTableBuilding

    /// Creates a verifier.
    ///
    /// - Parameters:
    ///   - trust: the pinned certificates.
    ///   - keyTables: when key tables are built. A table makes a frequently used key five to ten
    ///     times faster.
    ///   - engine: the signature engine. Verifiers can share one.
    public init(
        trust: TrustStore, keyTables: KeyTableBuilding = .withSignatures,
        engine: EngineInUse = EngineInUse()
    ) {
        self.trust = trust
        self.engine = engine
        self.keyTables = keyTables
        issuerTables = IssuerTables(keyTables, engine: engine)
        chains = KnownChains(trust: trust, issuerTables: issuerTables)
        signatures = ES256Verifiers(
            tables: KeyTables(isEnabled: keyTables != .never, engine: engine.chosen) { key, place in
                engine.test()
                guard !engine.isDistrusted else { return nil }
                return KeyTable(key, engine: engine.chosen, place: place)
            },
            engine: engine)
    }

    /// Whether `buildPendingKeyTables` has work to do. The check costs nothing.
    public var hasPendingKeyTables: Bool { hasPendingTokenKeyTables || hasPendingIssuerTables }

    /// Builds a table for each key that has come into frequent use. Other threads keep verifying.
    /// Each table takes some milliseconds, so run this on an idle thread.
    ///
    /// - Returns: the number of tables built.
    @discardableResult
    public func buildPendingKeyTables() -> Int {
        buildPendingTokenKeyTables() + buildPendingIssuerTables()
    }

    /// Whether `buildPendingTokenKeyTables` has work to do.
    package var hasPendingTokenKeyTables: Bool { signatures.tables.hasPending }

    /// Builds the tables of keys that sign tokens only.
    @discardableResult
    package func buildPendingTokenKeyTables() -> Int { signatures.tables.buildPending() }

    /// Whether `buildPendingIssuerTables` has work to do.
    package var hasPendingIssuerTables: Bool { issuerTables.hasPending }

    /// Builds the tables of keys that sign certificates only.
    @discardableResult
    package func buildPendingIssuerTables() -> Int { issuerTables.buildPending() }

    /// Verifies one item of evidence.
    ///
    /// - Parameters:
    ///   - evidence: a compact JWS with at most one trailing line break, or a notification's POST
    ///     body of version 1 or 2; the JSON of a Server API answer; a transaction receipt as text
    ///     or base64; an app receipt as DER, BER or base64.
    ///   - kind: the kind of the evidence.
    ///   - policy: the evidence that the operator accepts.
    ///   - expectations: the caller's expectations, which narrow the policy.
    ///   - inApp: the in-app records of an app receipt to return.
    ///   - now: the current time. Evidence signed later is refused, with a tolerance of five
    ///     minutes.
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

    /// Whether this JWS has a chain that validated before, and cannot nest evidence with another
    /// chain: verifying it then takes one ES256 signature at most. The check costs about a
    /// microsecond. False for anything but a JWS.
    package func hasKnownChain(_ evidence: Span<UInt8>, as kind: EvidenceKind) -> Bool {
        switch kind {
        case .transaction, .renewalInfo, .appTransaction, .realtimeRequest:
            if chains.recent(evidence, counts: false) != nil { return true }
            guard let stop = evidence.firstIndex(of: UInt8(ascii: "."), from: 0) else {
                return false
            }
            return chains.isKnown(header: evidence.extracting(0..<stop))
        case .notification, .appReceipt, .transactionReceipt, .serverAnswer, .notificationV1:
            return false
        }
    }

    /// Parses the evidence, resolves its chain and computes its digest: the first half of a
    /// verification. The result owns the bytes that it needs. `verifySignatures` does the second
    /// half for a whole batch.
    ///
    /// - Parameter unknownChains: how to handle evidence whose chain has not validated before.
    package func prepare(
        _ evidence: Span<UInt8>, as kind: EvidenceKind, policy: Policy,
        expecting expectations: consuming Expectations = .none, inApp: InAppSelection = .all,
        at now: Timestamp, unknownChains: UnknownChainPolicy = .validate, log: CheckLog? = nil
    ) -> PreparedVerification {
        let request = VerificationRequest(
            self, kind: kind, policy: policy, expectations: expectations, now: now,
            unknownChains: unknownChains, log: log)
        log?.begin(.form, found: "\(evidence.count) bytes", expected: kind.name)
        do throws(Refusal) {
            if kind == .appReceipt {
                var stream = AppReceiptStream(
                    self, policy: policy, expecting: request.expectations, inApp: inApp, log: log)
                stream.receive(evidence)
                return stream.prepare(at: now, unknownChains: unknownChains)
            }
            if kind == .transactionReceipt {
                let receipt = try VerifiedTransactionReceipt.verify(
                    evidence, trust: trust, links: links, now: now,
                    allowsLegacyKey: policy.allowsLegacyKey, unknownChains: unknownChains,
                    log: log)
                return PreparedVerification(
                    request: request, state: try .init(receipt) { .answered(request.answer($0)) })
            }
            if kind == .notificationV1 {
                let body = try NotificationV1Body(evidence)
                return body.prepared(request, self, inApp: inApp)
            }
            if kind == .serverAnswer {
                let answer = try PendingAnswer.read(evidence, request, self)
                return PreparedVerification(
                    request: request,
                    state: try .init(answer) { answer throws(Refusal) in
                        answer.pendingSignatureCount > 0
                            ? .serverAnswer(answer) : .answered(try answer.verified(request))
                    })
            }
            let jws = try unverified(evidence, request)
            return PreparedVerification(request: request, state: try .init(jws) { .jws($0) })
        } catch {
            log?.didRefuse()
            return PreparedVerification(request: request, state: .answered(error.answer(kind)))
        }
    }

    /// Checks the signatures of the whole batch in one call, then each policy: the second half of
    /// a verification. Evidence nested in a notification is checked in a second round, once the
    /// notification's own signature holds. All signatures of an answer are in the first round.
    ///
    /// - Precondition: this verifier prepared the whole batch.
    package func verifySignatures(_ batch: inout [PreparedVerification]) {
        // Receipts have no pending signatures: `prepare` verified their chain and signature.
        if batch.contains(where: { $0.pendingSignatureCount > 0 }) { verifySignatures(of: &batch) }
        guard keyTables == .withSignatures else { return }
        if hasPendingKeyTables { buildPendingKeyTables() }
        if engine.hasPendingAudits { engine.audit() }
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
            // Nested evidence would be checked against another verifier's trust store.
            precondition(
                batch[index].request.verifier == ObjectIdentifier(self),
                "prepared by another verifier")
            batch[index].advance(holds[next..<next + count], chains: chains)
            next += count
        }
    }

    /// Returns the likely kind of unverified evidence, or nil when no known kind matches. Tools
    /// use this where the kind is optional.
    public static func likelyKind(of evidence: Span<UInt8>) -> EvidenceKind? {
        switch EvidenceShape.detect(evidence) {
        case .appReceipt: return .appReceipt
        case .transactionReceipt: return .transactionReceipt
        case .json where ServerAnswerBody.isLikely(evidence): return .serverAnswer
        case .json where NotificationV1Body.isLikely(evidence): return .notificationV1
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
                token.span, chains: chains, now: request.now,
                unknownChains: request.unknownChains, log: request.log)
        case .transaction, .renewalInfo, .appTransaction, .notification, .realtimeRequest:
            let token = evidence.withoutLineBreak
            try Self.checkBeginsLikeJWS(token)
            return try UnverifiedJWS.read(
                token, chains: chains, now: request.now, unknownChains: request.unknownChains,
                log: request.log)
        case .appReceipt, .transactionReceipt, .serverAnswer, .notificationV1:
            preconditionFailure("no JWS; prepare handles them")
        }
    }

    /// Names the likely kind of anything but a JWS. Every JWS begins with the base64 of `{`.
    private static func checkBeginsLikeJWS(_ evidence: Span<UInt8>) throws(Refusal) {
        guard evidence.count > 0 else { return }
        try evidence.checkTokenEdges()
        switch evidence[0] {
        case UInt8(ascii: "{"):
            throw Refusal(
                .malformed,
                "this is JSON or a property list, not a compact JWS; for a notification's POST "
                    + "body use the kind notification")
        case UInt8(ascii: "M"), Tag.sequence.rawValue:
            throw Refusal(.malformed, "this looks like an app receipt, not like a compact JWS")
        default: return
        }
    }

    /// The JWS inside a notification's POST body, `{"signedPayload": "…"}`. Other evidence is
    /// returned as it is.
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

/// When a table is built for a key that has come into frequent use. Without a table OpenSSL
/// verifies, with the same answers.
public enum KeyTableBuilding: Sendable {
    /// Tables are never built.
    case never
    /// `Verifier.verify` builds it on the calling thread. One call in a key's life takes about two
    /// milliseconds longer; for Apple's keys, one in about two years.
    case withSignatures
    /// `Verifier.buildPendingKeyTables` builds it, for example on a server's own thread.
    case onRequest
}
