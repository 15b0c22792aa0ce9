import Assay
import AssayCommandLine
import AssayModels

/// What `assay verify` asks about each item of evidence.
struct EvidenceQuestion: Sendable {
    let kind: KindChoice
    let accepted: Accepted
    let devices: [DeviceArgument]
    let inApp: InAppSelection
    /// Whether a server answers, by a configuration of its own.
    let isRemote: Bool

    /// The values of `EvidenceOptions`, each made once.
    struct Accepted: Sendable {
        let policy: Policy
        /// Those that the caller names; the policy has the default.
        let environments: [StoreEnvironment]
        /// The time of `--at`; nil for the clock's.
        let at: Timestamp?

        init(_ options: EvidenceOptions, policy: Policy) {
            self.policy = policy
            environments = options.expectedEnvironments
            at = options.at?.timestamp
        }

        var now: Timestamp { at ?? .now }
    }

    func expectations(of kind: EvidenceKind) -> Expectations {
        var expectations = Expectations(
            appAppleId: accepted.policy.appAppleId, environments: accepted.environments)
        expectations.bundleId = accepted.policy.bundleId
        if kind.traits.hasRecords {
            for device in devices { expectations.expect(device: device.octets ?? []) }
        } else {
            expectations.deviceVerificationId = devices.first?.text
        }
        return expectations
    }

    /// The first half of a verification in this process.
    func prepare(
        _ evidence: [UInt8], _ verifier: Verifier, at now: Timestamp
    ) -> PreparedVerification {
        let named = kind.kind ?? Verifier.likelyKind(of: evidence.span)
        // Evidence that is refused before its kind matters still gets its verdict.
        let kind = named ?? .transaction
        var prepared = verifier.prepare(
            evidence.span, as: kind, policy: accepted.policy, expecting: expectations(of: kind),
            inApp: inApp, at: now)
        prepared.hasUnknownKind = named == nil
        return prepared
    }

    func report(_ verification: Verification) -> VerificationReport {
        finished(VerificationReport(verification), isOfUnknownKind: false)
    }

    /// Adds the remedy to a refusal, and removes a kind that was a guess.
    func finished(_ report: VerificationReport, isOfUnknownKind: Bool) -> VerificationReport {
        var report = report
        // The refusal of Xcode's evidence has the remedy.
        let isOfXcode = report.verification.detail.hasSuffix(EvidenceForm.xcodeText)
        let isOfApple = (report.verification.kind ?? .transaction).store == .apple
        if report.verification.verdict == .untrustedChain, !isOfXcode, isOfApple {
            report.verification.detail +=
                isRemote
                ? "; a server trusts the roots that 'assay serve --root FILE' pins"
                : "; to trust another root, add --root FILE"
        }
        return isOfUnknownKind ? report.ofUnknownKind : report
    }
}
