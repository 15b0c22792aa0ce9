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
    /// Why there is no value; nil: there is one.
    var failure: String?

    /// How a server was asked.
    struct Shape: Codable {
        var transport: String
        var connections: Int
        var depth: Int
    }

    /// A row for a measurement that failed.
    static func failed(_ name: String, _ error: any Error) -> Row {
        Row(name: name, value: 0, spread: 0, unit: "", failure: "\(error)")
    }

    /// The rows of `body`, or one row with the reason why there are none. Nothing that a server or
    /// a client refuses ends the run.
    ///
    /// - Parameter suite: the suite of these rows; nil: it is set later.
    static func measuring(
        _ name: String, in suite: String = "", _ body: () throws -> [Row]
    ) -> [Row] {
        var rows: [Row]
        do {
            rows = try body()
        } catch {
            Bench.progress("  not measured: \(name): \(error)")
            rows = [.failed(name, error)]
        }
        for index in rows.indices { rows[index].suite = suite }
        return rows
    }

    /// The compared figure: the ratio where there is one, not a number where nothing was measured.
    var judged: Double { failure == nil ? ratio ?? value : .nan }
    /// How much `judged` differs from round to round.
    var judgedSpread: Double {
        guard let ratio else { return spread }
        // A value's share is the ratio's where its measure was taken elsewhere.
        return ratioSpread ?? (value > 0 ? spread / value * ratio : 0)
    }

    var verdict: String {
        if failure != nil { return threshold == nil ? "not measured" : "SHORT" }
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
    /// Suites that had not ended when this was written: all in a file of a run that was cut short.
    var unfinished: [String] = []

    init(isQuick: Bool) { self.isQuick = isQuick }

    /// - Parameter isWhole: every row with a threshold should be there.
    mutating func judge(by thresholds: [String: Threshold], isWhole: Bool) {
        for index in rows.indices {
            rows[index].threshold = thresholds[rows[index].suite + "/" + rows[index].name]
        }
        guard isWhole else { return }
        let measured = Set(rows.map { $0.suite + "/" + $0.name })
        // Judged after each suite: what later ones measure is missing only in a run cut short.
        missing = thresholds.keys.filter { !measured.contains($0) }.sorted()
    }

    /// What a reader has to know beside the rows.
    var remarks: [String] {
        let missing = missing.map { "SHORT: \($0) has a threshold and was not measured" }
        guard !unfinished.isEmpty else { return missing }
        let suites = unfinished.joined(separator: ", ")
        return missing + ["The run was cut short; not finished: \(suites)"]
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
            "\(date), \(machine)",
            "what".padded(to: 58) + "value".aligned(to: 11) + "±".aligned(to: 9)
                + "".padded(to: 5) + "ratio".aligned(to: 8) + "threshold".aligned(to: 12)
                + "aim".aligned(to: 8),
        ]
        for row in rows {
            if let failure = row.failure {
                lines.append(
                    "\(row.suite): \(row.name)".padded(to: 58)
                        + "  \(row.verdict): \(failure.firstLine)")
                continue
            }
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
        lines += remarks
        let short = rows.count { $0.verdict == "SHORT" }
        let judged = rows.count { $0.threshold != nil }
        lines.append("\(judged - short) of \(judged) thresholds reached")
        return lines.joined(separator: "\n")
    }
}

/// The files of a run.
struct ResultFiles {
    var json: String?
    var html: String?

    /// Replaces what was written before as a whole: a reader never sees half of it.
    func write(_ results: Results) throws {
        if let json { try results.json.write(to: URL(fileURLWithPath: json), options: .atomic) }
        if let html {
            try Data(results.html.utf8).write(to: URL(fileURLWithPath: html), options: .atomic)
        }
    }
}

extension String {
    /// Its first line, within what a table's column holds.
    var firstLine: String { String(split(separator: "\n").first?.prefix(200) ?? "") }
}
