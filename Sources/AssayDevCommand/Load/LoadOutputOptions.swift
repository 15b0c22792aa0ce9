import ArgumentParser
import Assay
import AssayBytes
import AssayCommandLine
import AssayLoad
import AssayModels

/// The destinations of the results.
struct LoadOutputOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Write a report with plots to this HTML file.", valueName: "file"),
        completion: .file())
    var report: String?

    @Option(
        help: ArgumentHelp(
            "Write the results as JSON to this file; - is standard output.", valueName: "file"),
        completion: .file())
    var json: String?

    @Option(
        help: ArgumentHelp(
            "Write the latencies to this file, in HdrHistogram's text format.", valueName: "file"),
        completion: .file())
    var hgrm: String?

    @Flag(help: "Do not write a line to standard error each second.")
    var quiet = false

    /// Checks before the run that each output file can be written, and that none exists: files are
    /// never replaced.
    func check() throws {
        for path in [report, json, hgrm].compactMap(\.self) where path != "-" {
            try Output.checkFile(path)
        }
    }

    /// Whether a file says with which versions the run was made.
    var needsRecord: Bool { report != nil || json != nil }

    /// Writes the files.
    func write(_ runs: [ProtocolRun], of server: RunRecord.Server?) throws {
        let record = RunRecord(
            command: CommandLine.arguments.joined(separator: " "), date: Timestamp.now.rfc3339,
            server: server)
        let (result, steps) = (runs[0].result, runs[0].steps)
        if let report {
            let page =
                runs.count > 1
                ? ProtocolComparison(runs).page(record)
                : HTMLReport(result, steps: steps, record: record).text
            try write(Array(page.utf8), to: report)
        }
        if let json {
            let text =
                runs.count > 1
                ? LoadResult.json(runs, record) : result.json(record, steps: steps)
            try write(text + [UInt8(ascii: "\n")], to: json)
        }
        if let hgrm { try write(Array(result.percentileDistribution.utf8), to: hgrm) }
    }

    private func write(_ content: [UInt8], to path: String) throws {
        if path == "-" { try Output.bytes(content) } else { try Output.file(path, content) }
    }
}
