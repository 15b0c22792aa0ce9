import AssayEntitlements
import AssayModels
import Testing

/// Verified evidence for tests. What a signature would prove is taken for proved.
enum Evidence {
    static let day: Int64 = 86_400_000
    static let start: Int64 = 1_700_000_000_000

    static func transaction(
        _ id: String, signed: Int64 = start,
        _ change: (inout JWSTransactionDecodedPayload) -> Void = { _ in }
    ) -> VerifiedPayload<JWSTransactionDecodedPayload> {
        var payload = JWSTransactionDecodedPayload()
        payload.transactionId = id
        payload.originalTransactionId = id
        payload.bundleId = "com.example.game"
        payload.environment = .production
        payload.signedDate = Timestamp(milliseconds: signed)
        payload.purchaseDate = Timestamp(milliseconds: start)
        payload.inAppOwnershipType = .purchased
        change(&payload)
        return VerifiedPayload(payload, json: Array("\(payload)".utf8))
    }

    /// One period of 30 days of the subscription 100, the first at `start`.
    static func period(
        _ number: Int64, signed: Int64? = nil, product: String = "premium.monthly",
        _ change: (inout JWSTransactionDecodedPayload) -> Void = { _ in }
    ) -> EvidenceItem {
        let begin = start + number * 30 * day
        return item(
            transaction("\(100 + number)", signed: signed ?? begin) {
                $0.originalTransactionId = "100"
                $0.productId = product
                $0.subscriptionGroupIdentifier = "2100"
                $0.type = .autoRenewableSubscription
                $0.purchaseDate = Timestamp(milliseconds: begin)
                $0.expiresDate = Timestamp(milliseconds: begin + 30 * day)
                change(&$0)
            })
    }

    /// A period by its first and its last day.
    static func period(
        _ id: String, _ days: ClosedRange<Int64>, signed: Int64? = nil,
        product: String = "premium.monthly",
        _ change: (inout JWSTransactionDecodedPayload) -> Void = { _ in }
    ) -> EvidenceItem {
        period(
            0, signed: start + (signed ?? days.lowerBound) * day, product: product
        ) {
            $0.transactionId = id
            $0.purchaseDate = Timestamp(day: days.lowerBound)
            $0.expiresDate = Timestamp(day: days.upperBound)
            change(&$0)
        }
    }

    /// The deciding subscription, for all orders of the items, which have to agree.
    static func decide(
        _ items: [EvidenceItem], at now: Timestamp, _ policy: EntitlementPolicy = .init()
    ) throws -> Subscription {
        let answer = Entitlements(of: items, at: now, policy: policy)
        for order in [Array(items.reversed()), items + items] {
            let other = Entitlements(of: order, at: now, policy: policy)
            #expect(other.withoutPositions == answer.withoutPositions)
        }
        return try #require(answer.apps.first?.subscriptionGroups.first).deciding
    }

    static func product(
        _ id: String, _ product: String, _ type: ProductType, signed: Int64 = start,
        _ change: (inout JWSTransactionDecodedPayload) -> Void = { _ in }
    ) -> EvidenceItem {
        item(
            transaction(id, signed: signed) {
                $0.productId = product
                $0.type = type
                change(&$0)
            })
    }

    static func renewal(
        signed: Int64, original: String = "100",
        _ change: (inout JWSRenewalInfoDecodedPayload) -> Void = { _ in }
    ) -> EvidenceItem {
        var payload = JWSRenewalInfoDecodedPayload()
        payload.originalTransactionId = original
        payload.environment = .production
        payload.signedDate = Timestamp(milliseconds: signed)
        payload.autoRenewProductId = "premium.monthly"
        payload.autoRenewStatus = .on
        change(&payload)
        return item(.renewalInfo(VerifiedPayload(payload, json: Array("\(payload)".utf8))))
    }

    static func receipt(
        created: Int64, _ records: [(inout InAppPurchaseReceipt) -> Void]
    ) -> EvidenceItem {
        var receipt = AppReceipt()
        receipt.receiptType = "Production"
        receipt.bundleId = "com.example.game"
        receipt.receiptCreationDate = Timestamp(milliseconds: created)
        for change in records {
            var record = InAppPurchaseReceipt()
            record.purchaseDate = Timestamp(milliseconds: start)
            change(&record)
            receipt.inApp.append(record)
        }
        return item(.appReceipt(receipt))
    }

    static func notification(
        _ transaction: VerifiedPayload<JWSTransactionDecodedPayload>?,
        _ renewal: VerifiedPayload<JWSRenewalInfoDecodedPayload>? = nil,
        _ change: (inout ResponseBodyV2DecodedPayload) -> Void = { _ in }
    ) -> EvidenceItem {
        var payload = ResponseBodyV2DecodedPayload()
        change(&payload)
        return item(
            .notification(
                VerifiedNotification(
                    notification: VerifiedPayload(payload, json: Array("\(payload)".utf8)),
                    transaction: transaction, renewalInfo: renewal, appTransaction: nil)))
    }

    /// A notification with a status that Apple signed.
    static func notification(
        _ status: SubscriptionStatus, signed: Int64, _ transaction: EvidenceItem?,
        _ renewal: EvidenceItem? = nil
    ) -> EvidenceItem {
        notification(transaction?.transaction, renewal?.renewalInfo) {
            var data = NotificationData()
            data.environment = .production
            data.bundleId = "com.example.game"
            data.status = status
            $0.data = data
            $0.signedDate = Timestamp(milliseconds: signed)
        }
    }

    /// One Server API answer with the payloads of other items.
    static func answer(
        _ items: [EvidenceItem], warnings: [EvidenceWarning] = []
    ) -> EvidenceItem {
        item(
            .serverAnswer(
                ServerAnswer(
                    transactions: items.compactMap(\.transaction),
                    renewalInfos: items.compactMap(\.renewalInfo),
                    notifications: items.compactMap(\.notification), warnings: warnings)))
    }

    static func item(_ transaction: VerifiedPayload<JWSTransactionDecodedPayload>) -> EvidenceItem {
        item(.transaction(transaction))
    }

    static func item(_ evidence: VerifiedEvidence) -> EvidenceItem {
        EvidenceItem(Verification(verdict: .valid, detail: "", evidence: evidence))
    }
}

extension EvidenceItem {
    var transaction: VerifiedPayload<JWSTransactionDecodedPayload>? {
        if case .transaction(let payload) = verification.evidence { payload } else { nil }
    }

    var notification: VerifiedNotification? {
        guard case .notification(let notification) = verification.evidence else { return nil }
        return notification
    }

    var renewalInfo: VerifiedPayload<JWSRenewalInfoDecodedPayload>? {
        if case .renewalInfo(let payload) = verification.evidence { payload } else { nil }
    }
}

extension Timestamp {
    init(day: Int64, plus milliseconds: Int64 = 0) {
        self.init(milliseconds: Evidence.start + day * Evidence.day + milliseconds)
    }
}

extension Entitlements {
    /// The answer without the positions of items, which follow the order of the evidence.
    var withoutPositions: Entitlements {
        var copy = self
        for app in copy.apps.indices {
            for group in copy.apps[app].subscriptionGroups.indices {
                copy.apps[app].subscriptionGroups[group].deciding.decidedBy.item = 0
                for member in copy.apps[app].subscriptionGroups[group].subscriptions.indices {
                    copy.apps[app].subscriptionGroups[group].subscriptions[member].decidedBy.item =
                        0
                }
            }
            for index in copy.apps[app].nonConsumables.indices {
                copy.apps[app].nonConsumables[index].decidedBy.item = 0
            }
            for index in copy.apps[app].nonRenewing.indices {
                copy.apps[app].nonRenewing[index].decidedBy.item = 0
            }
            for index in copy.apps[app].consumables.indices {
                copy.apps[app].consumables[index].decidedBy.item = 0
            }
        }
        for index in copy.warnings.indices { copy.warnings[index].item = nil }
        copy.superseded = []
        return copy
    }
}
