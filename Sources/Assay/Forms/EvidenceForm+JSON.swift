import AssayBytes
import AssayModels

/// Forms of JSON, by the names of its members.
extension EvidenceForm {
    /// A text that begins with a brace: JSON, or the property list of an old receipt.
    static func object(_ text: FormText) -> EvidenceForm {
        if EvidenceShape.detect(Array(text.slice.prefix(FormLimits.prefixBytes)).span)
            == .transactionReceipt
        {
            return transactionReceipt("text with an equals sign after its first name")
        }
        let members = TopMembers(text)
        return evidence(members, text) ?? purchase(text) ?? wrapped(members, text)
            ?? decoded(members) ?? otherStore(members) ?? otherBody(members, text)
            ?? json(members, text)
    }

    private static func json(_ members: TopMembers, _ text: FormText) -> EvidenceForm {
        guard !members.names.isEmpty else {
            return EvidenceForm(
                .json,
                "a brace (\(FormText.mark(text.first, text.offset))) and no JSON object after "
                    + "it: send the JWS, or the base64 of a receipt")
        }
        let names = members.names.prefix(3).map { quoted($0) }.joined(separator: ", ")
        if let member = EvidenceMember(text) {
            return EvidenceForm(
                .json,
                "JSON with \(names): send the value of \(quoted(member.name)), which begins like "
                    + member.what)
        }
        if let id = transactionIds.first(where: members.has) {
            return EvidenceForm(
                .json,
                "JSON with a transaction id (\(quoted(id))) and nothing that is signed: ask the "
                    + "App Store for it with fetch, or send the transaction's jwsRepresentation")
        }
        return EvidenceForm(
            .json,
            "JSON with \(names), and nothing that is signed: send the transaction's "
                + "jwsRepresentation, or the base64 of the receipt")
    }

    /// The names of a transaction's id in the App Store's libraries.
    private static let transactionIds = [
        "transactionId", "originalTransactionId", "transactionIdentifier", "transaction_id",
        "original_transaction_id",
    ]

    // MARK: Evidence

    private static func evidence(_ members: TopMembers, _ text: FormText) -> EvidenceForm? {
        if members.has("unified_receipt") {
            return EvidenceForm(
                .notificationV1, "a notification of version 1 (\"unified_receipt\")",
                of: .notificationV1)
        }
        if members.has(
            any: "signedTransactions", "notificationHistory", "signedTransactionInfo",
            "signedRenewalInfo", "signedAppTransactionInfo", "sendAttempts",
            "firstSendAttemptResult")
            || members["data"]?.first == UInt8(ascii: "[") && members["type"] == nil
        {
            return EvidenceForm(
                .serverAnswer,
                "an answer of the App Store Server API (\(quoted(members.names.first)))",
                of: .serverAnswer)
        }
        if members.has("signedPayload") { return postBody(members, text) }
        if members.has("jwsNotification") {
            return EvidenceForm(
                .json, "the POST body of a notification of HarmonyOS (\"jwsNotification\")",
                of: .harmonyNotification)
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
        return kind == .realtimeRequest
            ? EvidenceForm(
                .postBody, "the POST body of a retention request (\"signedPayload\")",
                of: .realtimeRequest)
            : EvidenceForm(
                .postBody, "the POST body of a notification (\"signedPayload\")",
                of: .notification)
    }

    /// A wrapper that was not opened: it has no evidence, or several.
    private static func wrapped(_ members: TopMembers, _ text: FormText) -> EvidenceForm? {
        guard EvidenceWrapper.isLikely(members) else { return nil }
        if let opened = EvidenceWrapper.open(Array(text.slice).span) {
            let form = detect(opened.evidence, of: opened.evidence.count)
            return form.inside("\(opened.wrapper.phrase) around ", named: .wrapper)
        }
        let isUnity = members.has("Store") && members.has("Payload")
        if isUnity, let form = unity(members["Store"]?.text) { return form }
        if !text.isWhole, let form = longWrapper(members, text) { return form }
        if isUnity {
            return EvidenceForm(
                .wrapper,
                "Unity's wrapper without evidence in \"Payload\": send the whole value of receipt")
        }
        guard EvidenceWrapper.hasSeveral(Array(text.slice).span) else { return nil }
        return EvidenceForm(
            .severalTokens,
            "a purchase object with different evidence in its members: send one item at a time")
    }

    /// Unity's wrapper around a purchase of another store than the App Store.
    private static func unity(_ store: String?) -> EvidenceForm? {
        switch store {
        case "fake":
            EvidenceForm(
                .unityTestStore,
                "a receipt of Unity's test store (\"Store\" is \"fake\"), which nobody signed: "
                    + "test on a device")
        case "GooglePlay":
            EvidenceForm(
                .googlePurchase,
                "Unity's wrapper around a purchase of Google Play without json and signature "
                    + "in \"Payload\": send the whole value of receipt")
        case "AmazonApps", "AmazonAppStore", "UDP":
            EvidenceForm(
                .amazonPurchase,
                "Unity's wrapper around a purchase of \(quoted(store)): ask that store")
        default: nil
        }
    }

    /// A wrapper of which only the beginning is looked at.
    private static func longWrapper(_ members: TopMembers, _ text: FormText) -> EvidenceForm? {
        guard let member = EvidenceMember(text) else { return nil }
        let what =
            "\(EvidenceWrapper(members).phrase) around \(member.what) (\(quoted(member.name)))"
        guard member.isReceipt, text.total <= Limits.receiptWrapperBytes else {
            return EvidenceForm(
                .wrapper,
                "\(what), with \(text.size) bytes: send the value of \(quoted(member.name)) alone")
        }
        return EvidenceForm(.wrapper, what, of: .appReceipt)
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
                .googleNotification, "a push of Google Play's notifications (\"authorization\")",
                of: .googleNotification)
        }
        if case .found = HuaweiNotificationBody.find(Array(text.slice).span) {
            return EvidenceForm(
                .huaweiNotification,
                "a notification of Huawei's AppGallery (\"statusUpdateNotification\")",
                of: .huaweiNotification)
        }
        guard case .found(let envelope) = PurchaseEnvelope.find(Array(text.slice).span) else {
            return nil
        }
        switch envelope.likelyKind {
        case .huaweiPurchase:
            return EvidenceForm(
                .huaweiPurchase, "a purchase of Huawei's AppGallery with its signature",
                of: .huaweiPurchase)
        case .googlePurchase:
            return EvidenceForm(
                .googlePurchase, "a purchase of Google Play with its signature",
                of: .googlePurchase)
        default: return nil
        }
    }

    private static func otherStore(_ members: TopMembers) -> EvidenceForm? {
        if let list = OwnedPurchases.textLists.first(where: members.has) {
            return EvidenceForm(
                .huaweiPurchase,
                "a list of purchases of Huawei's AppGallery (\(quoted(list))): send each with its "
                    + "signature as an item of its own, or the list to entitlements")
        }
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
            // Google's tokens have letters. Tauri fills the members of Google for the App Store.
            guard let id = members["purchaseToken"]?.text, isTransactionId(id) else {
                return google("\"packageName\"")
            }
            return EvidenceForm(
                .decodedPayload,
                "a purchase of the App Store (\"purchaseToken\" is a transaction id) and nothing "
                    + "that is signed: ask the App Store for it with fetch, or send the "
                    + "transaction's jwsRepresentation")
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
        if members.has("orderNotification") || members.has("subNotification") {
            return EvidenceForm(
                .huaweiNotification,
                "a notification of Huawei's AppGallery (\(quoted(members.names.first))) without a "
                    + "signed text: ask Huawei's API with its purchaseToken")
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

    private static func otherBody(_ members: TopMembers, _ text: FormText) -> EvidenceForm? {
        if members.has("receipt-data") {
            return EvidenceForm(
                .receiptRequest,
                "a request to verifyReceipt (\"receipt-data\"): post it to /verifyReceipt, or send "
                    + "the value of receipt-data")
        }
        // The status of a long answer is after the receipt.
        let isCutAnswer = !text.isWhole && members["receipt"]?.first == UInt8(ascii: "{")
        if isCutAnswer
            || members.has("status") && members.has(any: "receipt", "latest_receipt", "environment")
        {
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
            return byteList(FormText([UInt8(ascii: "{")]))
        }
        guard members.names.count > 3,
            members.names.prefix(4).enumerated().allSatisfy({ $1 == String($0) })
        else { return nil }
        return byteList(FormText([UInt8(ascii: "{")]))
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
