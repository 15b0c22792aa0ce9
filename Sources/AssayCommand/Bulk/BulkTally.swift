import AssayModels

/// Counts the results of a bulk verification.
struct BulkTally: Sendable, Equatable {
    private(set) var items = 0
    /// The bytes of the input that the items come from.
    private(set) var bytes = 0
    private(set) var counts: [String: Int] = [:]
    private(set) var hasTrouble = false

    mutating func note(_ answer: BulkAnswer, bytes: Int) {
        items += 1
        self.bytes += bytes
        counts[answer.name, default: 0] += 1
        if case .fault(let fault) = answer, fault.isTrouble { hasTrouble = true }
    }

    mutating func add(_ other: BulkTally) {
        items += other.items
        bytes += other.bytes
        counts.merge(other.counts, uniquingKeysWith: +)
        hasTrouble = hasTrouble || other.hasTrouble
    }

    /// Whether every item is VALID.
    var isAllValid: Bool { items == counts[Verdict.valid.name, default: 0] }

    /// One line for each verdict and fault that occurred, verdicts first, then the total.
    func summary(emptyLines: Int, seconds: Double) -> String {
        let verdicts = Verdict.allCases.map(\.name)
        let faults = counts.keys.filter { !verdicts.contains($0) }.sorted()
        var lines = (verdicts + faults).compactMap { name in
            counts[name].map { "\(name) \($0)" }
        }
        var total = "total \(items) in \(seconds.oneDigit) s, \(rate(seconds: seconds)) per second"
        if emptyLines > 0 { total += "; empty lines skipped: \(emptyLines)" }
        lines.append(total)
        return lines.joined(separator: "\n")
    }

    func rate(seconds: Double) -> Int { Int(Double(items) / max(seconds, 0.001)) }
}

/// The progress of a bulk verification, for a terminal.
struct BulkProgress {
    /// The size of the input in bytes or files; nil for a pipe.
    let total: Int?
    /// How much of it has been written.
    let done: Int
    let items: Int
    let seconds: Double

    /// The line: `12345 items, 6 %, 21034 per second, 9 s left`.
    var text: String {
        let rate = Int(Double(items) / max(seconds, 0.001))
        guard let total, total > 0, done > 0 else { return "\(items) items, \(rate) per second" }
        // A file can grow while it is read.
        let part = min(Double(done) / Double(total), 1)
        let left = Int((seconds / part - seconds).rounded(.up))
        return "\(items) items, \(Int(part * 100)) %, \(rate) per second, \(Self.time(left)) left"
    }

    private static func time(_ seconds: Int) -> String {
        switch seconds {
        case ..<60: "\(seconds) s"
        case ..<3600: "\(seconds / 60) min \(seconds % 60) s"
        default: "\(seconds / 3600) h \(seconds % 3600 / 60) min"
        }
    }
}

extension Double {
    /// The number with one digit after the point.
    fileprivate var oneDigit: String {
        let tenths = Int((self * 10).rounded())
        return "\(tenths / 10).\(tenths % 10)"
    }
}
