package import Histogram

/// What became of requests.
package struct Counts: Sendable, Equatable {
    package var sent = 0
    /// Answers with the verdict that was expected: the only ones that are throughput.
    package var correct = 0
    /// Answers with another verdict.
    package var wrong = 0
    /// Requests that the server did not take because of a limit (RESOURCE_EXHAUSTED).
    package var refused = 0
    /// No answer, or one without a verdict for any other reason.
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

/// What became of one request.
enum Outcome: Sendable {
    case correct
    /// The others in words.
    case wrong(String)
    case refused(String)
    case error(String)
}

/// What a loop has seen of the requests of one group, or of all.
struct GroupTally: Sendable {
    var counts = Counts()
    /// Of correct answers, from the time at which the request was due.
    var latencies = Latencies.empty()

    mutating func note(_ outcome: Outcome, latency: UInt64) {
        switch outcome {
        case .correct:
            counts.correct += 1
            latencies.note(latency)
        case .wrong: counts.wrong += 1
        case .refused: counts.refused += 1
        case .error: counts.errors += 1
        }
    }

    mutating func add(_ other: GroupTally) {
        counts += other.counts
        latencies.add(other.latencies)
    }
}

/// What a loop has seen of the measured requests.
struct Tally: Sendable {
    var groups: [GroupTally]
    /// How much later than due the requests went out.
    var lateness = Latencies.empty()
    /// Each outcome that is not correct in words, with its number.
    var complaints: [String: Int] = [:]
    /// The last answer's time.
    var lastAnswer: UInt64 = 0

    /// Distinct complaints that are kept; the others are counted together.
    private static let complaintsMost = 20

    init(groups: Int) { self.groups = Array(repeating: GroupTally(), count: groups) }

    /// All groups together.
    var whole: GroupTally {
        var whole = GroupTally()
        for group in groups { whole.add(group) }
        return whole
    }

    mutating func note(_ outcome: Outcome, of group: Int, latency: UInt64) {
        groups[group].note(outcome, latency: latency)
        switch outcome {
        case .correct: break
        case .wrong(let what), .refused(let what), .error(let what): complain(what)
        }
    }

    private mutating func complain(_ what: String) {
        let isNew = complaints[what] == nil && complaints.count >= Self.complaintsMost
        complaints[isNew ? "others" : what, default: 0] += 1
    }

    mutating func add(_ other: Tally) {
        for index in groups.indices { groups[index].add(other.groups[index]) }
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
