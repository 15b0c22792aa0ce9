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
    /// Further devices, one of which is enough: the other MAC addresses of a Mac. A server takes at
    /// most `otherDeviceLimit`.
    public var otherDeviceIdentifiers: [[UInt8]]
    /// AppStore.deviceVerificationID of the device of a transaction, renewal info or app
    /// transaction, compared case-insensitively (MISMATCH).
    public var deviceVerificationId: String?
    /// The oldest acceptable effective date (MISMATCH).
    public var notOlderThan: Timestamp?

    /// A Mac has an address for each of its network interfaces, with bridges and docks about a
    /// dozen. Each costs a hash of a receipt's identity.
    public static let otherDeviceLimit = 32

    /// Adds a device. An app receipt has to be of one of them.
    package mutating func expect(device: [UInt8]) {
        if deviceIdentifier == nil {
            deviceIdentifier = device
        } else {
            otherDeviceIdentifiers.append(device)
        }
    }

    /// No expectations.
    public static let none = Expectations()

    /// Creates expectations. The default arguments expect nothing.
    ///
    /// A text is no optional: `appAccountToken: session.user` of a user without a token would
    /// accept the purchases of all others. Unwrap it, and refuse who has none.
    public init(
        bundleId: some ExpectedText = NoExpectation(), appAppleId: Int64? = nil,
        environments: [StoreEnvironment] = [], productIds: [String] = [],
        appAccountToken: some ExpectedText = NoExpectation(),
        transactionId: some ExpectedText = NoExpectation(),
        deviceIdentifier: [UInt8]? = nil, otherDeviceIdentifiers: [[UInt8]] = [],
        deviceVerificationId: some ExpectedText = NoExpectation(), notOlderThan: Timestamp? = nil
    ) {
        self.bundleId = bundleId.expectedText
        self.appAppleId = appAppleId
        self.environments = environments
        self.productIds = productIds
        self.appAccountToken = appAccountToken.expectedText
        self.transactionId = transactionId.expectedText
        self.deviceIdentifier = deviceIdentifier
        self.otherDeviceIdentifiers = otherDeviceIdentifiers
        self.deviceVerificationId = deviceVerificationId.expectedText
        self.notOlderThan = notOlderThan
    }
}

/// A text that is expected, which a `String` is, or none. An optional is neither: nil would accept
/// everything.
public protocol ExpectedText {
    /// The text; nil if nothing is expected.
    var expectedText: String? { get }
}

extension String: ExpectedText {
    /// The text itself.
    public var expectedText: String? { self }
}

/// The absent argument of ``Expectations``.
public struct NoExpectation: ExpectedText {
    /// Creates the absence.
    public init() {}

    /// Nothing is expected.
    public var expectedText: String? { nil }
}
