import Assay
import AssayBytes
import AssayMint
import AssayModels

/// Signatures of a backend, checked as StoreKit and the App Store check them: `POST /signatures`.
/// `POST /retention-requests` makes what the App Store asks a backend for.
extension LocalStore {
    mutating func checkSignature(_ request: StoreRequest) throws(StoreProblem) -> StoreResponse {
        let (object, _) = try Self.body(request)
        var environment = APIEnvironment.production
        if let name = object["environment"] {
            guard let found = name.string.flatMap(APIEnvironment.init) else {
                throw StoreProblem("environment must be Production or Sandbox")
            }
            environment = found
        }
        let moment = Timestamp(milliseconds: request.time)
        do throws(SignatureRefusal) {
            let kind: String
            if let jws = object["jws"]?.string {
                kind = try checkToken(jws, environment, at: moment)
            } else if object["signature"] != nil {
                try checkVersionOne(object, at: moment)
                kind = "promotional-offer"
            } else if let answer = object["retentionAnswer"]?.members {
                kind = try checkRetention(answer, environment, at: moment)
            } else {
                throw SignatureRefusal.malformed
            }
            return .json { answer in
                answer.member("accepted", true)
                answer.member("kind", kind)
            }
        } catch {
            return .json { answer in
                answer.member("accepted", false)
                answer.member("reason", error.reason)
            }
        }
    }

    // MARK: JWS

    /// Checks a JWS. Returns its audience.
    private mutating func checkToken(
        _ text: String, _ environment: APIEnvironment, at now: Timestamp
    ) throws(SignatureRefusal) -> String {
        let claims = try settings.tokens.claims(ofSignature: text)
        guard let audience = claims["aud"]?.string, Self.audiences.contains(audience) else {
            throw .audience
        }
        guard let issuer = claims["iss"]?.string, settings.tokens.admits(issuer: issuer) else {
            throw .issuer
        }
        guard let issued = claims["iat"]?.int64, issued <= now.seconds else { throw .notYet }
        guard issued > now.seconds - 3600 else { throw .expired }
        guard claims["bid"]?.string == settings.bundleId else { throw .bundle }
        switch audience {
        case "promotional-offer":
            try checkProduct(claims["productId"])
            try Self.checkFilled(claims["offerIdentifier"], .offer)
            if let id = claims["transactionId"], !id.isNull { try checkCustomer(id, environment) }
        case "introductory-offer-eligibility":
            try checkProduct(claims["productId"])
            guard claims["allowIntroductoryOffer"]?.bool != nil else { throw .eligibility }
            try checkCustomer(claims["transactionId"], environment)
        default: try Self.checkRequest(claims["request"])
        }
        try use(nonce: claims["nonce"])
        return audience
    }

    private static let audiences = [
        "promotional-offer", "introductory-offer-eligibility", "advanced-commerce-api",
    ]

    private static func checkFilled(
        _ value: JSONValue?, _ refusal: SignatureRefusal
    ) throws(SignatureRefusal) {
        guard let text = value?.string, !text.isEmpty else { throw refusal }
    }

    private func checkProduct(_ value: JSONValue?) throws(SignatureRefusal) {
        guard let id = value?.string,
            customers.contains(where: { $0.life.scenario.hasProduct(id) })
        else { throw .product }
    }

    private func checkCustomer(
        _ value: JSONValue?, _ environment: APIEnvironment
    ) throws(SignatureRefusal) {
        guard let id = value?.string, customers.contains(where: { $0.has(id, in: environment) })
        else {
            throw .transaction
        }
    }

    /// A nonce serves once. The oldest are forgotten: their signatures have expired.
    private mutating func use(nonce value: JSONValue?) throws(SignatureRefusal) {
        guard let nonce = value?.string, UUIDText.isValid(nonce), nonce == nonce.lowercased() else {
            throw .nonce
        }
        guard !nonces.contains(nonce) else { throw .nonceUsed }
        nonces.append(nonce)
        if nonces.count > LocalStoreLimits.records { nonces.removeFirst() }
    }

    private static func checkRequest(_ value: JSONValue?) throws(SignatureRefusal) {
        guard let text = value?.string, let json = try? Base64.decode(Array(text.utf8).span),
            let object = (try? JSONDocument.parse(json, limit: LocalStoreLimits.jsonBytes))?.root
                .members,
            object["operation"]?.string != nil, object["version"]?.string == "1",
            object["requestInfo"]?["requestReferenceId"]?.string.map(UUIDText.isValid) == true
        else { throw .request }
    }

    // MARK: Version 1

    private mutating func checkVersionOne(
        _ object: JSONObject, at now: Timestamp
    ) throws(SignatureRefusal) {
        guard let encoded = object["signature"]?.string,
            let signature = try? Base64.decode(Array(encoded.utf8).span),
            let time = object["timestamp"]?.int64
        else { throw .malformed }
        guard let keyId = object["keyId"]?.string, !keyId.isEmpty else { throw .noKeyId }
        try Self.checkFilled(object["offerIdentifier"], .offer)
        var account = ""
        if let value = object["appAccountToken"], !value.isNull {
            guard let text = value.string else { throw .account }
            account = text
        }
        let parts = [
            settings.bundleId, keyId, object["productId"]?.string ?? "",
            object["offerIdentifier"]?.string ?? "", account.lowercased(),
            object["nonce"]?.string ?? "", String(time),
        ]
        let text = Array(parts.joined(separator: "\u{2063}").utf8)
        try settings.tokens.checkSignature(signature, over: text, by: keyId)
        guard time <= now.milliseconds else { throw .notYet }
        guard time > now.milliseconds - 24 * 3_600_000 else { throw .expired }
        try checkProduct(object["productId"])
        try use(nonce: object["nonce"])
    }

    // MARK: Retention

    /// Checks what a backend answers to a retention request. Returns the answer's member.
    private mutating func checkRetention(
        _ answer: JSONObject, _ environment: APIEnvironment, at now: Timestamp
    ) throws(SignatureRefusal) -> String {
        guard answer.count == 1, let (name, value) = answer.pairs.first,
            let content = value.members
        else { throw .answer }
        guard let id = content["messageIdentifier"]?.string,
            messaging[environment]?.has(message: id) == true
        else { throw .message }
        switch name {
        case "message": break
        case "alternateProduct": try checkProduct(content["productId"])
        case "promotionalOffer":
            if let token = content["promotionalOfferSignatureV2"]?.string {
                guard try checkToken(token, environment, at: now) == Self.audiences[0] else {
                    throw .audience
                }
            } else if let signed = content["promotionalOfferSignatureV1"]?.members {
                var writer = JSONWriter()
                writer.object { object in
                    for (name, value) in signed.pairs {
                        object.member(
                            name == "encodedSignature" ? "signature" : name, raw: value.raw)
                    }
                }
                guard let object = (try? JSONDocument.parse(writer.text))?.root.members else {
                    throw .answer
                }
                try checkVersionOne(object, at: now)
            } else {
                throw .answer
            }
        case "advancedCommerceInfo":
            guard let text = content["advancedCommerceData"]?.string,
                let json = try? Base64.decode(Array(text.utf8).span),
                let document = try? JSONDocument.parse(json),
                let token = document.root["signatureInfo"]?["token"]?.string
            else { throw .answer }
            guard try checkToken(token, environment, at: now) == Self.audiences[2] else {
                throw .audience
            }
        default: throw .answer
        }
        return name
    }

    /// The request that the App Store posts to a backend when a customer cancels.
    func retentionRequest(_ request: StoreRequest) throws(StoreProblem) -> StoreResponse {
        let (object, _) = try Self.body(request)
        for (name, _) in object.pairs where name != "customer" && name != "locale" {
            throw StoreProblem("unknown \"\(name)\": a retention request has customer and locale")
        }
        guard let number = object["customer"]?.int64,
            let customer = customers.first(where: { !$0.isRemoved && Int64($0.number) == number }),
            let subscription = customer.life.subscriptions.last
        else { throw StoreProblem("customer must be the number of one with a subscription") }
        var payload = JSONWriter()
        payload.object { payload in
            payload.member("originalTransactionId", subscription.originalTransactionId)
            payload.member("appAppleId", settings.appAppleId)
            payload.member("productId", subscription.productId)
            payload.member("userLocale", object["locale"]?.string ?? "en-US")
            payload.member("requestIdentifier", Samples.uuid(9, Int(truncatingIfNeeded: number)))
            payload.member("environment", customer.environment.rawValue)
            payload.member("signedDate", now.milliseconds)
        }
        do throws(MintError) {
            let token = try minter.sign(payload.text)
            return .json(201) { answer in
                answer.member("signedPayload", String(decoding: token, as: UTF8.self))
            }
        } catch {
            throw StoreProblem("the request can't be signed: \(error.message)")
        }
    }
}
