import Foundation
import TestSupport
import Testing

@Suite("assay mint scenario")
struct ScenarioCommandTests {
    private let folder = TemporaryFolder()
    private let root: [String]

    init() throws {
        // A life that lies in the past, so that the clock of a server accepts it.
        try MintedAuthority.write(to: folder, date: "2025-01-01T00:00:00Z")
        root = [
            "--root", folder("ca") + "/root.pem", "--root", folder("ca") + "/receipt-root.pem",
        ]
    }

    private func mint(_ arguments: String...) throws -> Tool.Result {
        try Tool.run(["mint", "scenario"] + arguments)
    }

    private static func folders(of output: String) -> [String] {
        output.split(separator: "\n").compactMap { $0.split(separator: " ").first.map(String.init) }
    }

    @Test("a shell completes the names of scenarios wherever one is written")
    func completions() throws {
        let script = folder.write(
            "complete.bash", try Tool.run("--generate-completion-script", "bash").output)
        for words in [["mint", "scenario"], ["store", "--customer"]] {
            let line = (["assay"] + words + ["grace-period-r"]).joined(separator: " ")
            let shell = try Tool.run(
                program: "/bin/bash",
                [
                    "--norc", "-c",
                    """
                    source \(script)
                    COMP_LINE='\(line)' COMP_POINT=\(line.count) COMP_TYPE=9 COMP_CWORD=3
                    COMP_WORDS=(\(line))
                    _assay assay grace-period-r \(words[1])
                    printf '%s\\n' "${COMPREPLY[@]}"
                    """,
                ], environment: ["PATH": "\(Self.toolFolder):/usr/bin:/bin"])
            #expect(shell.output == "grace-period-recovery\n", "\(words): \(shell.error)")
        }
    }

    @Test(
        "fish completes the names of scenarios, without a prompt too",
        .enabled(if: FileManager.default.isExecutableFile(atPath: fish)))
    func fishCompletions() throws {
        var scripts: [String] = []
        for program in ["assay", "assay-dev"] {
            let made = try Tool.run(
                program: Self.toolFolder + "/" + program,
                ["--generate-completion-script", "fish"])
            scripts.append(folder.write(program + ".fish", made.output))
        }
        for words in ["assay mint scenario", "assay store --customer", "assay-dev mint scenario"] {
            let shell = try Tool.run(
                program: Self.fish,
                [
                    "--no-config", "-c",
                    """
                    source \(scripts[0]); source \(scripts[1])
                    complete -C '\(words) grace-period-r' | string split -f 1 \\t
                    """,
                ],
                environment: [
                    "PATH": "\(Self.toolFolder):/usr/bin:/bin", "HOME": folder("home"),
                ])
            #expect(
                shell.output == "grace-period-recovery\n" && shell.error.isEmpty,
                "\(words): \(shell.error)")
        }
    }

    private static let fish = "/usr/bin/fish"

    private static var toolFolder: String {
        String(Tool.path.prefix(upTo: Tool.path.lastIndex(of: "/")!))
    }

    // MARK: Files

    /// One of each kind of evidence, policy and environment.
    private static let scenarios = [
        "customers-life", "upgrade", "receipt", "two-environments", "non-renewing", "history-pages",
        "billing-retry-leniency",
    ]

    @Test(
        "assay entitlements gives the expected answer of each step, here and from a server",
        arguments: scenarios)
    func steps(name: String) throws {
        let socket = "unix:" + folder("socket")
        let server = try ServerProcess(["--listen", socket] + root)
        let minted = try mint(name, "--ca", folder("ca"), "--out", folder("life"))
        #expect(minted.status == 0, "\(minted.error)")
        let steps = Self.folders(of: minted.output)
        #expect(steps.count > 1)
        var evidence: [String] = []
        for step in steps {
            let path = folder("life") + "/" + step
            if FileManager.default.fileExists(atPath: path + "/evidence") {
                evidence.append(path + "/evidence")
            }
            let options = try String(contentsOfFile: path + "/options", encoding: .utf8)
                .split(separator: "\n").map(String.init)
            let expected = try Data(contentsOf: URL(fileURLWithPath: path + "/expected.json"))
            for verifier in [root, ["--server", socket]] {
                let found = try Tool.run(["entitlements"] + verifier + options + evidence)
                #expect(found.status == 0, "\(found.error) \(found.output)")
                #expect(
                    try Self.comparable(Data(found.output.utf8)) == Self.comparable(expected),
                    "\(step)\n\(found.output)")
            }
        }
        #expect(server.end() == 0)
    }

    /// Members of an answer that the expected one leaves out.
    private static let leftOut: Set<String> = ["seats", "purchases", "refresh"]

    private static func plain(_ value: Any) -> Any {
        if let members = value as? [String: Any] {
            return members.filter { !leftOut.contains($0.key) }.mapValues(plain)
        }
        return (value as? [Any])?.map(plain) ?? value
    }

    /// An answer without what only one of the two sides has: labels, details and messages.
    private static func comparable(_ json: Data) throws -> NSDictionary {
        let object = plain(try JSONSerialization.jsonObject(with: json))
        var answer = try #require(object as? [String: Any])
        let items = try #require(answer["items"] as? [[String: Any]])
        answer["items"] = items.map { item in
            item.filter { ["index", "kind", "verdict"].contains($0.key) }
        }
        let warnings = try #require(answer["warnings"] as? [[String: Any]])
        answer["warnings"] = warnings.map { $0["code"] as? String ?? "" }
        return answer as NSDictionary
    }

    @Test("Each step prints a line with its folder, time and title")
    func output() throws {
        let minted = try mint("refund", "--ca", folder("ca"), "--out", folder("life"))
        #expect(
            minted.output == """
                step-01  2025-01-01T00:00:00.000Z  buys premium.monthly
                step-02  2025-01-06T00:00:00.000Z  the month is refunded

                """)
        let later = try mint(
            "refund", "--ca", folder("ca"), "--out", folder("later"), "--start",
            "2025-03-01T12:00:00Z")
        #expect(later.output.hasPrefix("step-01  2025-03-01T12:00:00.000Z"))
        let again = try mint("refund", "--ca", folder("ca"), "--out", folder("life"))
        #expect(again.status == 2 && again.error.contains("already exists"))
    }

    @Test("A file of the user's own: --show is a start for it")
    func ownFile() throws {
        let shown = try mint("grace-period", "--show")
        #expect(shown.status == 0)
        let text = shown.output.replacing("grace-period", with: "my-own")
        let minted = try mint(
            folder.write("my.json", text), "--ca", folder("ca"), "--out", folder("life"))
        #expect(minted.status == 0, "\(minted.error)")
        #expect(Self.folders(of: minted.output).count == 5)
    }

    // MARK: Messages

    @Test("Every built-in scenario is listed, and docs/scenarios.md has the list")
    func list() throws {
        let listed = try mint("--list")
        #expect(listed.status == 0 && listed.error.isEmpty)
        let lines = listed.output.split(separator: "\n")
        #expect(lines.count >= 60)
        let docs = try #require(Vectors.bytes(Vectors.packageRoot + "/docs/scenarios.md"))
        let rows = String(decoding: docs, as: UTF8.self).split(separator: "\n")
            .filter { $0.hasPrefix("| `") && $0.hasSuffix(". |") }
        let expected = lines.map { line in
            let name = line.prefix { $0 != " " }
            let summary = line.dropFirst(name.count).drop { $0 == " " }
            return "| `\(name)` | \(summary) |"
        }
        #expect(rows.map(String.init) == expected)
    }

    @Test("Every file of scenarios is embedded once")
    func embedded() throws {
        let source = try #require(
            Vectors.bytes(Vectors.packageRoot + "/Sources/CAssayScenarios/assay_scenarios.c"))
        let names = String(decoding: source, as: UTF8.self)
            .matches(of: /#embed "..\/AssayMint\/Scenarios\/([a-z0-9-]+\.json)"/)
            .map { String($0.1) }
        let files = try FileManager.default.contentsOfDirectory(
            atPath: Vectors.packageRoot + "/Sources/AssayMint/Scenarios")
        #expect(names.sorted() == files.sorted())
        #expect(names.first == "products.json")
    }

    @Test(
        "Wrong usage ends with 2 and says what to do",
        arguments: [
            (["grace-periodd"], "did you mean \"grace-period\"?"),
            (["zzzzzzzzzz"], "--list"), ([], "--list"), (["refund"], "--ca"),
            (["--list", "refund"], "--list takes no scenario"),
            (["nowhere.json"], "can't read nowhere.json"),
        ] as [([String], String)])
    func usage(arguments: [String], message: String) throws {
        let needsNone = arguments == ["refund"] || arguments.contains("--list")
        let ca = needsNone ? [] : ["--ca", folder("ca")]
        let result = try Tool.run(["mint", "scenario"] + arguments + ca)
        #expect(result.status == 2)
        #expect(result.output.isEmpty && result.error.contains(message), "\(result.error)")
    }

    @Test("A mistake in a file is reported with file and member, and nothing is written")
    func mistakes() throws {
        let text = try mint("refund", "--show").output
        let cases = [
            (
                text.replacing("\"evidence\"", with: "\"evidense\""),
                "steps[0]: unknown \"evidense\""
            ),
            (
                text.replacing("\"of\": \"100\"", with: "\"of\": \"101\""),
                "steps[0].evidence[0] names"
            ),
            (text.replacing("\"5d\"", with: "\"5 days\""), "steps[1].at must be a time"),
            (text + "}", "it is not a scenario"),
        ]
        for (text, message) in cases {
            let file = folder.write("mistake.json", text)
            let result = try mint(file, "--ca", folder("ca"), "--out", folder("life"))
            #expect(result.status == 2 && result.output.isEmpty)
            #expect(result.error.contains("mistake.json: " + message), "\(result.error)")
            #expect(!FileManager.default.fileExists(atPath: folder("life")))
        }
    }
}
