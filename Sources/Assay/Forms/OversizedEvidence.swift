import AssayBytes
package import AssayModels

/// Evidence above the limit of its kind. It is not read: its first bytes name what it is, and the
/// limit that counts is that of what it is.
///
/// It keeps `FormLimits.headBytes` of any number of bytes. The answer does not depend on how they
/// arrived.
package struct OversizedEvidence: Sendable {
    /// Nil if the caller named none.
    fileprivate let kind: EvidenceKind?
    private let limit: Int
    private var head: [UInt8] = []
    private var count = 0

    /// - Parameters:
    ///   - kind: the kind that the caller named; nil to detect it.
    ///   - limit: the most bytes of evidence of this kind.
    package init(as kind: EvidenceKind?, limit: Int) {
        self.kind = kind
        self.limit = limit
    }

    /// Whether further bytes change nothing but the number of bytes.
    package var isNamed: Bool { head.count == FormLimits.headBytes }

    package var heldBytes: Int { head.capacity }

    /// Receives the next bytes.
    package mutating func receive(_ chunk: Span<UInt8>) {
        count += chunk.count
        let missing = min(FormLimits.headBytes - head.count, chunk.count)
        guard missing > 0 else { return }
        head.append(contentsOf: chunk.array(0..<missing))
    }

    /// Counts bytes that were not received.
    package mutating func skip(_ bytes: Int) { count += bytes }

    /// The refusal.
    fileprivate func refusal(_ verdict: Verdict) -> Refusal {
        let form = EvidenceForm.detect(head, of: count)
        if let kind, form.fits(kind) {
            return Refusal(.malformed, Self.text("the \(kind.name)", count, kind, limit))
        }
        if let kind = form.kind, let limit = kind.byteLimit, count > limit {
            return Refusal(verdict, Self.text(form.what, count, kind, limit))
        }
        return Refusal(verdict, form.text)
    }

    private static func text(
        _ what: String, _ count: Int, _ kind: EvidenceKind, _ limit: Int
    ) -> String {
        "\(what) has \(count) bytes; the limit of the kind \(kind.name) is \(limit)"
    }

    /// The first bytes, which the named kind refuses too.
    fileprivate var beginning: (bytes: [UInt8], kind: EvidenceKind)? { kind.map { (head, $0) } }
}

extension EvidenceKind {
    /// The most bytes of evidence of this kind; nil for an app receipt, which is verified as it
    /// arrives.
    package var byteLimit: Int? {
        switch size {
        case .jws: Limits.jwsBytes
        case .transactionReceipt: Limits.transactionReceiptBytes
        case .notification: Limits.notificationBytes
        case .purchase: Limits.purchaseEnvelopeBytes
        case .push: Limits.pushEnvelopeBytes
        case .serverAnswer: Limits.serverAnswerBytes
        case .notificationV1: Limits.notificationV1Bytes
        case .stream: nil
        }
    }

    /// Refuses evidence of this kind above its limit.
    func checkSize(_ bytes: Int) throws(Refusal) {
        guard let byteLimit, bytes > byteLimit else { return }
        throw Refusal(
            .malformed, "the \(name) has \(bytes) bytes; the limit is \(byteLimit)")
    }

    /// The most bytes of evidence of any kind but app receipts: more is read only as it arrives.
    package static let largestByteLimit = allCases.compactMap(\.byteLimit).max() ?? 0
}

extension Verifier {
    /// Refuses evidence above its limit, with the verdict that its kind gives to its beginning.
    package func refuse(
        _ evidence: OversizedEvidence, policy: Policy, at now: Timestamp
    ) -> PreparedVerification {
        var verdict = Verdict.malformed
        if let (bytes, kind) = evidence.beginning {
            let beginning = prepare(
                bytes.span, as: kind, policy: policy, at: now, unknownChains: .deferred)
            if case .decided(let decision) = beginning.state,
                decision.verification.verdict == .wrongKind
            {
                verdict = .wrongKind
            }
        }
        let kind = evidence.kind ?? .transaction
        var prepared = PreparedVerification(
            request: VerificationRequest(
                self, kind: kind, policy: policy, expectations: .none, now: now,
                unknownChains: .deferred),
            state: .answered(evidence.refusal(verdict).answer(kind)))
        prepared.hasUnknownKind = evidence.kind == nil
        return prepared
    }
}
