import AssayBytes
public import AssayModels

/// A request for a signature in JSON, as `assay sign` and `POST /v1/sign/…` take it.
public enum SigningRequest: Sendable, Hashable {
    /// A promotional offer, in one of its two forms.
    case promotionalOffer(PromotionalOffer, PromotionalOfferVersion)
    /// The eligibility for an introductory offer.
    case introductoryOffer(IntroductoryOffer)
    /// An in-app request of Advanced Commerce.
    case advancedCommerce(AdvancedCommerceRequest)

    /// The kinds of requests, by the last segment of their paths.
    public enum Kind: String, Sendable, CaseIterable {
        /// A promotional offer.
        case promotionalOffer = "promotional-offer"
        /// The eligibility for an introductory offer.
        case introductoryOffer = "introductory-offer"
        /// An in-app request of Advanced Commerce.
        case advancedCommerce = "advanced-commerce"
    }

    /// Reads the members of a request.
    ///
    /// - Throws: `invalidArgument`, which names the member.
    public init(_ kind: Kind, json: [UInt8]) throws(StoreError) {
        let members = try JSONRules(text: json)
        switch kind {
        case .promotionalOffer:
            try members.allow([
                "productId", "offerIdentifier", "version", "appAccountToken", "transactionId",
            ])
            let version = try PromotionalOfferVersion(in: members)
            self = .promotionalOffer(
                try PromotionalOffer(
                    productId: members.text("productId"), offerId: members.text("offerIdentifier"),
                    appAccountToken: members.optionalText("appAccountToken"),
                    transactionId: members.optionalText("transactionId")), version)
            try version.check(
                hasAccount: members.has("appAccountToken"),
                hasTransaction: members.has("transactionId"))
        case .introductoryOffer:
            try members.allow(["productId", "allowIntroductoryOffer", "transactionId"])
            self = .introductoryOffer(
                try IntroductoryOffer(
                    productId: members.text("productId"),
                    isAllowed: members.bool("allowIntroductoryOffer"),
                    transactionId: members.text("transactionId")))
        case .advancedCommerce:
            try members.allow(["request"])
            self = .advancedCommerce(
                try AdvancedCommerceRequest(members.object("request"), kind: nil))
        }
    }
}

extension PromotionalOfferVersion {
    /// The member `version`; 2 without it.
    fileprivate init(in members: JSONRules) throws(StoreError) {
        guard members.has("version") else {
            self = .two
            return
        }
        self = try members.integer("version", 1...2) == 1 ? .one : .two
    }

    /// Refuses what the version does not sign: a caller would take it for protected.
    fileprivate func check(hasAccount: Bool, hasTransaction: Bool) throws(StoreError) {
        if self == .two, hasAccount {
            throw .invalidArgument("appAccountToken is part of version 1 alone: add \"version\": 1")
        }
        if self == .one, hasTransaction {
            throw .invalidArgument("transactionId is part of version 2 alone")
        }
    }
}

extension StoreSigner {
    /// Signs a request. Returns the answer in JSON: what the app gives to StoreKit.
    public func answer(
        to request: SigningRequest, at now: Timestamp = .now
    ) throws(StoreError) -> [UInt8] {
        var writer = JSONWriter()
        switch request {
        case .promotionalOffer(let offer, .one):
            let signature = try signature(of: offer, at: now)
            writer.object { object in
                object.member("keyId", signature.keyId)
                object.member("nonce", signature.nonce)
                object.member("timestamp", signature.timestamp.milliseconds)
                object.member("signature", signature.encodedSignature)
            }
        case .promotionalOffer(let offer, .two):
            let token = try token(of: offer, at: now)
            writer.object { $0.member("jws", token) }
        case .introductoryOffer(let eligibility):
            let token = try token(of: eligibility, at: now)
            writer.object { $0.member("jws", token) }
        case .advancedCommerce(let request):
            let token = try token(of: request, at: now)
            writer.object { object in
                object.member("jws", token)
                object.member(
                    "advancedCommerceData", AdvancedCommerceRequest.data(of: token))
            }
        }
        return writer.text
    }
}

extension RetentionAnswer {
    /// Reads the choice of a backend: an object with one of Apple's four members.
    ///
    /// - Throws: `invalidArgument`, which names the member.
    public init(json: [UInt8]) throws(StoreError) {
        let members = try JSONRules(text: json)
        let names = ["message", "alternateProduct", "promotionalOffer", "advancedCommerceInfo"]
        try members.allow(names)
        let given = names.filter(members.has)
        guard given.count == 1 else {
            throw .invalidArgument(
                "the answer has \(given.isEmpty ? "none" : "several") of its members: write one of "
                    + names.joined(separator: ", "))
        }
        let choice = try members.object(given[0])
        let id = try choice.uuid("messageIdentifier")
        switch given[0] {
        case "message":
            try choice.allow(["messageIdentifier"])
            self = .message(id: id)
        case "alternateProduct":
            try choice.allow(["messageIdentifier", "productId", "billingPlanType"])
            let plan = try choice.optionalChoice(
                "billingPlanType", BillingPlan.allCases.map(\.rawValue))
            self = .alternateProduct(
                messageId: id, productId: try choice.text("productId"),
                billingPlan: plan.flatMap(BillingPlan.init(rawValue:)))
        case "promotionalOffer":
            try choice.allow([
                "messageIdentifier", "offerIdentifier", "productId", "version", "appAccountToken",
            ])
            let version = try PromotionalOfferVersion(in: choice)
            let account = try choice.optionalUUID("appAccountToken")
            try version.check(hasAccount: account != nil, hasTransaction: false)
            self = .promotionalOffer(
                messageId: id,
                RetentionOffer(
                    offerId: try choice.text("offerIdentifier"),
                    productId: try choice.optionalText("productId"), version: version,
                    appAccountToken: account))
        default:
            try choice.allow(["messageIdentifier", "request"])
            self = .advancedCommerce(
                messageId: id,
                try AdvancedCommerceRequest(choice.object("request"), kind: nil))
        }
    }
}
