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

    /// Tokens in the form of public reports, with what their customer owns.
    @Test(
        "Tokens from reports have the expected answer",
        .enabled(if: Vectors.has(cases: "tokens", suffix: "root.der")))
    func tokens() throws {
        let root = try #require(Vectors.cases("tokens", suffix: "root.der").first)
        let certificate = try #require(Vectors.bytes(root))
        let verifier = Verifier(
            trust: try TrustStore.apple.pinning(certificate, development: false))
        // A second after the last of them was signed.
        let now = Timestamp(milliseconds: 1_795_694_400_000)
        let cases: [([String], SubscriptionState?, owns: Bool)] = [
            (["twin-201-device", "twin-200-refund"], .revoked, false),
            (["twin-201-device"], .active, true),
            (["lifetime-410-restored", "lifetime-401-refund"], nil, false),
            (["lifetime-410-restored"], nil, true),
            (["older-period-refund"], .active, true),
            (["purchase-date-plus-1h"], .active, true),
        ]
        for (names, state, owns) in cases {
            let items = try names.map { name in
                let path = try #require(
                    Vectors.cases("tokens", suffix: "\(name).jws").first, "\(name)")
                let token = try #require(Vectors.bytes(path))
                func verify(_ kind: EvidenceKind) -> Verification {
                    verifier.verify(token.span, as: kind, policy: Policy(bundleId: nil), at: now)
                }
                var verification = verify(.transaction)
                if verification.verdict == .wrongKind { verification = verify(.notification) }
                #expect(verification.verdict == .valid, "\(name): \(verification.detail)")
                return EvidenceItem(verification)
            }
            let app = try #require(Entitlements(of: items, at: now).apps.first, "\(names)")
            #expect(app.subscriptionGroups.first?.deciding.status == state, "\(names)")
            let owned =
                app.subscriptionGroups.map(\.isEntitled) + app.nonConsumables.map(\.isEntitled)
            #expect(owned == [owns], "\(names)")
        }
        try Vectors.report("tokens from reports", cases.count)
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
