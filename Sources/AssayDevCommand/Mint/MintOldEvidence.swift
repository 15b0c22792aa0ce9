import ArgumentParser
import AssayCommandLine
import AssayMint
import AssayModels

/// The options of minted evidence of the time before StoreKit 2.
struct MintOldOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "The folder of the authority, made by 'assay mint ca'.", valueName: "folder"),
        completion: .directory)
    var ca: String

    @Option(help: "The bundle identifier.")
    var bundleId = "com.example.game"

    @Option(
        help: ArgumentHelp("The App Store id of the app, in Production.", valueName: "number"),
        transform: appAppleIdArgument)
    var appAppleId: Int64 = 1_234_567_890

    @Option(
        help: ArgumentHelp(
            "The environment: Production or Sandbox. (default: Production)", valueName: "name"),
        completion: .environments,
        transform: environmentArgument)
    var environment: StoreEnvironment = .production

    @Option(help: "The product. (default: one of the bundle id)")
    var productId: String?

    @Option(
        help: ArgumentHelp(
            "The time of the event, \(DateArgument.help). (default: now)", valueName: "time"))
    var date: DateArgument?

    @Option(help: ArgumentHelp("How many to make, each of another purchase.", valueName: "n"))
    var count = 1

    func validate() throws {
        guard count >= 1 else { throw ValidationError("--count must be 1 or more") }
        guard environment == .production || environment == .sandbox else {
            throw ValidationError("this evidence exists for Production and Sandbox only")
        }
    }

    /// Prints one on each line.
    func run(
        _ mint: (inout OldSample, SigningChain) throws(MintError) -> [UInt8]
    ) throws {
        let chain = try ReceiptCA.read(from: ca).chain
        let moment = date?.timestamp ?? .now
        for index in 0..<count {
            var sample = OldSample(
                index: index, bundleId: bundleId, appAppleId: appAppleId,
                environment: environment, signedDate: moment, productId: productId)
            let evidence: [UInt8]
            do throws(MintError) { evidence = try mint(&sample, chain) } catch {
                throw Failure("can't sign: \(error.message)")
            }
            try Output.line(evidence)
        }
    }
}

struct MintNotificationV1: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: EvidenceKind.notificationV1.name,
        abstract: "Make version 1 notifications, with a signed receipt inside.",
        discussion: """
            The JSON body that the App Store posts. Only unified_receipt.latest_receipt in
            it is signed: pin receipt-root.pem of the authority's folder to trust it.
            CONSUMPTION_REQUEST and REFUND are about a consumable, the other types about a
            subscription.

            EXAMPLE
              assay mint notification-v1 --ca ./ca --type DID_FAIL_TO_RENEW
            """)
    @OptionGroup var options: MintOldOptions

    @Option(
        help: ArgumentHelp(
            "The type: \(NotificationV1Type.names). (default: DID_RENEW)",
            valueName: "type"),
        completion: .choices(NotificationV1Type.self),
        transform: choiceArgument)
    var type: NotificationV1Type = .didRenew

    @Option(help: ArgumentHelp("The app's shared secret, the member password.", valueName: "text"))
    var password = NotificationV1Content.samplePassword

    func run() throws {
        try options.run { sample, chain throws(MintError) in
            sample.password = password
            return try sample.notification(type, chain)
        }
    }
}

struct MintTransactionReceipt: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: EvidenceKind.transactionReceipt.name,
        abstract: "Sign transaction receipts of iOS 3 to 6.",
        discussion: """
            In base64, as clients send it: a renewal of a subscription. The intermediate is
            not inside, so a verifier needs receipt-intermediate.pem beside receipt-root.pem.

            EXAMPLE
              assay mint transaction-receipt --ca ./ca --environment Sandbox > old.txt
              assay verify --kind transaction-receipt --root ./ca/receipt-root.pem \\
                --intermediate ./ca/receipt-intermediate.pem --environment Sandbox old.txt
            """)
    @OptionGroup var options: MintOldOptions

    func run() throws {
        try options.run { sample, chain throws(MintError) in
            try sample.transactionReceipt(chain)
        }
    }
}

extension NotificationV1Type: Choice {}
