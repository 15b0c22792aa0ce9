import ArgumentParser
import Assay
import AssayAdmin
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

            EXAMPLES
              A transaction that was refused:
                assay explain --bundle-id com.example.game token.jws
              With every check, the certificates and the payload:
                assay explain --all --bundle-id com.example.game token.jws
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
              and entitlements; --all changes nothing there.

            EXIT STATUS
              0  every item is VALID
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

    @Option(
        name: .customLong("app-account-token"),
        help: ArgumentHelp(
            "The customer that you ask about: what names another one does not entitle.",
            valueName: "uuid"))
    var appAccountToken: String?

    @Argument(
        help: ArgumentHelp(
            "Files of evidence, or folders; - is standard input, one item on each line.",
            valueName: "file"),
        completion: .file())
    var files: [String]

    func run() throws {
        let inputs = try EvidenceInput.read(files, keeping: ExplanationSet.itemLimit)
        let sources = inputs.items.map {
            ExplanationSet.Source(label: $0.label, evidence: $0.evidence)
        }
        let explained = ExplanationSet(
            sources, andMore: inputs.omitted, as: kind.kind, trust: try accepted.store(),
            policy: try stores.extend(accepted.policy), of: appAccountToken,
            at: accepted.now)
        switch format {
        case .json: try Output.line(json: explained.json)
        case .text: try Output.line(explained.text(showsAll: all))
        }
        guard explained.isVerified else { throw ExitStatus.refused }
    }
}

/// The values of `explain --format`.
enum ExplainFormat: String, Choice {
    case text, json
}
