import ArgumentParser
import AssayCommandLine
import AssayModels
import AssayStore

/// The argument that names a customer.
struct ApiTransactionArgument: ParsableArguments {
    @Argument(
        help: ArgumentHelp(
            "Any transaction id, original transaction id or app transaction id of the customer.",
            valueName: "transaction"))
    var id: String
}

struct ApiStatuses: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "statuses",
        abstract: "All subscriptions of a customer, with their renewal information.",
        discussion: """
            EXAMPLES
              assay api statuses --bundle-id com.example.game 470001500000001
              Only those in a grace period (4); 1 is active, 2 expired, 3 billing retry,
              5 revoked:
                assay api statuses --bundle-id com.example.game --status 4 470001500000001
            """)

    @OptionGroup var options: ApiOptions

    @Option(
        name: .customLong("status"),
        help: ArgumentHelp(
            "Subscriptions of this status, 1 to 5. Repeat for more.", valueName: "n"),
        transform: { text in
            guard let number = Int32(text), (1...5).contains(number) else {
                throw ValidationError("write a status, 1 to 5")
            }
            return number
        })
    var statuses: [Int32] = []

    @OptionGroup var customer: ApiTransactionArgument

    func run() async throws {
        try await ApiReading(options: options).run { () throws(StoreError) in
            try .statuses(
                of: customer.id, in: statuses.map { SubscriptionStatus(rawValue: $0) })
        }
    }
}

struct ApiHistory: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "history",
        abstract: "The transactions of a customer, in the order of their last change.",
        discussion: """
            EXAMPLES
              assay api history --bundle-id com.example.game --all 470001500000001
              What changed since, by the revision of the last answer:
                assay api history --bundle-id com.example.game --all \\
                  --from 1700000000000_1 470001500000001
              Refunded purchases of one product:
                assay api history --bundle-id com.example.game --product gold.100 \\
                  --revoked true 470001500000001
            """)

    @OptionGroup var options: ApiOptions
    @OptionGroup var list: ApiListOptions

    @Option(
        help: ArgumentHelp("Bought at or after this time, \(DateArgument.help).", valueName: "time")
    )
    var start: DateArgument?

    @Option(help: ArgumentHelp("Bought before this time.", valueName: "time"))
    var end: DateArgument?

    @Option(
        name: .customLong("product"),
        help: ArgumentHelp("This product. Repeat for more.", valueName: "id"))
    var products: [String] = []

    @Option(
        name: .customLong("product-type"),
        help: ArgumentHelp(
            "\(ProductTypeChoice.names). Repeat for more.", valueName: "type"),
        completion: .choices(ProductTypeChoice.self), transform: choiceArgument)
    var types: [ProductTypeChoice] = []

    @Option(
        name: .customLong("group"),
        help: ArgumentHelp("This subscription group. Repeat for more.", valueName: "id"))
    var groups: [String] = []

    @Option(
        help: ArgumentHelp("\(OwnershipChoice.names).", valueName: "type"),
        completion: .choices(OwnershipChoice.self), transform: choiceArgument)
    var ownership: OwnershipChoice?

    @Option(
        help: ArgumentHelp(
            "true: revoked transactions alone; false: none of them.", valueName: "bool"))
    var revoked: Bool?

    @Flag(help: "The last change first.")
    var descending = false

    @OptionGroup var customer: ApiTransactionArgument

    func run() async throws {
        var query = HistoryQuery()
        query.startDate = start?.timestamp
        query.endDate = end?.timestamp
        query.productIds = products
        query.productTypes = types.map(\.rawValue)
        query.subscriptionGroups = groups
        query.ownership = ownership?.rawValue
        query.revoked = revoked
        query.isDescending = descending
        let asked = query
        try await ApiReading(options: options, walk: list.walk).run { () throws(StoreError) in
            try .history(of: customer.id, asked)
        }
    }
}

/// Apple's values of `productType`.
enum ProductTypeChoice: String, Choice {
    case autoRenewable = "AUTO_RENEWABLE"
    case nonRenewable = "NON_RENEWABLE"
    case consumable = "CONSUMABLE"
    case nonConsumable = "NON_CONSUMABLE"
}

/// Apple's values of `inAppOwnershipType`.
enum OwnershipChoice: String, Choice {
    case purchased = "PURCHASED"
    case familyShared = "FAMILY_SHARED"
}

struct ApiTransaction: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "transaction",
        abstract: "One transaction.",
        discussion: """
            EXAMPLES
              assay api transaction --bundle-id com.example.game 470001500000001
            """)

    @OptionGroup var options: ApiOptions
    @Argument(help: ArgumentHelp("The transaction id.", valueName: "transaction"))
    var id: String

    func run() async throws {
        try await ApiReading(options: options).run { () throws(StoreError) in
            try .transaction(id)
        }
    }
}

struct ApiAppTransaction: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "app-transaction",
        abstract: "The purchase of the app itself by a customer.",
        discussion: """
            EXAMPLES
              assay api app-transaction --bundle-id com.example.game 470001500000001
            """)

    @OptionGroup var options: ApiOptions
    @OptionGroup var customer: ApiTransactionArgument

    func run() async throws {
        try await ApiReading(options: options).run { () throws(StoreError) in
            try .appTransaction(of: customer.id)
        }
    }
}

struct ApiOrder: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "order",
        abstract: "The transactions of an order, by the number on a customer's receipt.",
        discussion: """
            Apple sends customers a receipt with an order number. Production alone has them.

            EXAMPLES
              assay api order --bundle-id com.example.game MVWXYZ1234
            """)

    @OptionGroup var options: ApiOptions
    @Argument(help: ArgumentHelp("The order id.", valueName: "order"))
    var id: String

    func run() async throws {
        try await ApiReading(options: options).run { () throws(StoreError) in try .order(id) }
    }
}

struct ApiRefunds: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "refunds",
        abstract: "The refunded transactions of a customer.",
        discussion: """
            EXAMPLES
              assay api refunds --bundle-id com.example.game --all 470001500000001
            """)

    @OptionGroup var options: ApiOptions
    @OptionGroup var list: ApiListOptions
    @OptionGroup var customer: ApiTransactionArgument

    func run() async throws {
        try await ApiReading(options: options, walk: list.walk).run { () throws(StoreError) in
            try .refunds(of: customer.id)
        }
    }
}

struct ApiNotifications: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "notifications",
        abstract: "The notifications that the App Store sent to your server, or tried to.",
        discussion: """
            Apple keeps them for 180 days, those of the sandbox for 30.

            EXAMPLES
              Those that your server did not accept in the last 30 days:
                assay api notifications --bundle-id com.example.game --all --only-failures
              Those of one customer, and what they amount to:
                assay api notifications --bundle-id com.example.game --all \\
                  --transaction 470001500000001
            """)

    @OptionGroup var options: ApiOptions
    @OptionGroup var list: ApiListOptions

    @Option(
        help: ArgumentHelp(
            "From this time on, \(DateArgument.help). (default: 30 days before the end)",
            valueName: "time"))
    var start: DateArgument?

    @Option(help: ArgumentHelp("Up to this time. (default: now)", valueName: "time"))
    var end: DateArgument?

    @Option(help: ArgumentHelp("Of this type, such as DID_RENEW.", valueName: "type"))
    var type: String?

    @Option(help: ArgumentHelp("With --type: of this subtype.", valueName: "type"))
    var subtype: String?

    @Option(
        help: ArgumentHelp("Of the customer of this transaction.", valueName: "transaction"))
    var transaction: String?

    @Flag(help: "Those that your server did not accept.")
    var onlyFailures = false

    func validate() throws {
        if subtype != nil, type == nil { throw ValidationError("--subtype needs --type") }
        if type != nil, transaction != nil {
            throw ValidationError("Apple takes --type or --transaction, not both")
        }
        if let start, let end, start.timestamp >= end.timestamp {
            throw ValidationError("--start is not before --end")
        }
    }

    private static let span: Int64 = 30 * EntitlementPolicy.millisecondsPerDay

    func run() async throws {
        let end = self.end?.timestamp ?? options.at?.timestamp ?? .now
        let start =
            self.start?.timestamp
            ?? Timestamp(milliseconds: end.milliseconds - Self.span)
        var query = NotificationQuery(from: start, to: end)
        query.type = type
        query.subtype = subtype
        query.transactionId = transaction
        query.onlyFailures = onlyFailures
        let asked = query
        let reading = ApiReading(
            options: options, walk: list.walk, isOneCustomer: transaction != nil)
        try await reading.run { () throws(StoreError) in try .notifications(asked) }
    }
}
