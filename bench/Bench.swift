import Foundation

/// Measures the parts that Assay's speed is made of, and holds them against `bench/thresholds`.
///
/// `bench/run` builds and runs everything; `bench SUITE [NAME]` one suite, or the one measurement
/// of it whose name ends so. What counts are ratios within one run: everything takes its turn, so
/// that a busy machine disturbs all alike.
@main
struct Bench {
    static let suites = ["primitives", "jws", "receipts", "server", "overload", "start"]

    static func main() throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "compare", arguments.count == 3 {
            return try Comparison.print(arguments[1], arguments[2])
        }
        if arguments.first == "receipt-profile" {
            return try ReceiptProfile.run(arguments.dropFirst().first)
        }
        let json = option("--json", in: &arguments)
        let html = option("--html", in: &arguments)
        let isQuick = arguments.contains("--quick")
        arguments.removeAll { $0 == "--quick" }
        let chosen = arguments.first.map { [$0] } ?? suites
        let part = arguments.dropFirst().first

        var results = Results(isQuick: isQuick)
        for suite in chosen {
            FileHandle.standardError.write(Data("measuring \(suite) ...\n".utf8))
            switch suite {
            case "primitives": results.add(suite, Primitives.run(only: part, isQuick: isQuick))
            case "jws": results.add(suite, try JWSSuite.run(only: part, isQuick: isQuick))
            case "receipts": results.add(suite, try ReceiptSuite.run(isQuick: isQuick))
            case "server": results.add(suite, try ServerSuite.run(isQuick: isQuick))
            case "overload": results.add(suite, try OverloadSuite.run(isQuick: isQuick))
            case "start": results.add(suite, try StartSuite.run(isQuick: isQuick))
            default: fatalError("no suite \(suite); there are: " + suites.joined(separator: ", "))
            }
        }
        results.judge(by: try Threshold.read())
        print(results.table)
        if let json { try results.json.write(to: URL(fileURLWithPath: json)) }
        if let html { try Data(results.html.utf8).write(to: URL(fileURLWithPath: html)) }
        exit(results.isShort ? 1 : 0)
    }

    private static func option(_ name: String, in arguments: inout [String]) -> String? {
        guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else {
            return nil
        }
        defer { arguments.removeSubrange(index...index + 1) }
        return arguments[index + 1]
    }
}

/// One thing that is measured in process.
struct Measurement {
    let name: String
    /// What one call of `body` does, for instance signatures of a batch.
    let unitsPerCall: Int
    let body: () -> Void
    /// Microseconds of processor time a unit, one for each round: others on the machine disturb
    /// it less than they do a clock.
    private(set) var samples: [Double] = []

    init(_ name: String, units: Int = 1, _ body: @escaping () -> Void) {
        self.name = name
        unitsPerCall = units
        self.body = body
    }

    var median: Double { samples.median }
    /// From the first to the third quarter.
    var spread: Double { samples.spread }

    /// Calls for about that long.
    mutating func sample(for duration: Duration) {
        let clock = ContinuousClock()
        let start = clock.now
        let used = Self.processorMicroseconds
        var calls = 0
        repeat {
            body()
            calls += 1
        } while start.duration(to: clock.now) < duration
        samples.append(
            (Self.processorMicroseconds - used) / Double(calls * unitsPerCall))
    }

    private static var processorMicroseconds: Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) * 1e6 + Double(time.tv_nsec) / 1e3
    }

    static func rounds(
        _ count: Int, of duration: Duration, _ measurements: inout [Measurement]
    ) {
        for _ in 0..<count {
            for index in measurements.indices { measurements[index].sample(for: duration) }
        }
    }

    /// As a row; `base` ÷ it is its ratio.
    func row(against base: Measurement? = nil) -> Row {
        Row(
            name: name, value: median, spread: spread, unit: "µs",
            ratio: base.map { $0.median / median })
    }
}

extension [Double] {
    var median: Double { isEmpty ? .nan : sorted()[count / 2] }
    var spread: Double {
        isEmpty ? 0 : sorted()[count * 3 / 4] - sorted()[count / 4]
    }
}

extension Duration {
    var microseconds: Double {
        Double(components.seconds) * 1e6 + Double(components.attoseconds) / 1e12
    }
}

extension Double {
    /// With two digits behind the point.
    var short: String { isFinite ? String(format: "%.2f", self) : "-" }
}

extension String {
    func padded(to width: Int) -> String {
        self + String(repeating: " ", count: max(0, width - count))
    }
    func aligned(to width: Int) -> String {
        String(repeating: " ", count: max(0, width - count)) + self
    }
}
