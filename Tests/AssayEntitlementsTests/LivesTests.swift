import Assay
import AssayEntitlements
import AssayMint
import AssayModels
import Foundation
import TestSupport
import Testing

/// Lives from public reports, in `../shared/cases/lives` beside the package, and genuine
/// notifications whose status Apple signed.
@Suite("Lives from reports")
struct LivesTests {
    @Test(
        "Each step has the expected answer",
        .enabled(if: Vectors.has(cases: "lives", suffix: ".json")))
    func lives() throws {
        let paths = Vectors.cases("lives", suffix: ".json")
        for path in paths {
            let scenario = try Scenario(json: try #require(Vectors.bytes(path)))
            try MintedScenarios.mint(scenario).check()
        }
        try Vectors.report("lives", paths.count)
    }

    /// Each prefix of a customer's notifications alone gives the status that Apple signed in its
    /// last one.
    @Test(
        "Genuine notifications give the signed status",
        .enabled(if: Vectors.has(cases: "lives", suffix: ".jws")))
    func statuses() throws {
        let verifier = Verifier(trust: .apple)
        var lives: [String: [(status: SubscriptionStatus, at: Timestamp, item: EvidenceItem)]] = [:]
        for path in Vectors.cases("lives", suffix: ".jws") {
            let bytes = try #require(Vectors.bytes(path))
            let verification = verifier.verify(
                bytes.span, as: .notification,
                policy: Policy(bundleId: nil, environments: [.production, .sandbox]),
                at: Timestamp(milliseconds: 1_795_305_600_000))
            #expect(verification.verdict == .valid, "\(path): \(verification.detail)")
            let item = EvidenceItem(verification)
            guard let notification = item.notification,
                let original = notification.transaction?.payload.originalTransactionId,
                let status = notification.notification.payload.data?.status,
                let signed = notification.notification.payload.signedDate
            else { continue }
            lives[original, default: []].append((status, signed, item))
        }
        var count = 0
        for life in lives.values.map({ $0.sorted { $0.at < $1.at } }) {
            for end in life.indices {
                let found = Entitlements(of: life[...end].map(\.item), at: life[end].at)
                let state = found.apps.first?.subscriptionGroups.first?.deciding.status
                #expect(state == Self.states[life[end].status], "\(found)")
                #expect(found.warnings.isEmpty)
                count += 1
            }
        }
        try Vectors.report("signed statuses", count)
    }

    private static let states: [SubscriptionStatus: SubscriptionState] = [
        .active: .active, .expired: .expired, .billingRetry: .billingRetry,
        .gracePeriod: .gracePeriod, .revoked: .revoked,
    ]
}
