import AssayBytes
public import AssayModels

/// Verifies evidence of purchases against one trust store.
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
    /// The revocation statuses of the certificates of its chains.
    public let revocation: RevocationStatuses
    let chains: KnownChains
    /// The chains of HarmonyOS, apart: neither store's root is good for the other's evidence.
    let harmonyChains: KnownChains
    let links: ValidatedLinks
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
    ///   - revocation: the statuses that `Policy.revocation` uses. Verifiers can share them.
    public init(
        trust: TrustStore, keyTables: KeyTableBuilding = .withSignatures,
        engine: EngineInUse = EngineInUse(),
        revocation: RevocationStatuses = RevocationStatuses()
    ) {
        self.trust = trust
        self.revocation = revocation
        links = ValidatedLinks(revocation: revocation)
        self.engine = engine
        self.keyTables = keyTables
        issuerTables = IssuerTables(keyTables, engine: engine)
        chains = KnownChains(
            trust: trust, issuerTables: issuerTables, revocation: revocation)
        harmonyChains = KnownChains(
            trust: trust.harmony, markers: .harmony, issuerTables: issuerTables,
            revocation: revocation)
        signatures = ES256Verifiers(
            tables: KeyTables(isEnabled: keyTables != .never, engine: engine.chosen) { key, slot in
                engine.test()
                guard !engine.isDistrusted else { return nil }
                return KeyTable(key, engine: engine.chosen, slot: slot)
            },
            engine: engine)
    }

    /// Whether `performMaintenance` has work to do. The check costs nothing.
    public var needsMaintenance: Bool { hasPendingKeyTables || engine.hasPendingAudits }

    /// Does the work for which no answer waits: builds a table for each key that has come into
    /// frequent use, and compares a sample of the answers with OpenSSL's. Other threads keep
    /// verifying. It takes some milliseconds, so run it on an idle thread.
    ///
    /// - Returns: the answers that OpenSSL does not give. There must never be any; from then on
    ///   OpenSSL verifies.
    @discardableResult
    public func performMaintenance() -> [AuditedAnswer] {
        buildPendingTokenKeyTables()
        buildPendingIssuerTables()
        return engine.audit()
    }

    package var hasPendingKeyTables: Bool { hasPendingTokenKeyTables || hasPendingIssuerTables }

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
    ///     or base64; an app receipt as DER, BER or base64; JSON with another store's purchase
    ///     and its signature, or with the token and the body of Google Play's push.
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

    /// Parses the evidence, resolves its chain and computes its digest: the first half of a
    /// verification. The result owns the bytes that it needs. `verifySignatures` does the second
    /// half for a whole batch.
    ///
    /// - Parameters:
    ///   - unknownChains: how to handle evidence whose chain has not validated before.
    ///   - cache: the calling thread's.
    package func prepare(
        _ evidence: Span<UInt8>, as kind: EvidenceKind, policy: Policy,
        expecting expectations: consuming Expectations = .none, inApp: InAppSelection = .all,
        at now: Timestamp, unknownChains: UnknownChainPolicy = .validate, log: CheckLog? = nil,
        cache: ThreadCache? = nil
    ) -> PreparedVerification {
        let request = request(
            as: kind, policy: policy, expecting: expectations, at: now,
            unknownChains: unknownChains, log: log)
        return prepare(evidence, request, inApp: inApp, cache: cache)
    }

    /// What is asked about items of evidence.
    package func request(
        as kind: EvidenceKind, policy: Policy, expecting expectations: consuming Expectations,
        at now: Timestamp, unknownChains: UnknownChainPolicy, log: CheckLog? = nil
    ) -> VerificationRequest {
        VerificationRequest(
            self, kind: kind, policy: policy, expectations: expectations, now: now,
            unknownChains: unknownChains, log: log)
    }

    /// Prepares the verification of one item of evidence.
    ///
    /// - Parameter request: Of this verifier.
    package func prepare(
        _ evidence: Span<UInt8>, _ request: VerificationRequest, inApp: InAppSelection,
        cache: ThreadCache?
    ) -> PreparedVerification {
        let (kind, chains) = (request.kind, lookup(request.kind, cache))
        request.log?.begin(.form, found: "\(evidence.count) bytes", expected: kind.name)
        do throws(Refusal) {
            return try prepare(evidence, request, inApp: inApp, chains)
        } catch {
            guard let opened = Self.opened(evidence, as: kind) else {
                return refused(error.describing(evidence, as: kind), request)
            }
            return prepare(opened, request, chains)
        }
    }

    private func prepare(
        _ evidence: Span<UInt8>, _ request: VerificationRequest, inApp: InAppSelection,
        _ chains: ChainLookup
    ) throws(Refusal) -> PreparedVerification {
        switch request.kind.format {
        case .appReceipt:
            var stream = AppReceiptStream(
                self, policy: request.policy, expecting: request.expectations, inApp: inApp,
                log: request.log)
            return stream.prepare(
                whole: evidence, at: request.now, unknownChains: request.unknownChains)
        case .transactionReceipt:
            let receipt = try VerifiedTransactionReceipt.verify(
                evidence, trust: trust, links: links, now: request.now,
                allowsLegacyKey: request.policy.allowsLegacyKey,
                unknownChains: request.unknownChains, log: request.log)
            return PreparedVerification(
                request: request, state: try .init(receipt) { .answered(request.answer($0)) })
        case .notificationV1:
            let body = try NotificationV1Body(evidence)
            return body.prepared(request, self, inApp: inApp)
        case .serverAnswer:
            let answer = try PendingAnswer.read(evidence, request, self, chains: chains)
            return PreparedVerification(
                request: request,
                state: try .init(answer) { answer throws(Refusal) in
                    answer.pendingSignatureCount > 0
                        ? .serverAnswer(answer) : .answered(try answer.verified(request))
                })
        case .signedText: return try request.prepared(purchase: evidence)
        case .push: return try request.prepared(push: evidence)
        case .signedBody: return try request.prepared(huaweiNotification: evidence)
        case .jws:
            let jws = try unverified(evidence, request, chains)
            return PreparedVerification(request: request, state: try .init(jws) { .jws($0) })
        }
    }

    /// Prepares evidence that was inside a wrapper.
    private func prepare(
        _ opened: EvidenceWrapper.Opened, _ request: VerificationRequest, _ chains: ChainLookup
    ) -> PreparedVerification {
        let evidence = opened.evidence
        var prepared: PreparedVerification
        do throws(Refusal) {
            prepared = try prepare(evidence.span, request, inApp: .all, chains)
        } catch {
            prepared = refused(
                error.describing(evidence.span, as: request.kind, in: opened.wrapper), request)
        }
        prepared.wrapper = opened.wrapper
        return prepared
    }

    private func refused(
        _ refusal: Refusal, _ request: VerificationRequest
    ) -> PreparedVerification {
        request.log?.didRefuse()
        return PreparedVerification(
            request: request, state: .answered(refusal.answer(request.kind)))
    }

    /// Checks the signatures of the whole batch in one call, then each policy: the second half of
    /// a verification. Evidence nested in a notification is checked in a second round, once the
    /// notification's own signature holds. All signatures of an answer are in the first round.
    ///
    /// - Precondition: this verifier prepared the whole batch.
    /// - Parameter cache: the calling thread's.
    package func verifySignatures(
        _ batch: inout [PreparedVerification], cache: ThreadCache? = nil
    ) {
        // Receipts have no pending signatures: `prepare` verified their chain and signature.
        if batch.contains(where: { $0.pendingSignatureCount > 0 }) {
            if let cache {
                cache.withVerifier(of: signatures) { verifySignatures(of: &batch, by: $0, cache) }
            } else {
                signatures.withVerifier { verifySignatures(of: &batch, by: $0, nil) }
            }
        }
        guard keyTables == .withSignatures else { return }
        if needsMaintenance { performMaintenance() }
    }

    private func verifySignatures(
        of batch: inout [PreparedVerification], by verifier: ES256BatchVerifier,
        _ cache: ThreadCache?
    ) {
        while true {
            verifier.clear()
            for index in batch.indices {
                batch[index].appendPendingSignatures(to: &verifier.checks)
            }
            guard !verifier.checks.isEmpty else { return }
            verifier.verify()
            advance(&batch, verifier.holds, cache)
        }
    }

    private func advance(
        _ batch: inout [PreparedVerification], _ holds: [Bool], _ cache: ThreadCache?
    ) {
        var next = 0
        for index in batch.indices {
            let count = batch[index].pendingSignatureCount
            guard count > 0 else { continue }
            // Nested evidence would be checked against another verifier's trust store.
            precondition(
                batch[index].request.verifier == ObjectIdentifier(self),
                "prepared by another verifier")
            batch[index].advance(
                holds[next..<next + count], chains: lookup(batch[index].request.kind, cache))
            next += count
        }
    }

    /// The chains of the store that signs this kind.
    private func lookup(_ kind: EvidenceKind, _ cache: ThreadCache?) -> ChainLookup {
        ChainLookup(table: kind.knownStore == .harmony ? harmonyChains : chains, cache: cache)
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
        guard evidence.count > 0, evidence[0] == UInt8(ascii: "{") else {
            return payloadKind(of: evidence)
        }
        for member in EvidenceKind.bodyMembers {
            guard let token = try? signedPayload(in: evidence, member) else { continue }
            return payloadKind(of: token.span)
        }
        if PushEnvelope.find(evidence) != nil { return .googleNotification }
        if case .found = HuaweiNotificationBody.find(evidence) { return .huaweiNotification }
        if case .found(let envelope) = PurchaseEnvelope.find(evidence),
            let kind = envelope.likelyKind
        {
            return kind
        }
        guard let inside = EvidenceWrapper.open(evidence)?.evidence else { return nil }
        switch EvidenceShape.detect(inside.span) {
        case .appReceipt: return .appReceipt
        case .transactionReceipt: return .transactionReceipt
        case .jws, .json, nil: return payloadKind(of: inside.span)
        }
    }

    /// The kind that the payload of a JWS shows, or nil if it shows none.
    static func payloadKind(of token: Span<UInt8>) -> EvidenceKind? {
        guard let segments = try? JWSSegments(token),
            let text = try? Base64URL.decode(token.extracting(segments.payload)),
            let payload = try? JSONDocument.parse(text), payload.root.kind == .object
        else { return nil }
        return PayloadKind.detect(payload) ?? StoreFormat.harmony.likelyKind(payload.root)
    }

    private func unverified(
        _ evidence: Span<UInt8>, _ request: VerificationRequest, _ chains: ChainLookup
    ) throws(Refusal) -> ChainOutcome<UnverifiedJWS> {
        let isObject = evidence.count > 0 && evidence[0] == UInt8(ascii: "{")
        if request.kind.knownStore == .harmony, trust.harmonyAnchors.isEmpty {
            request.log?.begin(.rootName, found: "none")
            throw Refusal(.untrustedChain, StoreFormat.harmony.missingKeyText)
        }
        if isObject, let member = request.kind.traits.bodyMember {
            let token = try Self.signedPayload(in: evidence, member)
            do throws(Refusal) {
                return try read(token.span, request, chains)
            } catch {
                throw error.describing(token.span, as: request.kind)
            }
        }
        guard !isObject else {
            throw Refusal(.malformed, "this is JSON or a property list, not a compact JWS")
        }
        return try read(evidence.withoutLineBreak, request, chains)
    }

    private func read(
        _ token: Span<UInt8>, _ request: VerificationRequest, _ chains: ChainLookup
    ) throws(Refusal) -> ChainOutcome<UnverifiedJWS> {
        try UnverifiedJWS.read(
            token, ofHarmony: request.kind.knownStore == .harmony, chains: chains, now: request.now,
            unknownChains: request.unknownChains, log: request.log)
    }

    /// The JWS inside a POST body of a store, such as `{"signedPayload": "…"}`.
    private static func signedPayload(
        in body: Span<UInt8>, _ member: String
    ) throws(Refusal) -> [UInt8] {
        guard body.count <= Limits.notificationBytes else {
            throw Refusal(
                .malformed,
                "the body has \(body.count) bytes; the limit is \(Limits.notificationBytes)")
        }
        let document = try JSONDocument.payload(body.array, named: "body")
        guard let token = document.root[member]?.string else {
            throw Refusal(.malformed, "the body has no \(member) string")
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
    /// `Verifier.performMaintenance` builds it, for example on a server's own thread.
    case onRequest
}
