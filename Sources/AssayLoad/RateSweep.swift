/// Looks for the highest rate that a server answers within a bound, by runs of an open loop.
package struct RateSweep: Sendable {
    /// Milliseconds that the 99th percentile has to stay within.
    package var bound: Double
    /// Requests a second of the first run.
    package var firstRate: Double
    /// The search ends when the answer is known to this share.
    package var precision = 0.03
    /// Above this nobody believes the search.
    static let mostRuns = 24
    /// How often a rate is tried at which the generator was late: it need not be so again.
    static let mostLateRuns = 3

    package init(bound: Double, firstRate: Double) {
        precondition(bound > 0 && firstRate > 0)
        self.bound = bound
        self.firstRate = firstRate
    }

    package struct Step: Sendable {
        package let rate: Double
        package let result: LoadResult
        /// Nil where the rate was kept within the bound.
        package let failure: String?
        /// It was the generator that did not keep up: the server might have.
        package var wasLate: Bool { result.lateReason != nil }
    }

    /// Doubles the rate until it is too much, then halves the interval.
    ///
    /// - Parameters:
    ///   - run: one run at that rate.
    ///   - note: called after each run.
    package func search(
        _ run: (Double) async throws(LoadError) -> LoadResult, note: (Step) -> Void
    ) async throws(LoadError) -> [Step] {
        var steps: [Step] = []
        var (good, bad): (Double, Double?) = (0, nil)
        var rate = firstRate
        var lateRuns = 0
        while steps.count < Self.mostRuns {
            let result = try await run(rate)
            let step = Step(rate: rate, result: result, failure: failure(of: result))
            steps.append(step)
            note(step)
            if result.wasInterrupted { break }
            lateRuns = step.wasLate ? lateRuns + 1 : 0
            if step.wasLate, lateRuns < Self.mostLateRuns { continue }
            lateRuns = 0
            if step.failure == nil { good = max(good, rate) } else { bad = min(bad ?? rate, rate) }
            if let bad {
                guard bad - good > bad * precision else { break }
                rate = good > 0 ? (good + bad) / 2 : bad / 2
                if rate < 1 { break }
            } else {
                rate *= 2
            }
        }
        return steps
    }

    /// The highest rate that was kept.
    package static func best(of steps: [Step]) -> Step? {
        steps.filter { $0.failure == nil }.max { $0.rate < $1.rate }
    }

    private func failure(of result: LoadResult) -> String? {
        if result.wasInterrupted { return "interrupted" }
        if let late = result.lateReason { return "the generator was late: " + late }
        if !result.isClean {
            let counts = result.counts
            return "\(counts.wrong) wrong verdicts, \(counts.refused) refused, "
                + "\(counts.errors + result.unanswered) errors"
        }
        let p99 = result.latencies.milliseconds(at: 99)
        return p99 > bound ? "p99 \(p99.short) ms" : nil
    }
}
