import ArgumentParser
import Assay
import AssayAdmin
import AssayCommandLine
import AssayModels

struct ExplainCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "explain",
        abstract: "Show why evidence gets its verdict.",
        discussion: """
            Verifies evidence as 'assay verify' does, and begins with the answer: the
            verdict in words; of the items that are VALID what the customer owns, and
            why; what to do next, with the option or the key of the configuration that
            would change the verdict; the failed check, with what was compared.
            With --all every check follows in order, passed, failed or not reached; the
            certificates and whether they are trusted; the payload field by field, with
            dates in UTC and in words; of a receipt the in-app records and their
            timeline. Content that no valid signature covers is marked NOT VERIFIED.
            With --no-verify it checks nothing, and shows what one file contains, damaged or
            not: header, certificates, payload, what kind it seems to be, and what could not
            be read. Trust nothing that it shows then.

            EXAMPLES
              A transaction that was refused:
                assay explain --bundle-id com.example.game token.jws
              With every check, the certificates and the payload:
                assay explain --all --bundle-id com.example.game token.jws
              What is in this file, whatever it is:
                assay explain --no-verify token.jws
              All evidence of a customer, in the sandbox:
                assay explain --environment Sandbox ./customer-4711
              As JSON, from a pipe:
                pbpaste | assay explain --format json -
              The same in a browser, for colleagues:
                assay serve --admin tcp://127.0.0.1:7444 --admin-explain

            OUTPUT
              Bounded: 32 items, the checks of 64 members, the newest 200 in-app records,
              400 fields of a payload, and 200 purchases of what the customer owns. It
              says what is left out; 'assay verify' and 'assay entitlements' print all.
              With --format json one object: items (label and explanation, with verdict,
              meaning, detail, next, failedCheck, sections, certificates and contents)
              and entitlements; --all changes nothing there. With --no-verify: verified
              (always false), warning, format, likelyKind, bytes, unverifiedHeader,
              unverifiedCertificates, unverifiedPayload or unverifiedPayloadText, nested
              (evidence in members of the payload) and problems.

            EXIT STATUS
              0  every item is VALID; with --no-verify: shown, whatever it is
              1  an item was refused
              2  wrong usage, or a file could not be read
            """)

    @OptionGroup var accepted: EvidenceOptions

    @OptionGroup(title: "Other stores") var stores: PurchaseKeyOptions

    @Option(
        help: ArgumentHelp(
            "The kind of each item: \(KindChoice.names). (default: auto)", valueName: "kind"),
        completion: .choices(KindChoice.self),
        transform: choiceArgument)
    var kind: KindChoice = .auto

    @Option(
        help: ArgumentHelp("text, or json. (default: text)", valueName: "format"),
        completion: .choices(ExplainFormat.self),
        transform: choiceArgument)
    var format: ExplainFormat = .text

    @Flag(help: "Show every check, the certificates and the payload, too.")
    var all = false

    @Flag(
        name: .customLong("no-verify"),
        help: "Check nothing: show what one file contains, UNVERIFIED.")
    var showsUnverified = false

    @Option(
        name: .customLong("app-account-token"),
        help: ArgumentHelp(
            "The customer that you ask about: what names another one does not entitle.",
            valueName: "uuid"))
    var appAccountToken: String?

    @Argument(
        help: ArgumentHelp(
            "Files of evidence, or folders; - is standard input, one item on each line. With "
                + "--no-verify one file.",
            valueName: "file"),
        completion: .file())
    var files: [String]

    func validate() throws {
        guard showsUnverified else { return }
        guard files.count == 1 else {
            throw ValidationError("--no-verify shows one file: \(files.count) are named")
        }
        guard !all, kind == .auto, appAccountToken == nil else {
            throw ValidationError(
                "--no-verify checks nothing: leave out --all, --kind and --app-account-token")
        }
    }

    func run() throws {
        if showsUnverified { return try showUnverified() }
        let inputs = try EvidenceInput.read(files, keeping: ExplanationSet.itemLimit)
        let sources = inputs.items.map {
            ExplanationSet.Source(label: $0.label, evidence: $0.evidence)
        }
        let explained = ExplanationSet(
            sources, andMore: inputs.omitted, as: kind.kind, trust: try accepted.store(),
            policy: try stores.extend(accepted.policy), of: appAccountToken,
            at: accepted.now)
        if let problem = explained.problem(ofAccount: appAccountToken) {
            throw Failure("--app-account-token: " + problem)
        }
        switch format {
        case .json: try Output.line(json: explained.json)
        case .text: try Output.line(explained.text(showsAll: all))
        }
        guard explained.isVerified else { throw ExitStatus.refused }
    }

    private func showUnverified() throws {
        let evidence = try Input.evidence(files[0])
        let inspection = Inspection(evidence.span)
        switch format {
        case .json: try Output.line(json: inspection.json)
        case .text: try Output.line(inspection.text)
        }
    }
}

/// The values of `explain --format`.
enum ExplainFormat: String, Choice {
    case text, json
}
