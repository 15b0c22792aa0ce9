import ArgumentParser
import AssayClient
import AssayCommandLine
import AssayEntitlements
import AssayIO
import AssayModels
import AssayServer
import AssayWire

struct FetchCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "fetch",
        abstract: "Have a server ask the App Store what a customer owns.",
        discussion: """
            Sends a transaction id to a server whose configuration has the key of App
            Store Connect ([app.store]). The server asks Apple for the customer's
            subscription statuses and history, verifies every answer, and decides.

            Evidence names its customer as well: a token, a notification, a receipt of
            verifyReceipt. The newest transaction in it is sent. This is Apple's way from
            verifyReceipt to the App Store Server API, in one call.

            EXAMPLES
              What this customer owns now, as a table:
                assay fetch 470001500000001 --server tcp://127.0.0.1:7443 --format text
              The same of a stored receipt, whatever is still valid in it:
                assay fetch receipt.b64 --server tcp://127.0.0.1:7443 --format text
              The history alone, of another app entry:
                assay fetch 470001500000001 --server unix:/run/assay/assay.sock \\
                  --list history --app game

            OUTPUT
              One JSON object, as of 'assay entitlements', with the environment that
              knows the customer, and the revision at the end of the history.

            EXIT STATUS
              0  an answer, whatever the customer owns
              2  wrong usage, or no answer: the message says why
            """)

    @Argument(
        help: ArgumentHelp(
            "Any transaction id of the customer, or a file of evidence that names one; - is "
                + "standard input.", valueName: "transaction"),
        completion: .file())
    var customer: String

    @Option(
        help: ArgumentHelp("The server: tcp://, tls:// or unix:.", valueName: "address"),
        transform: serverArgument)
    var server: Endpoint

    @Option(
        help: ArgumentHelp(
            "The server's app entry. (default: its default entry)", valueName: "name"))
    var app: String?

    @Option(
        name: .customLong("list"),
        help: ArgumentHelp(
            "statuses or history. Repeat for both. (default: both)", valueName: "name"),
        completion: .choices(FetchListChoice.self),
        transform: choiceArgument)
    var lists: [FetchListChoice] = []

    @Option(
        help: ArgumentHelp(
            "Decide as of this time, \(DateArgument.help). (default: the server's clock)",
            valueName: "time"),
        transform: momentArgument)
    var at: DateArgument?

    @Option(
        help: ArgumentHelp("Time to wait for the answer. (default: 30)", valueName: "seconds"),
        transform: timeoutArgument)
    var timeout: Duration?

    @Option(
        help: ArgumentHelp("json, or text, a table. (default: json)", valueName: "format"),
        completion: .choices(EntitlementsFormat.self),
        transform: choiceArgument)
    var format: EntitlementsFormat = .json

    @OptionGroup(title: "TLS") var tls: TLSOptions

    /// Digits alone are an identifier, and anything else a file.
    private var isIdentifier: Bool {
        !customer.isEmpty && customer.utf8.allSatisfy { (0x30...0x39).contains($0) }
    }

    func run() async throws {
        let evidence =
            isIdentifier ? nil : try Input.read(customer, limit: Input.evidenceLimit)
        let (id, app, lists) = (customer, app ?? "", lists.map(\.list))
        let (moment, timeout) = (at?.timestamp, timeout)
        let found = try await server.ask(
            tls.context(for: server), timeout: timeout ?? ClientOptions.longestTimeout
        ) { client throws(ClientError) in
            if let evidence {
                try await client.fetch(
                    evidence, lists: lists, at: moment, app: app, timeout: timeout)
            } else {
                try await client.fetch(
                    transactionId: id, lists: lists, at: moment, app: app, timeout: timeout)
            }
        }
        let items = found.items.map { EvidenceItem($0.verification, label: $0.label) }
        switch format {
        case .json:
            try Output.line(
                json: found.entitlements.json(
                    items, of: found.environment, revision: found.revision))
        case .text: try Output.line(found.entitlements.text(items))
        }
    }
}

/// The values of `fetch --list`.
enum FetchListChoice: String, Choice {
    case statuses, history

    var list: FetchCall.List {
        switch self {
        case .statuses: .statuses
        case .history: .history
        }
    }
}
