import ArgumentParser
import Assay
import AssayCommandLine
import AssayIO
import AssayLocalStore
import AssayMint
import AssayModels

struct StoreCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: DevelopmentCommand.store.rawValue,
        abstract: DevelopmentCommand.store.abstract,
        discussion: """
            A local App Store, for development only. Its customers live the lives of
            scenarios ('assay mint scenario --list'). It speaks the App Store Server API,
            with answers that the authority in --ca signs, answers verifyReceipt, and sends
            App Store Server Notifications. Time stands still until you move it; events up
            to the new time happen in order.

            Give the backend under test this base URL for production, the same with
            /sandbox for the sandbox, and ca/root.pem as its root; 'assay api' and 'assay
            serve' ask both environments by the one URL. Prints one line with the address
            when it is ready. The same address has a page for browsers, and:

              POST   /advance    {"duration": "30d"}, {"to": "next"}, {"to": MILLISECONDS}
              POST   /customers  {"scenario": "refund"} or {"scenario": {…}}
              GET    /customers  their steps, and the ids of their transactions
              GET    /customers/1/receipt  the receipt on the device of the first one
              POST   /faults     what the next requests meet; DELETE removes all
              GET    /notifications, /requests

            EXAMPLES
              A customer whose payment fails, and notifications to a backend:
                assay mint ca --date 2025-01-01T00:00:00Z ./ca
                assay store --ca ./ca --customer grace-period \\
                  --notify http://127.0.0.1:8080/notifications
              Thirty days later:
                curl -d '{"duration": "30d"}' http://127.0.0.1:7450/advance
              The next two requests for a history fail:
                curl -d '{"endpoint": "history", "code": 5000001, "count": 2}' \\
                  http://127.0.0.1:7450/faults

            docs/local-store.md shows a test in CI.

            EXIT STATUS
              0  stopped by a signal
              2  wrong usage, an unusable authority, key or scenario, or it could not listen
            """)

    static let defaultListen = Endpoint.http(host: "127.0.0.1", port: 7450)

    @Option(
        help: ArgumentHelp(
            "The folder of the authority, made by 'assay mint ca'.", valueName: "folder"),
        completion: .directory)
    var ca: String

    @Option(
        help: ArgumentHelp(
            "http://HOST:PORT; port 0 chooses a free port. (default: \(Self.defaultListen))",
            valueName: "address"),
        transform: endpointArgument)
    var listen: Endpoint = Self.defaultListen

    @Flag(help: "Allow an address that other machines can reach.")
    var anyAddress = false

    @Option(
        name: .customLong("customer"),
        help: ArgumentHelp(
            "A scenario, by name or file, that one customer lives from the start; with @Sandbox "
                + "at its end in the sandbox. Repeat for more.",
            valueName: "scenario"),
        completion: .custom { _, _, _ in scenarioNames })
    var customers: [String] = []

    @Option(
        help: ArgumentHelp(
            "Post notifications to this http:// URL. (default: none are sent)", valueName: "url"),
        transform: targetArgument)
    var notify: NotificationTarget?

    @Option(
        help: ArgumentHelp(
            "The same for the sandbox. (default: that of --notify)", valueName: "url"),
        transform: targetArgument)
    var notifySandbox: NotificationTarget?

    @Option(
        name: .customLong("notify-v1"),
        help: ArgumentHelp(
            "Post notifications of version 1 to this http:// URL. (default: none are sent)",
            valueName: "url"),
        transform: targetArgument)
    var notifyV1: NotificationTarget?

    @Option(
        name: .customLong("notify-v1-sandbox"),
        help: ArgumentHelp(
            "The same for the sandbox. (default: that of --notify-v1)", valueName: "url"),
        transform: targetArgument)
    var notifyV1Sandbox: NotificationTarget?

    @Option(
        help: ArgumentHelp(
            "The password of verifyReceipt and of notifications of version 1. (default: any is "
                + "accepted, and none is sent)",
            valueName: "text"))
    var sharedSecret: String?

    @Flag(
        name: .customLong("no-retry-after-400"),
        help: "Do not send a notification again that the backend answers with 400.")
    var noRetryAfter400 = false

    @Option(help: "The bundle identifier of the app.")
    var bundleId = "com.example.game"

    @Option(
        help: ArgumentHelp("The App Store id of the app.", valueName: "number"),
        transform: appAppleIdArgument)
    var appAppleId: Int64 = 1_234_567_890

    @Option(
        name: .customLong("key"),
        help: ArgumentHelp(
            "A key of the App Store Server API as KEY-ID=FILE: the public key or the .p8 file. "
                + "Repeat for more. (default: tokens of any key are accepted)",
            valueName: "id=file"))
    var keys: [String] = []

    @Option(help: ArgumentHelp("Accept tokens of this issuer only.", valueName: "id"))
    var issuer: String?

    @Option(
        help: ArgumentHelp(
            "The moment at which the store's time begins, \(DateArgument.help). "
                + "(default: the authority's first day)",
            valueName: "time"))
    var start: DateArgument?

    @Option(
        help: ArgumentHelp(
            "Let time go by, this many times as fast as the clock. (default: 0, it stands still)",
            valueName: "factor"))
    var speed = 0.0

    @Option(
        help: ArgumentHelp("Items of a page of the API. (default: 20, as Apple's)", valueName: "n"))
    var pageSize: Int?

    @Option(
        help: ArgumentHelp(
            "Keep the store in this folder: started again, it goes on where it was, and "
                + "--customer has no effect. (default: it is gone with the process)",
            valueName: "folder"),
        completion: .directory)
    var state: String?

    @Flag(help: "Answer any number of requests a second.")
    var noRateLimits = false

    func validate() throws {
        // A day in a second, and a year in six minutes.
        guard (0...86_400).contains(speed) else {
            throw ValidationError("--speed must be from 0 to 86400")
        }
        if let pageSize, !(1...1000).contains(pageSize) {
            throw ValidationError("--page-size must be from 1 to 1000")
        }
    }

    func run() throws {
        ignoreBrokenPipes()
        let settings = try settings()
        let initialCustomers = try customers.map(Self.initialCustomer)
        let server: LocalStoreServer
        do throws(LocalStoreError) {
            server = try LocalStoreServer(
                settings, at: listen, allowsAnyAddress: anyAddress,
                initialCustomers: initialCustomers,
                folder: state, speed: speed)
            // Before the line of a store that is ready: its reader can end it at once.
            try server.followSignals()
        } catch {
            throw Failure("can't open a store at \(listen): \(error)")
        }
        Output.note(
            "assay-dev: this App Store is for development only: its purchases are worth nothing")
        if keys.isEmpty {
            Output.note("assay-dev: it accepts tokens that any key signed; see --key")
        }
        try Output.line("assay store ready \(server.endpoint)")
        server.wait()
    }

    private func settings() throws -> StoreSettings {
        let authority = try DevelopmentCA.read(from: ca)
        let first: Timestamp
        do throws(MintError) {
            if let start { first = start.timestamp } else { first = try authority.firstDay }
        } catch {
            throw Failure("the authority in \(ca) can't be used: \(error.message)")
        }
        let receipts = try? ReceiptCA.read(from: ca)
        guard receipts != nil || notifyV1 == nil && notifyV1Sandbox == nil else {
            throw Failure(
                "notifications of version 1 have receipts: make the folder of --ca with "
                    + "'assay mint ca'")
        }
        return StoreSettings(
            authority: authority, receipts: receipts, sharedSecret: sharedSecret,
            bundleId: bundleId, appAppleId: appAppleId, start: first,
            tokens: TokenCheck(keys: try keys.map(Self.key), issuer: issuer),
            production: notify, sandbox: notifySandbox ?? notify, productionV1: notifyV1,
            sandboxV1: notifyV1Sandbox ?? notifyV1, pageSize: pageSize, limitsRates: !noRateLimits,
            sendsAgainAfter400: !noRetryAfter400)
    }

    // MARK: Arguments

    private static func key(_ argument: String) throws -> APIKey {
        let parts = argument.split(separator: "=", maxSplits: 1).map(String.init)
        guard parts.count == 2 else {
            throw Failure("--key \(argument): write KEY-ID=FILE")
        }
        guard let key = APIKey(id: parts[0], pem: try Input.read(parts[1])) else {
            throw Failure(
                "\(parts[1]) is not a key of P-256: it must be a .p8 file, or the PEM of a "
                    + "public key")
        }
        return key
    }

    private static func initialCustomer(_ argument: String) throws
        -> LocalStoreServer.InitialCustomer
    {
        var name = argument
        var isSandbox = false
        for suffix in ["@Sandbox", "@Production"] where argument.hasSuffix(suffix) {
            name = String(argument.dropLast(suffix.count))
            isSandbox = suffix == "@Sandbox"
        }
        return .init(try MintScenarioCommand.checkedSource(name), isSandbox: isSandbox)
    }
}

/// Parses the URL of a backend.
@Sendable func targetArgument(_ text: String) throws -> NotificationTarget {
    do throws(NotificationTarget.Problem) { return try NotificationTarget(text) } catch {
        throw ValidationError("\(error)")
    }
}
