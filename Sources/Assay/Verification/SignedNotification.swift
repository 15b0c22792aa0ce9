import AssayBytes
import AssayModels

/// A notification whose own signature holds. The signatures of its nested evidence are pending.
final class SignedNotification: Sendable {
    let notification: VerifiedPayload<ResponseBodyV2DecodedPayload>
    let claims: EvidenceClaims
    let chain: ValidatedChain
    let effectiveDate: Timestamp
    /// What the answer reports of the revocation statuses.
    let remark: String?
    /// In the order of the members.
    let nested: [Nested]

    struct Nested: Sendable {
        let member: String
        let kind: EvidenceKind
        let jws: UnverifiedJWS
    }

    private init(
        _ jws: VerifiedJWS, _ payload: ResponseBodyV2DecodedPayload, claims: EvidenceClaims,
        remark: String?, nested: [Nested]
    ) {
        self.remark = remark
        notification = VerifiedPayload(payload, json: jws.payload.text)
        self.claims = claims
        chain = jws.chain
        effectiveDate = jws.effectiveDate
        self.nested = nested
    }

    /// Reads the notification and its nested evidence, without checking the nested signatures.
    static func read(
        _ jws: VerifiedJWS, _ payload: ResponseBodyV2DecodedPayload, claims: EvidenceClaims,
        remark: String?, chains: ChainLookup, now: Timestamp, unknownChains: UnknownChainPolicy,
        log: CheckLog? = nil
    ) throws(Refusal) -> ChainOutcome<SignedNotification> {
        let members: [(String, EvidenceKind, String?)] = [
            ("data.signedTransactionInfo", .transaction, payload.data?.signedTransactionInfo),
            ("data.signedRenewalInfo", .renewalInfo, payload.data?.signedRenewalInfo),
            (
                "appData.signedAppTransactionInfo", .appTransaction,
                payload.appData?.signedAppTransactionInfo
            ),
        ]
        var nested: [Nested] = []
        for (member, kind, token) in members {
            guard let token else { continue }
            let jws = try naming(member) { () throws(Refusal) in
                try UnverifiedJWS.read(
                    token.utf8.span, chains: chains, now: now, unknownChains: unknownChains,
                    log: log?.inside(member, kind))
            }
            switch jws {
            case .validated(let jws): nested.append(Nested(member: member, kind: kind, jws: jws))
            case .deferred(let chain): return .deferred(chain)
            }
        }
        return .validated(
            SignedNotification(jws, payload, claims: claims, remark: remark, nested: nested))
    }

    /// Returns the notification with its nested evidence, or throws the first refusal.
    func verified(
        _ signaturesHold: ArraySlice<Bool>, _ request: VerificationRequest, chains: ChainLookup
    ) throws(Refusal) -> VerifiedEvidence {
        let (expectations, log) = (request.expectations, request.log)
        var transaction: VerifiedPayload<JWSTransactionDecodedPayload>?
        var renewalInfo: VerifiedPayload<JWSRenewalInfoDecodedPayload>?
        var appTransaction: VerifiedPayload<AppTransaction>?
        var dedupKey: String?
        var expected = claims
        for (nested, holds) in zip(nested, signaturesHold) {
            try Self.naming(nested.member) { () throws(Refusal) in
                let log = log?.inside(nested.member, nested.kind)
                let jws = try VerifiedJWS(
                    nested.jws, signatureHolds: holds, chains: chains, log: log)
                // The answer reports the status of the notification's own chain.
                _ = try request.checkRevocation(
                    of: jws.chain, signed: jws.effectiveDate, log: log)
                let (evidence, nestedClaims) = try jws.decode(as: nested.kind, log: log)
                log?.begin(
                    .agreement, found: nestedClaims.originText, expected: claims.originText)
                try check(nestedClaims, expecting: expectations, chain: jws.chain)
                switch evidence {
                case .transaction(let payload):
                    transaction = payload
                    expected.take(nestedClaims)
                    dedupKey = nestedClaims.dedupKey(in: claims.environment)
                case .renewalInfo(let payload):
                    renewalInfo = payload
                    if transaction == nil { expected.take(nestedClaims) }
                case .appTransaction(let payload): appTransaction = payload
                default: preconditionFailure("a kind that notifications do not carry")
                }
            }
        }
        try expected.check(expectations, effectiveDate: effectiveDate, log: log)
        return .notification(
            VerifiedNotification(
                notification: notification, transaction: transaction, renewalInfo: renewalInfo,
                appTransaction: appTransaction, dedupKey: dedupKey,
                warnings: notification.payload.warnings))
    }

    /// Checks that nested evidence has the notification's app and environment.
    private func check(
        _ nested: EvidenceClaims, expecting expectations: Expectations, chain: ValidatedChain
    ) throws(Refusal) {
        if nested.carriesBundleId, let outer = claims.bundleId,
            nested.bundleId?.equalsByBytes(outer) != true
        {
            throw Refusal(.wrongBundle, "its bundle is not the notification's")
        }
        try checkApp(nested, expecting: expectations)
        // Transactions of 2021 name no environment; the notification's applies.
        guard nested.environment == claims.environment || nested.environment == .unspecified else {
            throw Refusal(
                .wrongEnvironment, "its environment is not the notification's")
        }
        try claims.checkAnchor(chain)
    }

    /// Checks that Production evidence names the notification's app. Outside of Production Apple
    /// omits ids or writes 0; ids that are present have to agree.
    private func checkApp(
        _ nested: EvidenceClaims, expecting expectations: Expectations
    ) throws(Refusal) {
        guard nested.carriesAppAppleId else { return }
        let isProduction = claims.environment == .production
        for expected in [claims.appAppleId, expectations.appAppleId] {
            guard let expected, isProduction || expected != 0 && nested.appAppleId ?? 0 != 0
            else { continue }
            guard nested.appAppleId == expected else {
                let found = nested.appAppleId.map { String($0) } ?? "none"
                throw Refusal(.wrongApp, "its app is \(found), not \(expected)")
            }
        }
    }

    private static func naming<Value>(
        _ member: String, _ body: () throws(Refusal) -> Value
    ) throws(Refusal) -> Value {
        do throws(Refusal) {
            return try body()
        } catch {
            throw error.naming(member)
        }
    }
}

extension EvidenceClaims {
    /// The key of the nested purchase. Where it names no environment, the notification's applies,
    /// which is signed.
    fileprivate func dedupKey(in environment: StoreEnvironment?) -> String? {
        guard self.environment == .unspecified else { return dedupKey }
        var claims = self
        claims.environment = environment
        return claims.dedupKey
    }

    /// Takes over the claims of the nested purchase: expectations of a notification apply to
    /// them.
    fileprivate mutating func take(_ nested: EvidenceClaims) {
        productId = nested.productId
        appAccountToken = nested.appAccountToken
        transactionId = nested.transactionId
        deviceBinding = nested.deviceBinding
    }
}
