package import AssayModels

/// Numbers of verdicts, by kind of evidence, verdict and signed environment.
package struct VerdictCounts: Sendable {
    /// Empty until the first verdict: most of many configured apps can be idle.
    private var counts: [UInt64] = []

    private static let environments = EnvironmentLabel.allCases.count
    private static let verdicts = Verdict.allCases.count
    private static let size = EvidenceKind.allCases.count * verdicts * environments

    package init() {}

    // The raw values of the wire begin with 1.
    private static func index(
        _ kind: EvidenceKind, _ verdict: Verdict, _ environment: EnvironmentLabel
    ) -> Int {
        ((Int(kind.rawValue) - 1) * verdicts + Int(verdict.rawValue) - 1) * environments
            + environment.rawValue
    }

    package mutating func add(_ outcome: Outcome) {
        if counts.isEmpty { counts = Array(repeating: 0, count: Self.size) }
        counts[Self.index(outcome.kind, outcome.verdict, outcome.environment)] &+= 1
    }

    /// Adds the numbers of another app or of an earlier time.
    package mutating func add(_ other: VerdictCounts) {
        guard !counts.isEmpty else { return counts = other.counts }
        for (index, count) in other.counts.enumerated() { counts[index] &+= count }
    }

    /// The numbers since an earlier state of the same counters.
    package func since(_ earlier: VerdictCounts) -> VerdictCounts {
        guard !earlier.counts.isEmpty, !counts.isEmpty else { return self }
        var difference = self
        for (index, count) in earlier.counts.enumerated() {
            // Less than before only for an app that one reload removed and another added.
            difference.counts[index] = counts[index] > count ? counts[index] - count : 0
        }
        return difference
    }

    package subscript(
        kind: EvidenceKind, verdict: Verdict, environment: EnvironmentLabel
    ) -> UInt64 {
        counts.isEmpty ? 0 : counts[Self.index(kind, verdict, environment)]
    }

    package var total: UInt64 { counts.reduce(0, &+) }

    /// The number of one verdict, of every kind and environment.
    package subscript(verdict: Verdict) -> UInt64 {
        sum { _, each, _ in each == verdict }
    }

    /// The sum of the numbers whose kind, verdict and environment match.
    package func sum(
        where matches: (EvidenceKind, Verdict, EnvironmentLabel) -> Bool
    ) -> UInt64 {
        guard !counts.isEmpty else { return 0 }
        var sum: UInt64 = 0
        for kind in EvidenceKind.allCases {
            for verdict in Verdict.allCases {
                for environment in EnvironmentLabel.allCases
                where matches(kind, verdict, environment) {
                    sum &+= counts[Self.index(kind, verdict, environment)]
                }
            }
        }
        return sum
    }
}
