/// What the caller says the evidence is. Raw values are the wire's.
public enum EvidenceKind: Int32, Sendable, CaseIterable {
    /// JWSTransaction: a StoreKit 2 transaction.
    case transaction = 1
    /// JWSRenewalInfo: the renewal state of a subscription.
    case renewalInfo = 2
    /// AppTransaction: the purchase of the app itself.
    case appTransaction = 3
    /// App Store Server Notifications V2, as JWS or as its POST body.
    case notification = 4
    /// The request of the retention messaging API.
    case realtimeRequest = 5
    /// The StoreKit 1 app receipt (PKCS#7).
    case appReceipt = 6
    /// The iOS 3–6 transaction receipt.
    case transactionReceipt = 7

    /// The name that the command line uses, such as `renewal-info`.
    public var name: String {
        switch self {
        case .transaction: "transaction"
        case .renewalInfo: "renewal-info"
        case .appTransaction: "app-transaction"
        case .notification: "notification"
        case .realtimeRequest: "realtime-request"
        case .appReceipt: "app-receipt"
        case .transactionReceipt: "transaction-receipt"
        }
    }

    /// The kind of that command-line name.
    public init?(name: String) {
        guard let kind = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = kind
    }
}
