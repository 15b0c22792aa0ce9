public import AssayModels

/// Signs for Apple with the keys of one app entry: offers, requests of Advanced Commerce, answers
/// to retention requests. The server calls it on the threads that serve connections: a signature
/// takes some 20 microseconds.
public protocol RequestSigner: Sendable {
    /// The App Store id of the app, which every retention request names instead of a bundle id;
    /// nil: none is answered.
    var appAppleId: Int64? { get }

    /// Signs a request, whose members are in JSON. The key is a name; nil is the entry's default.
    ///
    /// - Returns: what the app gives to StoreKit, in JSON.
    func sign(
        _ kind: SignatureKind, _ json: [UInt8], key: String?
    ) throws(SigningFailure) -> [UInt8]

    /// Reads the answer that a backend has chosen for a retention request.
    ///
    /// - Returns: makes the body of the answer, once the request is verified.
    func retentionAnswer(
        _ json: [UInt8], key: String?
    ) throws(SigningFailure) -> RetentionResponder
}

/// Makes the body of an answer to a verified retention request, in JSON.
public typealias RetentionResponder =
    @Sendable (DecodedRealtimeRequestBody) throws(SigningFailure) -> [UInt8]

/// What can be signed, by the last segment of the path.
public enum SignatureKind: String, Sendable, CaseIterable {
    /// A promotional offer.
    case promotionalOffer = "promotional-offer"
    /// The eligibility for an introductory offer.
    case introductoryOffer = "introductory-offer"
    /// An in-app request of Advanced Commerce.
    case advancedCommerce = "advanced-commerce"
}

/// The reason why there is no signature, in words for the client. Contains no key.
public struct SigningFailure: Error, Hashable, Sendable {
    /// The kinds of reasons. A later version can add some, so a switch needs a default.
    public struct Reason: Hashable, Sendable, CustomStringConvertible {
        public let description: String

        private init(_ name: String) { description = name }

        /// A member of the request breaks a rule; the message names it.
        public static let invalidRequest = Reason("invalidRequest")
        /// The key can't sign.
        public static let unusableKey = Reason("unusableKey")
    }

    /// The kind of the reason.
    public let reason: Reason
    /// What is wrong, and what to do.
    public let message: String

    private init(_ reason: Reason, _ message: String) {
        self.reason = reason
        self.message = message
    }

    /// A member of the request breaks a rule; the message names it.
    public static func invalidRequest(_ message: String) -> Self {
        Self(.invalidRequest, message)
    }

    /// The key can't sign.
    public static func unusableKey(_ message: String) -> Self { Self(.unusableKey, message) }
}

extension SigningFailure: CustomStringConvertible {
    public var description: String { message }
}
