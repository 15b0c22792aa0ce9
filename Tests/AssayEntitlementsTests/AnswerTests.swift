import AssayEntitlements
import AssayModels
import Testing

/// Answers of the App Store Server API: one item with many members.
@Suite struct AnswerTests {
    private static let items = [
        Evidence.period(0), Evidence.period(1), Evidence.period(2),
        Evidence.renewal(signed: Evidence.start + 61 * Evidence.day) { $0.autoRenewStatus = .off },
        Evidence.product("7", "world.2", .nonConsumable),
        Evidence.product("8", "gold.100", .consumable),
        Evidence.notification(
            Evidence.product("9", "pass", .nonRenewingSubscription).transaction, nil),
    ]
    private static let now = Timestamp(day: 65)

    @Test func everyMemberCounts() {
        let expected = Entitlements(of: Self.items, at: Self.now).withoutPositions
        #expect(expected.apps.first?.subscriptionGroups.first?.isEntitled == true)
        let all = Entitlements(of: [Evidence.answer(Self.items)], at: Self.now)
        #expect(all.withoutPositions == expected)
    }

    /// Splits into pages, which repeat items and come in any order.
    @Test func pagesNeverChangeTheAnswer() {
        let expected = Entitlements(of: Self.items, at: Self.now).withoutPositions
        for cut in 1..<Self.items.count {
            let first = Evidence.answer(Array(Self.items[..<cut]))
            let rest = Evidence.answer(Array(Self.items[cut...]))
            let overlapping = Evidence.answer(Array(Self.items[(cut - 1)...]))
            for items in [
                [first, rest], [rest, first], [first, overlapping], [overlapping, first, rest],
                [first] + Self.items[cut...], Self.items[cut...] + [first],
            ] {
                let answer = Entitlements(of: items, at: Self.now).withoutPositions
                #expect(answer == expected, "cut \(cut)")
            }
        }
    }

    @Test func decidedByIsTheItem() {
        let answer = Entitlements(
            of: [Self.items[4], Evidence.answer(Array(Self.items[..<4]))], at: Self.now)
        let group = answer.apps.first?.subscriptionGroups.first
        #expect(group?.deciding.decidedBy.item == 1)
        #expect(group?.deciding.willRenew == false)
        #expect(answer.apps.first?.nonConsumables.first?.decidedBy.item == 0)
    }

    /// A customer can write an answer: a genuine Sandbox purchase that names no environment, put
    /// into an answer of Production, is not one of Production.
    @Test func membersNeverTakeAnEnvironment() throws {
        let bought = Evidence.period(0)
        let unnamed = [
            Evidence.product("8", "gold.100", .consumable) { $0.environment = nil },
            Evidence.product("7", "world.2", .nonConsumable) { $0.environment = nil },
        ]
        for items in [[bought] + unnamed, unnamed + [bought]] {
            var edited = Evidence.answer(items)
            edited.verification.environment = .production
            let answer = Entitlements(of: [edited], at: Self.now)
            #expect(answer.apps.map(\.environment) == [.production, .unspecified])
            let genuine = Entitlements(of: [bought], at: Self.now)
            #expect(answer.withoutPositions.apps.first == genuine.withoutPositions.apps.first)
            #expect(answer.apps.last?.consumables.count == 1)
            #expect(answer.apps.last?.nonConsumables.count == 1)
        }
        // Apple signs a notification: its environment is that of what it carries.
        var payload = ResponseBodyV2DecodedPayload()
        payload.data = NotificationData()
        payload.data?.environment = .production
        let notification = VerifiedNotification(
            notification: VerifiedPayload(payload, json: []),
            transaction: unnamed[0].transaction, renewalInfo: nil, appTransaction: nil)
        for evidence in [
            VerifiedEvidence.notification(notification),
            .serverAnswer(ServerAnswer(notifications: [notification])),
        ] {
            let answer = Entitlements(of: [Evidence.item(evidence)], at: Self.now)
            #expect(answer.apps.map(\.environment) == [.production])
        }
    }

    @Test func warningsAreThoseOfTheAnswer() {
        let warnings = [
            EvidenceWarning(code: .unsignedDisagrees, message: "u", member: "bundleId"),
            EvidenceWarning(code: .incomplete, message: "i"),
            EvidenceWarning(code: .customersMixed, message: "compared with all items"),
            EvidenceWarning(code: .init(rawValue: "LATER"), message: "unknown"),
            EvidenceWarning(code: .pairDisagrees, message: "p", member: "signedRenewalInfo"),
        ]
        let answer = Entitlements(
            of: [Self.items[0], Evidence.answer([], warnings: warnings)], at: Self.now)
        let codes: [EntitlementWarning.Code] = [
            .answerIncomplete, .pairDisagrees, .unsignedDisagrees,
        ]
        #expect(answer.warnings.map(\.code) == codes)
        #expect(answer.warnings.map(\.item) == [1, 1, 1])
    }

    @Test func customersOfTwoAnswersConflict() {
        func page(_ token: String) -> EvidenceItem {
            Evidence.answer([
                Evidence.product(token, "p" + token, .nonConsumable) { $0.appAccountToken = token }
            ])
        }
        for (other, isConflicting) in [("A", false), ("b", true)] {
            let answer = Entitlements(of: [page("a"), page(other)], at: Self.now)
            #expect(answer.apps.first?.customers.isConflicting == isConflicting)
        }
    }

    /// A version 1 notification counts like its receipt.
    @Test func notificationsOfVersion1() {
        let receipt = Evidence.receipt(
            created: Evidence.start,
            [
                {
                    $0.transactionId = "101"
                    $0.originalTransactionId = "100"
                    $0.productId = "premium.monthly"
                    $0.productType = .autoRenewableSubscription
                    $0.expiresDate = Timestamp(day: 70)
                }
            ])
        guard case .appReceipt(let payload) = receipt.verification.evidence else { return }
        let warning = EvidenceWarning(code: .unsignedDisagrees, message: "u", member: "bid")
        let notification = Evidence.item(
            .notificationV1(
                VerifiedNotificationV1(
                    receipt: payload, unsigned: UnsignedNotificationV1(), warnings: [warning])))
        let expected = Entitlements(of: [receipt], at: Self.now)
        let answer = Entitlements(of: [notification], at: Self.now)
        #expect(answer.apps == expected.apps)
        #expect(answer.apps.first?.subscriptionGroups.first?.isEntitled == true)
        #expect(answer.warnings.map(\.code) == [.receiptOmitsConsumables, .unsignedDisagrees])
    }

    @Test func anEmptyAnswerProvesNothing() {
        let empty = Evidence.answer(
            [], warnings: [EvidenceWarning(code: .noEvidence, message: "nothing signed")])
        let answer = Entitlements(of: [empty], at: Self.now)
        #expect(answer.apps.isEmpty && answer.warnings.map(\.code) == [.noEvidence])
    }
}
