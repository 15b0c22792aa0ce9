import ArgumentParser
import AssayCommandLine
import AssayMint
import AssayModels

/// What a minted notification of Google Play is about.
enum NotificationSubjectChoice: String, Choice {
    case subscription
    case oneTimeProduct = "one-time-product"
    case voidedPurchase = "voided-purchase"
    case test

    var subject: GoogleNotificationSubject {
        switch self {
        case .subscription: .subscription
        case .oneTimeProduct: .oneTimeProduct
        case .voidedPurchase: .voidedPurchase
        case .test: .test
        }
    }
}

struct MintGoogleNotification: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: EvidenceKind.googleNotification.name,
        abstract: "Make Pub/Sub pushes of Google Play's notifications, with their tokens.",
        discussion: """
            The folder gets google-push-key.pem, and google-jwks.json for --google-jwks.

            EXAMPLE
              assay mint google-notification --ca ./ca --about voided-purchase
            """)

    @Option(
        help: ArgumentHelp(
            "The folder for the key of the tokens. The key is made at the first use.",
            valueName: "folder"),
        completion: .directory)
    var ca: String

    @Option(
        help: ArgumentHelp(
            "Push this notification unchanged, instead of a sample; - is standard input.",
            valueName: "file"),
        completion: .file())
    var payload: String?

    @Option(
        help: ArgumentHelp(
            "What a sample is about: \(NotificationSubjectChoice.names). (default: subscription)",
            valueName: "name"),
        completion: .choices(NotificationSubjectChoice.self),
        transform: choiceArgument)
    var about: NotificationSubjectChoice = .subscription

    @Option(name: [.customLong("package-name"), .long], help: "The package of a sample's app.")
    var bundleId = "com.example.game"

    @Option(help: "The product of a sample. (default: the package and .premium)")
    var productId: String?

    @Option(help: ArgumentHelp("The token's audience.", valueName: "text"))
    var audience = PushClaims.sampleAudience

    @Option(help: ArgumentHelp("The service account that pushes.", valueName: "email"))
    var serviceAccount = PushClaims.sampleServiceAccount

    @Option(
        help: ArgumentHelp(
            "The time of the token and of a sample's event, \(DateArgument.help). (default: now)",
            valueName: "time"))
    var date: DateArgument?

    @Option(help: ArgumentHelp("How many to make; samples are different.", valueName: "n"))
    var count = 1

    func validate() throws {
        guard count >= 1 else { throw ValidationError("--count must be 1 or more") }
    }

    func run() throws {
        let minter = try StoreMinter.read(for: .googleNotification, from: ca)
        let given = try payload.map { try Input.read($0) }
        let moment = date?.timestamp ?? .now
        let claims = PushClaims(audience: audience, serviceAccount: serviceAccount, issued: moment)
        for index in 0..<count {
            let data =
                given
                ?? Samples.googleNotification(
                    index: index, bundleId: bundleId, productId: productId ?? bundleId + ".premium",
                    signedDate: moment, about: about.subject)
            let body = Samples.pushBody(index: index, data: data, signedDate: moment)
            let push: [UInt8]
            do throws(MintError) {
                push = try minter.push(body, claims)
            } catch {
                throw Failure("can't sign: \(error.message)")
            }
            try Output.line(push)
        }
    }
}
