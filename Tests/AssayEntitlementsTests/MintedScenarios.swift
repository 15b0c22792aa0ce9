import Assay
import AssayEntitlements
import AssayMint
import AssayModels
import Foundation
import Testing

/// The built-in scenarios, minted and verified once.
enum MintedScenarios {
    /// 2026-11-22.
    static let made = Timestamp(milliseconds: 1_795_305_600_000)

    static let minter = Result { () throws -> ScenarioMinter in
        try ScenarioMinter(ca.get().tokens, receipts: ca.get().receipts)
    }

    private static let ca = Result { () throws -> (tokens: DevelopmentCA, receipts: ReceiptCA) in
        (try DevelopmentCA.make(at: made), try ReceiptCA.make(at: made))
    }

    private static let verifier = Result { () throws -> Verifier in
        let trust = try TrustStore.empty
            .pinning(ca.get().tokens.rootCertificate, development: false)
            .pinning(ca.get().receipts.rootCertificate, development: false)
        return Verifier(trust: trust)
    }

    static let all = Result { () throws -> [ScenarioCase] in
        try Scenario.builtIn.map { try mint($0) }
    }

    static func named(_ name: String) throws -> ScenarioCase {
        try #require(try all.get().first { $0.scenario.name == name }, "\(name)")
    }

    static func mint(_ scenario: Scenario) throws -> ScenarioCase {
        var files: [VerifiedFile] = []
        let steps = try minter.get().mint(scenario).map { step -> ScenarioCase.Step in
            files += try step.files.map { try verify($0, at: step.at) }
            return ScenarioCase.Step(step: step, files: files)
        }
        return ScenarioCase(scenario: scenario, steps: steps)
    }

    // MARK: Verification

    private static func verify(_ file: MintedFile, at now: Timestamp) throws -> VerifiedFile {
        let kind = try #require(EvidenceKind(name: file.kind))
        return VerifiedFile(file: file, item: try verify(file.content, as: kind, at: now))
    }

    private static func verify(
        _ evidence: [UInt8], as kind: EvidenceKind, at now: Timestamp
    ) throws -> EvidenceItem {
        let policy = Policy(bundleId: nil, environments: [.production, .sandbox])
        let verification = try verifier.get().verify(
            evidence.span, as: kind, policy: policy, at: now)
        #expect(verification.verdict == .valid, "\(verification.detail)")
        return EvidenceItem(verification)
    }
}

/// One file and what its verification gave.
struct VerifiedFile {
    let file: MintedFile
    let item: EvidenceItem
}

/// One scenario with verified evidence.
struct ScenarioCase: CustomTestStringConvertible {
    let scenario: Scenario
    let steps: [Step]

    var testDescription: String { scenario.name }

    struct Step {
        let step: MintedStep
        /// All evidence up to this step.
        let files: [VerifiedFile]

        var items: [EvidenceItem] { files.map(\.item) }

        /// The answer as JSON, in the form of the expected one.
        func json(_ answer: Entitlements) throws -> NSDictionary {
            let text = AnswerJSON(files: files.map(\.file)).text(answer)
            return try Self.object(text)
        }

        var expected: NSDictionary { get throws { try Self.object(step.expected) } }

        private static func object(_ text: [UInt8]) throws -> NSDictionary {
            let object = try JSONSerialization.jsonObject(with: Data(text))
            return try #require(object as? NSDictionary)
        }
    }

    var policy: EntitlementPolicy {
        var policy = EntitlementPolicy()
        let day = EntitlementPolicy.millisecondsPerDay
        policy.maxAgeMilliseconds = scenario.policy.maxAgeDays.map { $0 * day }
        policy.billingRetryLeniencyMilliseconds = scenario.policy.billingRetryDays * day
        policy.renewalLeniencyMilliseconds = scenario.policy.renewalHours * 3_600_000
        policy.expectedAppAccountToken = scenario.policy.appAccountToken
        policy.acceptsFamilySharing = scenario.policy.acceptsFamilySharing
        policy.durations = scenario.policy.durationDays.mapValues { $0 * day }
        policy.stackedProducts = scenario.policy.stackedProducts
        return policy
    }

    func answer(_ items: [EvidenceItem], at now: Timestamp) -> Entitlements {
        Entitlements(of: items, at: now, policy: policy)
    }

    func answer(_ step: Step) -> Entitlements { answer(step.items, at: step.step.at) }

    /// Whether every step has the expected answer; otherwise both are recorded.
    func check() throws {
        for step in steps {
            let (found, expected) = (try step.json(answer(step)), try step.expected)
            if found != expected {
                Issue.record(
                    """
                    \(scenario.name), \(step.step.name), \(step.step.title)
                    found \(Self.text(found))
                    expected \(Self.text(expected))
                    """)
            }
        }
    }

    private static func text(_ object: NSDictionary) -> String {
        let data = try? JSONSerialization.data(
            withJSONObject: object, options: [.prettyPrinted, .sortedKeys])
        return data.map { String(decoding: $0, as: UTF8.self) } ?? "none"
    }
}
