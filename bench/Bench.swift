import AssayIO
import Foundation

/// Measures the parts that determine Assay's speed, and compares them with `bench/thresholds`.
///
/// `bench/run` builds and runs everything. `bench SUITE [NAME]` runs one suite, or its
/// measurements that match NAME. The results that count are ratios within one run: the
/// measurements alternate, so that a busy machine affects all equally.
@main
struct Bench {
    static let suites = [
        "primitives", "jws", "stores", "receipts", "receipt-wire", "server", "http", "rpc",
        "resolve", "overload", "matrix", "latency", "bulk", "start", "peers",
    ]

    private static let usage = """
        usage: bench [--quick] [--peers] [--json FILE] [--html FILE] [SUITE [NAME]]
               bench compare BEFORE.json AFTER.json
               bench differential [COUNT] [--curve p256|p384] [--engine NAME]
        suites: \(suites.joined(separator: " "))
        Use bench/run, which builds everything and sets the folder: bench/run --help
        """

    static func main() {
        do {
            try run(Array(CommandLine.arguments.dropFirst()))
        } catch {
            fail("\(error)")
        }
    }

    private static func run(_ arguments: [String]) throws {
        var arguments = arguments
        if arguments.first == "compare" {
            return try Comparison.main(Array(arguments.dropFirst()))
        }
        if arguments.first == "differential" { Differential.main(Array(arguments.dropFirst())) }
        if arguments.first == "sink" { return try HashingSink.run() }
        if arguments.first == SpeedProbe.argument { SpeedProbe.run() }
        if arguments.first == CountedVerification.argument { return try CountedVerification.run() }
        if ["-h", "--help"].contains(where: arguments.contains) { return print(usage) }
        let files = ResultFiles(
            json: option("--json", in: &arguments), html: option("--html", in: &arguments))
        let isQuick = flag("--quick", in: &arguments)
        let withPeers = flag("--peers", in: &arguments)
        let chosen = arguments.first.map { [$0] } ?? suites
        if let option = arguments.first(where: { $0.hasPrefix("-") }) {
            fail("unknown option \(option), or its value is missing\n" + usage)
        }
        guard suites.contains(chosen[0]) else {
            fail("unknown suite \(chosen[0])\n" + usage)
        }
        // Allows a thousand connections, here and in child processes.
        Descriptors.raiseLimit()

        let thresholds = try Threshold.read()
        var results = Results(isQuick: isQuick)
        results.notes += [Machine.busyness, Machine.pacing].compactMap(\.self)
        results.omissions = Machine.omissions
        if isQuick {
            results.omissions?.append(
                Omission(
                    "sizes, loads and rounds that --quick leaves out", "the run is a quick one"))
        }
        let isWhole = arguments.isEmpty && !isQuick
        try measure(chosen, &results) { suite, results in
            results.rows += Row.measuring(suite, in: suite) {
                try rows(
                    of: suite, only: arguments.dropFirst().first, isQuick: isQuick,
                    withPeers: withPeers, &results)
            }
            results.judge(by: thresholds, isWhole: isWhole)
        } write: { results in
            try files.write(results)
        }
        print(results.table)
        exit(results.hasMissedThresholds ? 1 : 0)
    }

    /// Measures one suite after another and writes the results after each. A run that is killed,
    /// or a suite that ends the process, loses only its own results.
    static func measure(
        _ suites: [String], _ results: inout Results,
        _ body: (String, inout Results) throws -> Void, write: (Results) throws -> Void
    ) throws {
        let clock = ContinuousClock()
        let start = clock.now
        results.unfinished = suites
        for (index, suite) in suites.enumerated() {
            let seconds = Int(start.duration(to: clock.now).microseconds / 1e6)
            progress("\(index + 1)/\(suites.count) \(suite) (\(seconds) s so far)")
            try body(suite, &results)
            results.unfinished.removeFirst()
            try write(results)
        }
    }

    private static func rows(
        of suite: String, only part: String?, isQuick: Bool, withPeers: Bool,
        _ results: inout Results
    ) throws -> [Row] {
        switch suite {
        case "primitives": return Primitives.run(only: part, isQuick: isQuick)
        case "jws": return try JWSSuite.run(only: part, isQuick: isQuick)
        case "stores": return try StoresSuite.run(only: part, isQuick: isQuick)
        case "receipts": return try ReceiptSuite.run(only: part, isQuick: isQuick)
        case "receipt-wire": return try ReceiptWireSuite.run(isQuick: isQuick)
        case "server": return try ServerSuite.run(isQuick: isQuick)
        case "http": return try HTTPSuite.run(isQuick: isQuick)
        case "rpc": return try RPCSuite.run(only: part, isQuick: isQuick)
        case "resolve": return try ResolveSuite.run(isQuick: isQuick)
        case "overload": return try OverloadSuite.run(isQuick: isQuick)
        case "matrix": return try MatrixSuite.run(isQuick: isQuick)
        case "latency":
            let (rows, curves, notes) = try LatencySuite.run(isQuick: isQuick)
            results.notes += notes
            results.curves = curves
            return rows
        case "bulk": return try BulkSuite.run(isQuick: isQuick)
        case "start": return try StartSuite.run(isQuick: isQuick)
        case "peers":
            let (rows, omissions) = try PeersSuite.run(isQuick: isQuick, withPeers: withPeers)
            results.omissions = (results.omissions ?? []) + omissions
            return rows
        default: preconditionFailure("the suite has no measurements")
        }
    }

    // MARK: Arguments and messages

    private static func flag(_ name: String, in arguments: inout [String]) -> Bool {
        defer { arguments.removeAll { $0 == name } }
        return arguments.contains(name)
    }

    private static func option(_ name: String, in arguments: inout [String]) -> String? {
        guard let index = arguments.firstIndex(of: name), index + 1 < arguments.count else {
            return nil
        }
        defer { arguments.removeSubrange(index...index + 1) }
        return arguments[index + 1]
    }

    static func progress(_ text: String) {
        FileHandle.standardError.write(Data("\(text)\n".utf8))
    }

    static func fail(_ text: String) -> Never {
        progress("bench: \(text)")
        exit(2)
    }
}
