import AssayEntitlements
import AssayModels
import Testing

/// The latest begun period decides alone, and what is paid counts from its signature on.
@Suite("The latest period")
struct LatestPeriodTests {
    private static let day = Evidence.day

    // A year that was upgraded to a month: its notification carries the month alone.
    private static let year = Evidence.period("100", 0...365, product: "premium.yearly")
    private static let month = Evidence.period("101", 10...40, product: "pro.monthly")

    @Test(
        "A year upgraded to a month ends with the month, though nothing says that it was upgraded",
        arguments: [
            (9, .active, "100", 365), (10, .active, "101", 40), (39, .active, "101", 40),
            (40, .unknown, "101", nil), (200, .unknown, "101", nil),
        ] as [(Int64, SubscriptionState, String, Int64?)])
    func upgrade(day: Int64, status: SubscriptionState, by: String, until: Int64?) throws {
        // Before the upgrade was signed it was not known.
        let items = day < 10 ? [Self.year] : [Self.year, Self.month]
        let found = try Evidence.decide(items, at: Timestamp(day: day))
        #expect(found.status == status)
        #expect(found.decidedBy.transactionId == by)
        #expect(found.entitledUntil == until.map { Timestamp(day: $0) })
    }

    @Test("Four levels in one receipt, none of them cancelled: the last one decides")
    func levels() throws {
        let days: [ClosedRange<Int64>] = [0...365, 1...31, 2...32, 3...33]
        let records = days.enumerated().map { index, days -> (inout InAppPurchaseReceipt) -> Void in
            {
                $0.transactionId = "10\(index)"
                $0.originalTransactionId = "100"
                $0.productId = "level.\(index)"
                $0.purchaseDate = Timestamp(day: days.lowerBound)
                $0.expiresDate = Timestamp(day: days.upperBound)
            }
        }
        let receipt = Evidence.receipt(created: Evidence.start + 3 * Self.day, records)
        #expect(
            try Evidence.decide([receipt], at: Timestamp(day: 4)).entitledUntil
                == Timestamp(day: 33))
        #expect(try Evidence.decide([receipt], at: Timestamp(day: 60)).status == .unknown)
    }

    @Test("A renewal that was charged ahead and replaced by an upgrade does not come back")
    func replacedAhead() throws {
        let first = Evidence.period("100", 0...30)
        let renewal = Evidence.period("101", 30...60, signed: 28)
        let upgrade = Evidence.period("102", 29...59, product: "pro.monthly")
        for day in [29, 30, 58] as [Int64] {
            let found = try Evidence.decide([first, renewal, upgrade], at: Timestamp(day: day))
            #expect(found.decidedBy.transactionId == "102")
            #expect(found.entitledUntil == Timestamp(day: 59))
        }
        // One that was charged after the upgrade renews it.
        let later = Evidence.period("101", 59...89, signed: 58)
        let found = try Evidence.decide([first, later, upgrade], at: Timestamp(day: 58))
        #expect(found.entitledUntil == Timestamp(day: 89))
    }

    @Test(
        "Signed means charged: a period ahead is owned, unless an earlier one is in force",
        arguments: [
            // Periods with the day of their signature, the moment, and who decides until when.
            ([(1...31, 0)], 0, "0", 31), ([(1...31, 1)], 0, nil, nil),
            ([(0...30, 0), (31...61, 30)], 30, "1", 61),
            ([(0...30, 0), (31...61, 31)], 30, nil, nil),
            ([(0...30, 0), (31...61, 29)], 29, "0", 30),
            ([(5...35, 0), (35...65, 0)], 0, "0", 65),
        ] as [([(ClosedRange<Int64>, Int64)], Int64, String?, Int64?)])
    func ahead(
        periods: [(ClosedRange<Int64>, Int64)], day: Int64, by: String?, until: Int64?
    ) throws {
        let items = periods.enumerated().map { index, period in
            Evidence.period("\(index)", period.0, signed: period.1)
        }
        let found = try Evidence.decide(items, at: Timestamp(day: day))
        #expect(found.isEntitled == (by != nil))
        if let by { #expect(found.decidedBy.transactionId == by) }
        #expect(found.entitledUntil == until.map { Timestamp(day: $0) })
    }

    @Test("A refund keeps a renewal that was charged before from counting before its date")
    func aheadOfARefund() throws {
        let refunded = Evidence.period("100", 0...30, signed: 29) {
            $0.revocationDate = Timestamp(day: 29)
        }
        let before = Evidence.period("101", 30...60, signed: 28)
        let after = Evidence.period("102", 30...60, signed: 29) {
            $0.signedDate = Timestamp(day: 29, plus: 1)
        }
        let now = Timestamp(day: 29, plus: 2)
        #expect(try Evidence.decide([refunded, before], at: now).status == .revoked)
        #expect(try Evidence.decide([refunded, before], at: Timestamp(day: 30)).status == .active)
        #expect(try Evidence.decide([refunded, after], at: now).status == .active)
    }

    @Test("Access ends where a refunded period begins")
    func refundedNext() throws {
        let next = Evidence.period("101", 20...50, signed: 1) {
            $0.revocationDate = Timestamp(day: 1)
        }
        let items = [Evidence.period("100", 0...30), next]
        #expect(
            try Evidence.decide(items, at: Timestamp(day: 2)).entitledUntil == Timestamp(day: 20))
        #expect(try Evidence.decide(items, at: Timestamp(day: 20)).status == .revoked)
    }

    // MARK: One purchase, several transactions

    @Test(
        "A refund of one transaction is a refund of the purchase",
        arguments: [("5", "5", true), ("5", "6", false), ("0", "0", false), (nil, nil, false)]
            as [(String?, String?, Bool)])
    func twins(first: String?, second: String?, isOne: Bool) throws {
        let refunded = Evidence.period("200", 0...30, signed: 2) {
            $0.webOrderLineItemId = first
            $0.revocationDate = Timestamp(day: 2)
        }
        let device = Evidence.period("201", 0...30, signed: 1) { $0.webOrderLineItemId = second }
        let answer = Entitlements(of: [refunded, device], at: Timestamp(day: 3))
        #expect(answer.superseded == (isOne ? [1] : []))
        let status = try Evidence.decide([refunded, device], at: Timestamp(day: 3)).status
        #expect(status == .revoked, "of two that begin together the one that takes away more wins")
    }

    @Test("A refund of the original of a non-consumable is one of the restored copy")
    func restored() throws {
        func copy(
            _ id: String, _ original: String, signed: Int64, refunded: Bool = false
        ) -> EvidenceItem {
            Evidence.product(id, "world.2", .nonConsumable, signed: Evidence.start + signed) {
                $0.originalTransactionId = original
                if refunded { $0.revocationDate = Timestamp(day: 1) }
            }
        }
        let now = Timestamp(day: 3)
        let refund = copy("401", "401", signed: 2, refunded: true)
        for (original, isOwned) in [("401", false), ("402", true)] {
            let answer = Entitlements(of: [copy("410", original, signed: 1), refund], at: now)
            #expect(answer.apps.first?.nonConsumables.first?.isEntitled == isOwned)
        }
    }

    // MARK: Renewal information names a period

    @Test(
        "A renewal date after the end of every purchase is a period that nobody sent",
        arguments: [
            // The end, the day of the signature, the moment, the status and the end of access.
            (60, 31, 31, .active, 60), (60, 31, 59, .active, 60), (60, 31, 60, .unknown, nil),
            (30, 31, 31, .expired, nil), (60, 29, 31, .active, 60), (60, -1, 31, .unknown, nil),
        ] as [(Int64, Int64, Int64, SubscriptionState, Int64?)])
    func renewalDate(
        end: Int64, signed: Int64, day: Int64, status: SubscriptionState, until: Int64?
    ) throws {
        let renewal = Evidence.renewal(signed: Evidence.start + signed * Self.day) {
            $0.renewalDate = Timestamp(day: end)
            $0.productId = "pro.monthly"
        }
        let items = [Evidence.period("100", 0...30), renewal]
        let found = try Evidence.decide(items, at: Timestamp(day: day))
        #expect(found.status == status)
        #expect(found.entitledUntil == until.map { Timestamp(day: $0) })
        let answer = Entitlements(of: items, at: Timestamp(day: day))
        let codes = answer.warnings.map(\.code)
        #expect(codes == (end == 60 && signed >= 0 ? [.periodFromRenewalInfo] : []))
        if codes == [.periodFromRenewalInfo], day < end {
            // Ask at once: the missing transaction can be refunded already.
            #expect(answer.refresh.map(\.at) == [Timestamp(day: signed)])
            #expect(answer.refresh.map(\.reason) == [.statusUnknown])
        }
        if until != nil { #expect(found.productId == "pro.monthly" && found.decidedBy.item == 1) }
    }

    @Test("A renewal date without any transaction counts where a notification names the app")
    func renewalDateAlone() throws {
        func renewal(_ end: Int64?) -> EvidenceItem {
            Evidence.renewal(signed: Evidence.start) {
                $0.renewalDate = end.map { Timestamp(day: $0) }
            }
        }
        let now = Timestamp(day: 1)
        for (end, codes) in [
            (30, [.periodFromRenewalInfo]), (nil, [.renewalInfoWithoutTransaction]),
        ] as [(Int64?, [EntitlementWarning.Code])] {
            let item = Evidence.notification(.active, signed: Evidence.start, nil, renewal(end))
            let answer = Entitlements(of: [item], at: now)
            #expect(answer.warnings.map(\.code) == codes)
            #expect(
                answer.apps.first?.subscriptionGroups.first?.isEntitled ?? false == (end != nil))
        }
        // Before it was signed, and where a newer one names no period, it is known and no more.
        let item = Evidence.notification(.active, signed: Evidence.start, nil, renewal(30))
        let newer = Evidence.renewal(signed: Evidence.start + 1)
        for (items, moment) in [([item], Timestamp(day: -1)), ([item, newer], now)] {
            let answer = Entitlements(of: items, at: moment)
            let states = answer.apps.flatMap(\.subscriptionGroups).map(\.deciding)
            #expect(states.allSatisfy { $0.status == .unknown && !$0.isEntitled })
            #expect(states.count == (moment == now ? 0 : 1))
        }
        let bare = Entitlements(of: [renewal(30)], at: now)
        #expect(bare.apps.isEmpty && bare.warnings.map(\.code) == [.renewalInfoWithoutTransaction])
    }

    // MARK: Seats

    @Test("Seats add to the period with the same end; refunded ones are not counted")
    func seats() throws {
        func bought(
            _ id: String, _ day: Int64, _ quantity: Int32, until end: Int64 = 30,
            signed: Int64? = nil, revokedSeats: Int32? = nil, isRevoked: Bool = false,
            product: String = "premium.monthly", names: Bool = true,
            ownership: InAppOwnershipType? = .purchased
        ) -> EvidenceItem {
            Evidence.period(id, day...end, signed: signed, product: product) {
                $0.quantity = quantity
                $0.multiSeatInfo = TransactionMultiSeatInfo()
                $0.multiSeatInfo?.revokedSeatQuantity = revokedSeats
                $0.additionalTransactionReason = names ? .seatAddition : nil
                $0.inAppOwnershipType = ownership
                if isRevoked { $0.revocationDate = Timestamp(day: 12) }
            }
        }
        let (ten, five) = (bought("100", 0, 10), bought("101", 10, 5))
        let refundedFive = bought("101", 10, 5, signed: 12, isRevoked: true)
        let refundedTen = bought("100", 0, 10, signed: 12, isRevoked: true)
        let cases: [([EvidenceItem], SubscriptionState, Int64, String)] = [
            ([ten], .active, 10, "100"), ([ten, five], .active, 15, "101"),
            ([ten, five, refundedFive], .active, 10, "100"),
            ([ten, five, refundedTen], .active, 5, "101"),
            ([refundedTen, refundedFive], .revoked, 0, "101"),
            ([bought("100", 0, 10, signed: 12, revokedSeats: 3), five], .active, 12, "101"),
            // An older statement about the first ten names no reason.
            ([bought("100", 0, 10, names: false), five], .active, 15, "101"),
            ([bought("100", 0, 10, names: false), refundedFive], .active, 10, "100"),
        ]
        for (items, status, seats, by) in cases {
            let found = try Evidence.decide(items, at: Timestamp(day: 13))
            #expect(found.status == status && found.seats == seats)
            #expect(found.decidedBy.transactionId == by)
            #expect(found.entitledUntil == (status == .active ? Timestamp(day: 30) : nil))
        }
        #expect(
            try Evidence.decide([Evidence.period("100", 0...30)], at: Timestamp(day: 1)).seats
                == nil)
        // The renewal has all seats of the next period.
        let renewed = [ten, five, bought("102", 30, 15, until: 60)]
        #expect(try Evidence.decide(renewed, at: Timestamp(day: 20)).seats == 15)
        // They never add to a period with another end, nor to another product.
        let upgrade = bought("102", 12, 15, until: 42, product: "pro.monthly")
        #expect(try Evidence.decide([ten, upgrade], at: Timestamp(day: 13)).seats == 15)
        let other = bought("102", 12, 15, product: "pro.monthly")
        let old = bought("100", 0, 10, names: false)
        #expect(try Evidence.decide([old, other], at: Timestamp(day: 13)).seats == 15)
        // A later addition does not count before it was bought.
        #expect(try Evidence.decide([ten, five], at: Timestamp(day: 9)).seats == 10)
        // A member's own transaction repeats the purchaser's figures.
        for ownership in [.assigned, .familyShared, nil] as [InAppOwnershipType?] {
            let member = bought("100", 0, 10, ownership: ownership)
            #expect(try Evidence.decide([member], at: Timestamp(day: 1)).seats == nil)
        }
    }

    // MARK: Receipts

    @Test("A newer receipt takes away nothing that it cannot say")
    func receipts() throws {
        let shared = Evidence.period("100", 0...30) {
            $0.inAppOwnershipType = .familyShared
            $0.appAccountToken = "AB"
        }
        let upgraded = Evidence.period("100", 0...30) { $0.isUpgraded = true }
        let receipt = Evidence.receipt(
            created: Evidence.start + 5 * Self.day,
            [
                {
                    $0.transactionId = "100"
                    $0.originalTransactionId = "100"
                    $0.productId = "premium.monthly"
                    $0.expiresDate = Timestamp(day: 30)
                }
            ])
        var policy = EntitlementPolicy()
        policy.acceptsFamilySharing = false
        let found = try Evidence.decide([shared, receipt], at: Timestamp(day: 6), policy)
        #expect(found.ownership == .familyShared && !found.isEntitled)
        #expect(found.appAccountToken == "ab" && found.decidedBy.item == 1)
        let answer = Entitlements(of: [shared, receipt], at: Timestamp(day: 6))
        #expect(answer.apps[0].subscriptionGroups[0].subscriptionGroupIdentifier == "2100")
        #expect(answer.superseded.isEmpty, "the token says what the receipt cannot")
        let nameless = Evidence.period("100", 0...30) {
            $0.inAppOwnershipType = .familyShared
            ($0.appAccountToken, $0.appTransactionId) = (nil, nil)
        }
        let both = Entitlements(of: [nameless, receipt], at: Timestamp(day: 6))
        #expect(both.superseded.isEmpty, "even one that names no customer")
        #expect(try Evidence.decide([upgraded, receipt], at: Timestamp(day: 6)).status == .unknown)
        #expect(try Evidence.decide([receipt], at: Timestamp(day: 6)).isEntitled)
    }

    @Test("A volume purchase that has ended entitles to nothing")
    func volume() throws {
        func receipt(_ end: Int64?) -> EvidenceItem {
            var item = AppReceipt()
            item.receiptType = "Production"
            item.bundleId = "com.example.game"
            item.expirationDate = end.map { Timestamp(day: $0) }
            var record = InAppPurchaseReceipt()
            record.transactionId = "7"
            record.productId = "world.2"
            record.productType = .nonConsumable
            item.inApp.append(record)
            return Evidence.item(.appReceipt(item))
        }
        for (end, isOwned) in [(nil, true), (6, true), (5, false)] as [(Int64?, Bool)] {
            let answer = Entitlements(of: [receipt(end)], at: Timestamp(day: 5))
            #expect(answer.apps.first?.nonConsumables.first?.isEntitled ?? false == isOwned)
            #expect(answer.warnings.contains { $0.code == .receiptExpired } == !isOwned)
            #expect(answer.nextChange == (end == 6 ? Timestamp(day: 6) : nil))
        }
    }
}
