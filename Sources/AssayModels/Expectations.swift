/// The caller's expectations of one item of evidence. Each one narrows the policy; none widens
/// it. A bundle or app id is compared where evidence of that kind carries one: renewal info
/// carries neither, a transaction has no app id, a realtime request has no bundle id. Any other
/// expectation about a field that the evidence does not carry is a mismatch.
public struct Expectations: Equatable, Sendable {
    /// The bundle identifier, compared byte for byte (WRONG_BUNDLE).
    public var bundleId: String?
    /// The app's App Store id (WRONG_APP). Compared where the evidence carries one other than 0;
    /// required in Production evidence of a kind that carries one.
    public var appAppleId: Int64?
    /// The accepted environments (WRONG_ENVIRONMENT). Empty: those of the policy.
    public var environments: [StoreEnvironment]
    /// The accepted product identifiers (MISMATCH). Empty: any product.
    public var productIds: [String]
    /// The `appAccountToken`, a UUID compared case-insensitively (MISMATCH).
    public var appAccountToken: String?
    /// The `transactionId` (MISMATCH).
    public var transactionId: String?
    /// The device of an app receipt (MISMATCH): the 16 octets of identifierForVendor, or the 6
    /// octets of a Mac's MAC address.
    public var deviceIdentifier: [UInt8]?
    /// AppStore.deviceVerificationID of the device of a transaction, renewal info or app
    /// transaction, compared case-insensitively (MISMATCH).
    public var deviceVerificationId: String?
    /// The oldest acceptable effective date (MISMATCH).
    public var notOlderThan: Timestamp?

    /// No expectations.
    public static let none = Expectations()

    /// Creates expectations. The default arguments expect nothing.
    public init(
        bundleId: String? = nil, appAppleId: Int64? = nil,
        environments: [StoreEnvironment] = [], productIds: [String] = [],
        appAccountToken: String? = nil, transactionId: String? = nil,
        deviceIdentifier: [UInt8]? = nil, deviceVerificationId: String? = nil,
        notOlderThan: Timestamp? = nil
    ) {
        self.bundleId = bundleId
        self.appAppleId = appAppleId
        self.environments = environments
        self.productIds = productIds
        self.appAccountToken = appAccountToken
        self.transactionId = transactionId
        self.deviceIdentifier = deviceIdentifier
        self.deviceVerificationId = deviceVerificationId
        self.notOlderThan = notOlderThan
    }
}
