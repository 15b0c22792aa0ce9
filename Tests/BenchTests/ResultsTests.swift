import Foundation
import Testing

@testable import bench

/// What a run of the bench keeps when something in it fails.
@Suite struct ResultsTests {
    private static let thresholds = [
        "matrix/TCP": Threshold(
            limit: .init(isUpper: false, value: 1), aim: .init(isUpper: false, value: 2))
    ]

    @Test func aCellThatCannotBeMeasuredIsARow() throws {
        var results = Results(isQuick: true)
        results.rows += Row.measuring("TCP", in: "matrix") {
            throw AssayProcess.Failed(description: "RESOURCE_EXHAUSTED: the queue is full\nmore")
        }
        results.rows += Row.measuring("Unix", in: "matrix") {
            [Row(name: "Unix", value: 5, spread: 0, unit: "/s")]
        }
        results.judge(by: Self.thresholds, isWhole: false)
        #expect(results.rows.map(\.name) == ["TCP", "Unix"])
        #expect(results.rows.map(\.suite) == ["matrix", "matrix"])
        #expect(results.rows[0].verdict == "SHORT" && results.rows[1].verdict == "")
        #expect(results.hasMissedThresholds)
        let line = results.table.split(separator: "\n").first { $0.contains("matrix: TCP") }
        #expect(line?.contains("SHORT: RESOURCE_EXHAUSTED: the queue is full") == true)
        #expect(results.html.contains("not measured: RESOURCE_EXHAUSTED"))
        #expect(
            results.unmeasured == [Omission("matrix: TCP", "RESOURCE_EXHAUSTED: the queue is full")]
        )
        #expect(results.table.contains("\nSHORT: matrix: TCP: not measured\n"))
        let read = try JSONDecoder().decode(Results.self, from: results.json)
        #expect(read.rows[0].failure?.hasPrefix("RESOURCE_EXHAUSTED") == true)
        #expect(read.rows[1].failure == nil && read.rows[1].value == 5)
    }

    /// Without a threshold the run is not short for it.
    @Test func aFailedRowWithoutAThresholdSaysSo() {
        var results = Results(isQuick: true)
        results.rows = [.failed("Unix", AssayProcess.Failed(description: "refused"))]
        #expect(!results.hasMissedThresholds)
        #expect(results.table.contains("not measured: refused"))
    }

    @Test func resultsSoFarAreWrittenAfterEachSuite() throws {
        struct Trap: Error {}
        var results = Results(isQuick: false)
        var written: [(rows: [String], unfinished: [String])] = []
        #expect(throws: Trap.self) {
            try Bench.measure(["jws", "server", "start"], &results) { suite, results in
                // What ends a process ends this call.
                guard suite != "start" else { throw Trap() }
                results.rows.append(Row(name: suite, value: 1, spread: 0, unit: ""))
            } write: { results in
                written.append((results.rows.map(\.name), results.unfinished))
                #expect(results.table.contains("unfinished suites: "))
            }
        }
        #expect(written.map(\.rows) == [["jws"], ["jws", "server"]])
        #expect(written.map(\.unfinished) == [["server", "start"], ["start"]])
    }

    @Test func aCompleteRunIsNotInterrupted() throws {
        var results = Results(isQuick: false)
        var writes = 0
        func write(_ results: Results) {
            writes += 1
            #expect(results.unfinished.isEmpty && !results.table.contains("not finished"))
        }
        try Bench.measure(["jws"], &results, { _, _ in }, write: write)
        #expect(writes == 1)
    }

    @Test func theReportBeginsWithWhatIsMissed() throws {
        var results = Results(isQuick: true)
        for (name, value) in [("TCP", 3.0), ("Unix <a>", 0.5), ("shared", 1)] {
            results.rows.append(
                Row(suite: "matrix", name: name, value: value, spread: 0, unit: "/s"))
        }
        results.rows.append(.failed("HTTP", AssayProcess.Failed(description: "refused")))
        results.rows[3].suite = "matrix"
        let bound = Self.thresholds["matrix/TCP"]!
        let thresholds =
            ["TCP", "Unix <a>", "shared", "HTTP"].map { ("matrix/" + $0, bound) }
            + [("server/gone", bound)]
        results.judge(by: Dictionary(uniqueKeysWithValues: thresholds), isWhole: true)
        #expect(results.html.contains(">3 of 5 thresholds are missed:</p>"))
        #expect(
            results.html.contains(
                "<ul><li>matrix: Unix &lt;a&gt;: 0.50 /s, ≥ 1 /s</li>"
                    + "<li>matrix: HTTP: not measured</li><li>server/gone: no row</li></ul>"))
        #expect(
            results.html.contains(
                "</ul>\n<h2>Not measured</h2><ul>"
                    + "<li>matrix: HTTP: <span class=\"note\">refused</span></li>\n"
                    + "<li>server/gone: "
            ))
        let table = try #require(results.html.split(separator: "<h2>Thresholds</h2>").last)
        let offsets = ["Unix &lt;a&gt;", "HTTP", "TCP", "shared"].map { name in
            table.firstRange(of: "matrix: \(name)")?.lowerBound
        }
        #expect(
            !offsets.contains(nil)
                && offsets.compactMap { $0 } == offsets.compactMap { $0 }.sorted())
        // On a phone a row is a card, whose cells need the names of their columns.
        let rows = table.split(separator: "</table>")[0].split(separator: "<tr>")
        #expect(rows.count == 5 && rows[0].contains("class=\"wide\""))
        for row in rows[3...] {
            for label in ["measured", "threshold", "aim", "verdict"] {
                #expect(row.contains("data-label=\"\(label)\""), "\(row)")
            }
        }
    }

    @Test func whatTheMachineDoesNotAllowIsNamed() {
        #expect(
            Machine.omissions(
                processors: 1, unsupported: ["ifma"], missing: ["h2load"]
            ).map { "\($0.what): \($0.why)" } == [
                "rows of the engine ifma: the processor does not have AVX-512 IFMA",
                "a server on a processor of its own: the machine has one processor, so rates and "
                    + "latencies include the client",
                "rows that need h2load: it is not installed: apt-get install nghttp2-client",
            ])
        #expect(Machine.omissions(processors: 2, unsupported: [], missing: []) == [])
    }

    @Test func aRunThatMeetsAllNamesNone() {
        var results = Results(isQuick: true)
        results.rows = [Row(suite: "matrix", name: "TCP", value: 1, spread: 0, unit: "/s")]
        results.judge(by: Self.thresholds, isWhole: false)
        #expect(results.html.contains(">All 1 thresholds are met.</p>"))
        #expect(!results.html.contains("<ul>"))
    }

    /// What was there before is replaced as a whole.
    @Test func filesAreWrittenAndReplaced() throws {
        let folder = NSTemporaryDirectory() + "assay-bench-tests-\(UUID())"
        try FileManager.default.createDirectory(
            atPath: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let files = ResultFiles(json: folder + "/a.json", html: folder + "/a.html")
        var results = Results(isQuick: true)
        for name in ["first", "second"] {
            results.rows = [Row(name: name, value: 1, spread: 0, unit: "")]
            try files.write(results)
            let data = try Data(contentsOf: URL(fileURLWithPath: folder + "/a.json"))
            let read = try JSONDecoder().decode(Results.self, from: data)
            #expect(read.rows.map(\.name) == [name])
        }
        #expect(try String(contentsOfFile: folder + "/a.html", encoding: .utf8).contains("second"))
    }

    @Test(arguments: [
        (
            "processor\t: 0\nmodel name\t: AMD EPYC\ncpu family\t: 26\nmodel\t\t: 2\n"
                + "flags\t\t: fpu sha_ni avx2\n",
            "AMD EPYC, family 26 model 2, SHA instructions"
        ),
        (
            "processor\t: 0\nFeatures\t: fp sha1 sha2\nCPU implementer\t: 0x41\n"
                + "CPU part\t: 0xd0c\n", "implementer 0x41 part 0xd0c, SHA instructions"
        ),
        ("model name : Some Processor 3: fast\nflags : fpu\n", "Some Processor 3: fast"),
    ])
    func theProcessorHasAName(_ facts: String, _ name: String) {
        #expect(Machine.processor(facts) == name)
    }

    @Test func theProcessorHasANameWithoutProc() {
        #expect(Machine.processor("").hasPrefix("unknown processor ("))
    }

    @Test func everyResultNamesTheProcessor() throws {
        let results = Results(isQuick: true)
        #expect(results.machine == Machine.description)
        #expect(results.table.contains(results.machine))
        #expect(results.html.contains(Machine.description))
        #expect(String(decoding: try results.json, as: UTF8.self).contains("\"machine\""))
    }
}
