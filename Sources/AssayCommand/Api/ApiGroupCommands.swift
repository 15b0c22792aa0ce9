import ArgumentParser
import AssayBytes
import AssayCommandLine
import AssayModels
import AssayStore

/// The values of `groups ACTION`.
enum GroupChoice: String, Choice {
    case current, members, seats, claim, unclaim, associate

    /// What follows the action.
    var arguments: [String] {
        switch self {
        case .current: ["TRANSACTION"]
        case .members: ["GROUP"]
        case .seats, .claim: ["ORIGINAL"]
        case .unclaim: ["ORIGINAL", "CLAIM"]
        case .associate: ["ORIGINAL", "CLAIM", "APP-TRANSACTION"]
        }
    }
}

struct ApiGroups: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "groups",
        abstract: "Groups and seats of multiseat purchases, which Apple has in the sandbox.",
        discussion: """
            EXAMPLES
              The groups that a customer belongs to, and the members of one:
                assay api groups --bundle-id com.example.game current 470001500000001
                assay api groups --bundle-id com.example.game members 900000000000000000
              The seats of a subscription; claim one, and give it up:
                assay api groups --bundle-id com.example.game seats 470001400000000
                assay api groups --bundle-id com.example.game claim 470001400000000
                assay api groups --bundle-id com.example.game unclaim 470001400000000 CLAIM
              Name the customer in a seat:
                assay api groups --bundle-id com.example.game associate 470001400000000 \\
                  CLAIM 704289572311
            """)

    @OptionGroup var options: ApiOptions

    @Option(help: ArgumentHelp("With members: the most of a page.", valueName: "n"))
    var limit: Int?

    @Option(
        name: .customLong("from"),
        help: ArgumentHelp(
            "With members: the paginationToken of the page before.", valueName: "token"))
    var token: String?

    @Option(
        help: ArgumentHelp(
            "With claim: names the claim, which the same id repeats. (default: a random UUID)",
            valueName: "id"))
    var requestId: String?

    @Argument(
        help: ArgumentHelp("\(GroupChoice.names).", valueName: "action"),
        completion: .choices(GroupChoice.self), transform: choiceArgument)
    var action: GroupChoice

    @Argument(help: ArgumentHelp("The identifiers of the action.", valueName: "id"))
    var ids: [String] = []

    func validate() throws {
        guard ids.count == action.arguments.count else {
            throw ValidationError("write \(action) " + action.arguments.joined(separator: " "))
        }
        guard action == .members || limit == nil && token == nil else {
            throw ValidationError("--limit and --from are for members")
        }
        guard action == .claim || requestId == nil else {
            throw ValidationError("--request-id is for claim")
        }
    }

    func run() async throws {
        let request = requestId ?? UUIDText.random()
        if action == .claim { Output.note("assay: the request id is \(request)") }
        try await ApiReading(options: options, isOneCustomer: false).run { () throws(StoreError) in
            switch action {
            case .current: try .currentGroups(of: ids[0])
            case .members: try .groupMembers(of: ids[0], limit: limit, after: token)
            case .seats: try .seats(of: ids[0])
            case .claim: try .claimSeat(of: ids[0], request: request)
            case .unclaim: try .unclaimSeat(ids[1], of: ids[0])
            case .associate:
                try .associateSeat(ids[1], of: ids[0], appTransactionId: ids[2])
            }
        }
    }
}

/// The values of `messaging ACTION`.
enum MessagingChoice: String, Choice {
    case images
    case uploadImage = "upload-image"
    case deleteImage = "delete-image"
    case messages
    case uploadMessage = "upload-message"
    case deleteMessage = "delete-message"
    case standard = "default"
    case setDefault = "set-default"
    case deleteDefault = "delete-default"
    case url
    case setURL = "set-url"
    case deleteURL = "delete-url"
    case test
    case testResult = "test-result"

    /// What follows the action. The last one of those that upload is a file.
    var arguments: [String] {
        switch self {
        case .images, .messages, .url, .deleteURL: []
        case .uploadImage, .uploadMessage: ["ID", "FILE"]
        case .deleteImage, .deleteMessage: ["ID"]
        case .standard, .deleteDefault: ["PRODUCT", "LOCALE"]
        case .setDefault: ["PRODUCT", "LOCALE", "FILE"]
        case .setURL, .test: ["FILE"]
        case .testResult: ["REQUEST"]
        }
    }

    /// The call.
    ///
    /// - Parameters:
    ///   - words: the arguments.
    ///   - body: the content of the file.
    ///   - size: of an image.
    func call(
        _ words: [String], _ body: [UInt8], size: String?
    ) throws(StoreError) -> StoreCall {
        switch self {
        case .images: .images()
        case .uploadImage: try .uploadImage(words[0], png: body, size: size)
        case .deleteImage: try .deleteImage(words[0])
        case .messages: .messages()
        case .uploadMessage: try .uploadMessage(words[0], json: body)
        case .deleteMessage: try .deleteMessage(words[0])
        case .standard: try .defaultMessage(product: words[0], locale: words[1])
        case .setDefault:
            try .setDefaultMessage(product: words[0], locale: words[1], json: body)
        case .deleteDefault: try .deleteDefaultMessage(product: words[0], locale: words[1])
        case .url: .realtimeURL()
        case .setURL: try .setRealtimeURL(json: body)
        case .deleteURL: .deleteRealtimeURL()
        case .test: try .performanceTest(json: body)
        case .testResult: try .performanceTestResult(words[0])
        }
    }
}

struct ApiMessaging: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "messaging",
        abstract: "Images, messages, defaults, URL and test of retention messages.",
        discussion: """
            A FILE has Apple's JSON, or a PNG; - is standard input.

            EXAMPLES
              assay api messaging --bundle-id com.example.game --environment Sandbox images
              Upload a message under an id of yours, and show it by default:
                assay api messaging --bundle-id com.example.game upload-message \\
                  7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10 message.json
                assay api messaging --bundle-id com.example.game set-default gold.month \\
                  en-US default.json
              The URL that the App Store asks, and a test of it:
                assay api messaging --bundle-id com.example.game set-url url.json
                assay api messaging --bundle-id com.example.game test test.json
            """)

    @OptionGroup var options: ApiOptions

    @Option(
        help: ArgumentHelp(
            "With upload-image: FULL_SIZE or BULLET_POINT.", valueName: "size"))
    var imageSize: String?

    @Argument(
        help: ArgumentHelp("\(MessagingChoice.names).", valueName: "action"),
        completion: .choices(MessagingChoice.self), transform: choiceArgument)
    var action: MessagingChoice

    @Argument(help: ArgumentHelp("What the action needs.", valueName: "argument"))
    var words: [String] = []

    /// Bytes of a PNG.
    private static let imageLimit = 8 << 20

    func validate() throws {
        guard words.count == action.arguments.count else {
            throw ValidationError("write \(action) " + action.arguments.joined(separator: " "))
        }
        guard action == .uploadImage || imageSize == nil else {
            throw ValidationError("--image-size is for upload-image")
        }
    }

    func run() async throws {
        let hasFile = action.arguments.last == "FILE"
        let body = try hasFile ? Input.read(words.last ?? "-", limit: Self.imageLimit) : []
        try await ApiReading(options: options, isOneCustomer: false).run { () throws(StoreError) in
            try action.call(words, body, size: imageSize)
        }
    }
}
