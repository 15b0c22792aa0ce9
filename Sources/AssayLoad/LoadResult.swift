import AssayBytes

/// The results of a run.
package struct LoadResult: Sendable {
    package var settings: LoadSettings
    /// The names of the request groups.
    let names: [String]
    let tally: Tally
    private let whole: GroupTally
    /// Seconds during which measured requests were sent.
    package let sendingSeconds: Double
    /// Seconds from the start of the measurement to its end or to the last answer, whichever is
    /// later.
    package let seconds: Double
    package let moments: [Moment]
    package let processor: ProcessorUse.Elapsed
    package let wasInterrupted: Bool

    init(
        settings: LoadSettings, names: [String], tally: Tally, sendingSeconds: Double,
        seconds: Double,
        moments: [Moment], processor: ProcessorUse.Elapsed, wasInterrupted: Bool
    ) {
        self.settings = settings
        self.names = names
        self.tally = tally
        whole = tally.whole
        self.sendingSeconds = sendingSeconds
        self.seconds = seconds
        self.moments = moments
        self.processor = processor
        self.wasInterrupted = wasInterrupted
    }

    package var counts: Counts { whole.counts }
    package var latencies: Latencies { whole.latencies }
    /// The counts and latencies of each request group.
    package var groups: [(name: String, counts: Counts, latencies: Latencies)] {
        zip(names, tally.groups).map { ($0, $1.counts, $1.latencies) }
    }
    package var lateness: Latencies { tally.lateness }
    /// Complaints and their counts, the most frequent first.
    package var complaints: [(what: String, count: Int)] {
        tally.complaints.sorted { $0.value > $1.value }.map { ($0.key, $0.value) }
    }

    /// Correct answers per second. Wrong answers and errors do not count.
    package var throughput: Double { seconds > 0 ? Double(counts.correct) / seconds : 0 }

    package var sentRate: Double {
        sendingSeconds > 0 ? Double(counts.sent) / sendingSeconds : 0
    }

    /// Processor time of the generator for each correct answer, in microseconds; nil without one.
    package var generatorPerAnswer: Double? { perAnswer(processor.own) }
    /// The same of the server; nil also if its process is not known.
    package var serverPerAnswer: Double? { processor.server.flatMap(perAnswer) }

    private func perAnswer(_ processors: Double) -> Double? {
        counts.correct > 0 ? processors * seconds / Double(counts.correct) * 1e6 : nil
    }

    /// The number of requests without an answer at the end of the run.
    package var unanswered: Int { max(counts.sent - counts.answered, 0) }

    /// The reason why the generator, not the server, limited the figures; nil if they are valid.
    package var lateReason: String? {
        guard case .open(let rate, _) = settings.pace, counts.sent > 0 else { return nil }
        let p99 = lateness.value(at: 99)
        if p99 > settings.latenessLimit {
            return "one request in a hundred was sent more than \((Double(p99) / 1e6).short) ms "
                + "late; the limit is \((Double(settings.latenessLimit) / 1e6).short) ms "
                + "(--late-limit). Give the generator a processor of its own"
        }
        let share = sentRate / rate
        // Random arrivals vary by a few requests.
        let chance = 4 / Double(counts.sent).squareRoot()
        if share < LoadLimits.smallestShareOfRate - chance {
            return "it sent \(sentRate.rounded0) requests per second instead of \(rate.rounded0)"
        }
        return nil
    }

    /// Whether every request got its expected verdict.
    package var isClean: Bool {
        counts.wrong == 0 && counts.refused == 0 && counts.errors == 0 && unanswered == 0
            && counts.correct > 0
    }

    /// The percentiles that reports list.
    package static let percentiles: [(name: String, value: Double)] = [
        ("50", 50), ("75", 75), ("90", 90), ("99", 99), ("99.9", 99.9), ("99.99", 99.99),
        ("100", 100),
    ]

    /// The whole percentile curve for plots, in percent and milliseconds.
    package var percentileCurve: [(percent: Double, milliseconds: Double)] {
        var curve: [(percent: Double, milliseconds: Double)] = []
        for step in latencies.percentiles(ticksPerHalfDistance: 10)
        where step.percentile < 100 {
            curve.append((step.percentile, Double(step.value) / 1e6))
        }
        return curve
    }

    /// The percentile distribution in HdrHistogram's text form, in milliseconds, for its plotter.
    package var percentileDistribution: String { latencies.percentileDistribution }
}

extension Double {
    /// The number with about three significant digits.
    package var short: String {
        if self >= 100 || self == rounded() && self >= 10 { return rounded0 }
        let digits = self >= 10 ? 10.0 : self >= 1 ? 100 : 1000
        let scaled = Int((self * digits).rounded())
        let width = digits == 10 ? 1 : digits == 100 ? 2 : 3
        return "\(scaled / Int(digits))." + String(scaled % Int(digits), width: width)
    }

    /// The number without its fraction.
    package var rounded0: String { isFinite ? String(Int(self.rounded())) : "-" }
}
