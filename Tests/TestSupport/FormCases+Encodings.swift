import Foundation

/// Evidence in other encodings, and parts of it.
extension FormCaseMaker {
    mutating func addEncodings() {
        let hex = samples.receipt.map { String(format: "%02x", $0) }.joined()
        let octets: [UInt8] = samples.receipt.flatMap { Self.latin1($0) }
        let latin = String(decoding: octets, as: UTF8.self)
        let lossy = String(decoding: samples.receipt, as: UTF8.self)
        let wide: [UInt8] = samples.transaction.flatMap { [$0, 0] as [UInt8] }
        add("UTF-16", "utf16", [0xFF, 0xFE] + wide, "UTF-16", not: samples.transaction)
        add("UTF-16 without a mark", "utf16", wide, "UTF-16", not: samples.transaction)
        add("Latin-1", "latin1", latin, "read as Latin-1", not: lossy)
        add("UTF-8", "utf8", lossy, "which lost its bytes", not: latin)
        add(
            "Latin-1 in base64", "latin1", Data(latin.utf8).base64EncodedString(),
            "read as Latin-1", not: base64)
        add(
            "escaped slashes", "escaped", base64.replacingOccurrences(of: "/", with: "\\/"),
            "a backslash", not: base64)
        add("escaped lines", "escaped", Self.lines(base64, "\\n"), "a backslash", not: base64)
        add("an escaped quote", "escaped", "\\\"\(token)\\\"", "a backslash", not: token)
        add("an escape in a token", "escaped", token + "\\n", "a backslash", not: token + "\n")
        add(
            "percent", "percentEncoded",
            base64.replacingOccurrences(of: "+", with: "%2B"), "a percent sign", not: base64)
        add("percent at the end", "percentEncoded", token + "%0A", "a percent sign", not: token)
        add("percent before", "percentEncoded", "%7B%22", "\"%\" at offset 0", not: "7B")
        add(
            "spaces", "spaces", base64.replacingOccurrences(of: "+", with: " "),
            "turned + into spaces", not: Self.lines(base64, " "))
        let half = String(base64.prefix(base64.count / 2))
        add(
            "half a receipt in lines", "cutReceipt", Self.lines(half, " "), "cut off",
            not: half.replacingOccurrences(of: "+", with: " "))
        let urlSafe = base64.replacingOccurrences(of: "+", with: "-")
            .replacingOccurrences(of: "/", with: "_")
        add("base64url", "urlSafe", urlSafe, "base64url", not: base64)
        add(
            "base64 twice", "base64Twice", Data(base64.utf8).base64EncodedString(),
            "base64 of base64", not: base64)
        add(
            "a token in base64", "base64Twice", Data(token.utf8).base64EncodedString(),
            "base64 of base64", not: token)
        add("hexadecimal", "hexadecimal", hex, "hexadecimal digits", not: hex + "x")
        add("0x", "hexadecimal", "0x" + hex, "hexadecimal digits", not: "0y" + hex)
        add("bytea", "hexadecimal", "\\x" + hex, "hexadecimal digits", not: "\\y" + hex)
        add("NSData", "dataDescription", "<30820e78 06092a86>", "NSData", not: "<receipt>")
        add(
            "NSData of iOS 13", "dataDescription",
            "{length = 3708, bytes = 0x30820e78 06092a86 ... 1ef3a118 }", "leaves bytes out",
            not: "{\"length\":1}")
        add("bytes", "byteList", "[48,130,14,120]", "one for each byte", not: "[\"48\"]")
        add(
            "a Buffer", "byteList", "{\"type\":\"Buffer\",\"data\":[48,130]}", "one for each byte",
            not: "{\"type\":\"File\",\"data\":{}}")
        add(
            "a Uint8Array", "byteList", "{\"0\":48,\"1\":130,\"2\":14,\"3\":1}",
            "one for each byte", not: "{\"0\":48,\"2\":130,\"1\":14,\"3\":1}")
        add(
            "PEM", "pem",
            "-----BEGIN PKCS7-----\n\(Self.lines(base64, "\n"))\n-----END PKCS7-----\n",
            "PEM", not: base64)
        add("gzip", "compressed", [0x1F, 0x8B, 8, 0], "gzip", not: [0x1F, 0x8C, 8, 0])
        add("gzip in base64", "compressed", "H4sIAAAAAAAAA6tW", "gzip", not: "H5sIAAAAAAAAA6tW")
        add("zip", "compressed", [0x50, 0x4B, 3, 4], "a zip archive", not: [0x50, 0x4B, 3, 5])
    }

    static func latin1(_ byte: UInt8) -> [UInt8] {
        byte < 0x80 ? [byte] : [0xC0 | byte >> 6, 0x80 | byte & 0x3F]
    }

    /// A text in lines of 64 characters.
    static func lines(_ text: String, _ end: String) -> String {
        let bytes = Array(text.utf8)
        return stride(from: 0, to: bytes.count, by: 64).map {
            String(decoding: bytes[$0..<min($0 + 64, bytes.count)], as: UTF8.self)
        }.joined(separator: end)
    }

    mutating func addParts() {
        let dots: [String.Index] = token.indices.filter { token[$0] == "." }
        let header = String(token[..<dots[0]])
        let unsigned = String(token[..<dots[1]])
        let signature = String(token[dots[1]...])
        add(
            "cut by one", "cutToken", String(token.dropLast()), "85 of 86 characters", not: token)
        add(
            "half a signature", "cutToken", String(token.dropLast(40)), "46 of 86 characters",
            not: token)
        add("no signature", "cutToken", unsigned, "the signature is missing", not: token)
        add("a header", "cutToken", String(header.dropLast(7)), "it has no dot", not: token)
        add(
            "half a payload", "cutToken", String(unsigned.dropLast(20)), "the signature is missing",
            not: token)
        add(
            "a payload that ends within", "cutToken",
            String(unsigned.dropLast(20)) + signature, "whose payload is no JSON", not: token)
        add(
            "a header that ends within", "cutToken",
            String(header.dropLast(20)) + String(token[dots[0]...]), "whose header is no JSON",
            not: token)
        add("wrapped", "wrappedToken", Self.lines(token, "\n"), "it was wrapped", not: token)
        let (start, end) = (String(token.prefix(50)), String(base64.prefix(50)))
        add("an ellipsis", "ellipsis", start + "...", "an ellipsis", not: token)
        add("an ellipsis character", "ellipsis", end + "…", "an ellipsis", not: base64)
        add(
            "padding", "tokenAlphabet", unsigned + "=" + signature, "standard base64",
            not: token)
        add("two tokens", "joinedTokens", token + "\n" + token, "several tokens", not: token)
        add("three parts more", "joinedTokens", token + "." + token, "6 segments", not: token)
        add("more behind", "joinedTokens", token + "AAAA", "4 characters after", not: token)
        let half = Array(samples.receipt.prefix(samples.receipt.count / 2))
        add(
            "half a receipt", "cutReceipt", Data(half).base64EncodedString(),
            "\(half.count) of \(samples.receipt.count) octets", not: base64)
        add(
            "half of a DER receipt", "cutReceipt", half,
            "\(half.count) of \(samples.receipt.count) octets", not: samples.receipt)
        add(
            "a record", "unsignedContent", [0x31, 5, 0x30, 3, 2, 1, 0], "a DER SET",
            not: Array("15030210".utf8))
        add(
            "a header as JSON", "decodedHeader", "{\"alg\":\"ES256\",\"x5c\":[]}",
            "the decoded header", not: "{\"alg\":\"ES256\"}")
    }

    mutating func addTokens() {
        let x5c = #"{"alg":"ES256","kid":"Apple_Xcode_Key","x5c":["MIIB"]}"#
        add(
            "Xcode", "xcodeToken", Self.jwt(x5c, "{\"transactionId\":\"0\"}"),
            "Xcode's StoreKit testing",
            not: Self.jwt(x5c.replacingOccurrences(of: "Xcode_", with: ""), "{}"))
        add(
            "an API token", "apiToken",
            Self.jwt(
                #"{"alg":"ES256","kid":"2X9R4HXF34","typ":"JWT"}"#,
                #"{"iss":"57246542","aud":"appstoreconnect-v1","bid":"com.example"}"#),
            "which has to stay secret",
            not: Self.jwt(#"{"alg":"ES256","kid":"2X9R4HXF34"}"#, #"{"aud":"appstoreconnect"}"#))
        add(
            "Sign in with Apple", "signInWithApple",
            Self.jwt(
                #"{"kid":"fh6Bs8C","alg":"RS256"}"#,
                #"{"iss":"https://appleid.apple.com","aud":"com.example"}"#),
            "Sign in with Apple",
            not: Self.jwt(#"{"alg":"RS256"}"#, #"{"iss":"https://apple.com"}"#))
        add(
            "Firebase", "googleToken",
            Self.jwt(#"{"alg":"RS256"}"#, #"{"iss":"https://securetoken.google.com/game"}"#),
            "Google or Firebase",
            not: Self.jwt(#"{"alg":"RS256"}"#, #"{"iss":"https://securetoken.example.com/game"}"#))
        add(
            "a session", "foreignToken", Self.jwt(#"{"alg":"HS256"}"#, #"{"sub":"1"}"#),
            "without certificates", not: token)
        add(
            "a JWE", "encryptedToken",
            Self.url(#"{"alg":"dir","enc":"A256GCM"}"#) + ".a.AAAA.BBBB.CCCC",
            "an encrypted token", not: token)
    }

    mutating func addDecoded() {
        add(
            "a transaction", "decodedPayload",
            #"{"transactionId":"1","productId":"gold","bundleId":"a","environment":"Sandbox"}"#,
            "a decoded transaction", not: #"{"transactionId":"1"}"#)
        add(
            "a transaction in base64", "decodedPayload",
            Data(#"{"transactionId":"1","productId":"gold","bundleId":"a"}"#.utf8)
                .base64EncodedString(), "a decoded transaction", not: token)
        add(
            "an id in JSON", "json", #"{"transactionId":"1","quantity":1}"#,
            "JSON with a transaction id (\"transactionId\") and nothing that is signed",
            not: #"{"id":"1","quantity":1}"#)
        add(
            "a purchase of Tauri", "decodedPayload",
            #"{"orderId":"20","packageName":"com.example","purchaseToken":"2000","signature":""}"#,
            "a purchase of the App Store (\"purchaseToken\" is a transaction id)",
            not: #"{"orderId":"GPA.1","packageName":"com.example","purchaseToken":"a2000"}"#)
        add(
            "version 1 with a comma", "notificationV1",
            #"{"unified_receipt":{"latest_receipt":"MII"},"notification_type":"DID_RENEW",}"#,
            "not valid JSON",
            not: #"{"unified_receipt":{"latest_receipt":"MII"},"notification_type":"DID_RENEW"}"#)
        add(
            "local data", "decodedPayload", #"{"localVerificationData":"{}","source":"app_store"}"#,
            "send serverVerificationData", not: #"{"verificationData":"{}"}"#)
        add(
            "a notification", "decodedPayload",
            #"{"notificationType":"REFUND","notificationUUID":"1","data":{}}"#,
            "a decoded notification", not: #"{"notificationType":"REFUND"}"#)
        add(
            "renewal info", "decodedPayload", #"{"autoRenewStatus":1,"originalTransactionId":"1"}"#,
            "a decoded renewal info", not: #"{"autoRenewStatus":1}"#)
        add(
            "an app transaction", "decodedPayload",
            #"{"receiptType":"Production","applicationVersion":"1"}"#,
            "a decoded app transaction", not: #"{"receiptType":"Production"}"#)
        add(
            "a retention request", "decodedPayload",
            #"{"requestIdentifier":"1","userLocale":"en"}"#, "a decoded retention request",
            not: #"{"requestIdentifier":"1"}"#)
        add(
            "a payment", "decodedPayload",
            #"{"transactionIdentifier":"1","productIdentifier":"g"}"#,
            "a decoded transaction", not: #"{"transactionIdentifier":"1"}"#)
        add(
            "an answer of verifyReceipt", "receiptAnswer", #"{"status":0,"receipt":{}}"#,
            "an answer of verifyReceipt", not: #"{"status":0}"#)
        add(
            "an error of the API", "storeError",
            #"{"errorCode":4040010,"errorMessage":"Transaction id not found."}"#,
            "carries no evidence", not: #"{"errorCode":4040010}"#)
        add(
            "other JSON", "json", #"{"ok":true}"#, "JSON with \"ok\", and nothing that is signed",
            not: "{\"ok\":\"\(token)\"}")
        add(
            "a member of JSON", "json", "{\"Id\":1,\"PurchaseToken\":\"\(token)\"}",
            "JSON with \"Id\", \"PurchaseToken\": send the value of \"PurchaseToken\", which "
                + "begins like a JWS", not: "{\"Id\":1,\"PurchaseToken\":\"abc\"}")
        add(
            "two tokens in an object", "severalTokens",
            "{\"purchaseToken\":\"\(token)\",\"jwsRepresentation\":\"\(token)A\"}",
            "different evidence", not: "{\"purchaseToken\":\"\(token)\"}")
    }

    mutating func addOtherStores() {
        add(
            "Google Play", "googlePurchase",
            #"{"orderId":"GPA.1","packageName":"com.example","purchaseToken":"abc"}"#,
            "a purchase of Google Play", not: #"{"orderId":"GPA.1"}"#)
        add(
            "a token of Google Play", "googlePurchase",
            "opahfllgjmhgnmgeglhbljap.AO-J1OzcgCeymjcV5S6wGVVGAv", "a purchase token of Google",
            not: "opahfllgjmhgnmgeglhbljap.AO-J2Oz")
        add(
            "Unity of Google Play", "googlePurchase",
            #"{"Store":"GooglePlay","TransactionID":"1","Payload":"{\"json\":\"\"}"}"#,
            "without json and signature", not: #"{"Store":"AppleAppStore"}"#)
        add(
            "Unity of Amazon", "amazonPurchase",
            #"{"Store":"AmazonApps","TransactionID":"1","Payload":"{}"}"#, "ask that store",
            not: #"{"Store":"AppleAppStore"}"#)
        add(
            "Unity's test store", "unityTestStore",
            #"{"Store":"fake","TransactionID":"1","Payload":"ThisIsFakeReceiptData"}"#,
            "Unity's test store", not: #"{"Store":"fake"}"#)
        add(
            "Unity without evidence", "wrapper",
            #"{"Store":"AppleAppStore","TransactionID":"1","Payload":""}"#,
            "without evidence in \"Payload\"", not: #"{"Store":"AppleAppStore","Payloads":""}"#)
        add(
            "Google's notification", "googleNotification",
            #"{"message":{"data":"e30="},"subscription":"projects/a"}"#, "Google's Pub/Sub",
            not: #"{"message":{"data":"e30="}}"#)
        add(
            "Huawei", "huaweiPurchase", #"{"inAppPurchaseData":"{}","inAppDataSignature":"a"}"#,
            "Huawei's AppGallery", not: #"{"inAppPurchase":"{}"}"#)
        add(
            "Huawei's list", "huaweiPurchase",
            #"{"returnCode":0,"inAppPurchaseDataList":["{}","{}"],"inAppSignature":["a","b"]}"#,
            "an item of its own, or the list to entitlements", not: #"{"returnCode":0}"#)
        add(
            "Huawei's notification", "huaweiNotification",
            #"{"eventType":"ORDER","orderNotification":{"purchaseToken":"t"}}"#,
            "without a signed text", not: #"{"eventType":"ORDER"}"#)
        add(
            "Amazon", "amazonPurchase", #"{"receiptId":"q1","sku":"gold","userId":"u"}"#,
            "Amazon's Appstore", not: #"{"receiptId":"q1"}"#)
        add(
            "Apple Pay", "applePay", #"{"paymentData":{"version":"EC_v1"}}"#, "Apple Pay",
            not: #"{"payment":{}}"#)
    }

    mutating func addBinaries() {
        let attest = [0xA3, 0x63] + Array("fmtoapple-appattest".utf8)
        add("App Attest", "appAttest", attest, "App Attest", not: [0xA3, 0x63, 0x66, 0x6D, 0x75])
        add(
            "App Attest in base64", "appAttest", Data(attest).base64EncodedString(), "App Attest",
            not: base64)
        let certificate: [UInt8] = [0x30, 0x82, 1, 0, 0x30, 0x82, 0, 0xF0, 0xA0, 3, 2, 1, 2]
        add("a certificate", "certificate", certificate, "pin it with --root", not: samples.receipt)
        add(
            "a certificate in base64", "certificate", Data(certificate).base64EncodedString(),
            "pin it with --root", not: base64)
        add(
            "a certificate in PEM", "certificate", "-----BEGIN CERTIFICATE-----\nMIIB\n",
            "pin it with --root", not: "-----BEGIN PKCS7-----\nMIIB\n")
        add(
            "a key", "privateKey", "-----BEGIN PRIVATE KEY-----\nMIGH\n", "a private key",
            not: "-----BEGIN PUBLIC KEY-----\nMIGH\n")
        let key: [UInt8] = [0x30, 0x81, 0x87, 2, 1, 0, 0x30, 0x13]
        add(
            "a key in base64", "privateKey", Data(key).base64EncodedString(), "a private key",
            not: base64)
        let profile = samples.receipt.prefix(60) + Array("<?xml version=\"1.0\"?>".utf8)
        add(
            "a provisioning profile", "provisioningProfile", Array(profile),
            "a provisioning profile", not: samples.receipt)
        add(
            "a binary plist", "propertyList", Array("bplist00".utf8), "a binary property list",
            not: Array("bplis".utf8))
        add(
            "an image", "other", [0x89, 0x50, 0x4E, 0x47], "0x89 at offset 0", not: samples.receipt)
        add("a text", "other", "hello", "\"h\" at offset 0", not: token)
        add("a receipt with a bracket", "other", base64 + ")", "another character", not: base64)
    }
}
