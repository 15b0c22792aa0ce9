import AssayEntitlements
import AssayMint
import AssayModels

/// The evidence of one customer's life, from a seed: subscriptions with upgrades, seats, copies,
/// restatements and receipts, products, and purchases of other stores.
struct Life {
    /// A statement, and what of it was signed earlier.
    private struct Statement {
        var item: EvidenceItem
        var signed: Int64
        var nested: (item: EvidenceItem, signed: Int64)?
    }

    /// A purchase of which a receipt can have a record.
    private struct Record {
        var id: String
        var original: String
        var lineItem: Int64
        var begin: Int64
        var end: Int64
        var cancelled: Int64?
    }

    var random: SplitMix64
    private var statements: [Statement] = []
    private var records: [Record] = []
    private var day: Int64 = 0

    init(seed: UInt64) {
        random = SplitMix64(state: seed)
        let count = Int.random(in: 1...8, using: &random)
        for id in 0..<count { live(id) }
        statements.shuffle(using: &random)
    }

    var items: [EvidenceItem] { statements.map(\.item) }

    /// Without what was signed after a date.
    func items(knownAt date: Timestamp) -> [EvidenceItem] {
        let date = (date.milliseconds - Evidence.start) / Evidence.day
        return statements.compactMap { statement in
            if statement.signed <= date { return statement.item }
            return statement.nested.flatMap { $0.signed <= date ? $0.item : nil }
        }
    }

    /// The moments around which something can change.
    var moments: [Timestamp] {
        [0, 7, 20, 45, 50, 65, 70, 120].map { Timestamp(day: $0) }
    }

    private mutating func chance(_ percent: Int) -> Bool {
        Int.random(in: 0..<100, using: &random) < percent
    }

    private mutating func add(_ item: EvidenceItem, signed day: Int64) {
        statements.append(Statement(item: item, signed: day))
    }

    /// A purchase, and what is signed about it later.
    private mutating func live(_ id: Int) {
        day += Int64.random(in: 0...20, using: &random)
        switch Int.random(in: 0..<10, using: &random) {
        case 0..<6: buyPeriod(id)
        case 6: buySeats(id)
        case 7: buyElsewhere(id)
        default: buyProduct(id)
        }
        if chance(20), !records.isEmpty { makeReceipt() }
    }

    // MARK: Subscriptions

    private mutating func buyPeriod(_ id: Int) {
        let (begin, length) = (day, Int64.random(in: 3...40, using: &random))
        let ahead = chance(20) ? 1 as Int64 : 0
        let original = chance(80) ? "100" : "200"
        let account = chance(30) ? "ab" : nil
        let (isUpgraded, isRevoked) = (chance(15), chance(15))
        func statement(
            _ signed: Int64, _ changed: Bool, restated: String? = nil, copy: Bool = false
        ) -> EvidenceItem {
            Evidence.period(0, signed: Evidence.start + signed * Evidence.day) {
                $0.transactionId = "\((copy ? 2000 : 1000) + id)"
                $0.originalTransactionId = restated ?? original
                $0.webOrderLineItemId = "\(id + (restated == nil ? 1 : 101))"
                $0.purchaseDate = Timestamp(day: begin)
                $0.expiresDate = Timestamp(day: begin + length)
                $0.appAccountToken = account
                guard changed else { return }
                $0.isUpgraded = isUpgraded
                $0.revocationDate = isRevoked ? Timestamp(day: signed) : nil
            }
        }
        let bought = statement(begin - ahead, false)
        add(bought, signed: begin - ahead)
        if chance(50) { add(statement(begin + 1, true), signed: begin + 1) }
        // Seen on another device, and stated again under another original.
        let hasCopy = chance(20)
        if hasCopy { add(statement(begin, false, copy: true), signed: begin) }
        if chance(20) {
            let (other, signed) = (chance(50) ? "100" : "300", begin + (chance(50) ? 3 : -1))
            let copy = hasCopy && chance(50)
            add(
                statement(signed, chance(50), restated: other, copy: copy),
                signed: signed)
        }
        let isCancelled = (isUpgraded || isRevoked) && chance(50)
        records.append(
            Record(
                id: "\(1000 + id)", original: original, lineItem: Int64(id + 1), begin: begin,
                end: begin + length, cancelled: isCancelled ? begin + 1 : nil))
        if chance(50) { renew(original, begin + length) }
        if chance(30) {
            let status = SubscriptionStatus(rawValue: Int32.random(in: 1...5, using: &random))
            let end = begin + length
            statements.append(
                Statement(
                    item: Evidence.notification(
                        status, signed: Evidence.start + end * Evidence.day, bought),
                    signed: end, nested: (bought, begin - ahead)))
        }
    }

    private mutating func renew(_ original: String, _ end: Int64) {
        let signed = end + Int64.random(in: -2...2, using: &random)
        let (isOff, isRetrying, hasGrace) = (chance(30), chance(30), chance(20))
        let next = chance(20) ? end + 30 : end
        let hasDate = chance(80)
        add(
            Evidence.renewal(
                signed: Evidence.start + signed * Evidence.day, original: original
            ) {
                $0.autoRenewStatus = isOff ? .off : .on
                $0.isInBillingRetryPeriod = isRetrying
                $0.gracePeriodExpiresDate = hasGrace ? Timestamp(day: end + 6) : nil
                $0.renewalDate = hasDate ? Timestamp(day: next) : nil
            }, signed: signed)
    }

    /// Seats that are bought, added to and refunded.
    private mutating func buySeats(_ id: Int) {
        let (begin, end) = (day, day + 30)
        let ownership: InAppOwnershipType = chance(20) ? .assigned : .purchased
        func statement(
            _ part: Int64, signed: Int64, names: Bool, revoked: Bool = false
        ) -> EvidenceItem {
            Evidence.period(0, signed: Evidence.start + signed * Evidence.day) {
                $0.transactionId = "\(4000 + 10 * Int64(id) + part)"
                $0.originalTransactionId = "400"
                $0.webOrderLineItemId = nil
                $0.purchaseDate = Timestamp(day: begin + 3 * part)
                $0.expiresDate = Timestamp(day: end)
                $0.quantity = Int32(5 + part)
                $0.inAppOwnershipType = ownership
                $0.multiSeatInfo = TransactionMultiSeatInfo()
                $0.additionalTransactionReason = names ? .seatAddition : nil
                $0.revocationDate = revoked ? Timestamp(day: signed) : nil
            }
        }
        add(statement(0, signed: begin, names: false), signed: begin)
        for part in 1...Int64.random(in: 1...2, using: &random) {
            let signed = begin + 3 * part
            add(statement(part, signed: signed, names: true), signed: signed)
            if chance(50) {
                add(statement(0, signed: signed, names: true), signed: signed)
            }
            if chance(30) {
                add(
                    statement(part, signed: signed + 1, names: true, revoked: true),
                    signed: signed + 1)
            }
        }
    }

    /// A receipt of what was bought so far.
    private mutating func makeReceipt() {
        let created = day + Int64.random(in: 0...5, using: &random)
        let chosen = records.filter { _ in chance(70) }
        guard !chosen.isEmpty else { return }
        add(
            Evidence.receipt(
                created: Evidence.start + created * Evidence.day,
                chosen.map { record in
                    {
                        $0.transactionId = record.id
                        $0.originalTransactionId = record.original
                        $0.webOrderLineItemId = record.lineItem
                        $0.productId = "premium.monthly"
                        $0.productType = .autoRenewableSubscription
                        $0.purchaseDate = Timestamp(day: record.begin)
                        $0.expiresDate = Timestamp(day: record.end)
                        $0.cancellationDate = record.cancelled.map { Timestamp(day: $0) }
                    }
                }), signed: created)
    }

    // MARK: Products

    private mutating func buyProduct(_ id: Int) {
        let types: [ProductType] = [.consumable, .nonConsumable, .nonRenewingSubscription]
        let type = types.randomElement(using: &random) ?? .consumable
        let (bought, isRevoked) = (day, chance(20))
        func statement(_ signed: Int64, _ changed: Bool) -> EvidenceItem {
            Evidence.product(
                "\(id)", "product.\(id % 3)", type,
                signed: Evidence.start + signed * Evidence.day
            ) {
                $0.purchaseDate = Timestamp(day: bought)
                $0.revocationDate = isRevoked && changed ? Timestamp(day: signed) : nil
            }
        }
        add(statement(bought, false), signed: bought)
        if chance(50) { add(statement(bought + 1, true), signed: bought + 1) }
    }

    /// Of Google Play and Huawei, which date the purchase and not the statement.
    private mutating func buyElsewhere(_ id: Int) {
        let bought = day
        let token = "token\(id)"
        if chance(50) {
            for state in [0, 1, 2] as [Int32] where chance(50) {
                add(
                    StoreEntitlementTests.google(token, state: state, bought: bought),
                    signed: bought)
            }
        } else {
            let kind: Int32 = chance(50) ? 1 : 2
            for state in [0, 1] as [Int32] where chance(60) {
                add(
                    StoreEntitlementTests.huawei(token, kind: kind, state: state) {
                        $0.purchaseTime = Timestamp(day: bought)
                        guard kind == 2 else { return }
                        $0.subscriptionId = "s"
                        $0.expirationDate = Timestamp(day: bought + 30)
                    }, signed: bought)
            }
        }
    }
}
