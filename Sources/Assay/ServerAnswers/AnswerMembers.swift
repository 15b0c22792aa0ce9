import AssayBytes
import AssayModels

/// The verified members of one answer, checked against each other.
struct AnswerMembers {
    private let all: [(path: String, verification: Verification)]
    let body: ServerAnswerBody
    private(set) var transactions: [VerifiedPayload<JWSTransactionDecodedPayload>] = []
    private(set) var renewalInfos: [VerifiedPayload<JWSRenewalInfoDecodedPayload>] = []
    private(set) var appTransaction: VerifiedPayload<AppTransaction>?
    private(set) var notifications: [VerifiedNotification] = []
    /// The transactions of a list that name no bundle. They are not part of the answer: nobody can
    /// say whose they are, and Apple sent one in a page of others.
    let withoutBundle: [String]

    /// - Parameters:
    ///   - all: the members of the body in its order; each is VALID.
    ///   - expectsBundle: whether policy or caller name the bundle.
    init(
        _ all: [(path: String, verification: Verification)], of body: ServerAnswerBody,
        expectsBundle: Bool
    ) {
        let hasMissing = body.isTransactionList && all.contains { !$0.verification.namesBundle }
        let isMixed = hasMissing && all.contains { $0.verification.namesBundle }
        let leavesOut = hasMissing && (expectsBundle || isMixed)
        withoutBundle =
            leavesOut ? all.filter { !$0.verification.namesBundle }.map(\.path) : []
        let all = leavesOut ? all.filter { $0.verification.namesBundle } : all
        self.all = all
        self.body = body
        for (_, verification) in all {
            switch verification.evidence {
            case .transaction(let payload): transactions.append(payload)
            case .renewalInfo(let payload): renewalInfos.append(payload)
            case .appTransaction(let payload): appTransaction = payload
            case .notification(let notification): notifications.append(notification)
            default: preconditionFailure("a kind that answers do not carry")
            }
        }
    }

    var answer: ServerAnswer {
        ServerAnswer(
            transactions: transactions, renewalInfos: renewalInfos,
            appTransaction: appTransaction, notifications: notifications,
            unsigned: body.unsigned, warnings: warnings, dedupKeys: dedupKeys)
    }

    /// The environment that every member names; nil without any. Nobody signs the answer, so a
    /// member without an environment does not get that of its neighbours.
    var environment: StoreEnvironment? {
        guard let first = all.first?.verification.environment else { return nil }
        return all.allSatisfy { $0.verification.environment == first } ? first : .unspecified
    }

    /// The environment of those members that name one.
    var namedEnvironment: StoreEnvironment? {
        let named = all.first { $0.verification.environment != .unspecified }
        return named?.verification.environment
    }

    /// The keys of the transactions.
    private var dedupKeys: [String] {
        all.lazy.filter { $0.verification.kind == .transaction }
            .map { $0.verification.dedupKey ?? "" }
    }

    /// Names the statements of all members; nil for an answer without evidence.
    var evidenceKey: String? {
        guard let environment else { return nil }
        var hash = SHA256()
        for (_, verification) in all {
            // Each member has a key, and no key contains a line feed.
            hash.update(((verification.evidenceKey ?? "") + "\n").utf8.span)
        }
        let bundle = transactions.first?.payload.bundleId ?? appTransaction?.payload.bundleId
        return KeyPrefix(environment.rawValue, bundle).key { key in
            key.append(EvidenceKind.serverAnswer.name + "/" + hash.finish().text)
        }
    }

    func evidence(at index: Int?) -> VerifiedEvidence? {
        index.flatMap { all[$0].verification.evidence }
    }

    // MARK: Checks

    /// Checks that no two members name different environments: Apple never mixes them.
    func checkEnvironment() throws(Refusal) {
        guard let environment = namedEnvironment else { return }
        for (path, verification) in all {
            guard
                verification.environment == environment
                    || verification.environment == .unspecified
            else {
                throw Refusal(
                    .wrongEnvironment,
                    "\(path): its environment is \(quoted(verification.environment?.rawValue)), "
                        + "that of other members \(quoted(environment.rawValue))")
            }
        }
    }

    /// Checks that all members have one bundle, where neither policy nor caller name it.
    func checkBundle() throws(Refusal) {
        var first: String?
        for (path, verification) in all {
            guard let claims = verification.evidence?.claims, claims.carriesBundleId else {
                continue
            }
            guard let expected = first else {
                first = claims.bundleId ?? ""
                continue
            }
            guard (claims.bundleId ?? "").equalsByBytes(expected) else {
                throw Refusal(
                    .wrongBundle,
                    "\(path): the bundle is \(quoted(claims.bundleId)), that of other members "
                        + quoted(expected))
            }
        }
    }

    /// Checks the expectations that describe one purchase: some member has to meet all of them,
    /// as some record of a receipt has to.
    func check(_ expectations: Expectations, now: Timestamp) throws(Refusal) {
        guard expectations.describesPurchase else { return }
        var reason = Refusal(.mismatch, "the answer has no signed member")
        for (path, verification) in all {
            guard let evidence = verification.evidence else { continue }
            do throws(Refusal) {
                return try evidence.purchaseClaims.check(
                    expectations, effectiveDate: evidence.signedDate ?? now)
            } catch {
                reason = error.naming(path)
            }
        }
        guard all.count > 1 else { throw reason }
        throw Refusal(
            reason.verdict, "no signed member meets the expectations; " + reason.detail)
    }
}

extension Verification {
    /// Whether a transaction names its bundle.
    fileprivate var namesBundle: Bool {
        guard case .transaction(let payload) = evidence else { return true }
        return payload.withPayload { $0.bundleId != nil }
    }
}

extension VerifiedEvidence {
    /// The claims of a member.
    fileprivate var claims: EvidenceClaims {
        switch self {
        case .transaction(let payload): payload.withPayload { EvidenceClaims($0) }
        case .renewalInfo(let payload): payload.withPayload { EvidenceClaims($0) }
        case .appTransaction(let payload): payload.withPayload { EvidenceClaims($0) }
        case .notification(let verified):
            verified.notification.withPayload { EvidenceClaims($0) }
        default: preconditionFailure("a kind that answers do not carry")
        }
    }

    /// The claims of the purchase: for a notification, those of its nested evidence.
    fileprivate var purchaseClaims: EvidenceClaims {
        guard case .notification(let verified) = self else { return claims }
        if let transaction = verified.transaction {
            return transaction.withPayload { EvidenceClaims($0) }
        }
        if let renewalInfo = verified.renewalInfo {
            return renewalInfo.withPayload { EvidenceClaims($0) }
        }
        return claims
    }

    /// When Apple signed a member.
    fileprivate var signedDate: Timestamp? {
        switch self {
        case .transaction(let payload): payload.withPayload { $0.signedDate }
        case .renewalInfo(let payload): payload.withPayload { $0.signedDate }
        case .appTransaction(let payload): payload.withPayload { $0.receiptCreationDate }
        case .notification(let verified): verified.notification.withPayload { $0.signedDate }
        default: nil
        }
    }
}

extension Expectations {
    fileprivate var describesPurchase: Bool {
        !productIds.isEmpty || appAccountToken != nil || transactionId != nil
            || !deviceIdentifiers.isEmpty || deviceVerificationId != nil || notOlderThan != nil
    }
}
