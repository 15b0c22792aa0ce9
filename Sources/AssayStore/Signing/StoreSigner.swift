import AssayBytes
import AssayKeys
public import AssayModels

/// Signs what the App Store wants signed by an app's server: promotional offers, the eligibility
/// for introductory offers, requests of Advanced Commerce, and answers to retention requests.
///
/// The signatures are ECDSA over P-256 by OpenSSL, whose arithmetic takes the same time for every
/// key. A key of App Store Connect signs for all apps of its account, and a caller of a signer can
/// give discounts away.
public struct StoreSigner: Sendable {
    /// The app.
    public let bundleId: String
    /// The key for In-App Purchase.
    public let key: StoreKey

    /// Creates a signer for one app.
    ///
    /// - Throws: `invalidArgument` for an empty bundle id.
    public init(bundleId: String, key: StoreKey) throws(StoreError) {
        try StoreCall.checkFilled(bundleId, "bundle id")
        self.bundleId = bundleId
        self.key = key
    }

    /// Signs a promotional offer in the form of version 1. The offer is good for 24 hours from the
    /// time of the signature. The nonce is a UUID, used once; nil makes a random one.
    public func signature(
        of offer: PromotionalOffer, at now: Timestamp = .now, nonce: String? = nil
    ) throws(StoreError) -> PromotionalOfferSignature {
        let nonce = try Self.nonce(nonce)
        let text = PromotionalOfferSignature.text(
            of: offer, bundleId: bundleId, keyId: key.keyId, nonce: nonce, at: now)
        return PromotionalOfferSignature(
            offer: offer, keyId: key.keyId, nonce: nonce, timestamp: now,
            signature: try key.signDER(text))
    }

    /// Signs a promotional offer in the form of version 2, a JWS.
    public func token(
        of offer: PromotionalOffer, at now: Timestamp = .now, nonce: String? = nil
    ) throws(StoreError) -> String {
        try token(audience: "promotional-offer", at: now, nonce) { claims in
            claims.member("productId", offer.productId)
            claims.member("offerIdentifier", offer.offerId)
            claims.member("transactionId", offer.transactionId)
        }
    }

    /// Signs whether a customer gets an introductory offer, as a JWS.
    public func token(
        of eligibility: IntroductoryOffer, at now: Timestamp = .now, nonce: String? = nil
    ) throws(StoreError) -> String {
        try token(audience: "introductory-offer-eligibility", at: now, nonce) { claims in
            claims.member("productId", eligibility.productId)
            claims.member("allowIntroductoryOffer", eligibility.isAllowed)
            claims.member("transactionId", eligibility.transactionId)
        }
    }

    /// Signs an in-app request of Advanced Commerce, as a JWS.
    public func token(
        of request: AdvancedCommerceRequest, at now: Timestamp = .now, nonce: String? = nil
    ) throws(StoreError) -> String {
        try token(audience: "advanced-commerce-api", at: now, nonce) { claims in
            let encoded = Base64.encode(request.json.span)
            claims.member("request", String(decoding: encoded, as: UTF8.self))
        }
    }

    private func token(
        audience: String, at now: Timestamp, _ nonce: String?,
        _ claims: (inout JSONWriter) -> Void
    ) throws(StoreError) -> String {
        let nonce = try Self.nonce(nonce)
        var writer = JSONWriter()
        writer.object { object in
            object.member("iss", key.issuerId)
            object.member("iat", now.seconds - StoreClaims.backdating)
            object.member("aud", audience)
            object.member("bid", bundleId)
            object.member("nonce", nonce)
            claims(&object)
        }
        return try key.token(claims: writer.text)
    }

    /// Apple's examples have lower case, and version 1 signs it so.
    private static func nonce(_ text: String?) throws(StoreError) -> String {
        guard let text else { return UUIDText.random() }
        guard UUIDText.isValid(text) else {
            throw .invalidArgument("the nonce is not a UUID")
        }
        return text.lowercased()
    }
}
