import AssayLoop
import Foundation

/// Measures the parts that Assay's speed is made of, and holds them against `bench/thresholds`.
///
/// `bench/run` builds and runs everything; `bench SUITE [NAME]` one suite, or the one measurement
/// of it whose name ends so. What counts are ratios within one run: everything takes its turn, so
/// that a busy machine disturbs all alike.
@main
struct Bench {
    static let suites = [
        "primitives", "jws", "receipts", "receipt-wire", "server", "overload", "matrix", "latency",
        "start", "peers",
    ]

    private static let usage = """
        usage: bench [--quick] [--peers] [--json FILE] [--html FILE] [SUITE [NAME]]
               bench compare BEFORE.json AFTER.json
        suites: \(suites.joined(separator: " "))
        bench/run builds what this needs and calls it from the right folder: bench/run --help
        """

    static func main() throws {
        var arguments = Array(CommandLine.arguments.dropFirst())
        if arguments.first == "compare" {
            return try Comparison.main(Array(arguments.dropFirst()))
        }
        if arguments.first == "sink" { return HashingSink.run() }
        if ["-h", "--help"].contains(where: arguments.contains) { return print(usage) }
        let json = option("--json", in: &arguments)
        let html = option("--html", in: &arguments)
        let isQuick = flag("--quick", in: &arguments)
        let withPeers = flag("--peers", in: &arguments)
        let chosen = arguments.first.map { [$0] } ?? suites
        if let option = arguments.first(where: { $0.hasPrefix("-") }) {
            fail("there is no option \(option), or it lacks its value\n" + usage)
        }
        guard suites.contains(chosen[0]) else {
            fail("there is no suite \(chosen[0])\n" + usage)
        }
        // For a thousand connections, here and in the servers that are started from here.
        Descriptors.raiseLimit()

        var results = Results(isQuick: isQuick)
        results.notes += [Machine.busyness].compactMap(\.self)
        let clock = ContinuousClock()
        let start = clock.now
        for (index, suite) in chosen.enumerated() {
            let seconds = Int(start.duration(to: clock.now).microseconds / 1e6)
            progress("\(index + 1)/\(chosen.count) \(suite) (\(seconds) s so far)")
            try run(
                suite, only: arguments.dropFirst().first, isQuick: isQuick, withPeers: withPeers,
                &results)
        }
        try results.judge(
            by: Threshold.read(), isWhole: arguments.isEmpty && !isQuick)
        print(results.table)
        if let json { try results.json.write(to: URL(fileURLWithPath: json)) }
        if let html { try Data(results.html.utf8).write(to: URL(fileURLWithPath: html)) }
        exit(results.isShort ? 1 : 0)
    }

    private static func run(
        _ suite: String, only part: String?, isQuick: Bool, withPeers: Bool,
        _ results: inout Results
    ) throws {
        switch suite {
        case "primitives": results.add(suite, Primitives.run(only: part, isQuick: isQuick))
        case "jws": results.add(suite, try JWSSuite.run(only: part, isQuick: isQuick))
        case "receipts": results.add(suite, try ReceiptSuite.run(isQuick: isQuick))
        case "receipt-wire": results.add(suite, try ReceiptWireSuite.run(isQuick: isQuick))
        case "server": results.add(suite, try ServerSuite.run(isQuick: isQuick))
        case "overload": results.add(suite, try OverloadSuite.run(isQuick: isQuick))
        case "matrix": results.add(suite, try MatrixSuite.run(isQuick: isQuick))
        case "latency":
            let (rows, curves, notes) = try LatencySuite.run(isQuick: isQuick)
            results.add(suite, rows)
            results.notes += notes
            results.curves = curves
        case "start": results.add(suite, try StartSuite.run(isQuick: isQuick))
        case "peers":
            let (rows, notes) = try PeersSuite.run(isQuick: isQuick, withPeers: withPeers)
            results.add(suite, rows)
            results.notes += notes
        default: preconditionFailure("a suite without its measurements")
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
