import ArgumentParser
import AssayCommandLine
import AssayModels
import AssayStore

/// The options of all `sign` commands: the key.
struct SignOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The .p8 file of your key. (default: that of $ASSAY_STORE_KEY_FILE)",
            valueName: "file"),
        completion: .file(extensions: ["p8"]))
    var key: String?

    @OptionGroup var keyNames: StoreKeyOptions

    func signer(of bundleId: String) throws -> StoreSigner {
        let key = try keyNames.names(of: key).read()
        return try Self.value { () throws(StoreError) in
            try StoreSigner(bundleId: bundleId, key: key)
        }
    }

    /// Reports an error of the library as one of the tool.
    static func value<Value>(_ make: () throws(StoreError) -> Value) throws -> Value {
        do throws(StoreError) { return try make() } catch { throw Failure(error.description) }
    }

    /// Signs and prints.
    func sign(_ bundleId: String, _ make: () throws(StoreError) -> SigningRequest) throws {
        let request = try Self.value(make)
        let signer = try signer(of: bundleId)
        try Output.line(
            json: try Self.value { () throws(StoreError) in try signer.answer(to: request) })
    }
}

/// The app of a signature.
struct SignAppOption: ParsableArguments {
    @Option(help: "The app that the signature is for.")
    var bundleId: String
}

struct SignPromotionalOffer: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "promotional-offer",
        abstract: "Sign a promotional offer for one customer.",
        discussion: """
            Version 2, a JWS, is for Product.PurchaseOption.promotionalOffer(_:compactJWS:).
            Version 1 is for the older API of StoreKit 2 and for SKPaymentDiscount: give
            the app keyId, nonce, timestamp and signature within 24 hours.

            EXAMPLES
              assay sign promotional-offer --bundle-id com.example.game \\
                --product gold.month --offer win-back-50 --transaction-id 470001500000001
              assay sign promotional-offer --bundle-id com.example.game \\
                --product gold.month --offer win-back-50 --offer-version 1 \\
                --app-account-token 7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10
            """)

    @OptionGroup var options: SignOptions
    @OptionGroup var app: SignAppOption

    @Option(help: ArgumentHelp("The product of the subscription.", valueName: "id"))
    var product: String

    @Option(help: ArgumentHelp("The offer's id in App Store Connect.", valueName: "id"))
    var offer: String

    @Option(
        help: ArgumentHelp("1 or 2. (default: 2)", valueName: "n"),
        transform: { text in
            guard let number = Int64(text), let version = PromotionalOfferVersion(rawValue: number)
            else { throw ValidationError("write 1 or 2") }
            return version
        })
    var offerVersion: PromotionalOfferVersion?

    @Option(
        help: ArgumentHelp(
            "With version 1: the customer's account token in the purchase.", valueName: "token"))
    var appAccountToken: String?

    @Option(
        help: ArgumentHelp(
            "With version 2: any transaction of the customer. The offer is for this customer only.",
            valueName: "id"))
    var transactionId: String?

    func validate() throws {
        let version = offerVersion ?? .two
        if version == .two, appAccountToken != nil {
            throw ValidationError(
                "--app-account-token is part of version 1 alone: add --offer-version 1")
        }
        if version == .one, transactionId != nil {
            throw ValidationError("--transaction-id is part of version 2 alone")
        }
    }

    func run() throws {
        try options.sign(app.bundleId) { () throws(StoreError) in
            .promotionalOffer(
                try PromotionalOffer(
                    productId: product, offerId: offer, appAccountToken: appAccountToken,
                    transactionId: transactionId), offerVersion ?? .two)
        }
    }
}

struct SignIntroductoryOffer: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "introductory-offer",
        abstract: "Sign whether a customer gets an introductory offer.",
        discussion: """
            The JWS is for Product.PurchaseOption.introductoryOfferEligibility(compactJWS:).

            EXAMPLES
              assay sign introductory-offer --bundle-id com.example.game \\
                --product gold.month --transaction-id 470001500000001 --allow
            """)

    @OptionGroup var options: SignOptions
    @OptionGroup var app: SignAppOption

    @Option(help: ArgumentHelp("The product of the subscription.", valueName: "id"))
    var product: String

    @Option(
        help: ArgumentHelp(
            "Any transaction of the customer, also the app transaction's.", valueName: "id"))
    var transactionId: String

    @Flag(help: "The customer gets the offer.")
    var allow = false

    @Flag(help: "The customer does not get it.")
    var deny = false

    func validate() throws {
        guard allow != deny else { throw ValidationError("write either --allow or --deny") }
    }

    func run() throws {
        try options.sign(app.bundleId) { () throws(StoreError) in
            .introductoryOffer(
                try IntroductoryOffer(
                    productId: product, isAllowed: allow, transactionId: transactionId))
        }
    }
}

/// The values of `sign advanced-commerce --type`.
enum AdvancedCommerceChoice: String, Choice {
    case oneTimeChargeCreate = "one-time-charge-create"
    case subscriptionCreate = "subscription-create"
    case subscriptionModify = "subscription-modify"
    case subscriptionReactivate = "subscription-reactivate"

    var kind: AdvancedCommerceRequest.Kind {
        switch self {
        case .oneTimeChargeCreate: .oneTimeChargeCreate
        case .subscriptionCreate: .subscriptionCreate
        case .subscriptionModify: .subscriptionModifyInApp
        case .subscriptionReactivate: .subscriptionReactivateInApp
        }
    }
}

struct SignAdvancedCommerce: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "advanced-commerce",
        abstract: "Check a request of Advanced Commerce by Apple's rules, and sign it.",
        discussion: """
            Reads Apple's JSON of OneTimeChargeCreateRequest, SubscriptionCreateRequest,
            SubscriptionModifyInAppRequest or SubscriptionReactivateInAppRequest. A member
            that breaks a rule is named. The JWS is for AdvancedCommerceProduct.purchase,
            advancedCommerceData for the purchase option of that name.

            EXAMPLES
              assay sign advanced-commerce --bundle-id com.example.game create.json
              assay sign advanced-commerce --bundle-id com.example.game \\
                --type subscription-create create.json
            """)

    @OptionGroup var options: SignOptions
    @OptionGroup var app: SignAppOption

    @Option(
        help: ArgumentHelp(
            "\(AdvancedCommerceChoice.names). (default: by the member operation)",
            valueName: "type"),
        completion: .choices(AdvancedCommerceChoice.self), transform: choiceArgument)
    var type: AdvancedCommerceChoice?

    @Argument(
        help: ArgumentHelp("The request in JSON; - is standard input.", valueName: "file"),
        completion: .file())
    var file: String

    func run() throws {
        let json = try Input.read(file, limit: StoreLimits.signedBytes)
        try options.sign(app.bundleId) { () throws(StoreError) in
            .advancedCommerce(try AdvancedCommerceRequest(json: json, kind: type?.kind))
        }
    }
}
