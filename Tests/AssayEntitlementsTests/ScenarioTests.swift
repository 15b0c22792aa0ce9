import Assay
import AssayEntitlements
import AssayMint
import AssayModels
import Foundation
import Testing

/// Each built-in scenario: its answers, and that order, duplicates and grouping never change them.
@Suite("Scenarios")
struct ScenarioTests {
    @Test("Each step has the expected answer", arguments: try MintedScenarios.all.get())
    func answers(scenario: ScenarioCase) throws { try scenario.check() }

    @Test("At least sixty scenarios, each with a name of its own and at least one step")
    func count() throws {
        let scenarios = try Scenario.builtIn
        #expect(scenarios.count >= 60)
        #expect(Set(scenarios.map(\.name)).count == scenarios.count)
        #expect(scenarios.allSatisfy { !$0.steps.isEmpty && $0.summary.hasSuffix(".") })
    }

    // MARK: Order and grouping

    private static func permutations(_ items: [EvidenceItem]) -> [[EvidenceItem]] {
        guard items.count > 1 else { return [items] }
        return items.indices.flatMap { index in
            var rest = items
            let first = rest.remove(at: index)
            return permutations(rest).map { [first] + $0 }
        }
    }

    /// All orders of up to six items, random ones above.
    private static func orders(_ items: [EvidenceItem]) -> [[EvidenceItem]] {
        guard items.count > 6 else { return permutations(items) }
        var random = SplitMix64(state: UInt64(items.count))
        return (0..<300).map { _ in items.shuffled(using: &random) } + [items.reversed()]
    }

    @Test(
        "The order of the evidence never changes an answer",
        arguments: try MintedScenarios.all.get())
    func order(scenario: ScenarioCase) {
        for step in scenario.steps {
            let expected = scenario.answer(step).withoutPositions
            let differs = Self.orders(step.items).first { order in
                scenario.answer(order, at: step.step.at).withoutPositions != expected
            }
            #expect(differs == nil, "\(step.step.name)")
        }
    }

    @Test("Duplicates change nothing", arguments: try MintedScenarios.all.get())
    func duplicates(scenario: ScenarioCase) {
        for step in scenario.steps {
            let items = step.items
            let twice = scenario.answer(items + items.reversed() + items, at: step.step.at)
            let once = scenario.answer(step).withoutAnswerWarnings
            #expect(twice.withoutAnswerWarnings == once, "\(step.step.name)")
        }
    }

    @Test("Older snapshots change nothing", arguments: try MintedScenarios.all.get())
    func olderSnapshots(scenario: ScenarioCase) {
        for step in scenario.steps {
            let older = step.items.flatMap(\.tokens).compactMap(Self.contradiction)
            let expected = scenario.answer(step)
            for item in older {
                var found = scenario.answer(step.items + [item], at: step.step.at)
                #expect(found.superseded == expected.superseded + [step.items.count])
                found.superseded = expected.superseded
                #expect(found == expected)
            }
            let all = scenario.answer(older + step.items, at: step.step.at)
            #expect(all.withoutPositions == expected.withoutPositions, "\(step.step.name)")
        }
    }

    /// An older snapshot that contradicts a token.
    private static func contradiction(_ token: EvidenceItem) -> EvidenceItem? {
        let past = Timestamp(milliseconds: MintedScenarios.made.milliseconds - 86_400_000)
        if case .transaction(let newer) = token.verification.evidence {
            var payload = newer.payload
            payload.signedDate = past
            payload.revocationDate = payload.revocationDate == nil ? past : nil
            payload.isUpgraded = payload.isUpgraded != true
            payload.productId = "an.older.product"
            payload.expiresDate = Timestamp(milliseconds: past.milliseconds + 1)
            return Evidence.item(VerifiedPayload(payload, json: Array("\(payload)".utf8)))
        }
        guard case .renewalInfo(let newer) = token.verification.evidence else { return nil }
        var payload = newer.payload
        payload.signedDate = past
        payload.gracePeriodExpiresDate = Timestamp(milliseconds: .max)
        payload.autoRenewProductId = "an.older.product"
        return Evidence.item(.renewalInfo(VerifiedPayload(payload, json: Array("\(payload)".utf8))))
    }

    // MARK: Storing under evidenceKey

    /// What a backend has that keeps each item under its key: of several with one key the last.
    private static func stored(_ items: [EvidenceItem]) -> [EvidenceItem] {
        var kept: [String: EvidenceItem] = [:]
        for item in items {
            // An answer without a signed member states nothing, and has no key.
            guard let key = item.verification.evidenceKey else { continue }
            kept[key] = item
        }
        return kept.sorted { $0.key < $1.key }.map(\.value)
    }

    private static func checkStoring(_ scenario: ScenarioCase) {
        for step in scenario.steps {
            let expected = scenario.answer(step).withoutAnswerWarnings.withoutPositions
            for order in [step.items, step.items.reversed(), step.items + step.items.reversed()] {
                let found = scenario.answer(Self.stored(order), at: step.step.at)
                #expect(
                    found.withoutAnswerWarnings.withoutPositions == expected,
                    "\(scenario.scenario.name), \(step.step.name)")
            }
        }
    }

    /// Two states that Apple would have signed in one millisecond: the key has the signed date.
    private static let sameMillisecond: Set<String> = ["tie"]

    @Test(
        "Storing under evidenceKey, in any order, changes nothing",
        arguments: try MintedScenarios.all.get().filter {
            !sameMillisecond.contains($0.scenario.name)
        })
    func storing(scenario: ScenarioCase) { Self.checkStoring(scenario) }

    @Test("Storing evidence without a signed date under its evidenceKey changes nothing")
    func storingUndated() throws {
        let undated = #""change":{"signedDate":null}"#
        let file = """
            {"name":"undated","summary":"Tokens of 2021.","steps":[
              {"at":"0d","title":"buys","transactions":{"7":{"productId":"world.2"},
                "100":{"productId":"premium.monthly"}},
               "evidence":[{"transaction":"7",\(undated)},{"transaction":"100",\(undated)},
                {"renewalInfo":"100",\(undated)}],
               "expect":{}},
              {"at":"1d","title":"refunds","transactions":{"7":{"revocationDate":"1d"}},
               "renewals":{"100":{"autoRenewStatus":0}},
               "evidence":[{"transaction":"7",\(undated)},{"renewalInfo":"100",\(undated)}],
               "expect":{}},
              {"at":"2d","title":"again","evidence":[{"transaction":"7",\(undated)}],"expect":{}}]}
            """
        let scenario = try MintedScenarios.mint(Scenario(json: Array(file.utf8)))
        Self.checkStoring(scenario)
        let items = try #require(scenario.steps.last?.items)
        let keys = items.map(\.verification.evidenceKey)
        #expect(!keys.contains(nil))
        // The last token states again what the one before stated.
        #expect(items.count == 6 && Set(keys).count == 5)
        let now = try #require(scenario.steps.last).step.at
        let answer = scenario.answer(Self.stored(items), at: now)
        #expect(answer.apps.first?.nonConsumables.map(\.isEntitled) == [false])
    }

    @Test(
        "The split over tokens, notifications and pages changes nothing",
        arguments: try MintedScenarios.all.get())
    func splits(scenario: ScenarioCase) {
        for step in scenario.steps {
            let tokens = step.items.flatMap(\.tokens)
            let whole = scenario.answer(step).withoutAnswerWarnings.withoutPositions
            // A status is a statement of the notification around tokens, and decides where they
            // do not say the end of a grace period.
            let isDecidedByStatus =
                whole.warnings.contains { $0.code == .graceWithoutDate }
                || whole.apps.contains { $0.subscriptionGroups.contains(where: \.isInRetry) }
            let expected =
                isDecidedByStatus
                ? scenario.answer(tokens, at: step.step.at).withoutAnswerWarnings.withoutPositions
                : whole
            let wrapped = tokens.map { token -> EvidenceItem in
                if let transaction = token.transaction {
                    return Evidence.notification(transaction)
                }
                return token.renewalInfo.map { Evidence.notification(nil, $0) } ?? token
            }
            let pages = tokens.map { $0.isNoToken ? $0 : Evidence.answer([$0]) }
            let onePage = [Evidence.answer(tokens)] + tokens.filter { $0.isNoToken }
            for items in [tokens, wrapped, pages, onePage, wrapped.reversed() + tokens] {
                let found = scenario.answer(items, at: step.step.at)
                #expect(
                    found.withoutAnswerWarnings.withoutPositions == expected, "\(step.step.name)")
            }
        }
    }

    // MARK: Boundaries

    @Test(
        "nextChange is the first moment at which the answer changes by itself",
        arguments: try MintedScenarios.all.get())
    func nextChange(scenario: ScenarioCase) {
        for step in scenario.steps {
            let now = step.step.at
            let items = step.items
            func facts(_ moment: Timestamp) -> Entitlements {
                var answer = scenario.answer(items, at: moment)
                (answer.at, answer.isStale) = (now, false)
                return answer.withoutUncounted
            }
            let before = facts(now)
            let moments = items.flatMap(\.tokens).flatMap(\.dates)
                .flatMap { date in [-1, 0, 1].map { date.milliseconds &+ $0 } }
                .filter { $0 > now.milliseconds }
            let next = before.nextChange?.milliseconds ?? .max
            for moment in moments + (next == .max ? [] : [next - 1]) where moment < next {
                #expect(
                    facts(Timestamp(milliseconds: moment)) == before, "\(step.step.name) \(moment)")
            }
            if next < .max {
                #expect(facts(Timestamp(milliseconds: next)) != before, "\(step.step.name)")
            }
        }
    }
}

extension Entitlements {
    /// The answer without the states of what a family member shares where the policy does not
    /// accept that: they change, and entitle nobody.
    fileprivate var withoutUncounted: Entitlements {
        var copy = self
        for app in copy.apps.indices {
            copy.apps[app].subscriptionGroups.removeAll {
                !$0.isEntitled
                    && ($0.deciding.ownership == .familyShared
                        || $0.deciding.belongsToAnotherAccount)
            }
        }
        return copy
    }

    /// The answer without the remarks about answers of the Server API, which are of one item each.
    fileprivate var withoutAnswerWarnings: Entitlements {
        var copy = self
        copy.superseded = []
        copy.warnings.removeAll {
            [.noEvidence, .answerIncomplete, .unsignedDisagrees, .pairDisagrees].contains($0.code)
        }
        return copy
    }
}

extension SubscriptionGroup {
    fileprivate var isInRetry: Bool { deciding.status == .billingRetry }
}

extension VerifiedNotification {
    fileprivate var tokens: [EvidenceItem] {
        [
            transaction.map { Evidence.item($0) },
            renewalInfo.map { Evidence.item(.renewalInfo($0)) },
            appTransaction.map { Evidence.item(.appTransaction($0)) },
        ].compactMap(\.self)
    }
}

extension EvidenceItem {
    /// Neither a transaction nor renewal information.
    fileprivate var isNoToken: Bool { transaction == nil && renewalInfo == nil }

    /// The nested tokens of an item, each as an item; the item itself if it has none.
    fileprivate var tokens: [EvidenceItem] {
        switch verification.evidence {
        case .notification(let notification): notification.tokens
        case .serverAnswer(let answer):
            answer.transactions.map { Evidence.item($0) }
                + answer.renewalInfos.map { Evidence.item(.renewalInfo($0)) }
                + answer.notifications.flatMap(\.tokens)
        default: [self]
        }
    }

    /// The dates at which an answer can change.
    fileprivate var dates: [Timestamp] {
        switch verification.evidence {
        case .transaction(let token):
            [token.payload.purchaseDate, token.payload.expiresDate].compactMap(\.self)
        case .renewalInfo(let token): [token.payload.gracePeriodExpiresDate].compactMap(\.self)
        case .appReceipt(let receipt):
            receipt.inApp.flatMap { [$0.purchaseDate, $0.expiresDate].compactMap(\.self) }
        default: []
        }
    }
}
