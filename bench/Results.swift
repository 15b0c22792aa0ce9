import Foundation

/// One measured line.
struct Row: Codable {
    var suite = ""
    var name: String
    var value: Double
    var spread: Double
    var unit: String
    /// Against the suite's measure; what it is, the threshold's line says.
    var ratio: Double?
    var threshold: Threshold?

    /// What the threshold is about: the ratio where there is one.
    var judged: Double { ratio ?? value }

    var verdict: String {
        guard let threshold else { return "" }
        if threshold.aim.isMet(by: judged) { return "aim" }
        return threshold.limit.isMet(by: judged) ? "pass" : "SHORT"
    }
}

/// What a row has to reach, and what it should.
struct Threshold: Codable {
    var limit: Bound
    var aim: Bound

    struct Bound: Codable {
        var isUpper: Bool
        var value: Double

        func isMet(by measured: Double) -> Bool {
            isUpper ? measured <= value : measured >= value
        }
    }

    /// `bench/thresholds`: suite/name | at least or at most | limit | aim, a line each.
    static func read(_ path: String = "bench/thresholds") throws -> [String: Threshold] {
        var thresholds: [String: Threshold] = [:]
        let text = try String(contentsOfFile: path, encoding: .utf8)
        for line in text.split(separator: "\n") where !line.hasPrefix("#") {
            let fields = line.split(separator: "|").map {
                $0.trimmingCharacters(in: .whitespaces)
            }
            guard fields.count == 4, ["at least", "at most"].contains(fields[1]),
                let limit = Double(fields[2]), let aim = Double(fields[3])
            else { fatalError("bench/thresholds has a line that is none: \(line)") }
            let isUpper = fields[1] == "at most"
            thresholds[fields[0]] = Threshold(
                limit: Bound(isUpper: isUpper, value: limit),
                aim: Bound(isUpper: isUpper, value: aim))
        }
        return thresholds
    }
}

/// All that a run has measured.
struct Results: Codable {
    var date = ISO8601DateFormatter().string(from: Date())
    var isQuick: Bool
    var rows: [Row] = []

    init(isQuick: Bool) { self.isQuick = isQuick }

    mutating func add(_ suite: String, _ rows: [Row]) {
        for var row in rows {
            row.suite = suite
            self.rows.append(row)
        }
    }

    mutating func judge(by thresholds: [String: Threshold]) {
        for index in rows.indices {
            rows[index].threshold = thresholds[rows[index].suite + "/" + rows[index].name]
        }
    }

    var isShort: Bool { rows.contains { $0.verdict == "SHORT" } }

    var json: Data {
        get throws {
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.prettyPrinted, .sortedKeys]
            return try encoder.encode(self)
        }
    }

    var table: String {
        var lines = [
            "what".padded(to: 52) + "value".aligned(to: 11) + "±".aligned(to: 9)
                + "".padded(to: 5) + "ratio".aligned(to: 8) + "threshold".aligned(to: 12)
                + "aim".aligned(to: 8)
        ]
        for row in rows {
            let bound = row.threshold.map {
                ($0.limit.isUpper ? "<= " : ">= ") + $0.limit.value.short
            }
            lines.append(
                "\(row.suite): \(row.name)".padded(to: 52) + row.value.short.aligned(to: 11)
                    + row.spread.short.aligned(to: 9) + " " + row.unit.padded(to: 4)
                    + (row.ratio?.short ?? "").aligned(to: 8) + (bound ?? "").aligned(to: 12)
                    + (row.threshold?.aim.value.short ?? "").aligned(to: 8) + "  " + row.verdict)
        }
        return lines.joined(separator: "\n")
    }

    /// One file that needs nothing else.
    var html: String {
        let cells = rows.map { row in
            let bound = row.threshold.map {
                ($0.limit.isUpper ? "≤ " : "≥ ") + $0.limit.value.short
            }
            return "<tr class=\"\(row.verdict)\"><td>\(row.suite)</td><td>\(row.name)</td>"
                + "<td>\(row.value.short) ± \(row.spread.short) \(row.unit)</td>"
                + "<td>\(row.ratio?.short ?? "")</td><td>\(bound ?? "")</td>"
                + "<td>\(row.threshold?.aim.value.short ?? "")</td><td>\(row.verdict)</td>"
                + "<td>\(bar(row))</td></tr>"
        }
        return """
            <!doctype html><html lang="en"><meta charset="utf-8"><title>Assay: bench</title>
            <style>body{font:15px system-ui,sans-serif;max-width:1000px;margin:2em auto}
            td,th{padding:.2em .8em;text-align:left}tr.SHORT{background:#fdecea}</style>
            <h1>What Assay takes</h1><p>\(date)\(isQuick ? ", a quick run" : ""). A ratio compares
            with the measure of its own run, so that it means the same on another machine; the bar
            is its share of the aim, the line the threshold.</p>
            <table><tr><th>suite</th><th>what</th><th>value</th><th>ratio</th><th>threshold</th>
            <th>aim</th><th></th><th></th></tr>\(cells.joined(separator: "\n"))</table></html>

            """
    }

    private func bar(_ row: Row) -> String {
        guard let threshold = row.threshold else { return "" }
        let most = max(threshold.aim.value, threshold.limit.value) * 1.2
        let (value, limit) = (min(row.judged / most, 1) * 160, threshold.limit.value / most * 160)
        let color = row.verdict == "SHORT" ? "#c0392b" : "#16a34a"
        return "<svg width=\"160\" height=\"12\"><rect width=\"\(value.short)\" height=\"12\" "
            + "fill=\"\(color)\"/><line x1=\"\(limit.short)\" x2=\"\(limit.short)\" y2=\"12\" "
            + "stroke=\"#1b2430\" stroke-width=\"2\"/></svg>"
    }
}

/// Two runs, line by line.
enum Comparison {
    static func print(_ before: String, _ after: String) throws {
        let (old, new) = (try read(before), try read(after))
        Swift.print(
            "what".padded(to: 52) + "before".aligned(to: 11) + "after".aligned(to: 11)
                + "change".aligned(to: 9) + "spread".aligned(to: 9))
        for row in new.rows {
            guard
                let other = old.rows.first(where: { $0.suite == row.suite && $0.name == row.name })
            else { continue }
            let change = (row.judged / other.judged - 1) * 100
            let spread = max(row.spread / row.value, other.spread / other.value) * 100
            Swift.print(
                "\(row.suite): \(row.name)".padded(to: 52) + other.judged.short.aligned(to: 11)
                    + row.judged.short.aligned(to: 11) + "\(change.short)%".aligned(to: 9)
                    + "\(spread.short)%".aligned(to: 9)
                    + (abs(change) > spread ? "" : "  within the spread"))
        }
    }

    private static func read(_ path: String) throws -> Results {
        try JSONDecoder().decode(Results.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }
}
