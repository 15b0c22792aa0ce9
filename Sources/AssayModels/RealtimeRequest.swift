/// The payload of a retention messaging request (Apple: DecodedRealtimeRequestBody).
public struct DecodedRealtimeRequestBody: Equatable, Sendable {
    public var originalTransactionId: String
    public var appAppleId: Int64
    public var productId: String
    public var userLocale: String
    public var requestIdentifier: String
    /// When Apple signed this payload; the effective date of its verification.
    public var signedDate: Timestamp
    public var environment: StoreEnvironment

    public init(
        originalTransactionId: String,
        appAppleId: Int64,
        productId: String,
        userLocale: String,
        requestIdentifier: String,
        signedDate: Timestamp,
        environment: StoreEnvironment
    ) {
        self.originalTransactionId = originalTransactionId
        self.appAppleId = appAppleId
        self.productId = productId
        self.userLocale = userLocale
        self.requestIdentifier = requestIdentifier
        self.signedDate = signedDate
        self.environment = environment
    }
}
