import AssayBytes
import AssayModels

/// Forms of JSON, by the names of its members.
extension EvidenceForm {
    /// A text that begins with a brace: JSON, or the property list of an old receipt.
    static func object(_ text: FormText) -> EvidenceForm {
        if EvidenceShape.detect(Array(text.slice.prefix(FormLimits.sampleBytes)).span)
            == .transactionReceipt
        {
            return transactionReceipt("text with an equals sign after its first name")
        }
        let members = TopMembers(text)
        return evidence(members, text) ?? purchase(text) ?? wrapped(members, text)
            ?? decoded(members) ?? otherStore(members) ?? otherBody(members) ?? json(members, text)
    }

    private static func json(_ members: TopMembers, _ text: FormText) -> EvidenceForm {
        let names = members.names.prefix(3).map { quoted($0) }.joined(separator: ", ")
        return EvidenceForm(
            .json,
            members.names.isEmpty
                ? "a brace (\(FormText.mark(text.first, text.offset))) and no JSON object after "
                    + "it: send the JWS, or the base64 of a receipt"
                : "JSON with \(names): send the value of the member that has the JWS or the "
                    + "receipt")
    }

    // MARK: Evidence

    private static func evidence(_ members: TopMembers, _ text: FormText) -> EvidenceForm? {
        if members.has("unified_receipt") {
            return EvidenceForm(
                .notificationV1,
                "a notification of version 1 (\"unified_receipt\"): use the kind notification-v1")
        }
        if members.has(
            any: "signedTransactions", "notificationHistory", "signedTransactionInfo",
            "signedRenewalInfo", "signedAppTransactionInfo", "sendAttempts",
            "firstSendAttemptResult")
            || members["data"]?.first == UInt8(ascii: "[") && members["type"] == nil
        {
            return EvidenceForm(
                .serverAnswer,
                "an answer of the App Store Server API (\(quoted(members.names.first))): use the "
                    + "kind server-answer")
        }
        if members.has("signedPayload") { return postBody(members, text) }
        if members.has("jwsNotification") {
            return EvidenceForm(
                .json,
                "the POST body of a notification of HarmonyOS (\"jwsNotification\"): use the kind "
                    + "harmony-notification")
        }
        guard members.has("errorCode"), members.has("errorMessage") else { return nil }
        return EvidenceForm(
            .storeError,
            "an error of the App Store Server API (\"errorCode\"), which carries no evidence")
    }

    /// The POST body of a notification or a retention request, by what is inside.
    private static func postBody(_ members: TopMembers, _ text: FormText) -> EvidenceForm {
        guard members["signedPayload"]?.first == UInt8(ascii: "\"") else {
            return EvidenceForm(
                .decodedPayload,
                "a body whose \"signedPayload\" is no text: send the body as it was posted")
        }
        let inside = (try? JSONDocument.parse(Array(text.slice)))?.root["signedPayload"]?.string
        let kind = inside.flatMap { Verifier.payloadKind(of: Array($0.utf8).span) }
        return EvidenceForm(
            .postBody,
            kind == .realtimeRequest
                ? "the POST body of a retention request (\"signedPayload\"): use the kind "
                    + "realtime-request"
                : "the POST body of a notification (\"signedPayload\"): use the kind notification")
    }

    /// A wrapper that was not opened: it has no evidence, or several.
    private static func wrapped(_ members: TopMembers, _ text: FormText) -> EvidenceForm? {
        guard EvidenceWrapper.isLikely(members) else { return nil }
        if let opened = EvidenceWrapper.open(Array(text.slice).span) {
            let form = detect(opened.evidence, of: opened.evidence.count)
            return EvidenceForm(.wrapper, "\(opened.wrapper.phrase) around \(form.text)")
        }
        if members.has("Store"), members.has("Payload") {
            switch members["Store"]?.text {
            case "fake":
                return EvidenceForm(
                    .unityTestStore,
                    "a receipt of Unity's test store (\"Store\" is \"fake\"), which nobody signed: "
                        + "test on a device")
            case "GooglePlay":
                return EvidenceForm(
                    .googlePurchase,
                    "Unity's wrapper around a purchase of Google Play without json and signature "
                        + "in \"Payload\": send the whole value of receipt")
            case "AmazonApps", "AmazonAppStore", "UDP":
                return EvidenceForm(
                    .amazonPurchase,
                    "Unity's wrapper around a purchase of \(quoted(members["Store"]?.text)): ask "
                        + "that store")
            default: break
            }
            return EvidenceForm(
                .wrapper,
                "Unity's wrapper without evidence in \"Payload\": send the whole value of receipt")
        }
        guard EvidenceWrapper.hasSeveral(Array(text.slice).span) else { return nil }
        return EvidenceForm(
            .severalTokens,
            "a purchase object with different evidence in its members: send one item at a time")
    }

    // MARK: Decoded evidence

    /// A payload without its signature.
    private static func decoded(_ members: TopMembers) -> EvidenceForm? {
        if members.has("alg"), members.has(any: "x5c", "typ", "kid") {
            return EvidenceForm(
                .decodedHeader,
                "the decoded header of a JWS (\"alg\"): send the whole token, undecoded")
        }
        if members.has("notificationType"), members.has(any: "notificationUUID", "data", "version")
        {
            return payload("notification (\"notificationType\")", "signedPayload")
        }
        if members.has("requestIdentifier"), members.has("userLocale") {
            return payload("retention request (\"requestIdentifier\")", "signedPayload")
        }
        if members.has(any: "autoRenewStatus", "autoRenewProductId"),
            members.has("originalTransactionId")
        {
            return payload("renewal info (\"autoRenewStatus\")", "signedRenewalInfo")
        }
        if members.has(any: "appTransactionId", "deviceVerification", "receiptType"),
            members.has(any: "applicationVersion", "originalApplicationVersion")
        {
            return payload("app transaction (\"applicationVersion\")", "jwsRepresentation")
        }
        let isTransaction =
            members.has(any: "transactionId", "originalTransactionId")
            && members.has(any: "bundleId", "productId", "purchaseDate")
        let isPayment =
            members.has(any: "transactionIdentifier", "transaction_id", "original_transaction_id")
            && members.has(any: "productIdentifier", "product_id")
        if isTransaction && !members.has("packageName") || isPayment {
            return payload("transaction (\(quoted(members.names.first)))", "jwsRepresentation")
        }
        guard members.has("localVerificationData") else { return nil }
        return payload("transaction (\"localVerificationData\")", "serverVerificationData")
    }

    private static func payload(_ what: String, _ member: String) -> EvidenceForm {
        EvidenceForm(
            .decodedPayload, "a decoded \(what), without its signature: send \(member)")
    }

    // MARK: Other stores

    /// A purchase of another store with its signature, in any wrapper, or a push with its token.
    private static func purchase(_ text: FormText) -> EvidenceForm? {
        if PushEnvelope.find(Array(text.slice).span) != nil {
            return EvidenceForm(
                .googleNotification,
                "a push of Google Play's notifications (\"authorization\"): use the kind "
                    + "google-notification")
        }
        guard case .found(let envelope) = PurchaseEnvelope.find(Array(text.slice).span) else {
            return nil
        }
        switch envelope.likelyKind {
        case .huaweiPurchase:
            return EvidenceForm(
                .huaweiPurchase,
                "a purchase of Huawei's AppGallery with its signature: use the kind "
                    + "huawei-purchase")
        case .googlePurchase:
            return EvidenceForm(
                .googlePurchase,
                "a purchase of Google Play with its signature: use the kind google-purchase")
        default: return nil
        }
    }

    private static func otherStore(_ members: TopMembers) -> EvidenceForm? {
        if members.has(
            any: "inAppPurchaseData", "INAPP_PURCHASE_DATA", "inAppDataSignature", "accountFlag")
        {
            return EvidenceForm(
                .huaweiPurchase,
                "a purchase of Huawei's AppGallery (\(quoted(members.names.first))) without its "
                    + "signature: send both, with the kind huawei-purchase")
        }
        if members.has("packageName"),
            members.has(any: "purchaseToken", "purchaseState", "orderId", "purchaseTime")
        {
            return google("\"packageName\"")
        }
        if members["kind"]?.text?.hasPrefix("androidpublisher#") == true
            || members.has(any: "purchaseTokenAndroid", "dataAndroid", "signatureAndroid")
        {
            return google(quoted(members.names.first))
        }
        if members.has("message"), members.has("subscription") {
            return EvidenceForm(
                .googleNotification,
                "a message of Google's Pub/Sub (\"subscription\") without the token of its push: "
                    + #"send {"authorization": "Bearer …", "body": "…"} with the kind "#
                    + "google-notification")
        }
        guard members.has("receiptId"), members.has(any: "userId", "sku", "productType", "itemType")
        else { return nil }
        return EvidenceForm(
            .amazonPurchase, "a purchase of Amazon's Appstore (\"receiptId\"): ask Amazon")
    }

    private static func google(_ member: String) -> EvidenceForm {
        EvidenceForm(
            .googlePurchase,
            "a purchase of Google Play (\(member)) without its signature: send both, with the kind "
                + "google-purchase, or ask Google with its token")
    }

    // MARK: Other bodies

    private static func otherBody(_ members: TopMembers) -> EvidenceForm? {
        if members.has("receipt-data") {
            return EvidenceForm(
                .receiptRequest,
                "a request to verifyReceipt (\"receipt-data\"): post it to /verifyReceipt, or send "
                    + "the value of receipt-data")
        }
        if members.has("status"), members.has(any: "receipt", "latest_receipt", "environment") {
            return EvidenceForm(
                .receiptAnswer,
                "an answer of verifyReceipt (\"status\"), which nobody signed: send the value of "
                    + "latest_receipt")
        }
        if members.has("evidence") {
            return EvidenceForm(
                .verifyRequest,
                "the JSON body of POST /v1/verify (\"evidence\"): post it with Content-Type: "
                    + "application/json, or send the value of evidence")
        }
        if members.has("jws") {
            return EvidenceForm(
                .purchaseRequest,
                "a request with the member \"jws\": post it to /v1/purchase/verify, or send the "
                    + "value of jws")
        }
        if members.has("paymentData") || members.has("ephemeralPublicKey") {
            return EvidenceForm(
                .applePay, "a token of Apple Pay, which is no purchase in the App Store")
        }
        if members["type"]?.text == "Buffer", members.has("data") || members.has("0") {
            return byteList(FormText([UInt8(ascii: "{")], isWhole: true))
        }
        guard members.names.count > 3,
            members.names.prefix(4).enumerated().allSatisfy({ $1 == String($0) })
        else { return nil }
        return byteList(FormText([UInt8(ascii: "{")], isWhole: true))
    }

    /// A text that begins with a bracket.
    static func list(_ text: FormText) -> EvidenceForm {
        guard let next = text.from(text.offset + 1).start, !text[next].isDigit else {
            return byteList(text)
        }
        return EvidenceForm(
            .jsonList,
            "a list in JSON (\(FormText.mark(text.first, text.offset))): send each element as an "
                + "item of its own")
    }
}
