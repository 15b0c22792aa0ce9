import Assay
import AssayBytes
import AssayMint
import AssayModels
import TestSupport
import Testing

/// The forms in which purchase libraries and engines write a purchase and its signature.
@Suite struct PurchaseEnvelopeTests {
    typealias Store = StoreFixture

    private static let text = String(decoding: Store.google(), as: UTF8.self)
    private static let signature = String(
        decoding: Fixture.made { try Store.minter.signature(of: Store.google(), .google) },
        as: UTF8.self)

    private static func quoted(_ text: String) -> String { JSONWriter.quoted(Array(text.utf8)) }

    /// An object with texts as its members.
    private static func object(_ members: KeyValuePairs<String, String>) -> String {
        "{" + members.map { quoted($0) + ":" + $1 }.joined(separator: ",") + "}"
    }

    /// A purchase under two names, with another member beside it.
    private static func pair(
        _ data: String, _ name: String, _ text: String = text, _ signature: String = signature
    ) -> String {
        object([data: quoted(text), name: quoted(signature), "productId": #""gold""#])
    }

    private static func forms(
        _ text: String = text, _ signature: String = signature
    ) -> [(name: String, text: String, wrapper: String?)] {
        func pair(_ data: String, _ name: String) -> String {
            Self.pair(data, name, text, signature)
        }
        let unity = object([
            "json": quoted(text), "signature": quoted(signature), "skuDetails": #"["{}"]"#,
        ])
        let wrapped = object([
            "Store": #""GooglePlay""#, "TransactionID": #""abc""#, "Payload": quoted(unity),
        ])
        let base64 = String(
            decoding: Base64.encode(Array(text.utf8).span), as: UTF8.self)
        let urlSafe = base64.replacingAll("+", "-").replacingAll("/", "_").replacingAll("=", "")
        return [
            ("own", object(["data": quoted(text), "signature": quoted(signature)]), nil),
            ("own, reversed", object(["signature": quoted(signature), "data": quoted(text)]), nil),
            ("own with more members", pair("data", "signature"), nil),
            ("base64", object(["data": quoted(base64), "signature": quoted(signature)]), nil),
            ("Unity", wrapped, "Unity"),
            (
                "Unity with an object",
                object(["Store": #""GooglePlay""#, "Payload": unity]), "Unity"
            ),
            ("Unity in receipt", object(["receipt": quoted(wrapped)]), "Unity"),
            ("Unity's payload alone", unity, nil),
            ("Billing Library", pair("originalJson", "signature"), "Billing Library"),
            ("Gson", pair("mOriginalJson", "mSignature"), "Billing Library"),
            ("Gson, obfuscated", pair("zza", "zzb"), "Billing Library"),
            ("snake case", pair("original_json", "signature"), "Billing Library"),
            ("react-native-iap", pair("dataAndroid", "signatureAndroid"), "React Native"),
            ("expo-iap", pair("transactionReceipt", "signatureAndroid"), "React Native"),
            (
                "cordova",
                object(["id": #""gold""#, "transaction": pair("receipt", "signature")]), "Cordova"
            ),
            (
                "cordova 13",
                object(["transaction": object(["nativePurchase": pair("receipt", "signature")])]),
                "Cordova"
            ),
            (
                "Flutter",
                object([
                    "verificationData": object(["localVerificationData": quoted(text)]),
                    "billingClientPurchase": pair("originalJson", "signature"),
                ]), "Flutter"
            ),
            ("the intent's extras", pair("INAPP_PURCHASE_DATA", "INAPP_DATA_SIGNATURE"), nil),
            ("PlayFab", pair("ReceiptJson", "Signature"), nil),
            ("purchaseData", pair("purchaseData", "dataSignature"), nil),
            ("Huawei's server API", pair("purchaseTokenData", "dataSignature"), nil),
            ("signdata", pair("signdata", "signature"), nil),
            (
                "expo-iap with its store",
                object([
                    "store": #""google""#, "dataAndroid": quoted(text),
                    "signatureAndroid": quoted(signature),
                ]), "React Native"
            ),
            (
                "base64 of the other alphabet",
                object(["data": quoted(urlSafe), "signature": quoted(signature)]), nil
            ),
            ("signedData", pair("signedData", "signature"), nil),
        ]
    }

    @Test("each form is opened, with one verdict, and its name in unwrapped")
    func allForms() {
        for (name, text, wrapper) in Self.forms() {
            let evidence = Array(text.utf8)
            let answer = Store.verify(evidence)
            #expect(answer.verdict == .valid, "\(name): \(answer.detail)")
            #expect(answer.unwrapped == wrapper, "\(name)")
            #expect(Verifier.likelyKind(of: evidence.span) == .googlePurchase, "\(name)")
        }
    }

    @Test("a signature in other base64: URL-safe, without padding, in lines, with escapes")
    func signatureForms() throws {
        // One with both characters in which the alphabets differ.
        let text = try #require(
            (1...40).lazy.map { Store.google(index: $0) }.first {
                let signature = try? Store.minter.signature(of: $0, .google)
                return signature?.contains(UInt8(ascii: "+")) == true
                    && signature?.contains(UInt8(ascii: "/")) == true
            })
        let signature = String(
            decoding: try Store.minter.signature(of: text, .google), as: UTF8.self)
        let urlSafe = signature.replacingAll("+", "-").replacingAll("/", "_")
        let unpadded = String(signature.dropLast(2))
        #expect(unpadded + "==" == signature)
        func lines(_ text: String, _ end: String) -> String {
            String(text.prefix(76)) + end + String(text.dropFirst(76)) + end
        }
        let data = JSONWriter.quoted(text)
        let good = [
            signature, urlSafe, unpadded, urlSafe.replacingAll("=", ""),
            lines(signature, "\\n"), lines(signature, "\\r\\n"), lines(urlSafe, "\\n"),
            signature.replacingAll("/", "\\/"), signature.replacingAll("=", "\\u003d"),
        ]
        for signature in good {
            let answer = Store.verify(Array(#"{"data":\#(data),"signature":"\#(signature)"}"#.utf8))
            #expect(answer.verdict == .valid, "\(signature.prefix(8)): \(answer.detail)")
        }
        let mixed = signature.replacingAll("+", "-")
        for signature in [mixed, signature + "=", unpadded + "=A", urlSafe + "*"] {
            let answer = Store.verify(Array(#"{"data":\#(data),"signature":"\#(signature)"}"#.utf8))
            #expect(answer.verdict == .malformed, "\(answer.detail)")
        }
    }

    @Test("a text with escapes that JSON writers differ in")
    func textForms() throws {
        let text = Store.google(changing: ["developerPayload": #""é\/\u00e9 \"x\"""#])
        let signature = try Store.minter.signature(of: text, .google)
        let plain = JSONWriter.quoted(text)
        let forms = [
            plain, plain.replacingAll("/", "\\/"), plain.replacingAll("é", "\\u00E9"),
            plain.replacingAll(":", "\\u003a"), plain.replacingAll("{", "\\u007B"),
        ]
        #expect(Set(forms).count == forms.count)
        for form in forms {
            let evidence =
                "{ \"signature\" :\"" + String(decoding: signature, as: UTF8.self)
                + "\",\n\"data\":" + form + "}\n"
            let answer = Store.verify(Array(evidence.utf8))
            #expect(answer.verdict == .valid, "\(form.prefix(40)): \(answer.detail)")
        }
    }

    @Test("each form, with a signature of other bytes, is refused")
    func damagedForms() {
        for (name, text, _) in Self.forms() where !name.hasPrefix("base64") {
            let changed = text.split(separator: "GPA.3300", omittingEmptySubsequences: false)
            guard changed.count > 1 else { continue }
            let answer = Store.verify(Array(changed.joined(separator: "GPA.3301").utf8))
            #expect(answer.verdict == .invalidSignature, "\(name): \(answer.detail)")
        }
    }

    @Test("each form inside another object, as an object and as text, is opened")
    func nestings() {
        for (name, text, _) in Self.forms() {
            for container in ["receipt", "payload", "purchase", "Payload"] {
                for inside in [text, Self.quoted(text)] {
                    let nested = Self.object([container: inside, "Store": #""GooglePlay""#])
                    let answer = Store.verify(Array(nested.utf8))
                    #expect(answer.verdict == .valid, "\(name) in \(container): \(answer.detail)")
                }
            }
        }
    }

    @Test("each form without a text, without a signature, without both, and too large")
    func emptyAndHuge() {
        let long = String(
            decoding: Store.google(changing: [
                "developerPayload": "\"" + String(repeating: "x", count: Limits.purchaseBytes)
                    + "\""
            ]), as: UTF8.self)
        let huge = String(repeating: " ", count: Limits.purchaseEnvelopeBytes) + Self.text
        let cases: [(String, String, Set<Verdict>)] = [
            ("", "", [.malformed]), ("{}", "", [.malformed, .invalidSignature]),
            ("", Self.signature, [.malformed]), (Self.text, "", [.malformed, .invalidSignature]),
            ("{}", Self.signature, [.malformed, .invalidSignature]),
            (long, Self.signature, [.malformed]), (huge, Self.signature, [.malformed]),
        ]
        for (text, signature, verdicts) in cases {
            for (name, evidence, _) in Self.forms(text, signature) {
                let answer = Store.verify(Array(evidence.utf8))
                #expect(
                    verdicts.contains(answer.verdict),
                    "\(name) of \(text.utf8.count): \(answer.verdict) \(answer.detail)")
                #expect(answer.dedupKey == nil && answer.evidence == nil)
            }
        }
        let members = (0..<10_000).map { "\"member\($0)\":[]" }.joined(separator: ",")
        let wide = Self.pair("data", "signature").dropLast() + "," + members + "}"
        #expect(wide.utf8.count <= Limits.purchaseEnvelopeBytes)
        #expect(Store.verify(Array(wide.utf8)).verdict == .valid)
    }

    @Test("what an envelope lacks is named")
    func lacks() {
        let (text, signature) = (Self.quoted(Self.text), Self.quoted(Self.signature))
        let other = Self.quoted(String(decoding: Store.google(index: 2), as: UTF8.self))
        let cases: [(String, String)] = [
            (Self.object(["data": text]), "no signature"),
            (
                Self.object(["verificationData": Self.object(["localVerificationData": text])]),
                "no signature"
            ),
            (Self.text, "no signature"),
            (Self.object(["signature": signature]), "no signed text"),
            (String(Self.text.dropLast()) + ",\"signature\":\(signature)}", "a JSON object"),
            (Self.pair("data", "signature", "\u{FEFF}" + Self.text), "begins with no brace"),
            (Self.pair("data", "signature", text), "begins with no brace"),
            (Self.signature, "send {\"data\""),
            ("\n" + Self.pair("data", "signature"), "white space comes before"),
            (
                Self.object([
                    "data": text, "signature": signature,
                    "purchase": Self.object(["data": other, "signature": signature]),
                ]), "several purchases"
            ),
            ("{}", "an empty JSON object"), ("{\"data\":1,\"signature\":2}", "send {\"data\""),
        ]
        for (evidence, part) in cases {
            let answer = Store.verify(Array(evidence.utf8))
            #expect(answer.verdict == .malformed)
            #expect(answer.detail.contains(part), "\(evidence.prefix(60)): \(answer.detail)")
        }
    }

    @Test("a purchase that came as an object is verified by its bytes as they stand")
    func objects() {
        let signature = Self.quoted(Self.signature)
        let spaced = Self.text.replacingAll(":", ": ")
        for name in ["data", "originalJson", "receipt"] {
            let same = Self.object([name: Self.text, "signature": signature])
            #expect(Store.verify(Array(same.utf8)).verdict == .valid, "\(name)")
            let other = Store.verify(
                Array(Self.object([name: spaced, "signature": signature]).utf8))
            #expect(other.verdict == .invalidSignature && other.detail.contains("as an object"))
        }
        let other = String(decoding: Store.google(index: 2), as: UTF8.self)
        let cases = [
            Self.object(["data": Self.text, "json": other, "signature": signature]),
            Self.object(["data": #"{"packageName":"a"}"#, "signature": signature]),
        ]
        for text in cases { #expect(Store.verify(Array(text.utf8)).verdict == .malformed) }
    }

    @Test("a list of one owned purchase is opened; one of several is named")
    func ownedLists() throws {
        let texts = [1, 2].map { Store.huawei(index: $0) }
        let signatures = try texts.map { try Store.minter.signature(of: $0, .huawei) }
        func list(_ items: [[UInt8]]) -> String {
            "[" + items.map { JSONWriter.quoted($0) }.joined(separator: ",") + "]"
        }
        let cases: [(Int, Int, Verdict, String)] = [
            (1, 1, .valid, ""), (2, 2, .malformed, "several purchases"),
            (1, 0, .malformed, "no signature"), (2, 1, .malformed, ""), (0, 1, .malformed, ""),
        ]
        for (texted, signed, verdict, part) in cases {
            let text = Self.object([
                "inAppPurchaseDataList": list(Array(texts.prefix(texted))),
                "inAppSignature": list(Array(signatures.prefix(signed))),
            ])
            let answer = Store.verify(Array(text.utf8), as: .huaweiPurchase)
            #expect(answer.verdict == verdict, "\(texted) \(signed): \(answer.detail)")
            #expect(answer.detail.contains(part), "\(answer.detail)")
        }
    }

    @Test("Huawei's names, and the name of the algorithm")
    func huawei() throws {
        let text = Store.huawei()
        for (names, scheme) in [
            (("inAppPurchaseData", "inAppDataSignature"), StoreMinter.Scheme.huawei),
            (("inAppPurchaseData", "inAppSignature"), .huawei),
            (("data", "signature"), .huaweiPSS),
        ] {
            let signature = String(
                decoding: try Store.minter.signature(of: text, scheme), as: UTF8.self)
            let algorithm = scheme == .huaweiPSS ? "SHA256WithRSA/PSS" : "SHA256WithRSA"
            let evidence = Self.object([
                names.0: JSONWriter.quoted(text), names.1: Self.quoted(signature),
                "signatureAlgorithm": Self.quoted(algorithm),
            ])
            let answer = Store.verify(Array(evidence.utf8), as: .huaweiPurchase)
            #expect(answer.verdict == .valid, "\(names): \(answer.detail)")
            #expect(Verifier.likelyKind(of: Array(evidence.utf8).span) == .huaweiPurchase)
        }
    }

    @Test("objects nested deeper than any library's are not searched without end")
    func depth() {
        var text = Self.pair("data", "signature")
        for level in 1...40 {
            text = Self.object(["payload": level.isMultiple(of: 2) ? text : Self.quoted(text)])
            if text.utf8.count > Limits.purchaseEnvelopeBytes { break }
            let answer = Store.verify(Array(text.utf8))
            #expect(answer.verdict == (level <= 4 ? .valid : .malformed), "\(level)")
        }
        let wide = Self.object(["transaction": "{}"])
        #expect(Store.verify(Array(wide.utf8)).verdict == .malformed)
    }

    @Test("evidence of Apple under these kinds is named")
    func appleEvidence() {
        let answer = Store.verify(Fixture.token())
        #expect(answer.verdict == .malformed)
        #expect(answer.detail.contains("JWS"), "\(answer.detail)")
        let apple = Store.verifier.verify(
            Array(Self.forms()[0].text.utf8).span, as: .transaction, policy: Store.policy,
            at: Fixture.now)
        #expect(apple.verdict == .malformed)
        #expect(apple.detail.contains("use the kind google-purchase"), "\(apple.detail)")
    }
}

/// Purchases that Google signed, found in public repositories.
@Suite struct GooglePurchaseVectorTests {
    @Test(
        "genuine purchases hold under their key alone, with SHA-1 alone, unchanged alone",
        .enabled(if: Vectors.has("stores")))
    func genuine() throws {
        var count = 0
        var keys: [PurchaseKey] = []
        var all: [(data: [UInt8], signature: [UInt8], key: PurchaseKey)] = []
        for name in Vectors.files(in: "stores", suffix: ".json") {
            let content = try #require(Vectors.bytes("stores/" + name))
            let list = try JSONDocument.parse(content, limit: .max).root.elements
            for item in try #require(list) {
                guard let data = item["data"]?.string, let signature = item["sig"]?.string,
                    let key = item["key"]?.string
                else { continue }
                let octets = try Base64.decode(Array(signature.utf8).span)
                all.append((Array(data.utf8), octets, try PurchaseKey(Array(key.utf8))))
                keys.append(try PurchaseKey(Array(key.utf8)))
                count += 1
            }
        }
        for (data, signature, key) in all {
            var policy = Policy(bundleId: nil)
            policy.google.keys = [key]
            let evidence = StoreFixture.evidence(data, signature)
            let answer = StoreFixture.verify(evidence, policy: policy)
            #expect(answer.verdict == .valid, "\(answer.detail)")
            #expect(answer.state == .purchased && answer.environment == nil)
            #expect(answer.dedupKey?.hasPrefix("google/\(try Self.package(data))/") == true)
            policy.google.keys = keys.filter { $0 != key } + [StoreFixture.key]
            #expect(StoreFixture.verify(evidence, policy: policy).verdict == .invalidSignature)
            policy.google.keys = [key]
            policy.huawei.keys = [key]
            let asHuawei = StoreFixture.verify(evidence, as: .huaweiPurchase, policy: policy)
            #expect(asHuawei.verdict == .invalidSignature)
            for index in data.indices {
                var changed = data
                changed[index] ^= 1
                let answer = StoreFixture.verify(
                    StoreFixture.evidence(changed, signature), policy: policy)
                #expect([.invalidSignature, .malformed].contains(answer.verdict), "byte \(index)")
            }
        }
        try Vectors.report("stores", count)
    }

    private static func package(_ data: [UInt8]) throws -> String {
        try #require(JSONDocument.parse(data).root["packageName"]?.string)
    }
}
