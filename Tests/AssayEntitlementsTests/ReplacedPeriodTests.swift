import AssayEntitlements
import AssayModels
import Testing

/// Purchases that others replaced, as signed transactions and as receipts state them.
@Suite("Replaced periods")
struct ReplacedPeriodTests {
    private static let appIssue = RevocationReason(rawValue: 1)

    /// The records of a receipt: a number, the days, and when it was cancelled.
    private static func receipt(
        created day: Int64, _ records: [(Int, ClosedRange<Int64>, Timestamp?)]
    ) -> EvidenceItem {
        Evidence.receipt(
            created: Evidence.start + day * Evidence.day,
            records.map { id, days, cancelled in
                {
                    $0.transactionId = "10\(id)"
                    $0.originalTransactionId = "100"
                    $0.purchaseDate = Timestamp(day: days.lowerBound)
                    $0.expiresDate = Timestamp(day: days.upperBound)
                    $0.cancellationDate = cancelled
                }
            })
    }

    @Test("A cancellation in a receipt is an upgrade only where a later purchase begins then")
    func cancelledRecord() throws {
        let year: ClosedRange<Int64> = 10...375
        let day10 = Timestamp(day: 10)
        let cases: [([(Int, ClosedRange<Int64>, Timestamp?)], SubscriptionState, String)] = [
            ([(0, 0...30, day10), (1, year, nil)], .active, "101"),
            // A receipt has whole seconds: the year begins up to a second before.
            ([(0, 0...30, Timestamp(day: 10, plus: 999)), (1, year, nil)], .active, "101"),
            // The latest is never an upgrade, though an earlier one would still be in force.
            ([(0, 0...30, nil), (1, 5...35, Timestamp(day: 5))], .revoked, "101"),
            ([(0, 0...30, day10), (1, year, Timestamp(day: 12))], .revoked, "101"),
            ([(0, 0...30, day10)], .revoked, "100"),
            // Refunded after the later one had begun, which decides.
            ([(0, 0...30, Timestamp(day: 11)), (1, year, nil)], .active, "101"),
        ]
        for (index, (records, status, by)) in cases.enumerated() {
            let receipt = Self.receipt(created: 13, records)
            let found = try Evidence.decide([receipt], at: Timestamp(day: 13))
            #expect(found.status == status, "case \(index)")
            #expect(found.decidedBy.transactionId == by, "case \(index)")
        }
    }

    @Test("A receipt takes back no signed refund: only a newer signed transaction does")
    func silentReceipt() throws {
        func signed(_ day: Int64, refunded: Bool) -> EvidenceItem {
            Evidence.period("100", 0...30, signed: day) {
                guard refunded else { return }
                $0.revocationDate = Timestamp(day: 5)
                $0.revocationReason = Self.appIssue
            }
        }
        let silent = Self.receipt(created: 8, [(0, 0...30, nil)])
        let cases: [([EvidenceItem], SubscriptionState)] = [
            ([signed(5, refunded: true), silent], .revoked),
            ([signed(5, refunded: true), signed(6, refunded: false), silent], .active),
            ([signed(4, refunded: false), signed(5, refunded: true), silent], .revoked),
            ([signed(9, refunded: false), signed(5, refunded: true), silent], .active),
            ([silent], .active),
        ]
        for (index, (items, status)) in cases.enumerated() {
            let found = try Evidence.decide(items, at: Timestamp(day: 10))
            #expect(found.status == status, "case \(index)")
            let revoked = status == .revoked ? Timestamp(day: 5) : nil
            #expect(found.revocationDate == revoked, "case \(index)")
            #expect(
                found.revocationReason == (revoked == nil ? nil : Self.appIssue), "case \(index)")
        }
    }

    @Test("A moment in the past: a replaced period is in force until its successor begins")
    func replacedInThePast() throws {
        let month = Evidence.period("100", 0...30, signed: 10) { $0.isUpgraded = true }
        let quarter = Evidence.period("101", 10...100, signed: 20) { $0.isUpgraded = true }
        let year = Evidence.period("102", 20...385)
        let refundedYear = Evidence.period("102", 20...385, signed: 50) {
            $0.revocationDate = Timestamp(day: 50)
        }
        // Charged ahead, and replaced before it began.
        let ahead = Evidence.period("103", 30...60, signed: 29) { $0.isUpgraded = true }
        // Its successor ends before the next one begins.
        let gap = [
            Evidence.period("100", 30...61, signed: 31) { $0.isUpgraded = true },
            Evidence.period("101", 46...54, signed: 47) { $0.isUpgraded = true },
            Evidence.period("102", 65...74),
        ]
        // Replaced after the last, by a purchase that nobody sent.
        let open = [
            Evidence.period("100", 0...30), Evidence.period("101", 21...41),
            Evidence.period("102", 41...57, signed: 42) { $0.isUpgraded = true },
        ]
        let cases: [([EvidenceItem], Int64, SubscriptionState, String, Int64?)] = [
            (gap, 45, .active, "100", 54), (gap, 46, .active, "101", 54),
            (gap, 60, .unknown, "101", nil), (gap, 65, .active, "102", 74),
            (open, 5, .active, "100", 41), (open, 40, .active, "101", 41),
            (open, 41, .unknown, "101", nil),
            ([month, quarter, year], 0, .active, "100", 385),
            ([month, quarter, year], 9, .active, "100", 385),
            ([month, quarter, year], 10, .active, "101", 385),
            ([month, quarter, year], 20, .active, "102", 385),
            ([month, year], 15, .active, "100", 385), ([month], 5, .unknown, "100", nil),
            ([month, quarter], 5, .unknown, "101", nil),
            ([month, refundedYear], 5, .active, "100", 50),
            ([month, refundedYear], 49, .active, "102", 50),
            ([month, refundedYear], 50, .revoked, "102", nil),
            ([year, ahead], 31, .active, "102", 385),
            ([month, year, Evidence.period("104", 385...400)], 5, .active, "100", 400),
        ]
        for (index, (items, day, status, by, until)) in cases.enumerated() {
            let found = try Evidence.decide(items, at: Timestamp(day: day))
            #expect(found.status == status, "case \(index)")
            #expect(found.decidedBy.transactionId == by, "case \(index)")
            #expect(found.entitledUntil == until.map { Timestamp(day: $0) }, "case \(index)")
        }
    }

    @Test("A period without an end is over, and never shows the least date")
    func withoutEnd() throws {
        let item = Evidence.period("100", 0...30) { $0.expiresDate = nil }
        let answer = Entitlements(of: [item], at: Timestamp(day: 1))
        #expect(try Evidence.decide([item], at: Timestamp(day: 1)).status == .unknown)
        #expect(answer.refresh.map(\.at) == [Timestamp(day: 0)])
        #expect(answer.nextChange == nil)
    }
}
