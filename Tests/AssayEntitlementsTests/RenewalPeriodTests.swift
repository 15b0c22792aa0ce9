import AssayEntitlements
import AssayModels
import Testing

/// Renewal information speaks of one period, and between it and a signed status the one that was
/// signed later decides.
@Suite("Renewal information about a period")
struct RenewalPeriodTests {
    private static let hour: Int64 = 3_600_000

    /// - Parameter date: the day of `renewalDate`.
    private static func renewal(
        signed: Timestamp, about date: Int64?, plus milliseconds: Int64 = 0,
        _ change: (inout JWSRenewalInfoDecodedPayload) -> Void = { _ in }
    ) -> EvidenceItem {
        Evidence.renewal(signed: signed.milliseconds) {
            $0.renewalDate = date.map { Timestamp(day: $0, plus: milliseconds) }
            change(&$0)
        }
    }

    private static func retry(_ payload: inout JWSRenewalInfoDecodedPayload) {
        payload.isInBillingRetryPeriod = true
    }
    private static func grace(_ payload: inout JWSRenewalInfoDecodedPayload) {
        payload.isInBillingRetryPeriod = true
        payload.gracePeriodExpiresDate = Timestamp(day: 76)
    }
    private static func off(_ payload: inout JWSRenewalInfoDecodedPayload) {
        payload.autoRenewStatus = .off
    }

    @Test("Retry, grace and renewal are those of the period that ends at renewalDate")
    func period() throws {
        typealias Case = (EvidenceItem, SubscriptionState, Bool, Bool?)
        let at30 = Timestamp(day: 30, plus: 5)
        // Two periods, 0...30 and 30...60; the moment is day 61.
        let cases: [Case] = [
            (Self.renewal(signed: at30, about: 60, Self.grace), .gracePeriod, true, true),
            (Self.renewal(signed: at30, about: 60, Self.retry), .billingRetry, false, true),
            (Self.renewal(signed: at30, about: 60, Self.off), .expired, false, false),
            // A receipt has whole seconds.
            (
                Self.renewal(signed: at30, about: 60, plus: 999, Self.retry), .billingRetry, false,
                true
            ),
            // About the first period, though it was signed when the second had begun.
            (Self.renewal(signed: at30, about: 30, Self.grace), .unknown, true, nil),
            (Self.renewal(signed: at30, about: 30, Self.retry), .unknown, true, nil),
            (Self.renewal(signed: at30, about: 30, Self.off), .unknown, true, nil),
            // About the second, though it was signed before that began: it was charged ahead.
            (
                Self.renewal(signed: Timestamp(day: 29), about: 60, Self.off), .expired, false,
                false
            ),
            // It names none: the date of its signature decides.
            (Self.renewal(signed: at30, about: nil, Self.off), .expired, false, false),
            (Self.renewal(signed: Timestamp(day: 29), about: nil, Self.off), .unknown, true, nil),
        ]
        var policy = EntitlementPolicy()
        policy.renewalLeniencyMilliseconds = 48 * Self.hour
        for (index, (renewal, status, isEntitled, renews)) in cases.enumerated() {
            let items = [
                Evidence.period("100", 0...30), Evidence.period("101", 30...60), renewal,
            ]
            let found = try Evidence.decide(items, at: Timestamp(day: 61), policy)
            #expect(found.status == status, "case \(index)")
            #expect(found.isEntitled == isEntitled, "case \(index)")
            #expect(found.willRenew == renews, "case \(index)")
        }
    }

    @Test("Between a signed status and renewal information the later decides")
    func laterDecides() throws {
        let end = Timestamp(day: 60)
        func status(_ status: SubscriptionStatus, _ hours: Int64) -> EvidenceItem {
            Evidence.notification(
                status, signed: end.milliseconds + hours * Self.hour,
                Evidence.period("101", 30...60))
        }
        func renewal(
            _ change: @escaping (inout JWSRenewalInfoDecodedPayload) -> Void
        ) -> EvidenceItem {
            Self.renewal(signed: end.advanced(by: 2 * Self.hour), about: 60, change)
        }
        // The renewal information was signed two hours after the end; the moment is a day after it.
        let cases: [([EvidenceItem], SubscriptionState)] = [
            ([renewal(Self.grace), status(.expired, 1)], .gracePeriod),
            ([renewal(Self.grace), status(.expired, 3)], .expired),
            ([renewal(Self.grace), status(.billingRetry, 3)], .billingRetry),
            ([renewal(Self.grace), status(.gracePeriod, 3)], .gracePeriod),
            // Signed later than the moment: the grace period was in its time.
            ([renewal(Self.grace), status(.expired, 30)], .gracePeriod),
            ([renewal(Self.retry), status(.expired, 1)], .billingRetry),
            ([renewal(Self.retry), status(.expired, 3)], .expired),
            ([renewal(Self.retry), status(.gracePeriod, 1)], .billingRetry),
            ([renewal(Self.retry), status(.gracePeriod, 3)], .gracePeriod),
            ([renewal { _ in }, status(.billingRetry, 1)], .expired),
            ([renewal { _ in }, status(.billingRetry, 3)], .billingRetry),
            ([renewal(Self.off), status(.gracePeriod, 1)], .expired),
            ([renewal(Self.off), status(.active, 3)], .unknown),
            // A status that nobody knows decides nothing.
            ([renewal(Self.retry), status(SubscriptionStatus(rawValue: 9), 3)], .billingRetry),
            ([status(SubscriptionStatus(rawValue: 9), 3)], .unknown),
        ]
        for (index, (items, expected)) in cases.enumerated() {
            let items = [Evidence.period("101", 30...60)] + items
            let found = try Evidence.decide(items, at: Timestamp(day: 61))
            #expect(found.status == expected, "case \(index)")
        }
    }

    @Test("The offer, the commitment and what follows it are in the answer")
    func termsOfAPeriod() throws {
        let period = Evidence.period("101", 30...60) {
            $0.offerType = .promotional
            $0.offerIdentifier = "SPRING"
            $0.commitmentInfo = TransactionCommitmentInfo()
            $0.commitmentInfo?.commitmentExpiresDate = Timestamp(day: 395)
        }
        let cases: [(Int64, AutoRenewStatus?, Bool?)] = [
            (60, .off, false), (60, .on, true), (60, nil, nil), (30, .on, nil),
        ]
        for (date, status, renews) in cases {
            let renewal = Self.renewal(signed: Timestamp(day: 31), about: date) {
                $0.commitmentInfo = RenewalCommitmentInfo()
                $0.commitmentInfo?.commitmentAutoRenewStatus = status
            }
            let found = try Evidence.decide([period, renewal], at: Timestamp(day: 40))
            #expect(found.commitmentWillRenew == renews)
            #expect(found.commitmentExpiresDate == Timestamp(day: 395))
            #expect(found.offerIdentifier == "SPRING")
        }
        let plain = try Evidence.decide([Evidence.period("101", 30...60)], at: Timestamp(day: 40))
        #expect(plain.offerIdentifier == nil && plain.commitmentExpiresDate == nil)
    }

    @Test("Less than a second after the end of every purchase is no newer period")
    func roundedEnd() throws {
        for (milliseconds, isNewer) in [(0, false), (999, false), (1_000, true)] as [(Int64, Bool)]
        {
            let renewal = Self.renewal(
                signed: Timestamp(day: 1), about: 30, plus: milliseconds, Self.off)
            let items = [Evidence.period("100", 0...30), renewal]
            let codes = Entitlements(of: items, at: Timestamp(day: 2)).warnings.map(\.code)
            #expect(codes == (isNewer ? [.periodFromRenewalInfo] : []))
        }
    }

    @Test("The end of a purchase that was replaced counts for renewalDate")
    func replacedEnd() throws {
        let year = Evidence.period("100", 0...365, signed: 10) { $0.isUpgraded = true }
        let month = Evidence.period("101", 10...40)
        for (end, isNewer) in [(365, false), (366, true)] as [(Int64, Bool)] {
            let renewal = Self.renewal(signed: Timestamp(day: 11), about: end)
            let answer = Entitlements(of: [year, month, renewal], at: Timestamp(day: 41))
            let codes = answer.warnings.map(\.code)
            #expect(codes.contains(.periodFromRenewalInfo) == isNewer)
        }
    }

    @Test("What is known at a date has no warnings of later evidence")
    func knownAt() {
        let odd = EvidenceWarning(code: .unsignedDisagrees, message: "odd")
        let early = Evidence.answer([Evidence.period("100", 0...30)], warnings: [odd])
        let empty = Evidence.answer([], warnings: [odd])
        for (item, day, count) in [(early, 0, 1), (early, -1, 0), (empty, -1, 1)]
            as [(EvidenceItem, Int64, Int)]
        {
            var policy = EntitlementPolicy()
            policy.knownAt = Timestamp(day: day)
            let answer = Entitlements(of: [item], at: Timestamp(day: 1), policy: policy)
            #expect(answer.warnings.count == count)
        }
    }
}
