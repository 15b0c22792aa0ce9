/// Why the store refuses a signature of a backend, as StoreKit would. Apple names no reason.
enum SignatureRefusal: Error, Hashable, CaseIterable, Sendable {
    /// Not three segments of base64url with JSON objects in the first two.
    case malformed
    case algorithm
    case noKeyId
    case unknownKey
    case signature
    /// No audience of a request to StoreKit.
    case audience
    case issuer
    /// No iat, or one in the future.
    case notYet
    /// An iat or a timestamp that is too old.
    case expired
    case bundle
    /// Not a UUID in lower case.
    case nonce
    case nonceUsed
    case product
    case offer
    case transaction
    case eligibility
    /// The request of Advanced Commerce is not Base64 of JSON with its common members.
    case request
    case account
    case message
    /// Not one member of a retention answer.
    case answer

    /// One sentence.
    var reason: String {
        switch self {
        case .malformed: "the signature is neither a JWS nor one of version 1 with all its members"
        case .algorithm: "alg is not ES256, or typ is not JWT"
        case .noKeyId: "the signature names no key"
        case .unknownKey: "no key is registered under that key id"
        case .signature: "the signature does not match its key and its claims"
        case .audience:
            "aud is not promotional-offer, introductory-offer-eligibility or advanced-commerce-api"
        case .issuer: "iss is not the registered issuer"
        case .notYet: "iat is missing or in the future: check the clock"
        case .expired: "it was signed more than 60 minutes ago, or in version 1 24 hours"
        case .bundle: "bid is not the app of this store"
        case .nonce: "the nonce is not a UUID in lower case"
        case .nonceUsed: "the nonce was used before: make one for each signature"
        case .product: "no customer of this store has a scenario with that productId"
        case .offer: "offerIdentifier is missing"
        case .transaction: "transactionId is not one of a customer of this store"
        case .eligibility: "allowIntroductoryOffer is not true or false"
        case .request:
            "request is not Base64 of a JSON object with operation, version and requestInfo"
        case .account: "appAccountToken is not text"
        case .message: "messageIdentifier is not a message that the store has"
        case .answer:
            "the answer is not one of message, alternateProduct, promotionalOffer and "
                + "advancedCommerceInfo, with its members"
        }
    }
}
