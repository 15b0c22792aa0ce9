import AssayBytes
import AssayModels

/// Compares the unsigned members of an answer with the signed ones. A difference is a warning:
/// the signed members alone decide.
extension AnswerMembers {
    var warnings: [EvidenceWarning] {
        var warnings: [EvidenceWarning] = []
        func add(_ code: EvidenceWarning.Code, _ message: String, _ member: String? = nil) {
            warnings.append(EvidenceWarning(code: code, message: message, member: member))
        }
        if body.signed.isEmpty { add(.noEvidence, emptyMessage) }
        if body.unsigned.hasMore == true {
            add(
                .incomplete, "the answer names more pages: what this one lacks proves nothing",
                "hasMore")
        }
        for (member, found) in disagreements {
            add(
                .unsignedDisagrees,
                "the unsigned \(member) disagrees with the signed members: \(found)", member)
        }
        if appAccountTokens.count > 1 {
            add(.customersMixed, "the signed members name several app account tokens")
        } else if appTransactionIds.count > 1 {
            add(.customersMixed, "the signed members name several app transaction ids")
        }
        for path in withoutBundle {
            add(
                .transactionWithoutBundle,
                "the transaction verifies but names no bundle: the answer is used without it",
                path)
        }
        for pair in body.subscriptions + [body.single].compactMap(\.self) {
            guard let found = disagreement(of: pair) else { continue }
            add(.pairDisagrees, found, pair.path)
        }
        return warnings
    }

    private var emptyMessage: String {
        body.unsigned.status == 1
            ? "Apple does not know the order: the answer has no evidence"
            : "the answer has no signed member; a request for another bundle id also gets one"
    }

    /// The members of the root, then those of each subscription, with what the signed ones say.
    private var disagreements: [(member: String, found: String)] {
        var found: [(String, String)] = []
        let unsigned = body.unsigned
        if let environment = namedEnvironment, let named = unsigned.environment,
            named != environment
        {
            found.append(("environment", environment.rawValue))
        }
        if let named = unsigned.bundleId,
            let other = bundleIds.first(where: { !$0.equalsByBytes(named) })
        {
            found.append(("bundleId", quoted(other)))
        }
        // Outside of Production Apple writes 0 or nothing.
        if let named = unsigned.appAppleId,
            let other = appAppleIds.first(where: { $0 != 0 && $0 != named })
        {
            found.append(("appAppleId", "\(other)"))
        }
        for index in body.subscriptions.indices { found += disagreements(at: index) }
        return found
    }

    /// Compares the originals of a signed transaction and the signed renewal information beside
    /// it. Nobody signs the pair.
    private func disagreement(of pair: ServerAnswerBody.Subscription) -> String? {
        guard case .transaction(let transaction) = evidence(at: pair.transaction),
            case .renewalInfo(let renewalInfo) = evidence(at: pair.renewalInfo),
            let original = transaction.payload.originalTransactionId,
            let other = renewalInfo.payload.originalTransactionId,
            !original.equalsByBytes(other)
        else { return nil }
        return "the transaction is of the original \(quoted(original)), the renewal information "
            + "beside it of \(quoted(other))"
    }

    private func disagreements(at index: Int) -> [(String, String)] {
        let (signed, unsigned) = (body.subscriptions[index], body.unsigned.subscriptions[index])
        guard case .transaction(let transaction) = evidence(at: signed.transaction) else {
            return []
        }
        var found: [(String, String)] = []
        if let named = unsigned.originalTransactionId,
            let original = transaction.payload.originalTransactionId,
            !original.equalsByBytes(named)
        {
            found.append(("\(signed.path).originalTransactionId", quoted(original)))
        }
        var renewalInfo: JWSRenewalInfoDecodedPayload?
        if case .renewalInfo(let verified) = evidence(at: signed.renewalInfo) {
            renewalInfo = verified.payload
        }
        if let status = unsigned.status, Self.known.contains(status),
            let possible = Self.statuses(of: transaction.payload, renewalInfo),
            !possible.contains(status)
        {
            let values = possible.map { "\($0.rawValue)" }.joined(separator: " or ")
            found.append(("\(signed.path).status", "they say \(values)"))
        }
        return found
    }

    // MARK: Statuses

    private static let known: [SubscriptionStatus] = [
        .active, .expired, .billingRetry, .gracePeriod, .revoked,
    ]

    /// The statuses that the signed members allow at the time of the signature, which is that of
    /// the answer. Nil for an upgraded transaction, whose successor decides.
    private static func statuses(
        of transaction: JWSTransactionDecodedPayload, _ renewalInfo: JWSRenewalInfoDecodedPayload?
    ) -> [SubscriptionStatus]? {
        if transaction.revocationDate != nil { return [.revoked] }
        guard transaction.isUpgraded != true, let signed = transaction.signedDate,
            let expires = transaction.expiresDate
        else { return nil }
        if signed < expires { return [.active] }
        guard let renewalInfo else { return [.expired, .billingRetry, .gracePeriod] }
        if let end = renewalInfo.gracePeriodExpiresDate, signed < end { return [.gracePeriod] }
        return [renewalInfo.isInBillingRetryPeriod == true ? .billingRetry : .expired]
    }

    // MARK: Values of the signed members

    private var bundleIds: [String] {
        transactions.compactMap { $0.withPayload { $0.bundleId } }
            + [appTransaction?.withPayload { $0.bundleId } ?? nil].compactMap(\.self)
    }

    private var appAppleIds: [Int64] {
        [appTransaction?.withPayload { $0.appAppleId } ?? nil].compactMap(\.self)
    }

    private var appTransactionIds: Set<String> {
        var ids = Set(transactions.compactMap { $0.withPayload { $0.appTransactionId } })
        ids.formUnion(renewalInfos.compactMap { $0.withPayload { $0.appTransactionId } })
        if let id = appTransaction?.payload.appTransactionId { ids.insert(id) }
        return ids
    }

    /// Of the shapes about one customer. A notification history is about many.
    private var appAccountTokens: Set<String> {
        var tokens: Set<String> = []
        for transaction in transactions {
            if let token = transaction.withPayload({ $0.appAccountToken }) {
                tokens.insert(token.lowercased())
            }
        }
        for renewalInfo in renewalInfos {
            if let token = renewalInfo.withPayload({ $0.appAccountToken }) {
                tokens.insert(token.lowercased())
            }
        }
        return tokens
    }
}
