/// The payload of a retention messaging request (Apple: DecodedRealtimeRequestBody).
public struct DecodedRealtimeRequestBody: Equatable, Sendable {
    /// Transaction identifier of the original purchase.
    public var originalTransactionId: String
    /// App Store identifier of the app.
    public var appAppleId: Int64
    /// Product identifier, as in App Store Connect.
    public var productId: String
    /// Locale of the customer, such as en-US.
    public var userLocale: String
    /// UUID of the request.
    public var requestIdentifier: String
    /// When Apple signed this payload; the effective date of its verification.
    public var signedDate: Timestamp
    /// The environment of the purchase.
    public var environment: StoreEnvironment

    /// Creates a payload.
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
