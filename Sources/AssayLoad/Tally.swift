package import Histogram

/// What became of requests.
package struct Counts: Sendable, Equatable {
    package var sent = 0
    /// Answers with the verdict that was expected: the only ones that are throughput.
    package var correct = 0
    /// Answers with another verdict.
    package var wrong = 0
    /// Answers that say that the server has no room or no time, and to try again later.
    package var refused = 0
    /// No answer, or one without a verdict.
    package var errors = 0

    package var answered: Int { correct + wrong + refused + errors }

    static func += (left: inout Counts, right: Counts) {
        left.sent += right.sent
        left.correct += right.correct
        left.wrong += right.wrong
        left.refused += right.refused
        left.errors += right.errors
    }
}

/// Latencies in nanoseconds, with three significant digits.
package typealias Latencies = Histogram<UInt64>

extension Latencies {
    static func empty() -> Latencies {
        Histogram(
            lowestDiscernibleValue: 1000, highestTrackableValue: LoadLimits.longestLatency,
            numberOfSignificantValueDigits: .three)
    }

    mutating func note(_ nanoseconds: UInt64) {
        record(Swift.min(nanoseconds, LoadLimits.longestLatency))
    }

    /// Milliseconds.
    package func milliseconds(at percentile: Double) -> Double {
        totalCount == 0 ? 0 : Double(valueAtPercentile(percentile)) / 1e6
    }
}

/// What a loop has seen of the measured requests.
struct Tally: Sendable {
    var counts = Counts()
    /// Of correct answers, from the time at which the request was due.
    var latencies = Latencies.empty()
    /// How much later than due the requests went out.
    var lateness = Latencies.empty()
    /// Each wrong verdict and each error in words, with its number.
    var complaints: [String: Int] = [:]
    /// The last answer's time.
    var lastAnswer: UInt64 = 0

    /// Distinct complaints that are kept; the others are counted together.
    private static let complaintsMost = 20

    mutating func complain(_ what: String) {
        let isNew = complaints[what] == nil && complaints.count >= Self.complaintsMost
        complaints[isNew ? "others" : what, default: 0] += 1
    }

    mutating func add(_ other: Tally) {
        counts += other.counts
        latencies.add(other.latencies)
        lateness.add(other.lateness)
        complaints.merge(other.complaints, uniquingKeysWith: +)
        lastAnswer = max(lastAnswer, other.lastAnswer)
    }
}

/// One second of a run, warm-up included, for the progress line and the plot over time.
package struct Moment: Sendable {
    /// Seconds since the run's start.
    package var time: Double
    /// How long it was.
    package var seconds: Double
    package var counts: Counts
    package var p50: Double
    package var p99: Double
    package var max: Double
    package var latenessP99: Double
    package var inFlight: Int
    package var isWarmUp: Bool
}
