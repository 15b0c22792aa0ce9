import Assay
import AssayIO
import Foundation
import Glibc

/// `assay verify --lines`, in process and by a server on a Unix socket, by this processor's engine.
enum BulkSuite {
    /// The number that the values are about. Fewer are measured.
    private static let claimed = 200_000.0
    /// The values are the time of two processors that do nothing else.
    private static let processors = 2.0

    static func run(isQuick: Bool) throws -> [Row] {
        let ca = try AssayProcess.authority()
        defer { try? FileManager.default.removeItem(atPath: ca) }
        let (path, count) = (ca + "/tokens.txt", isQuick ? 10_000 : 40_000)
        try write(count, to: path, ca)
        var evp = [JWSSuite.evp(Signer())]
        let rounds = isQuick ? 1 : 5
        let options = ["verify", "--kind", "transaction", "--lines", path]
        var (local, remote): ([Double], [Double]) = ([], [])
        let server = try AssayProcess.Server(
            processors: nil, workers: Int(processors), root: ca + "/root.pem")
        defer { server.stop() }
        for _ in 0..<rounds {
            Measurement.rounds(5, of: .milliseconds(40), &evp)
            local.append(
                try microseconds(options + ["--root", ca + "/root.pem"], count))
            let before = ProcessorTime.of(process: server.process.processIdentifier) ?? 0
            let client = try microseconds(options + ["--server", server.unixAddress], count)
            let spent = (ProcessorTime.of(process: server.process.processIdentifier) ?? 0) - before
            remote.append(client + Double(spent) / 1e3 / Double(count))
        }
        func row(_ name: String, _ each: [Double]) -> Row {
            let seconds = each.map { $0 * claimed / processors / 1e6 }
            let ratios = each.map { $0 / evp[0].median }
            return Row(
                name: name, value: seconds.median, spread: seconds.spread, unit: "s",
                ratio: ratios.median, ratioSpread: ratios.spread, rounds: rounds)
        }
        return [
            row("200,000 transactions in process", local),
            row("200,000 transactions by a server", remote),
        ]
    }

    /// Writes transactions of different content, in turns.
    private static func write(_ count: Int, to path: String, _ ca: String) throws {
        let different = 2_000
        let tokens = try AssayProcess.run(
            processors: nil, ["mint", "transaction", "--ca", ca, "--count", "\(different)"])
        try Data().write(to: URL(fileURLWithPath: path))
        let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
        for _ in 0..<(count / different) { try file.write(contentsOf: tokens) }
        try file.close()
    }

    /// The processor time of the tool for each item.
    private static func microseconds(_ arguments: [String], _ count: Int) throws -> Double {
        let before = processorTimeOfChildren
        let records = try AssayProcess.run(processors: nil, arguments)
        guard records.count(where: { $0 == UInt8(ascii: "\n") }) == count else {
            throw AssayProcess.Failed(description: "not every item has a record")
        }
        return (processorTimeOfChildren - before) * 1e6 / Double(count)
    }

    /// Seconds of the child processes that have ended.
    private static var processorTimeOfChildren: Double {
        var usage = rusage()
        // Fails only for a wrong constant.
        unsafe getrusage(RUSAGE_CHILDREN.rawValue, &usage)
        return [usage.ru_utime, usage.ru_stime].reduce(0) {
            $0 + Double($1.tv_sec) + Double($1.tv_usec) / 1e6
        }
    }
}
