/// What holds of all evidence of a kind, beside its payload: one value for each kind.
package struct KindTraits: Sendable {
    /// The command line's name.
    package let name: String
    /// The store that signs it.
    package let store: KnownStore
    /// How it is written and signed.
    package let format: EvidenceFormat
    /// What limits its bytes.
    package let size: SizeClass
    /// The member of the store's POST body that has the JWS; nil if no store posts the kind.
    package let bodyMember: String?
    /// The member that names the customer's account; nil if the kind has none.
    package let accountMember: String?
    /// Whether it can name its bundle or package.
    package let hasBundleId: Bool
    /// Whether it can name its app by the App Store's number.
    package let hasAppAppleId: Bool

    fileprivate init(
        _ name: String, of store: KnownStore, _ format: EvidenceFormat, _ size: SizeClass,
        body: String? = nil, account: String? = nil, bundleId: Bool = true,
        appAppleId: Bool = false
    ) {
        self.name = name
        self.store = store
        self.format = format
        self.size = size
        bodyMember = body
        accountMember = account
        hasBundleId = bundleId
        hasAppAppleId = appAppleId
    }

    /// Whether it is a receipt of any number of purchases, each a record.
    package var hasRecords: Bool { format == .appReceipt || format == .notificationV1 }
    /// Whether it is a receipt, or one is all that is signed in it.
    package var isReceipt: Bool { hasRecords || format == .transactionReceipt }
    /// Whether certificates in it lead to a pinned root. A configured key verifies the others.
    package var hasChain: Bool {
        format != .signedText && format != .signedBody && format != .push
    }
}

/// The stores whose evidence this version verifies.
package enum KnownStore: Sendable {
    case apple, google, huawei, harmony

    /// The store by its name in answers.
    package var store: EvidenceStore {
        switch self {
        case .apple: .apple
        case .google: .google
        case .huawei: .huawei
        case .harmony: .harmony
        }
    }
}

/// How evidence is written and signed.
package enum EvidenceFormat: Sendable {
    /// A compact JWS with a chain.
    case jws
    /// CMS.
    case appReceipt
    /// A property list with a signature.
    case transactionReceipt
    /// The JSON of the App Store Server API, with JWS inside.
    case serverAnswer
    /// JSON with an app receipt inside.
    case notificationV1
    /// A purchase as JSON text, and its signature by the app's key.
    case signedText
    /// The body of a notification with such pairs.
    case signedBody
    /// A token of the sender, and a body that nobody signs.
    case push
}

/// What limits the bytes of evidence.
package enum SizeClass: Sendable {
    case jws, notification, serverAnswer, notificationV1, transactionReceipt, purchase, push
    /// An app receipt is verified as it arrives.
    case stream
}

extension EvidenceKind {
    /// What holds of this kind. A copy counts references to its texts: for a part that is none the
    /// properties below cost less.
    package var traits: KindTraits { Self.rows[Int(rawValue) - 1] }

    /// By the raw values, which begin with 1.
    private static let rows = allCases.map(\.row)

    private var row: KindTraits {
        switch self {
        case .transaction:
            .init("transaction", of: .apple, .jws, .jws, account: "appAccountToken")
        case .renewalInfo:
            .init(
                "renewal-info", of: .apple, .jws, .jws, account: "appAccountToken",
                bundleId: false)
        case .appTransaction: .init("app-transaction", of: .apple, .jws, .jws, appAppleId: true)
        case .notification:
            .init(
                "notification", of: .apple, .jws, .notification, body: "signedPayload",
                account: "appAccountToken", appAppleId: true)
        case .realtimeRequest:
            .init(
                "realtime-request", of: .apple, .jws, .jws, body: "signedPayload",
                bundleId: false, appAppleId: true)
        case .appReceipt: .init("app-receipt", of: .apple, .appReceipt, .stream, appAppleId: true)
        case .transactionReceipt:
            .init(
                "transaction-receipt", of: .apple, .transactionReceipt, .transactionReceipt,
                appAppleId: true)
        case .serverAnswer:
            .init(
                "server-answer", of: .apple, .serverAnswer, .serverAnswer,
                account: "appAccountToken", appAppleId: true)
        case .notificationV1:
            .init("notification-v1", of: .apple, .notificationV1, .notificationV1, appAppleId: true)
        case .googlePurchase:
            .init(
                "google-purchase", of: .google, .signedText, .purchase,
                account: "obfuscatedAccountId")
        case .googleNotification:
            .init("google-notification", of: .google, .push, .push, account: "obfuscatedAccountId")
        case .huaweiPurchase: .init("huawei-purchase", of: .huawei, .signedText, .purchase)
        case .huaweiNotification:
            .init("huawei-notification", of: .huawei, .signedBody, .notification)
        case .harmonyPurchase: .init("harmony-purchase", of: .harmony, .jws, .jws)
        case .harmonySubscription: .init("harmony-subscription", of: .harmony, .jws, .jws)
        case .harmonyNotification:
            .init(
                "harmony-notification", of: .harmony, .jws, .notification, body: "jwsNotification")
        }
    }

    /// The command line's name for the kind, such as `renewal-info`.
    public var name: String { Self.rows[Int(rawValue) - 1].name }

    /// The store that signs evidence of this kind.
    public var store: EvidenceStore { knownStore.store }

    /// The store that signs evidence of this kind, as one of those that this version knows.
    package var knownStore: KnownStore { Self.rows[Int(rawValue) - 1].store }

    /// How evidence of this kind is written and signed.
    package var format: EvidenceFormat { Self.rows[Int(rawValue) - 1].format }

    /// What limits the bytes of evidence of this kind.
    package var size: SizeClass { Self.rows[Int(rawValue) - 1].size }

    /// The members with the JWS in the POST bodies of all stores, each once.
    package static let bodyMembers = allCases.compactMap(\.traits.bodyMember)
        .reduce(into: [String]()) { if !$0.contains($1) { $0.append($1) } }

    /// Creates the kind from its command-line name; nil for an unknown name.
    public init?(name: String) {
        guard let kind = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = kind
    }
}
