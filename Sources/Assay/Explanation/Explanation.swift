package import AssayModels

/// Why one item of evidence got its verdict: every check in its order, what was compared, and what
/// the evidence contains.
///
/// The checks are those that the verifier itself made, recorded as it made them. The contents are
/// an inspection, which verifies nothing: they count as verified only where the verdict is VALID.
package struct Explanation: Sendable {
    /// The verification that is explained.
    package let verification: Verification
    /// The checks of the evidence, then those of its members, in the order of their beginning.
    package let sections: [Section]
    package let inspection: Inspection
    /// The time of the verification.
    package let now: Timestamp
    /// The number of sections that are left out.
    package let omittedSections: Int
    /// The names of the pinned certificates, each once.
    package let pinned: [String]

    /// The checks of the evidence itself, or of evidence in one of its members.
    package struct Section: Sendable {
        /// Empty for the evidence itself.
        package let member: String
        package let kind: EvidenceKind
        package var checks: [Step]
    }

    /// One check and its outcome.
    package struct Step: Sendable {
        package enum Outcome: String, Sendable {
            case passed, failed
            case notReached = "not reached"
        }

        package let check: Check
        package let outcome: Outcome
        package let found: String?
        package let expected: String?
    }

    /// Explains evidence.
    ///
    /// - Parameters:
    ///   - kind: nil to detect it.
    ///   - trust: the pinned certificates.
    ///   - revocation: the statuses that the policy uses.
    package init(
        _ evidence: Span<UInt8>, as kind: EvidenceKind?, trust: TrustStore, policy: Policy,
        revocation: RevocationStatuses = RevocationStatuses(),
        expecting expectations: Expectations = .none, at now: Timestamp
    ) {
        let verifier = Verifier(trust: trust, keyTables: .never, revocation: revocation)
        let detected = kind ?? Verifier.likelyKind(of: evidence)
        // Evidence that is refused before its kind matters still gets its verdict.
        let log = CheckLog(detected ?? .transaction)
        var batch = [
            verifier.prepare(
                evidence, as: detected ?? .transaction, policy: policy, expecting: expectations,
                at: now, log: log)
        ]
        batch[0].hasUnknownKind = detected == nil
        verifier.verifySignatures(&batch)
        verification = batch[0].verification
        var entries = log.all
        if detected == nil, verification.verdict == .wrongKind,
            let index = entries.firstIndex(where: { $0.check == .kind })
        {
            // Later checks have no meaning without a kind.
            entries.removeSubrange((index + 1)...)
            entries[index].hasFailed = true
        }
        let sections = Self.sections(entries, isRefused: verification.verdict != .valid)
        self.sections = Array(sections.prefix(ExplanationLimits.sections))
        omittedSections = sections.count - self.sections.count
        inspection = Inspection(evidence, records: ExplanationLimits.records)
        self.now = now
        var names: Set<String> = []
        pinned = trust.anchors.map(\.certificate.subjectCommonName).filter {
            names.insert($0).inserted
        }
    }

    /// Whether the evidence and its contents are verified.
    package var isVerified: Bool { verification.verdict == .valid }

    /// The type and subtype that a notification signs; nil unless it is VALID.
    package var event: (type: String, subtype: String?)? {
        let identifiers = EvidenceIdentifiers(of: verification.evidence)
        guard let type = identifiers.notificationType?.rawValue else { return nil }
        let most = ExplanationLimits.nameLength
        return (
            type.shortened(to: most), identifiers.subtype?.rawValue.shortened(to: most)
        )
    }

    /// The kind, and of a notification its type and subtype.
    package var subject: String {
        let words = [verification.kind?.name ?? "of no known kind", event?.type, event?.subtype]
        return words.compactMap(\.self).joined(separator: " ")
    }

    /// The wrapper that the evidence was in, and the keys of the purchase and of the statement.
    package var keys: [(name: String, value: String)] {
        [
            ("unwrapped", verification.unwrapped), ("dedupKey", verification.dedupKey),
            ("evidenceKey", verification.evidenceKey),
        ].compactMap { name, value in value.map { (name, $0) } }
    }

    /// The check that decided the verdict, and the member that it is about; nil for VALID.
    package var failed: (member: String, step: Step)? {
        for section in sections {
            for step in section.checks where step.outcome == .failed {
                return (section.member, step)
            }
        }
        return nil
    }

    private static func sections(_ entries: [CheckLog.Entry], isRefused: Bool) -> [Section] {
        var sections: [Section] = []
        var indices: [String: Int] = [:]
        var failing: Set<String> = []
        for entry in entries {
            if indices[entry.member] == nil {
                indices[entry.member] = sections.count
                sections.append(Section(member: entry.member, kind: entry.kind, checks: []))
            }
            if entry.hasFailed { failing.insert(entry.member) }
            sections[indices[entry.member]!].checks.append(
                Step(
                    check: entry.check, outcome: entry.hasFailed ? .failed : .passed,
                    found: entry.found, expected: entry.expected))
        }
        guard isRefused else { return sections }
        for index in sections.indices { sections[index].addNotReached() }
        // What failed comes first after the evidence itself: long answers are cut off.
        return sections.prefix(1) + sections.dropFirst().filter { failing.contains($0.member) }
            + sections.dropFirst().filter { !failing.contains($0.member) }
    }
}

extension Explanation.Section {
    /// Appends the checks that follow in the order of the kind. Checks that do not apply to any
    /// evidence of this form, such as those of a pinned leaf, are left out.
    fileprivate mutating func addNotReached() {
        let isNested = Self.isInNotification(member)
        let all = Check.all(of: kind, isNested: isNested)
        let begun = checks.map(\.check)
        guard let last = all.lastIndex(where: begun.contains) else { return }
        for check in all[(last + 1)...] where check != .pinnedLeaf && !check.isOnRequest {
            checks.append(
                Explanation.Step(check: check, outcome: .notReached, found: nil, expected: nil))
        }
    }

    private static func isInNotification(_ member: String) -> Bool {
        let last = member.split(separator: ".").suffix(2).joined(separator: ".")
        return ["data.signedTransactionInfo", "data.signedRenewalInfo"].contains(last)
            || last == "appData.signedAppTransactionInfo"
    }
}

extension Check {
    /// Whether the check is made only if the caller expects something.
    fileprivate var isOnRequest: Bool {
        switch self {
        case .revocation, .product, .accountToken, .transaction, .device, .age: true
        default: false
        }
    }
}

/// Bounds what an explanation and an inspection show. `assay verify` shows all.
package enum ExplanationLimits {
    /// The evidence itself and its members. A page of a history has 20.
    package static let sections = 64
    /// In-app records of a receipt. A subscriber of five years has 60.
    package static let records = 200
    /// Fields of a payload.
    package static let fields = 400
    /// Certificates. Apple's chains have three.
    package static let certificates = 32
    /// What could not be read.
    package static let problems = 64
    /// Bytes of a payload that is no JSON.
    package static let textLength = 4_000
    /// Bytes of a value, of an id, and of a path. Apple's longest value is a nested token; its
    /// product ids have at most 255.
    package static let valueLength = 400
    /// Bytes of a member's name. Apple's longest has 34.
    package static let nameLength = 100
    /// Bytes of all names and values of the fields, after which fields are only counted. A page of
    /// twenty notifications has about 100,000.
    package static let contentBytes = 256 * 1024
}
