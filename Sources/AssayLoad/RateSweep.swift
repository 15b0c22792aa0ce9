/// Searches for the highest rate that a server sustains within a latency bound, by open-loop
/// runs.
package struct RateSweep: Sendable {
    /// The bound of the 99th percentile, in milliseconds.
    package var bound: Double
    /// The rate of the first run, in requests per second.
    package var firstRate: Double
    /// The relative precision at which the search ends.
    package var precision = 0.03
    /// The maximum number of runs. A longer search would not be credible.
    static let mostRuns = 24
    /// The maximum number of tries of a rate while the generator is late. A repeated run is not
    /// necessarily late again.
    static let mostLateRuns = 3

    package init(bound: Double, firstRate: Double) {
        precondition(bound > 0 && firstRate > 0)
        self.bound = bound
        self.firstRate = firstRate
    }

    package struct Step: Sendable {
        package let rate: Double
        package let result: LoadResult
        /// The reason why the rate failed; nil if the server sustained it.
        package let failure: String?
        /// Whether the generator was too slow. The server was possibly fast enough.
        package var wasLate: Bool { result.lateReason != nil }
    }

    /// Doubles the rate until a run fails, then halves the interval.
    ///
    /// - Parameters:
    ///   - run: Performs one run at the given rate.
    ///   - note: Called after each run.
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

    /// The step with the highest sustained rate.
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
