/// The caller's expectations of one item of evidence. Each one narrows the policy; none widens
/// it. A bundle or app id is compared where evidence of that kind carries one: renewal info
/// carries neither, a transaction has no app id, a realtime request has no bundle id. Any other
/// expectation about a field that the evidence does not carry is a mismatch.
public struct Expectations: Equatable, Sendable {
    /// The bundle identifier, compared byte for byte (WRONG_BUNDLE).
    public var bundleId: String? {
        get { box?.members.bundleId }
        set { set(\.bundleId, to: newValue) }
    }
    /// The app's App Store id (WRONG_APP). Compared where the evidence carries one other than 0;
    /// required in Production evidence of a kind that carries one.
    public var appAppleId: Int64? {
        get { box?.members.appAppleId }
        set { set(\.appAppleId, to: newValue) }
    }
    /// The accepted environments (WRONG_ENVIRONMENT). Empty: those of the policy.
    public var environments: [StoreEnvironment] {
        get { box?.members.environments ?? [] }
        set { set(\.environments, to: newValue) }
    }
    /// The accepted product identifiers (MISMATCH). Empty: any product.
    public var productIds: [String] {
        get { box?.members.productIds ?? [] }
        set { set(\.productIds, to: newValue) }
    }
    /// The `appAccountToken`, a UUID compared case-insensitively (MISMATCH).
    public var appAccountToken: String? {
        get { box?.members.appAccountToken }
        set { set(\.appAccountToken, to: newValue) }
    }
    /// The `transactionId` (MISMATCH).
    public var transactionId: String? {
        get { box?.members.transactionId }
        set { set(\.transactionId, to: newValue) }
    }
    /// The device of an app receipt (MISMATCH): the 16 octets of identifierForVendor, or the 6
    /// octets of a Mac's MAC address.
    public var deviceIdentifier: [UInt8]? {
        get { box?.members.deviceIdentifier }
        set { set(\.deviceIdentifier, to: newValue) }
    }
    /// Further accepted devices, such as the other MAC addresses of a Mac. A server accepts at most
    /// `otherDeviceLimit`.
    public var otherDeviceIdentifiers: [[UInt8]] {
        get { box?.members.otherDeviceIdentifiers ?? [] }
        set { set(\.otherDeviceIdentifiers, to: newValue) }
    }
    /// AppStore.deviceVerificationID of the device of a transaction, renewal info or app
    /// transaction, compared case-insensitively (MISMATCH).
    public var deviceVerificationId: String? {
        get { box?.members.deviceVerificationId }
        set { set(\.deviceVerificationId, to: newValue) }
    }
    /// The oldest acceptable effective date (MISMATCH).
    public var notOlderThan: Timestamp? {
        get { box?.members.notOlderThan }
        set { set(\.notOlderThan, to: newValue) }
    }

    /// Nil if nothing is expected. One reference, because a request copies its expectations many
    /// times.
    private var box: Box?

    private final class Box: Sendable {
        let members: Members

        init(_ members: Members) { self.members = members }
    }

    private struct Members: Equatable, Sendable {
        var bundleId: String?
        var appAppleId: Int64?
        var environments: [StoreEnvironment] = []
        var productIds: [String] = []
        var appAccountToken: String?
        var transactionId: String?
        var deviceIdentifier: [UInt8]?
        var otherDeviceIdentifiers: [[UInt8]] = []
        var deviceVerificationId: String?
        var notOlderThan: Timestamp?
    }

    /// Whether both are the same copy, without a comparison of members.
    package func isCopy(of other: Expectations) -> Bool { box === other.box }

    /// Whether nothing is expected.
    package var isEmpty: Bool { box == nil }

    private mutating func change(_ change: (inout Members) -> Void) {
        var members = box?.members ?? Members()
        change(&members)
        box = members == Members() ? nil : Box(members)
    }

    /// Sets a member. Setting an absent member to nothing, as decoders often do, copies nothing.
    // Inlined, so that the key path is known and costs nothing.
    @inline(__always)
    private mutating func set<Value: Expectable>(
        _ member: WritableKeyPath<Members, Value>, to value: Value
    ) {
        let isNothing = box?.members[keyPath: member].isNothing ?? true
        guard !value.isNothing || !isNothing else { return }
        change { $0[keyPath: member] = value }
    }

    /// Whether both expect the same.
    public static func == (left: Self, right: Self) -> Bool {
        left.box === right.box || left.box?.members == right.box?.members
    }

    /// The most further devices. A Mac has an address for each network interface, about a dozen
    /// with bridges and docks. Each costs a hash of a receipt's identity.
    public static let otherDeviceLimit = 32

    /// Adds an accepted device.
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
    /// Texts are not optional. With an optional, `appAccountToken: session.user` of a user without
    /// a token would accept the purchases of all other users. Unwrap it, and refuse a user without
    /// a token.
    public init(
        bundleId: some ExpectedText = NoExpectation(), appAppleId: Int64? = nil,
        environments: [StoreEnvironment] = [], productIds: [String] = [],
        appAccountToken: some ExpectedText = NoExpectation(),
        transactionId: some ExpectedText = NoExpectation(),
        deviceIdentifier: [UInt8]? = nil, otherDeviceIdentifiers: [[UInt8]] = [],
        deviceVerificationId: some ExpectedText = NoExpectation(), notOlderThan: Timestamp? = nil
    ) {
        change {
            $0.bundleId = bundleId.expectedText
            $0.appAppleId = appAppleId
            $0.environments = environments
            $0.productIds = productIds
            $0.appAccountToken = appAccountToken.expectedText
            $0.transactionId = transactionId.expectedText
            $0.deviceIdentifier = deviceIdentifier
            $0.otherDeviceIdentifiers = otherDeviceIdentifiers
            $0.deviceVerificationId = deviceVerificationId.expectedText
            $0.notOlderThan = notOlderThan
        }
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

/// What a member of ``Expectations`` holds.
private protocol Expectable {
    var isNothing: Bool { get }
}

extension Optional: Expectable {
    fileprivate var isNothing: Bool { self == nil }
}

extension Array: Expectable {
    fileprivate var isNothing: Bool { isEmpty }
}
