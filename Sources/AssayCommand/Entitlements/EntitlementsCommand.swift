import ArgumentParser
import Assay
import AssayClient
import AssayCommandLine
import AssayEntitlements
import AssayIO
import AssayModels
import AssayServer

struct EntitlementsCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "entitlements",
        abstract: "Report what a customer owns now, from any mixture of evidence.",
        discussion: """
            Verifies each item, then decides which products the customer can use, until
            when, and which item proves it. A refused item contributes nothing and does
            not affect the others. The order of the items never changes the answer.

            EXAMPLES
              A token of the app, a notification and an old receipt:
                assay entitlements --bundle-id com.example.game \\
                  token.jws notification.json receipt.b64
              A folder of evidence, as a table:
                assay entitlements --format text ./customer-4711
              One item on each line, from a pipe, as of last New Year:
                assay entitlements --at 2026-01-01T00:00:00Z - < tokens.txt
              Keep access for three days while Apple retries a payment:
                assay entitlements --billing-retry-days 3 ./customer-4711
              The answer of a running server, in one request:
                assay entitlements --server unix:/run/assay/assay.sock ./customer-4711

            OUTPUT
              One JSON object: the items with their verdicts, then for each environment
              and app the subscription groups, products and consumables. decidedBy names
              the deciding item. nextChange is the time to ask again. Dates are
              milliseconds since 1970.

            EXIT STATUS
              0  every item is VALID, whatever the customer owns
              1  an item was refused: its verdict and detail say why
              2  wrong usage, or a file or server could not be read or reached
            """)

    @OptionGroup(title: "TRUST") var trust: EvidenceOptions

    @OptionGroup(title: "Other stores") var stores: PurchaseKeyOptions

    @Option(
        help: ArgumentHelp(
            "The kind of each item: \(KindChoice.names). (default: auto)", valueName: "kind"),
        completion: .choices(KindChoice.self),
        transform: choiceArgument)
    var kind: KindChoice = .auto

    @Option(
        help: ArgumentHelp(
            "Mark the answer stale if all evidence is older.", valueName: "days"),
        transform: daysArgument)
    var maxAge: Int64?

    @Option(
        name: .customLong("billing-retry-days"),
        help: ArgumentHelp(
            "Days that a subscription in billing retry still entitles after its end. (default: 0)",
            valueName: "n"),
        transform: daysArgument)
    var billingRetry: Int64?

    @Option(
        name: .customLong("renewal-hours"),
        help: ArgumentHelp(
            "Hours for which a subscription stays entitled after its end while a renewal may be "
                + "late. (default: 0)",
            valueName: "n"),
        transform: hoursArgument)
    var renewalLeniency: Int64?

    @Option(
        name: .customLong("app-account-token"),
        help: ArgumentHelp(
            "The customer that you ask about: what names another one does not entitle.",
            valueName: "uuid"))
    var appAccountToken: String?

    @Option(
        help: ArgumentHelp(
            "Leave out what Apple signed later, as you knew it then: \(DateArgument.help).",
            valueName: "time"),
        transform: momentArgument)
    var knownAt: DateArgument?

    @Flag(name: .customLong("no-family-sharing"), help: "Shared purchases do not entitle.")
    var refusesFamilySharing = false

    @Option(
        name: .customLong("duration"),
        help: ArgumentHelp(
            "The duration of a non-renewing subscription: Apple does not say. With :stack, periods "
                + "add up. Repeat for more.",
            valueName: "product=days[:stack]"))
    var durations: [DurationArgument] = []

    @OptionGroup var remote: ServerOptions

    @Option(
        help: ArgumentHelp("json, or text, a table. (default: json)", valueName: "format"),
        completion: .choices(EntitlementsFormat.self),
        transform: choiceArgument)
    var format: EntitlementsFormat = .json

    @Argument(
        help: ArgumentHelp(
            "A file, a folder of files, or - for one item on each line of standard input. A file "
                + "of several lines of tokens has one item on each line.",
            valueName: "file"),
        completion: .file())
    var files: [String]

    func validate() throws {
        try remote.check(trust)
        try remote.check(stores)
    }

    func run() async throws {
        let inputs = try EvidenceInput.read(files)
        let (items, answer) =
            if let server = remote.server {
                try await ask(server, inputs)
            } else {
                try decide(inputs)
            }
        switch format {
        case .json: try Output.line(json: answer.json(items))
        case .text: try Output.line(answer.text(items))
        }
        guard items.allSatisfy({ $0.verification.verdict == .valid }) else {
            throw ExitStatus.refused
        }
    }

    private func decide(
        _ inputs: [EvidenceInput]
    ) throws -> (items: [EvidenceItem], answer: Entitlements) {
        let verifier = Verifier(trust: try trust.store())
        let moment = trust.now
        // The moment of the decision is not that of the verification, unless it is still to come.
        let now = max(.now, moment)
        let accepted = try stores.extend(trust.policy)
        let items = inputs.map { input in
            EvidenceItem(verify(input.evidence, verifier, accepted, at: now), label: input.label)
        }
        if let problem = policy.problem(of: items.compactMap(\.verification.kind)) {
            throw Failure("--app-account-token: " + problem)
        }
        return (items, Entitlements(of: items, at: moment, policy: policy))
    }

    /// Has a server verify the items and decide, in one request.
    private func ask(
        _ server: Endpoint, _ inputs: [EvidenceInput]
    ) async throws -> (items: [EvidenceItem], answer: Entitlements) {
        var question = Expectations(
            appAppleId: trust.appAppleId, environments: trust.expectedEnvironments)
        question.bundleId = trust.bundleId
        let expectations = question
        let items = inputs.map { ResolveItem($0.evidence, as: kind.kind, label: $0.label) }
        let (moment, policy, app) = (trust.at?.timestamp, policy, remote.app ?? "")
        let answer = try await server.ask(
            remote.tls.context(for: server), timeout: remote.answerTimeout
        ) { client throws(ClientError) in
            try await client.resolve(
                items, at: moment, policy: policy, expecting: expectations, app: app)
        }
        return (
            answer.items.map {
                EvidenceItem($0.verification, label: $0.label, identifiers: $0.identifiers)
            },
            answer.entitlements
        )
    }

    private func verify(
        _ evidence: [UInt8], _ verifier: Verifier, _ accepted: Policy, at now: Timestamp
    ) -> Verification {
        let named = kind.kind ?? Verifier.likelyKind(of: evidence.span)
        let verification = verifier.verify(
            evidence.span, as: named ?? .transaction, policy: accepted, at: now)
        return named == nil ? verification.ofUnknownKind : verification
    }

    private var policy: EntitlementPolicy {
        var policy = EntitlementPolicy()
        policy.maxAgeMilliseconds = maxAge
        policy.billingRetryLeniencyMilliseconds = billingRetry ?? 0
        policy.acceptsFamilySharing = !refusesFamilySharing
        policy.renewalLeniencyMilliseconds = renewalLeniency ?? 0
        policy.expectedAppAccountToken = appAccountToken
        policy.knownAt = knownAt?.timestamp
        for duration in durations {
            policy.durations[duration.product] = duration.milliseconds
            if duration.stacks { policy.stackedProducts.insert(duration.product) }
        }
        return policy
    }
}

/// The values of `entitlements --format`.
enum EntitlementsFormat: String, Choice {
    case json, text
}

/// The value of `--duration PRODUCT=DAYS[:stack]`.
struct DurationArgument: ExpressibleByArgument {
    let product: String
    let milliseconds: Int64
    let stacks: Bool

    init?(argument: String) {
        let suffix = ":stack"
        stacks = argument.hasSuffix(suffix)
        let text = stacks ? argument.dropLast(suffix.count) : argument[...]
        guard let equals = text.lastIndex(of: "="), equals != text.startIndex,
            let days = try? daysArgument(String(text[text.index(after: equals)...]))
        else { return nil }
        product = String(text[..<equals])
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

/// Parses a number of hours; returns milliseconds.
func hoursArgument(_ text: String) throws -> Int64 {
    // A renewal that is later than a month is none.
    guard let hours = Int64(text), (0...744).contains(hours) else {
        throw ValidationError("write a whole number of hours, 0 to 744")
    }
    return hours * 3_600_000
}
