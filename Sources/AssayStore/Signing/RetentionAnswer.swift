import AssayBytes
public import AssayModels

/// What a backend answers to the App Store's request for a retention message (Apple:
/// RealtimeResponseBody). Make one only for a request that was verified.
public enum RetentionAnswer: Sendable, Hashable {
    /// A message that Apple has approved.
    case message(id: String)
    /// A message that offers another plan.
    case alternateProduct(messageId: String, productId: String, billingPlan: BillingPlan?)
    /// A message with a promotional offer. The product is that of the request, unless another is
    /// named.
    case promotionalOffer(messageId: String, RetentionOffer)
    /// A message with an offer or plan of Advanced Commerce.
    case advancedCommerce(messageId: String, AdvancedCommerceRequest)

    /// How a plan is billed.
    public enum BillingPlan: String, Sendable, CaseIterable {
        /// The whole period in advance.
        case upfront = "BILLED_UPFRONT"
        /// Each month, with a commitment.
        case monthly = "MONTHLY"
    }
}

/// The promotional offer of a retention message.
public struct RetentionOffer: Sendable, Hashable {
    /// The offer's identifier in App Store Connect.
    public var offerId: String
    /// The product; nil for that of the request.
    public var productId: String?
    /// The form of the signature.
    public var version: PromotionalOfferVersion
    /// The customer's account token, for version 1.
    public var appAccountToken: String?

    /// Creates an offer.
    public init(
        offerId: String, productId: String? = nil, version: PromotionalOfferVersion = .two,
        appAccountToken: String? = nil
    ) {
        self.offerId = offerId
        self.productId = productId
        self.version = version
        self.appAccountToken = appAccountToken
    }
}

/// The two forms of a promotional offer's signature.
public enum PromotionalOfferVersion: Int64, Sendable, CaseIterable {
    /// A signature over joined parts, with a nonce and a time beside it.
    case one = 1
    /// A JWS, which can name a transaction of the customer.
    case two = 2
}

extension StoreSigner {
    /// The body with which a backend answers a verified retention request, in JSON.
    ///
    /// - Throws: `invalidArgument`, which names what is wrong with the answer.
    public func body(
        of answer: RetentionAnswer, to request: DecodedRealtimeRequestBody,
        at now: Timestamp = .now
    ) throws(StoreError) -> [UInt8] {
        var content = JSONWriter()
        let name: String
        switch answer {
        case .message(let id):
            name = "message"
            try SigningText.checkUUID(id, "messageIdentifier")
            content.object { $0.member("messageIdentifier", id) }
        case .alternateProduct(let id, let product, let plan):
            name = "alternateProduct"
            try SigningText.checkUUID(id, "messageIdentifier")
            try SigningText.check(product, "productId")
            content.object { object in
                object.member("messageIdentifier", id)
                object.member("productId", product)
                object.member("billingPlanType", plan?.rawValue)
            }
        case .promotionalOffer(let id, let offer):
            name = "promotionalOffer"
            try SigningText.checkUUID(id, "messageIdentifier")
            content.raw(try json(of: offer, messageId: id, to: request, at: now))
        case .advancedCommerce(let id, let commerce):
            name = "advancedCommerceInfo"
            try SigningText.checkUUID(id, "messageIdentifier")
            let data = AdvancedCommerceRequest.data(of: try token(of: commerce, at: now))
            content.object { object in
                object.member("messageIdentifier", id)
                object.member("advancedCommerceData", data)
            }
        }
        var writer = JSONWriter()
        writer.object { $0.member(name, raw: content.text) }
        return writer.text
    }

    private func json(
        of offer: RetentionOffer, messageId: String, to request: DecodedRealtimeRequestBody,
        at now: Timestamp
    ) throws(StoreError) -> [UInt8] {
        let signed = try PromotionalOffer(
            productId: offer.productId ?? request.productId, offerId: offer.offerId,
            appAccountToken: offer.appAccountToken,
            transactionId: request.originalTransactionId)
        var writer = JSONWriter()
        switch offer.version {
        case .two:
            guard offer.appAccountToken == nil else {
                throw .invalidArgument("appAccountToken is part of version 1 alone")
            }
            let token = try token(of: signed, at: now)
            writer.object { object in
                object.member("messageIdentifier", messageId)
                object.member("promotionalOfferSignatureV2", token)
            }
        case .one:
            if let token = offer.appAccountToken {
                try SigningText.checkUUID(token, "appAccountToken")
            }
            let signature = try signature(of: signed, at: now)
            writer.object { object in
                object.member("messageIdentifier", messageId)
                object.object("promotionalOfferSignatureV1") { object in
                    object.member("encodedSignature", signature.encodedSignature)
                    object.member("productId", signed.productId)
                    object.member("nonce", signature.nonce)
                    object.member("timestamp", now.milliseconds)
                    object.member("keyId", signature.keyId)
                    object.member("offerIdentifier", signed.offerId)
                    object.member("appAccountToken", offer.appAccountToken?.lowercased())
                }
            }
        }
        return writer.text
    }
}
