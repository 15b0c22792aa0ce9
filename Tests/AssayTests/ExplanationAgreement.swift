import Assay
import AssayModels
import Testing

/// Checks that an explanation agrees with the verification that it explains. The tests of hostile
/// evidence call it for each of their cases.
enum ExplanationAgreement {
    static func expect(
        _ evidence: [UInt8], as kind: EvidenceKind, trust: TrustStore, policy: Policy,
        expecting expectations: Expectations = .none, at now: Timestamp,
        explains answer: Verification,
        location: SourceLocation = #_sourceLocation
    ) {
        let explanation = Explanation(
            evidence.span, as: kind, trust: trust, policy: policy, expecting: expectations, at: now)
        #expect(explanation.verification.verdict == answer.verdict, sourceLocation: location)
        #expect(explanation.verification.detail == answer.detail, sourceLocation: location)
        let steps = explanation.sections.flatMap(\.checks)
        let failed = steps.filter { $0.outcome == .failed }
        #expect(!steps.isEmpty, sourceLocation: location)
        if answer.verdict == .valid {
            #expect(steps.allSatisfy { $0.outcome == .passed }, sourceLocation: location)
            #expect(explanation.failed == nil, sourceLocation: location)
        } else {
            // Several members of an answer can fail; the first decides.
            let isOne = kind == .serverAnswer ? !failed.isEmpty : failed.count == 1
            #expect(isOne, "\(failed.map(\.check))", sourceLocation: location)
            let check = explanation.failed?.step.check
            #expect(
                check?.verdicts.contains(answer.verdict) == true,
                "\(answer.verdict.name) by \(check?.rawValue ?? "none"): \(answer.detail)",
                sourceLocation: location)
            #expect(
                explanation.contents.allSatisfy { !$0.isVerified }, sourceLocation: location)
        }
        for section in explanation.sections { expectOrder(section, location) }
    }

    /// Checks that the checks are those of the kind, in their order, and each once.
    private static func expectOrder(_ section: Explanation.Section, _ location: SourceLocation) {
        // Policy follows the agreement with a notification only in other evidence.
        let isNested = section.checks.contains { $0.check == .agreement }
        let order = Check.all(of: section.kind, isNested: isNested)
        let indices = section.checks.map { step in order.firstIndex(of: step.check) }
        let isInOrder = zip(indices, indices.dropFirst()).allSatisfy { first, second in
            guard let first, let second else { return false }
            return first < second
        }
        #expect(
            isInOrder && !indices.contains(nil), "\(section.member) \(section.checks.map(\.check))",
            sourceLocation: location)
        // What was not reached follows what failed.
        let outcomes = section.checks.map(\.outcome)
        if let failed = outcomes.firstIndex(of: .failed) {
            #expect(
                outcomes[(failed + 1)...].allSatisfy { $0 == .notReached },
                sourceLocation: location)
        }
    }
}
