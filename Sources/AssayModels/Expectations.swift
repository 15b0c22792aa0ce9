/// What the caller expects of this piece of evidence. Each one narrows; none can widen the policy.
/// A bundle or app id is compared where evidence of that kind carries one (renewal info carries
/// neither, a transaction no app id, a realtime request no bundle); any other expectation of what
/// the evidence does not carry is a mismatch.
public struct Expectations: Equatable, Sendable {
    /// Bundle identifier, compared byte for byte (WRONG_BUNDLE).
    public var bundleId: String?
    /// App Store id of the app; compared where the evidence carries one other than 0, demanded of
    /// Production evidence whose kind does (WRONG_APP).
    public var appAppleId: Int64?
    /// Environments that the caller accepts; empty: those of the policy (WRONG_ENVIRONMENT).
    public var environments: [StoreEnvironment]
    /// Product identifiers, one of which it has to be; empty: any (MISMATCH).
    public var productIds: [String]
    /// `appAccountToken`, a UUID compared without regard to case (MISMATCH).
    public var appAccountToken: String?
    /// `transactionId` (MISMATCH).
    public var transactionId: String?
    /// The device that an app receipt was made for: the 16 octets of identifierForVendor, or the
    /// 6 of a Mac's address (MISMATCH).
    public var deviceIdentifier: [UInt8]?
    /// AppStore.deviceVerificationID of the device that a transaction, renewal info or app
    /// transaction was made for, compared without regard to case (MISMATCH).
    public var deviceVerificationId: String?
    /// The oldest acceptable effective date (MISMATCH).
    public var notOlderThan: Timestamp?

    public static let none = Expectations()

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
