import ArgumentParser
import Assay
import AssayEntitlements
import AssayIO
import AssayModels

struct EntitlementsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "entitlements",
        abstract: "Say what a customer owns now, from any mixture of evidence.",
        discussion: """
            Verifies each item, then decides which products the customer may use, until
            when, and which item says so. A refused item contributes nothing and does not
            refuse the others. The order of the items never changes the answer.

            EXAMPLES
              A token of the app, a notification and an old receipt:
                assay entitlements --bundle-id com.example.game \\
                  token.jws notification.json receipt.b64
              A folder of evidence, as a table:
                assay entitlements --format text ./customer-4711
              One item on each line, from a pipe, as of last New Year:
                assay entitlements --at 2026-01-01T00:00:00Z - < tokens.txt
              Three days of leniency while Apple retries a payment:
                assay entitlements --billing-retry-days 3 ./customer-4711

            OUTPUT
              One JSON object: the items with their verdicts, then for each environment
              and app the subscription groups, products and consumables. decidedBy names
              the item that decided. nextChange is when to ask again. Dates are
              milliseconds since 1970.

            EXIT STATUS
              0  every item is VALID, whatever the customer owns
              1  an item was refused: its verdict and detail say why
              2  wrong usage, or something could not be read
            """)

    @OptionGroup(title: "TRUST") var trust: EvidenceOptions

    @Option(
        help: ArgumentHelp(
            "What each item is: \(KindChoice.names). (default: auto)", valueName: "kind"),
        transform: choiceArgument)
    var kind: KindChoice = .auto

    @Option(
        help: ArgumentHelp(
            "Mark the answer stale when all evidence is older.", valueName: "days"),
        transform: daysArgument)
    var maxAge: Int64?

    @Option(
        name: .customLong("billing-retry-days"),
        help: ArgumentHelp(
            "Days after its end that a subscription in billing retry still entitles. (default: 0)",
            valueName: "n"),
        transform: daysArgument)
    var billingRetry: Int64?

    @Flag(name: .customLong("no-family-sharing"), help: "Shared purchases do not entitle.")
    var refusesFamilySharing = false

    @Option(
        name: .customLong("duration"),
        help: ArgumentHelp(
            "How long a non-renewing subscription lasts; Apple does not say. Repeat for more.",
            valueName: "product=days"))
    var durations: [DurationArgument] = []

    @Option(
        help: ArgumentHelp("json, or text, a table. (default: json)", valueName: "format"),
        transform: choiceArgument)
    var format: EntitlementsFormat = .json

    @Argument(
        help: ArgumentHelp(
            "A file, a folder of files, or - for one item on each line of standard input. A file "
                + "of several lines of tokens counts as one item a line.",
            valueName: "file"))
    var files: [String]

    func run() throws {
        let verifier = Verifier(trust: try trust.store())
        let inputs = try EvidenceInput.read(files)
        let now = trust.now
        let items = inputs.map { input in
            EvidenceItem(verify(input.evidence, verifier, at: now), label: input.label)
        }
        let answer = Entitlements(of: items, at: now, policy: policy)
        switch format {
        case .json: try Output.line(json: answer.json(items))
        case .text: try Output.line(answer.text(items))
        }
        guard items.allSatisfy({ $0.verification.verdict == .valid }) else {
            throw ExitStatus.refused
        }
    }

    private func verify(
        _ evidence: [UInt8], _ verifier: Verifier, at now: Timestamp
    ) -> Verification {
        let named = kind.kind ?? Verifier.likelyKind(of: evidence.span)
        let verification = verifier.verify(
            evidence.span, as: named ?? .transaction, policy: trust.policy, at: now)
        return named == nil
            ? VerificationReport(verification).ofUnknownKind.verification : verification
    }

    private var policy: EntitlementPolicy {
        var policy = EntitlementPolicy()
        policy.maxAgeMilliseconds = maxAge
        policy.billingRetryLeniencyMilliseconds = billingRetry ?? 0
        policy.acceptsFamilySharing = !refusesFamilySharing
        for duration in durations { policy.durations[duration.product] = duration.milliseconds }
        return policy
    }
}

/// The values of `entitlements --format`.
enum EntitlementsFormat: String, Choice {
    case json, text
}

/// The value of `--duration PRODUCT=DAYS`.
struct DurationArgument: ExpressibleByArgument {
    let product: String
    let milliseconds: Int64

    init?(argument: String) {
        guard let equals = argument.lastIndex(of: "="), equals != argument.startIndex,
            let days = try? daysArgument(String(argument[argument.index(after: equals)...]))
        else { return nil }
        product = String(argument[..<equals])
        milliseconds = days
    }
}

/// Parses a number of days; returns milliseconds.
func daysArgument(_ text: String) throws -> Int64 {
    // The limit is a century. A larger number is a mistake, such as a number of seconds.
    guard let days = Int64(text), (0...36_525).contains(days) else {
        throw ValidationError("write a whole number of days, 0 to 36525")
    }
    return days * EntitlementPolicy.millisecondsPerDay
}
