import Assay
import AssayBytes
import AssayIO
import AssayModels
import Foundation

/// One row of the results.
struct Row: Codable {
    var suite = ""
    var name: String
    var value: Double
    /// The interquartile range of the rounds; 0 with one round.
    var spread: Double
    var unit: String
    /// The ratio to the suite's base; the comment of the threshold describes it.
    var ratio: Double?
    var ratioSpread: Double?
    /// Whether a higher judged value is better; nil in files from before this field existed.
    var isMoreBetter: Bool? = false
    /// The number of rounds; nil if the suite does not report it.
    var rounds: Int?
    /// The shape of the load in an end-to-end row, for the plots.
    var shape: Shape?
    var threshold: Threshold?
    /// The reason why there is no value; nil if there is one.
    var failure: String?

    /// The transport, connections and requests in flight of a load.
    struct Shape: Codable {
        var transport: String
        var connections: Int
        var depth: Int
    }

    /// Creates a row for a failed measurement.
    static func failed(_ name: String, _ error: any Error) -> Row {
        Row(name: name, value: 0, spread: 0, unit: "", failure: "\(error)")
    }

    /// Returns the rows of `body`, or one row with the reason for its failure. A refusal by a
    /// server or a client does not end the run.
    ///
    /// - Parameter suite: The suite of these rows; empty if it is set later.
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

    /// The compared figure: the ratio if there is one, otherwise the value; NaN if the
    /// measurement failed.
    var judged: Double { failure == nil ? ratio ?? value : .nan }
    /// The variation of `judged` between rounds.
    var judgedSpread: Double {
        guard let ratio else { return spread }
        // If the base was measured separately, the value's relative spread applies to the ratio.
        return ratioSpread ?? (value > 0 ? spread / value * ratio : 0)
    }

    var verdict: String {
        if failure != nil { return threshold == nil ? "not measured" : "SHORT" }
        guard let threshold else { return "" }
        if threshold.aim.isMet(by: judged) { return "pass, aim" }
        return threshold.limit.isMet(by: judged) ? "pass" : "SHORT"
    }
}

/// The limit that a row has to reach, and the aim that it should reach.
struct Threshold: Codable {
    var limit: Bound
    var aim: Bound
    /// The description of the threshold: the comment above its line.
    var about: String?

    struct Bound: Codable {
        var isUpper: Bool
        var value: Double

        func isMet(by measured: Double) -> Bool {
            isUpper ? measured <= value : measured >= value
        }
    }

    /// Reads `bench/thresholds`. Each line is `suite/name | at least or at most | limit | aim`,
    /// below its comment.
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
            else { Bench.fail("bench/thresholds has an invalid line: \(line)") }
            let isUpper = fields[1] == "at most"
            thresholds[fields[0]] = Threshold(
                limit: Bound(isUpper: isUpper, value: limit),
                aim: Bound(isUpper: isUpper, value: aim),
                about: comment.isEmpty ? nil : comment.joined(separator: " "))
        }
        return thresholds
    }
}

/// Something that a run does not measure, and why.
struct Omission: Codable, Equatable {
    var what: String
    var why: String

    init(_ what: String, _ why: String) { (self.what, self.why) = (what, why) }
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

/// All results of a run.
struct Results: Codable {
    var date = Timestamp(milliseconds: SystemClock.wallMilliseconds).rfc3339
    var machine = Machine.description
    var isQuick: Bool
    var rows: [Row] = []
    var curves: [Curve] = []
    /// Remarks on the run.
    var notes: [String] = []
    /// What the machine or the options do not allow to measure; nil in files from before this
    /// field existed.
    var omissions: [Omission]? = []
    /// Thresholds without a row in a complete run.
    var missing: [String] = []
    /// Suites that had not finished when this file was written. Not empty if the run was cut
    /// short.
    var unfinished: [String] = []

    init(isQuick: Bool) { self.isQuick = isQuick }

    /// - Parameter isWhole: Whether every threshold should have a row.
    mutating func judge(by thresholds: [String: Threshold], isWhole: Bool) {
        for index in rows.indices {
            rows[index].threshold = thresholds[rows[index].suite + "/" + rows[index].name]
        }
        guard isWhole else { return }
        let measured = Set(rows.map { $0.suite + "/" + $0.name })
        let unsupported = SignatureEngine.allCases.filter { !$0.isSupported }.map { ", \($0)" }
        // Called after each suite: in a run that is cut short, rows of later suites are missing.
        missing = thresholds.keys.filter { key in
            !measured.contains(key) && !unsupported.contains(where: key.hasSuffix)
        }.sorted()
    }

    /// Everything that was not measured, and why.
    var unmeasured: [Omission] {
        let failed = rows.compactMap { row in
            row.failure.map { Omission("\(row.suite): \(row.name)", $0.firstLine) }
        }
        let cut =
            unfinished.isEmpty
            ? []
            : [
                Omission(
                    "unfinished suites: \(unfinished.joined(separator: ", "))",
                    "the run was interrupted")
            ]
        return failed + missing.map { Omission($0, "the run has no row of this name") } + cut
            + (omissions ?? [])
    }

    /// The rows and the thresholds without a row that make a run fail.
    var missed: [String] {
        rows.filter { $0.verdict == "SHORT" }.map { row in
            let measured =
                row.failure == nil
                ? "\(row.judged.short)\(row.judgedUnit), \(row.bound(\.limit))" : "not measured"
            return "\(row.suite): \(row.name): \(measured)"
        } + missing.map { "\($0): no row" }
    }

    var hasMissedThresholds: Bool { !missed.isEmpty }

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
        lines += unmeasured.map { "not measured: \($0.what): \($0.why)" }
        lines += missed.map { "SHORT: \($0)" }
        let short = rows.count { $0.verdict == "SHORT" }
        let judged = rows.count { $0.threshold != nil }
        lines.append("\(judged - short) of \(judged) thresholds met")
        return lines.joined(separator: "\n")
    }
}

/// The output files of a run.
struct ResultFiles {
    var json: String?
    var html: String?

    /// Replaces the previous files atomically: a reader never sees a partial file.
    func write(_ results: Results) throws {
        if let json { try results.json.write(to: URL(fileURLWithPath: json), options: .atomic) }
        if let html {
            try Data(results.html.utf8).write(to: URL(fileURLWithPath: html), options: .atomic)
        }
    }
}

extension String {
    /// The first line, cut to the width of a table column.
    var firstLine: String { String(split(separator: "\n").first?.prefix(200) ?? "") }
}
