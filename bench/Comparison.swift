import Foundation

/// Compares two runs row by row.
enum Comparison {
    static func main(_ paths: [String]) throws {
        guard paths.count == 2 else { Bench.fail("usage: bench/compare BEFORE.json AFTER.json") }
        let (old, new) = (try read(paths[0]), try read(paths[1]))
        if old.machine != new.machine {
            print("different machines: \(old.machine) and \(new.machine)")
        }
        print(
            "what".padded(to: 58) + "before".aligned(to: 11) + "after".aligned(to: 11)
                + "change".aligned(to: 10) + "noise".aligned(to: 9))
        for row in new.rows {
            guard
                let other = old.rows.first(where: { $0.suite == row.suite && $0.name == row.name })
            else {
                print("\(row.suite): \(row.name)".padded(to: 58) + "  only after")
                continue
            }
            print(line(other, row))
        }
        for row in old.rows
        where !new.rows.contains(where: { $0.suite == row.suite && $0.name == row.name }) {
            print("\(row.suite): \(row.name)".padded(to: 58) + "  only before")
        }
    }

    /// The minimum noise in percent. A smaller spread is chance.
    private static let leastNoise = 1.0

    private static func line(_ old: Row, _ new: Row) -> String {
        if old.failure != nil || new.failure != nil {
            let when = old.failure == nil ? "after" : new.failure == nil ? "before" : "either time"
            return "\(new.suite): \(new.name)".padded(to: 58) + "  not measured \(when)"
        }
        let change = (new.judged / old.judged - 1) * 100
        // The sum of both interquartile ranges, in percent. Runs of the same build differ by
        // less.
        let noise = [old, new].map { $0.judgedSpread / abs($0.judged) * 100 }.reduce(0, +)
        let words: String
        if [old, new].contains(where: { ($0.rounds ?? 3) < 3 }) {
            words = "measured once: noise unknown"
        } else if abs(change) <= max(noise, leastNoise) {
            words = "within the noise"
        } else if let isMoreBetter = new.isMoreBetter ?? old.isMoreBetter {
            words = (change > 0) == isMoreBetter ? "better" : "WORSE"
        } else {
            words = "changed"
        }
        return "\(new.suite): \(new.name)".padded(to: 58) + old.judged.short.aligned(to: 11)
            + new.judged.short.aligned(to: 11)
            + "\(change > 0 ? "+" : "")\(change.short)%".aligned(to: 10)
            + "\(noise.short)%".aligned(to: 9) + "  " + words
    }

    private static func read(_ path: String) throws -> Results {
        try JSONDecoder().decode(Results.self, from: Data(contentsOf: URL(fileURLWithPath: path)))
    }
}
