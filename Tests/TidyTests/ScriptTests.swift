import Foundation
import TestSupport
import Testing

/// Runs the scripts that decide whether a check passes, with steps and measurements of a test.
@Suite("Scripts", .timeLimit(.minutes(2)))
struct ScriptTests {
    private let folder: ScratchFolder

    init() throws { folder = try ScratchFolder() }

    /// Runs a program in the folder. Returns its status and what it prints.
    private func run(_ program: String, _ arguments: [String]) throws -> (Int32, [String]) {
        let output = folder("output")
        let environment = ProcessInfo.processInfo.environment.merging(["TMPDIR": folder.path]) {
            $1
        }
        let process = try ChildProcess(
            program, arguments, environment: environment, output: .file(output),
            error: .file(folder("error")))
        let status = process.wait()
        let text = try String(contentsOfFile: output, encoding: .utf8)
        return (status, text.split(separator: "\n").map(String.init))
    }

    private func steps(_ lines: String, options: String = "-uo") throws -> (Int32, [String]) {
        let script = """
            set \(options) pipefail
            cd "\(folder.path)"
            source "\(Vectors.packageRoot)/script/steps.bash"
            \(lines)
            summary
            """
        try script.write(toFile: folder("steps"), atomically: true, encoding: .utf8)
        return try run("/bin/bash", [folder("steps")])
    }

    private func log() throws -> String {
        try String(contentsOfFile: folder(".build-check/steps.log"), encoding: .utf8)
    }

    @Test(
        "the status of a step is that of its command, whatever it prints",
        arguments: [
            (":", true), ("echo text >&2", true), ("echo '✘ Test failed'", true), ("false", false),
            ("exit 0", false), ("kill -KILL $BASHPID", false), ("echo text; return 3", false),
        ])
    func status(command: String, passes: Bool) throws {
        for options in ["-uo", "-euo"] {
            let (status, lines) = try steps(
                "work() { \(command); }; step work 'does it' work", options: options)
            #expect(lines.first?.hasPrefix("work           does it ... ") == true)
            #expect(lines.first?.contains(passes ? "passed, " : "FAILED, ") == true)
            #expect(lines.last == (passes ? "1 passed, 0 failed" : "0 passed, 1 failed"))
            #expect((status == 0) == passes, "\(options)")
        }
    }

    @Test("a step that passed is one line; what it printed is in the log alone")
    func quiet() throws {
        let (_, lines) = try steps("work() { echo much; echo more >&2; }; step work 'does it' work")
        #expect(lines.count == 3 && lines[1] == "log: .build-check/steps.log")
        #expect(try log().contains("== work\nmuch\nmore\n-- passed after "))
    }

    @Test(
        "why a step failed",
        arguments: [
            (
                #"echo 'an error: here'; echo '✘ Test "a" recorded an issue at A.swift:1'"#,
                [#"✘ Test "a" recorded an issue at A.swift:1"#]
            ),
            ("echo much; echo 'a.swift:1:2: error: no such'", ["a.swift:1:2: error: no such"]),
            (#"printf '\e[91m✘\e[0m Test a recorded an issue'"#, ["✘ Test a recorded an issue"]),
            ("echo neither", ["neither"]), (":", []),
        ])
    func reasons(command: String, expected: [String]) throws {
        let (_, lines) = try steps("work() { \(command); return 7; }; step work 'does it' work")
        #expect(
            lines.dropFirst().dropLast(3) == (expected + ["exit status 7"]).map { "    " + $0 }[...]
        )
        #expect(lines.suffix(3).first == "FAILED: work")
    }

    @Test("a skipped part is named, and the step passes")
    func skipped() throws {
        let (status, lines) = try steps(
            "step work 'does it' echo 'skipped: it; ../shared is missing'")
        #expect(status == 0 && lines[1] == "    skipped: it; ../shared is missing")
    }

    @Test("a started command has its own result, in the order of the steps")
    func beside() throws {
        let (status, lines) = try steps(
            """
            start bad 5 bash -c 'echo "error: why"; exit 2'
            step good "runs beside it" true
            step bad "waits for it"
            """)
        #expect(status == 1)
        #expect(lines[0].hasPrefix("good ") && lines[1].contains("waits for it ... FAILED, "))
        #expect(lines[2...3] == ["    error: why", "    exit status 2"])
        #expect(lines.last == "1 passed, 1 failed")
    }

    /// Measurements as the compiler writes them.
    private func measure(_ times: [String: Double]) throws {
        for (module, seconds) in times {
            let key = "time.swift-frontend.\(module)-all-x86_64-swiftmodule-Onone"
            let text = #"{"\#(key).wall": 99, "\#(key).user": \#(seconds), "\#(key).sys": 0.0e+00}"#
            try text.write(
                toFile: folder("stats-\(module).json"), atomically: true, encoding: .utf8)
        }
    }

    @Test("a module that takes more than its limit fails; on other machines, too")
    func compileTime() throws {
        let limits = try String(
            contentsOfFile: Vectors.packageRoot + "/script/compile-limits", encoding: .utf8)
        var times = ["ArgumentParser": 20.0]
        for line in limits.split(separator: "\n") where !line.hasPrefix("#") {
            let words = line.split(separator: " ")
            guard !["others", "together"].contains(words[0]) else { continue }
            times[String(words[0])] = try #require(Double(words[1])) * 20 * 0.7
        }
        #expect(times.count > 10)
        let tool = Vectors.packageRoot + "/script/compile-time"
        try measure(times)
        #expect(try run(tool, [folder.path]).0 == 0)
        // Twice as slow a machine.
        try measure(times.mapValues { $0 * 2 })
        #expect(try run(tool, [folder.path]).0 == 0)
        try measure(times.merging(["AssayServer": 500]) { $1 })
        let (status, lines) = try run(tool, [folder.path])
        let isJudged = ProcessInfo.processInfo.processorCount <= 2
        #expect(status == (isJudged ? 1 : 0))
        #expect(lines.contains { $0.hasPrefix("FAILED: AssayServer takes 25.00") } == isJudged)
        // A part of the build.
        try FileManager.default.removeItem(atPath: folder("stats-AssayServer.json"))
        let (part, skipped) = try run(tool, [folder.path])
        #expect(part == 0 && skipped.first?.hasPrefix("skipped: ") == true)
    }

    /// What script/layouts removes after a file of the lowest of three modules was changed.
    private func removed(after change: String) throws -> [String] {
        let tool = Vectors.packageRoot + "/script/layouts"
        var files = [
            "Package.swift": """
            .target(name: "Low"),
            .target(name: "Middle", dependencies: ["Low"]),
            .executableTarget(name: "high", dependencies: ["Middle"], path: "tools"),
            .target(name: "Other"),
            """,
            "Sources/Low/Low.swift": """
            struct Pair {
                var first = 1
                var sum: Int { first }
                func print() {
                    let text = "a { b"
                }
            }
            """,
            "Sources/Middle/Middle.swift": "struct Holder { let pair = Pair() }",
            "Sources/Other/Other.swift": "enum Other { case one }", "tools/main.swift": "",
        ]
        if !change.isEmpty { files["Sources/Low/Low.swift"] = change }
        for (name, text) in files {
            let path = folder("package/" + name)
            try FileManager.default.createDirectory(
                atPath: (path as NSString).deletingLastPathComponent,
                withIntermediateDirectories: true)
            try text.write(toFile: path, atomically: true, encoding: .utf8)
        }
        for module in ["Low", "Middle", "high", "Other"] {
            let objects = folder("build/x86_64/debug/\(module).build")
            try FileManager.default.createDirectory(
                atPath: objects, withIntermediateDirectories: true)
            try "".write(toFile: objects + "/a.swift.o", atomically: true, encoding: .utf8)
        }
        let (status, lines) = try run(tool, [folder("build"), folder("package")])
        #expect(status == 0)
        return lines
    }

    @Test("modules are compiled again when the layout of a type below them changed")
    func layouts() throws {
        #expect(try removed(after: "").isEmpty)
        let all = ["Low", "Middle", "high"]
        for (change, expected) in [
            ("struct Pair {\n    var first = 1\n    private var second = 2\n}", all),
            ("enum Pair {\n    case one, two\n}", all),
            ("enum Pair {\n    case one, two\n    var sum: Int { 3 }\n}", []),
            ("enum Pair {\n    case one, two\n    func sum() {\n        let a = 1\n}}", []),
        ] {
            #expect(try removed(after: change) == expected, "\(change)")
        }
    }

    @Test("a new suite that reads vectors is one of script/check --vectors")
    func vectorSuites() throws {
        let script = """
            cd "\(Vectors.packageRoot)"
            eval "$(sed -n '/^vector_suites() {/,/^}/p' script/check)"
            vector_suites
            """
        let (_, lines) = try run("/bin/bash", ["-c", script])
        let suites = try #require(lines.first).split(separator: "|")
        for suite in ["AssayTests\\.LimboTests", "AssayServerTests\\.ServerCallTests"] {
            #expect(suites.contains(Substring(suite)))
        }
        #expect(!suites.contains { $0.contains("TidyTests") || $0.contains("DERTests") })
    }
}
