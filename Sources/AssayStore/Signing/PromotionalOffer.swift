import AssayBytes
public import AssayModels

/// A promotional offer of a subscription, which an app's server grants to one customer.
public struct PromotionalOffer: Sendable, Hashable {
    /// The product of the subscription.
    public let productId: String
    /// The offer's identifier in App Store Connect.
    public let offerId: String
    /// The customer's account token in the purchase, for version 1; nil for none. Any text of the
    /// original API (`applicationUsername`) serves as well.
    public let appAccountToken: String?
    /// Any transaction of the customer, also the app transaction's, for version 2. Apple recommends
    /// it: the offer then serves nobody else.
    public let transactionId: String?

    /// Creates an offer.
    ///
    /// - Throws: `invalidArgument` for an empty value, for one that no signature can hold, or for a
    ///   transaction that is no number.
    public init(
        productId: String, offerId: String, appAccountToken: String? = nil,
        transactionId: String? = nil
    ) throws(StoreError) {
        try SigningText.check(productId, "productId")
        try SigningText.check(offerId, "offerIdentifier")
        if let appAccountToken { try SigningText.check(appAccountToken, "appAccountToken") }
        if let transactionId { try SigningText.check(transactionId: transactionId) }
        self.productId = productId
        self.offerId = offerId
        self.appAccountToken = appAccountToken
        self.transactionId = transactionId
    }
}

/// A promotional offer's signature of version 1: what StoreKit takes beside the offer.
public struct PromotionalOfferSignature: Sendable, Hashable {
    /// The offer.
    public let offer: PromotionalOffer
    /// The identifier of the key.
    public let keyId: String
    /// A UUID in lower case.
    public let nonce: String
    /// The time of the signature. The offer is good for 24 hours.
    public let timestamp: Timestamp
    /// The ECDSA signature, DER.
    public let signature: [UInt8]

    /// The signature in Base64, as StoreKit and Apple's answers have it.
    public var encodedSignature: String {
        String(decoding: Base64.encode(signature.span), as: UTF8.self)
    }

    /// The text that is signed: its parts joined by U+2063 (Apple: Generating a signature for
    /// promotional offers).
    package static func text(
        of offer: PromotionalOffer, bundleId: String, keyId: String, nonce: String,
        at timestamp: Timestamp
    ) -> [UInt8] {
        let parts = [
            bundleId, keyId, offer.productId, offer.offerId,
            (offer.appAccountToken ?? "").lowercased(), nonce, String(timestamp.milliseconds),
        ]
        return Array(parts.joined(separator: String(SigningText.separator)).utf8)
    }
}

/// Whether a customer gets the introductory offer of a subscription, whatever Apple would decide.
public struct IntroductoryOffer: Sendable, Hashable {
    /// The product of the subscription.
    public let productId: String
    /// Whether the customer gets it.
    public let isAllowed: Bool
    /// Any transaction of the customer, also the app transaction's.
    public let transactionId: String

    /// Creates a decision.
    ///
    /// - Throws: `invalidArgument` for an empty value, for one that no signature can hold, or for a
    ///   transaction that is no number.
    public init(
        productId: String, isAllowed: Bool, transactionId: String
    ) throws(StoreError) {
        try SigningText.check(productId, "productId")
        try SigningText.check(transactionId: transactionId)
        self.productId = productId
        self.isAllowed = isAllowed
        self.transactionId = transactionId
    }
}

/// The texts of signatures.
enum SigningText {
    /// INVISIBLE SEPARATOR, between the parts of version 1. A part with it could be read as two.
    static let separator: Unicode.Scalar = "\u{2063}"

    static func check(_ text: String, _ name: String) throws(StoreError) {
        try StoreCall.checkFilled(text, name)
        guard text.utf8.count <= StoreLimits.identifierBytes else {
            throw .invalidArgument(
                "\(name) has more than \(StoreLimits.identifierBytes) bytes")
        }
        let isPlain = text.unicodeScalars.allSatisfy { scalar in
            scalar != separator && scalar.value >= 0x20 && scalar.value != 0x7F
        }
        guard isPlain else {
            throw .invalidArgument(
                "\(name) has a control character or U+2063, which joins the parts "
                    + "of a signature")
        }
    }

    /// Apple's are numbers, also those of app transactions. It would refuse any other text, in the
    /// app of a customer.
    static func check(transactionId text: String) throws(StoreError) {
        try check(text, "transactionId")
        guard text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else {
            throw .invalidArgument(
                "transactionId is not a number, such as 470001500000001; an order id is none")
        }
    }

    static func checkUUID(_ text: String, _ name: String) throws(StoreError) {
        guard UUIDText.isValid(text) else {
            throw .invalidArgument(
                "\(name) is not a UUID, such as 7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10")
        }
    }
}
