import ArgumentParser
import Assay
import AssayBytes
import AssayCommandLine
import AssayMint
import AssayModels

struct MintScenarioCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "scenario",
        abstract: "Mint a customer's life, with the entitlement expected after each step.",
        discussion: """
            A scenario is a customer who buys, renews, fails to pay, is refunded and so on.
            Writes one folder for each step:

              step-01/evidence/      what the step adds: tokens, notifications, answers
              step-01/expected.json  what the customer owns then, from the evidence of this
                                     step and of all steps before it
              step-01/options        for 'assay entitlements', such as the time

            Prints a line for each step. The same authority gives the same dates: time 0 is
            the day on which it was made. Make it in the past for a life in the past:
            'assay mint ca --date 2025-01-01T00:00:00Z ./ca'.

            EXAMPLES
              All scenarios that are built in:
                assay mint scenario --list
              A payment that fails, and what the customer may use then:
                assay mint scenario grace-period --ca ./ca --out ./life
                assay entitlements --root ./ca/root.pem $(cat ./life/step-02/options) \\
                  ./life/step-01/evidence ./life/step-02/evidence
              Your own, from a file (docs/scenarios.md describes the format):
                assay mint scenario grace-period --show > my.json
                assay mint scenario ./my.json --ca ./ca

            EXIT STATUS
              0  the files were written
              2  wrong usage, an unknown or unusable scenario, or a file could not be written
            """)

    @Argument(
        help: "The name of a built-in scenario, or the path of a file: it ends in .json.",
        completion: .custom { _, _, _ in scenarioNames })
    var name: String?

    @Flag(help: "List the built-in scenarios.")
    var list = false

    @Flag(help: "Print the scenario's file, as a start for your own.")
    var show = false

    @Option(
        help: ArgumentHelp(
            "The folder of the authority, made by 'assay mint ca'.", valueName: "folder"),
        completion: .directory)
    var ca: String?

    @Option(
        name: [.customLong("out"), .customLong("output")],
        help: ArgumentHelp(
            "The folder to write to; created if it does not exist. (default: the scenario's name)",
            valueName: "folder"),
        completion: .directory)
    var out: String?

    @Option(
        help: ArgumentHelp(
            "Time 0 of the scenario, \(DateArgument.help). (default: the authority's first day)",
            valueName: "time"))
    var start: DateArgument?

    func validate() throws {
        if list {
            guard name == nil, !show else {
                throw ValidationError("--list takes no scenario: it describes all of them")
            }
            return
        }
        guard name != nil else {
            throw ValidationError("name a scenario; 'assay mint scenario --list' lists them")
        }
        guard ca != nil || show else {
            throw ValidationError(
                "--ca is missing: it names the folder of an authority, made by 'assay mint ca'")
        }
    }

    func run() throws {
        guard !list else { return try Output.line(Self.table(try Self.builtIn())) }
        let name = name ?? ""
        let source = try Self.source(name)
        guard !show else { return try Output.content(source, isText: true) }
        let scenario = try Self.scenario(name, source)
        let authority = try DevelopmentCA.read(from: ca ?? "")
        let receipts = try? ReceiptCA.read(from: ca ?? "")
        let steps = try Self.reading(name) { () throws(MintError) in
            try ScenarioMinter(authority, receipts: receipts, start: start?.timestamp)
                .mint(scenario)
        }
        try write(steps, of: scenario, to: out ?? scenario.name)
    }

    // MARK: Input

    private static func builtIn() throws -> [Scenario] {
        try reading("the built-in scenarios") { () throws(MintError) in try Scenario.builtIn }
    }

    /// The text of a file or of a built-in scenario.
    private static func source(_ name: String) throws -> [UInt8] {
        if name.hasSuffix(".json") || name.contains("/") || name == "-" {
            return try Input.read(name)
        }
        if let source = Scenario.builtInSource(name) { return source }
        let names = try builtIn().map(\.name)
        let remedy = Suggestion.remedy(for: name, among: names)
        // A list of all names would hide the message.
        throw Failure(
            "unknown scenario \"\(name)\": "
                + (remedy.hasPrefix("did") ? remedy : "'assay mint scenario --list' lists them")
                + "; a scenario of yours is a file that ends in .json")
    }

    /// The text of a scenario that can be played.
    static func checkedSource(_ name: String) throws -> [UInt8] {
        let source = try source(name)
        _ = try scenario(name, source)
        return source
    }

    private static func scenario(_ name: String, _ source: [UInt8]) throws -> Scenario {
        try reading(name) { () throws(MintError) in try Scenario(json: source) }
    }

    private static func reading<Result>(
        _ name: String, _ body: () throws(MintError) -> Result
    ) throws -> Result {
        do throws(MintError) { return try body() } catch {
            throw Failure("can't mint \(name): \(error.message)")
        }
    }

    static func table(_ scenarios: [Scenario]) -> String {
        let width = scenarios.map(\.name.count).max() ?? 0
        return scenarios.map { "\($0.name.padded(to: width))  \($0.summary)" }
            .joined(separator: "\n")
    }

    // MARK: Output

    private func write(
        _ steps: [MintedStep], of scenario: Scenario, to folder: String
    ) throws {
        try Folder.make(folder)
        for step in steps {
            try Folder.make(folder + "/" + step.name)
            if !step.files.isEmpty { try Folder.make("\(folder)/\(step.name)/evidence") }
            for file in step.files { try Folder.add(file.path, file.content, to: folder) }
            try Folder.add("\(step.name)/expected.json", step.expected, to: folder)
            let options = Self.options(step, scenario).joined(separator: "\n") + "\n"
            try Folder.add("\(step.name)/options", Array(options.utf8), to: folder)
            try Output.line(
                TerminalText.escaped(
                    "\(step.name)  \(step.at.rfc3339Milliseconds)  \(step.title)"))
        }
    }

    /// The options of `assay entitlements` for one step.
    static func options(_ step: MintedStep, _ scenario: Scenario) -> [String] {
        var options = ["--at", step.at.rfc3339Milliseconds]
        for environment in scenario.environments { options += ["--environment", environment] }
        let policy = scenario.policy
        if let days = policy.maxAgeDays { options += ["--max-age", String(days)] }
        if policy.billingRetryDays > 0 {
            options += ["--billing-retry-days", String(policy.billingRetryDays)]
        }
        if policy.renewalHours > 0 { options += ["--renewal-hours", String(policy.renewalHours)] }
        if let token = policy.appAccountToken { options += ["--app-account-token", token] }
        if !policy.acceptsFamilySharing { options.append("--no-family-sharing") }
        for (product, days) in policy.durationDays.sorted(by: { $0.key < $1.key }) {
            let suffix = policy.stackedProducts.contains(product) ? ":stack" : ""
            options += ["--duration", "\(product)=\(days)\(suffix)"]
        }
        return options
    }
}

/// The names of the built-in scenarios, for completions of shells.
var scenarioNames: [String] { ((try? Scenario.builtIn) ?? []).map(\.name) }
