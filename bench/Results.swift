import Foundation

/// One measured line.
struct Row: Codable {
    var suite = ""
    var name: String
    var value: Double
    /// From the first to the third quarter of the rounds; 0 where there was one.
    var spread: Double
    var unit: String
    /// Against the suite's measure; what it is, the threshold's line says.
    var ratio: Double?
    var ratioSpread: Double?
    /// Whether more of what is judged is better; nil in files of before this was written.
    var isMoreBetter: Bool? = false
    /// How often it was measured; nil where the suite does not tell.
    var rounds: Int?
    /// Of an end-to-end row, for the plots.
    var shape: Shape?
    var threshold: Threshold?

    /// How a server was asked.
    struct Shape: Codable {
        var transport: String
        var connections: Int
        var depth: Int
    }

    /// What the threshold is about: the ratio where there is one.
    var judged: Double { ratio ?? value }
    /// How much `judged` differs from round to round.
    var judgedSpread: Double {
        guard let ratio else { return spread }
        // A value's share is the ratio's where its measure was taken elsewhere.
        return ratioSpread ?? (value > 0 ? spread / value * ratio : 0)
    }

    var verdict: String {
        guard let threshold else { return "" }
        if threshold.aim.isMet(by: judged) { return "pass, aim" }
        return threshold.limit.isMet(by: judged) ? "pass" : "SHORT"
    }
}

/// What a row has to reach, and what it should.
struct Threshold: Codable {
    var limit: Bound
    var aim: Bound
    /// What it is about, for people: the comment above its line.
    var about: String?

    struct Bound: Codable {
        var isUpper: Bool
        var value: Double

        func isMet(by measured: Double) -> Bool {
            isUpper ? measured <= value : measured >= value
        }
    }

    /// `bench/thresholds`: suite/name | at least or at most | limit | aim, a line each, below its
    /// comment.
    static func read(_ path: String = "bench/thresholds") throws -> [String: Threshold] {
        var thresholds: [String: Threshold] = [:]
        let text = try String(contentsOfFile: path, encoding: .utf8)
        var comment: [String] = []
        for line in text.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("#") {
                comment.append(line.dropFirst().trimmingCharacters(in: .whitespaces))
                continue
            }
            defer { comment = [] }
            if line.isEmpty { continue }
            let fields = line.split(separator: "|").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            guard fields.count == 4, ["at least", "at most"].contains(fields[1]),
                let limit = Double(fields[2]), let aim = Double(fields[3])
            else { Bench.fail("bench/thresholds has a line that is none: \(line)") }
            let isUpper = fields[1] == "at most"
            thresholds[fields[0]] = Threshold(
                limit: Bound(isUpper: isUpper, value: limit),
                aim: Bound(isUpper: isUpper, value: aim),
                about: comment.isEmpty ? nil : comment.joined(separator: " "))
        }
        return thresholds
    }
}

/// The latencies of one run, for the plot.
struct Curve: Codable {
    var name: String
    var points: [Point]

    struct Point: Codable {
        var percent: Double
        /// Milliseconds.
        var latency: Double
    }
}

/// All that a run has measured.
struct Results: Codable {
    var date = ISO8601DateFormatter().string(from: Date())
    var machine = Machine.description
    var isQuick: Bool
    var rows: [Row] = []
    var curves: [Curve] = []
    /// What was left out, and why.
    var notes: [String] = []
    /// Thresholds of rows that were not measured, though all should have been.
    var missing: [String] = []

    init(isQuick: Bool) { self.isQuick = isQuick }

    mutating func add(_ suite: String, _ rows: [Row]) {
        for var row in rows {
            row.suite = suite
            self.rows.append(row)
        }
    }

    /// - Parameter isWhole: every row with a threshold should be there.
    mutating func judge(by thresholds: [String: Threshold], isWhole: Bool) {
        for index in rows.indices {
            rows[index].threshold = thresholds[rows[index].suite + "/" + rows[index].name]
        }
        guard isWhole else { return }
        let measured = Set(rows.map { $0.suite + "/" + $0.name })
        missing = thresholds.keys.filter { !measured.contains($0) }.sorted()
    }

    var isShort: Bool { rows.contains { $0.verdict == "SHORT" } || !missing.isEmpty }

    var json: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return try encoder.encode(self)
        }
    }

    var table: String {
        var lines = [
            "what".padded(to: 58) + "value".aligned(to: 11) + "±".aligned(to: 9)
                + "".padded(to: 5) + "ratio".aligned(to: 8) + "threshold".aligned(to: 12)
                + "aim".aligned(to: 8)
        ]
        for row in rows {
            let bound = row.threshold.map {
                ($0.limit.isUpper ? "<= " : ">= ") + $0.limit.value.short
            }
            lines.append(
                "\(row.suite): \(row.name)".padded(to: 58) + row.value.short.aligned(to: 11)
                    + row.spread.short.aligned(to: 9) + " " + row.unit.padded(to: 4)
                    + (row.ratio?.short ?? "").aligned(to: 8) + (bound ?? "").aligned(to: 12)
                    + (row.threshold?.aim.value.short ?? "").aligned(to: 8) + "  " + row.verdict)
        }
        lines += notes
        lines += missing.map { "SHORT: \($0) has a threshold and was not measured" }
        let short = rows.count { $0.verdict == "SHORT" }
        let judged = rows.count { $0.threshold != nil }
        lines.append("\(judged - short) of \(judged) thresholds reached")
        return lines.joined(separator: "\n")
    }
}
