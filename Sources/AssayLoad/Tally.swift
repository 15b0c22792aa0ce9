/// The number of requests by outcome.
package struct Counts: Sendable, Equatable {
    package var sent = 0
    /// Answers with the expected verdict. Only these count as throughput.
    package var correct = 0
    /// Answers with another verdict.
    package var wrong = 0
    /// Requests that the server refused because of a limit (RESOURCE_EXHAUSTED).
    package var refused = 0
    /// Requests that failed for any other reason, with or without an answer.
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

/// The outcome of one request.
enum CallOutcome: Sendable {
    case correct
    /// This and the following cases describe the outcome in words.
    case wrong(String)
    case refused(String)
    case error(String)
}

/// The counts and latencies of one group of requests, or of all groups.
struct GroupTally: Sendable {
    var counts = Counts()
    /// Latencies of correct answers, measured from the time when the request was due.
    var latencies = Latencies()

    mutating func note(_ outcome: CallOutcome, latency: UInt64) {
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

/// The measured results of one load loop.
struct Tally: Sendable {
    var groups: [GroupTally]
    /// How late requests were sent, relative to their due times.
    var lateness = Latencies()
    /// The number of incorrect outcomes by description.
    var complaints: [String: Int] = [:]
    /// The time of the last answer.
    var lastAnswer: UInt64 = 0

    /// The maximum number of distinct complaints. Further ones are counted together.
    private static let complaintLimit = 20

    init(groups: Int) { self.groups = Array(repeating: GroupTally(), count: groups) }

    /// The sum of all groups.
    var whole: GroupTally {
        var whole = GroupTally()
        for group in groups { whole.add(group) }
        return whole
    }

    mutating func note(_ outcome: CallOutcome, of group: Int, latency: UInt64) {
        groups[group].note(outcome, latency: latency)
        switch outcome {
        case .correct: break
        case .wrong(let what), .refused(let what), .error(let what): complain(what)
        }
    }

    private mutating func complain(_ what: String) {
        let isNew = complaints[what] == nil && complaints.count >= Self.complaintLimit
        complaints[isNew ? "others" : what, default: 0] += 1
    }

    mutating func add(_ other: Tally) {
        for index in groups.indices { groups[index].add(other.groups[index]) }
        lateness.add(other.lateness)
        complaints.merge(other.complaints, uniquingKeysWith: +)
        lastAnswer = max(lastAnswer, other.lastAnswer)
    }
}

/// About one second of a run, for the progress line and the plot over time. Includes the warm-up.
package struct Moment: Sendable {
    /// Seconds since the start of the run.
    package var time: Double
    /// The length of this interval in seconds.
    package var seconds: Double
    package var counts: Counts
    package var p50: Double
    package var p99: Double
    package var max: Double
    package var latenessP99: Double
    package var inFlight: Int
    package var isWarmUp: Bool
}
