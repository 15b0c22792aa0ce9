import ArgumentParser
import AssayBytes
import AssayCommandLine
import AssayModels
import AssayStore

struct ApiFinish: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "finish",
        abstract: "Mark a transaction as finished, as the app would.",
        discussion: """
            EXAMPLES
              assay api finish --bundle-id com.example.game 470001500000001
            """)

    @OptionGroup var options: ApiOptions
    @Argument(help: ArgumentHelp("The transaction id.", valueName: "transaction"))
    var id: String

    func run() async throws {
        try await ApiReading(options: options, isOneCustomer: false).run { () throws(StoreError) in
            try .finish(id)
        }
    }
}

struct ApiMassExtend: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "mass-extend",
        abstract: "Extend the renewal date of all subscribers of a product, or see how it went.",
        discussion: """
            It is not sent again where it may have arrived: ask for its status before you
            repeat it.

            EXAMPLES
              A week for the subscribers of two countries, after an outage:
                assay api mass-extend --bundle-id com.example.game --product gold.month \\
                  --days 7 --reason outage --storefront USA --storefront CAN
              With the request id that it printed:
                assay api mass-extend --bundle-id com.example.game --product gold.month \\
                  --status 7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10
            """)

    @OptionGroup var options: ApiOptions

    @Option(help: ArgumentHelp("The product of the subscription.", valueName: "id"))
    var product: String

    @Option(help: ArgumentHelp("Days, 1 to 90.", valueName: "n"))
    var days: Int?

    @Option(
        help: ArgumentHelp("\(ExtensionReasonChoice.names).", valueName: "reason"),
        completion: .choices(ExtensionReasonChoice.self), transform: choiceArgument)
    var reason: ExtensionReasonChoice?

    @Option(
        help: ArgumentHelp(
            "Names the extension, at most 128 bytes. (default: a random UUID)", valueName: "id"))
    var requestId: String?

    @Option(
        name: .customLong("storefront"),
        help: ArgumentHelp(
            "A country, three letters. Repeat for more. (default: all)", valueName: "code"))
    var storefronts: [String] = []

    @Option(
        help: ArgumentHelp(
            "Do not extend: report how the request of this id went.", valueName: "id"))
    var status: String?

    func validate() throws {
        guard (status == nil) == (days != nil && reason != nil) else {
            throw ValidationError(
                status == nil ? "name --days and --reason" : "--status stands without them")
        }
    }

    func run() async throws {
        let request = requestId ?? UUIDText.random()
        try await ApiReading(options: options, isOneCustomer: false).run { () throws(StoreError) in
            if let status { return try .massExtensionStatus(product: product, request: status) }
            return try .massExtend(
                product: product, byDays: days ?? 0, reason: reason?.reason ?? .undeclared,
                request: request, storefronts: storefronts)
        }
    }
}

/// The values of `advanced-commerce CHANGE`.
enum AdvancedChangeChoice: String, Choice {
    case cancel
    case changeMetadata = "change-metadata"
    case changePrice = "change-price"
    case migrate, revoke, refund

    func call(_ id: String, _ json: [UInt8]) throws(StoreError) -> StoreCall {
        switch self {
        case .cancel: try .advancedCommerce(.cancel, id, json: json)
        case .changeMetadata: try .advancedCommerce(.changeMetadata, id, json: json)
        case .changePrice: try .advancedCommerce(.changePrice, id, json: json)
        case .migrate: try .advancedCommerce(.migrate, id, json: json)
        case .revoke: try .advancedCommerce(.revoke, id, json: json)
        case .refund: try .advancedCommerceRefund(id, json: json)
        }
    }
}

struct ApiAdvancedCommerce: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "advanced-commerce",
        abstract: "Change or refund a purchase of Advanced Commerce.",
        discussion: """
            The request is Apple's JSON, with its requestInfo. 'assay sign
            advanced-commerce' is for requests that the app makes.

            EXAMPLES
              assay api advanced-commerce --bundle-id com.example.game cancel \\
                470001500000001 cancel.json
            """)

    @OptionGroup var options: ApiOptions
    @Argument(
        help: ArgumentHelp("\(AdvancedChangeChoice.names).", valueName: "change"),
        completion: .choices(AdvancedChangeChoice.self), transform: choiceArgument)
    var change: AdvancedChangeChoice
    @Argument(help: ArgumentHelp("The transaction id.", valueName: "transaction"))
    var id: String
    @Argument(
        help: ArgumentHelp("The request in JSON; - is standard input.", valueName: "file"),
        completion: .file())
    var file: String

    func run() async throws {
        let json = try Input.read(file)
        try await ApiReading(options: options, isOneCustomer: false).run { () throws(StoreError) in
            try change.call(id, json)
        }
    }
}

struct ApiExternalPurchases: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "external-purchases",
        abstract: "Report purchases outside of the App Store, or decode a token of one.",
        discussion: """
            EXAMPLES
              What does this token say? Nothing is sent, and nothing proves it:
                assay api external-purchases --bundle-id com.example.game --token eyJhcH...
              Send a report; a token of the sandbox is reported there:
                assay api external-purchases --bundle-id com.example.game --send report.json
              Read it back:
                assay api external-purchases --bundle-id com.example.game \\
                  --report 87e7d6d1-b98d-4a8f-b6a4-41ba992a6cad
            """)

    @OptionGroup var options: ApiOptions

    @Option(help: ArgumentHelp("A token to decode.", valueName: "token"))
    var token: String?

    @Option(
        help: ArgumentHelp(
            "A report to send: Apple's ExternalPurchaseReport; - is standard input.",
            valueName: "file"),
        completion: .file())
    var send: String?

    @Option(help: ArgumentHelp("The request id of a report to read.", valueName: "id"))
    var report: String?

    func validate() throws {
        guard [token, send, report].compactMap(\.self).count == 1 else {
            throw ValidationError("write one of --token, --send and --report")
        }
    }

    func run() async throws {
        if let token { return try decode(token) }
        let json = try send.map { try Input.read($0) }
        try await ApiReading(options: options, isOneCustomer: false).run { () throws(StoreError) in
            if let json { return try .sendExternalPurchaseReport(json: json) }
            return try .externalPurchaseReport(report ?? "")
        }
    }

    private func decode(_ text: String) throws {
        let token = try SignOptions.value { () throws(StoreError) in
            try DecodedExternalPurchaseToken(text)
        }
        var writer = JSONWriter()
        writer.object { object in
            object.member("externalPurchaseId", token.externalPurchaseId)
            object.member("environment", token.environment.rawValue)
            object.member("tokenCreationDate", token.tokenCreationDate.milliseconds)
            object.member("appAppleId", token.appAppleId)
            object.member("bundleId", token.bundleId)
            object.member("tokenType", token.tokenType)
            object.member("tokenExpirationDate", token.tokenExpirationDate?.milliseconds)
        }
        try Output.line(json: writer.text)
        guard token.bundleId != options.bundleId else { return }
        Output.note("assay: the token is of another app than \(options.bundleId)")
        throw ExitStatus.refused
    }
}
