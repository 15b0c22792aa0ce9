import ArgumentParser
import Assay
import AssayBytes
import AssayCommandLine
import AssayModels
import AssayStore

struct ApiTestNotification: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "test-notification",
        abstract: "Have the App Store send a TEST notification, or see how it went.",
        discussion: """
            EXAMPLES
              assay api test-notification --bundle-id com.example.game
              With the token that it printed:
                assay api test-notification --bundle-id com.example.game --status TOKEN
            """)

    @OptionGroup var options: ApiOptions

    @Option(
        help: ArgumentHelp(
            "Do not send one: report how the one of this token went.", valueName: "token"))
    var status: String?

    func run() async throws {
        try await ApiReading(options: options, isOneCustomer: false).run { () throws(StoreError) in
            guard let status else { return .testNotification() }
            return try .testNotificationStatus(status)
        }
    }
}

/// The values of `--reason`.
enum ExtensionReasonChoice: String, Choice {
    case undeclared, satisfaction, other, outage

    var reason: ExtensionReason {
        switch self {
        case .undeclared: .undeclared
        case .satisfaction: .satisfaction
        case .other: .other
        case .outage: .outage
        }
    }
}

struct ApiExtend: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "extend",
        abstract: "Extend the renewal date of a subscription, at most twice a year.",
        discussion: """
            Prints the date that Apple answers. It is not sent again where it may have
            arrived: ask 'assay api history' before you repeat it.

            EXAMPLES
              A week, after an outage:
                assay api extend --bundle-id com.example.game --days 7 --reason outage \\
                  470001400000000
            """)

    @OptionGroup var options: ApiOptions

    @Option(help: ArgumentHelp("Days, 1 to 90.", valueName: "n"))
    var days: Int

    @Option(
        help: ArgumentHelp("\(ExtensionReasonChoice.names).", valueName: "reason"),
        completion: .choices(ExtensionReasonChoice.self), transform: choiceArgument)
    var reason: ExtensionReasonChoice

    @Option(
        help: ArgumentHelp(
            "Names the extension, at most 128 bytes. (default: a random UUID)", valueName: "id"))
    var requestId: String?

    @Argument(
        help: ArgumentHelp(
            "The original transaction id of the subscription.", valueName: "original"))
    var id: String

    func run() async throws {
        let request = requestId ?? UUIDText.random()
        try await ApiReading(options: options, isOneCustomer: false).run { () throws(StoreError) in
            try .extend(id, byDays: days, reason: reason.reason, request: request)
        }
    }
}

/// The values of `--delivery`.
enum DeliveryChoice: String, Choice {
    case delivered
    case qualityIssue = "quality-issue"
    case wrongItem = "wrong-item"
    case serverOutage = "server-outage"
    case other

    var delivery: ConsumptionReport.Delivery {
        switch self {
        case .delivered: .delivered
        case .qualityIssue: .qualityIssue
        case .wrongItem: .wrongItem
        case .serverOutage: .serverOutage
        case .other: .other
        }
    }
}

/// The values of `--preference`.
enum RefundPreferenceChoice: String, Choice {
    case decline, grant, prorate

    var preference: ConsumptionReport.Preference {
        switch self {
        case .decline: .decline
        case .grant: .grantFull
        case .prorate: .grantProrated
        }
    }
}

struct ApiConsumption: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "consumption",
        abstract: "Answer a CONSUMPTION_REQUEST, within 12 hours of it.",
        discussion: """
            Only with the customer's consent: say so with --customer-consented.

            EXAMPLES
              Delivered, a quarter is used up, no refund preferred:
                assay api consumption --bundle-id com.example.game --customer-consented \\
                  --delivery delivered --consumed 25 --preference decline 470001500000001
            """)

    @OptionGroup var options: ApiOptions

    @Flag(help: "The customer has consented to this report.")
    var customerConsented = false

    @Option(
        help: ArgumentHelp("\(DeliveryChoice.names).", valueName: "state"),
        completion: .choices(DeliveryChoice.self), transform: choiceArgument)
    var delivery: DeliveryChoice

    @Flag(help: "The customer could try it, or read about it, before.")
    var sampleProvided = false

    @Option(
        help: ArgumentHelp("How much is used up, 0 to 100.", valueName: "percent"),
        transform: { text in
            guard let percent = Double(text), (0...100).contains(percent) else {
                throw ValidationError("write a percentage, 0 to 100")
            }
            return percent
        })
    var consumed: Double?

    @Option(
        help: ArgumentHelp(
            "What you prefer: \(RefundPreferenceChoice.names).", valueName: "outcome"),
        completion: .choices(RefundPreferenceChoice.self), transform: choiceArgument)
    var preference: RefundPreferenceChoice?

    @Argument(help: ArgumentHelp("The transaction id.", valueName: "transaction"))
    var id: String

    func validate() throws {
        guard customerConsented else {
            throw ValidationError(
                "Apple takes a report with the customer's consent only: add --customer-consented "
                    + "if you have it")
        }
    }

    func run() async throws {
        var report = ConsumptionReport(
            customerConsented: customerConsented, delivery: delivery.delivery,
            sampleProvided: sampleProvided)
        report.consumptionPercentage = consumed.map { Int(($0 * 1000).rounded()) }
        report.refundPreference = preference?.preference
        let made = report
        try await ApiReading(options: options, isOneCustomer: false).run { () throws(StoreError) in
            try .consumption(of: id, made)
        }
    }
}

struct ApiSetAccountToken: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "set-account-token",
        abstract: "Set the account token of a purchase that was made outside the app.",
        discussion: """
            EXAMPLES
              assay api set-account-token --bundle-id com.example.game \\
                470001400000000 7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10
            """)

    @OptionGroup var options: ApiOptions

    @Argument(help: ArgumentHelp("The original transaction id.", valueName: "original"))
    var id: String

    @Argument(help: ArgumentHelp("The account token, a UUID.", valueName: "token"))
    var token: String

    func run() async throws {
        try await ApiReading(options: options, isOneCustomer: false).run { () throws(StoreError) in
            try .setAccountToken(token, of: id)
        }
    }
}
