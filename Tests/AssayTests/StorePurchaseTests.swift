import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Purchases of Google Play and Huawei AppGallery: policy, expectations, members and keys.
@Suite struct StorePurchaseTests {
    typealias Store = StoreFixture

    @Test("a purchase of Google Play is VALID, with its keys, and says what it is not about")
    func google() throws {
        let answer = Store.verify(Store.sign(Store.google()))
        #expect(answer.verdict == .valid, "\(answer.detail)")
        #expect(answer.environment == nil)
        #expect(answer.state == .purchased)
        #expect(answer.detail.contains("what happened since is not in it"))
        guard case .googlePurchase(let purchase) = answer.evidence else {
            Issue.record("no purchase")
            return
        }
        #expect(purchase.json == Store.google())
        let token = try #require(purchase.payload.purchaseToken)
        #expect(answer.dedupKey == "google/\(Fixture.bundle)/\(token)")
        #expect(purchase.payload.productIds == ["gold"])
        #expect(purchase.payload.orderId == "GPA.3300-0000-0000-00001")
        #expect(purchase.payload.acknowledged == false)
        #expect(
            answer.evidenceKey?.hasPrefix("google/\(Fixture.bundle)/google-purchase/") == true)
    }

    @Test("a purchase of Huawei is VALID by both schemes, each only under its name")
    func huawei() throws {
        for scheme in [StoreMinter.Scheme.huawei, .huaweiPSS] {
            let evidence = Store.sign(Store.huawei(), scheme)
            let answer = Store.verify(evidence, as: .huaweiPurchase)
            #expect(answer.verdict == .valid, "\(answer.detail)")
            #expect(answer.dedupKey?.hasPrefix("huawei/\(Fixture.bundle)/") == true)
        }
        let text = Store.huawei()
        let pss = try Store.minter.key.signPSS(text)
        let pkcs1 = try Store.minter.key.sign(text, digest: .sha256)
        let cases: [([UInt8], String?, Verdict)] = [
            (pkcs1, nil, .valid), (pkcs1, "SHA256WithRSA", .valid), (pkcs1, "", .valid),
            (pss, "SHA256withRSA/PSS", .valid), (pss, nil, .invalidSignature),
            (pkcs1, "SHA256WithRSA/PSS", .invalidSignature),
            (pkcs1, "SHA1WithRSA", .unsupportedAlgorithm), (pkcs1, "none", .unsupportedAlgorithm),
        ]
        for (signature, algorithm, verdict) in cases {
            let evidence = Store.evidence(text, signature, algorithm: algorithm)
            let answer = Store.verify(evidence, as: .huaweiPurchase)
            #expect(answer.verdict == verdict, "\(algorithm ?? "none"): \(answer.detail)")
        }
    }

    @Test("the stores' signatures differ by their hash")
    func otherStore() throws {
        let cases: [(EvidenceKind, StoreMinter.Scheme, Verdict)] = [
            (.googlePurchase, .google, .valid), (.googlePurchase, .huawei, .invalidSignature),
            (.huaweiPurchase, .huawei, .valid), (.huaweiPurchase, .google, .invalidSignature),
        ]
        for (kind, scheme, verdict) in cases {
            let text = kind == .googlePurchase ? Store.google() : Store.huawei()
            #expect(Store.verify(Store.sign(text, scheme), as: kind).verdict == verdict)
        }
    }

    @Test("a purchase that is not paid is VALID with its state, and never PURCHASED")
    func states() {
        let google: [(String?, PurchaseState)] = [
            ("0", .purchased), ("4", .pending), ("1", .canceled), ("2", .refunded),
            ("3", .unknown), ("-1", .unknown), ("\"0\"", .purchased), ("\"4\"", .pending),
            ("0.5", .unknown), ("null", .unknown), ("true", .unknown), ("{}", .unknown),
            ("99999999999", .unknown), (nil, .unknown),
        ]
        for (text, state) in google {
            let answer = Store.verify(Store.sign(Store.google(changing: ["purchaseState": text])))
            #expect(answer.verdict == .valid)
            #expect(answer.state == state, "\(text ?? "absent")")
            #expect(answer.detail.contains("grant nothing") == (state != .purchased))
        }
        let huawei: [(String?, PurchaseState)] = [
            ("0", .purchased), ("1", .canceled), ("2", .refunded), ("3", .pending),
            ("-1", .pending), ("4", .unknown), (nil, .unknown),
        ]
        for (text, state) in huawei {
            let evidence = Store.sign(Store.huawei(changing: ["purchaseState": text]), .huawei)
            #expect(Store.verify(evidence, as: .huaweiPurchase).state == state)
        }
    }

    @Test("the package has to be one of package-names, or the bundle id without any")
    func packages() {
        let evidence = Store.sign(Store.google())
        let cases: [(bundle: String?, packages: [String], Verdict)] = [
            (nil, [], .valid), (Fixture.bundle, [], .valid), ("com.example", [], .wrongBundle),
            ("com.example", [Fixture.bundle], .valid),
            (Fixture.bundle, ["com.example"], .wrongBundle),
            (nil, ["com.example", Fixture.bundle], .valid),
            (nil, [Fixture.bundle + "x"], .wrongBundle), (nil, [""], .wrongBundle),
        ]
        for (bundle, packages, verdict) in cases {
            var policy = Store.policy
            policy.bundleId = bundle
            policy.google.packageNames = packages
            policy.huawei.packageNames = ["of another store"]
            let answer = Store.verify(evidence, policy: policy)
            #expect(answer.verdict == verdict, "\(bundle ?? "none") \(packages)")
            #expect((answer.evidence != nil) == (verdict == .valid))
        }
    }

    @Test("each expectation of the caller, and a neighbour that it refuses")
    func expectations() throws {
        let evidence = Store.sign(Store.google())
        let members = try JSONDocument.parse(Store.google()).members()
        let account = try #require(members["obfuscatedAccountId"]?.string)
        let token = try #require(members["purchaseToken"]?.string)
        let order = try #require(members["orderId"]?.string)
        let later = Timestamp(milliseconds: Fixture.now.milliseconds + 1)
        let cases: [(Expectations, Verdict)] = [
            (Expectations(bundleId: Fixture.bundle), .valid),
            (Expectations(bundleId: "com.example"), .wrongBundle),
            (Expectations(environments: [.production]), .valid),
            // Nothing in it names one.
            (Expectations(environments: [.sandbox]), .valid),
            (Expectations(productIds: ["silver", "gold"]), .valid),
            (Expectations(productIds: ["silver"]), .mismatch),
            (Expectations(appAccountToken: account), .valid),
            // An account is the app's own text: its case counts.
            (Expectations(appAccountToken: account.uppercased()), .mismatch),
            (Expectations(transactionId: order), .valid),
            (Expectations(transactionId: token), .valid),
            (Expectations(transactionId: "GPA.1"), .mismatch),
            (Expectations(notOlderThan: Fixture.now), .valid),
            (Expectations(notOlderThan: later), .mismatch),
            (Expectations(deviceVerificationId: account), .mismatch),
            (Expectations(deviceIdentifier: [UInt8](repeating: 1, count: 16)), .mismatch),
            (Expectations(appAppleId: 42), .valid),
        ]
        for (expectations, verdict) in cases {
            let answer = Store.verify(evidence, expecting: expectations)
            #expect(answer.verdict == verdict, "\(expectations)")
        }
        let nobody = Store.sign(Store.google(changing: ["obfuscatedAccountId": nil]))
        let answer = Store.verify(nobody, expecting: Expectations(appAccountToken: account))
        #expect(answer.verdict == .mismatch)
        #expect(answer.detail.contains("names no account"))
    }

    @Test("of a purchase of several products, each has to be an expected one")
    func severalProducts() {
        let text = Store.google(changing: [
            "productId": nil, "productIds": #"["gold","silver"]"#,
        ])
        let cases: [([String], Verdict)] = [
            (["gold", "silver"], .valid), (["silver", "gold", "x"], .valid),
            (["gold"], .mismatch), (["silver"], .mismatch), ([], .valid),
        ]
        for (products, verdict) in cases {
            let answer = Store.verify(
                Store.sign(text), expecting: Expectations(productIds: products))
            #expect(answer.verdict == verdict, "\(products)")
        }
    }

    @Test("no environment is made up for Google, with an order or not; Huawei's is by its type")
    func environments() {
        let cases: [([UInt8], EvidenceKind, StoreEnvironment?)] = [
            (Store.google(), .googlePurchase, nil),
            (Store.google(environment: .sandbox), .googlePurchase, nil),
            (Store.google(state: 4, changing: ["orderId": nil]), .googlePurchase, nil),
            (Store.google(changing: ["orderId": #""""#]), .googlePurchase, nil),
            (Store.huawei(), .huaweiPurchase, .production),
            (Store.huawei(environment: .sandbox), .huaweiPurchase, .sandbox),
            (Store.huawei(changing: ["purchaseType": "1"]), .huaweiPurchase, .production),
        ]
        for (text, kind, environment) in cases {
            let evidence = Store.sign(text, kind == .googlePurchase ? .google : .huawei)
            #expect(Store.verify(evidence, as: kind).environment == environment)
            var policy = Store.policy
            for accepted in [StoreEnvironment.production, .sandbox] {
                policy.environments = [accepted]
                let verdict = Store.verify(evidence, as: kind, policy: policy).verdict
                let isAccepted = environment == nil || environment == accepted
                #expect(verdict == (isAccepted ? .valid : .wrongEnvironment))
            }
        }
    }

    @Test("a purchase of the future is refused, with the clocks' tolerance")
    func dates() {
        let now = Fixture.now.milliseconds
        let cases: [(Int64, Verdict)] = [
            (now + Limits.clockSkewMilliseconds, .valid),
            (now + Limits.clockSkewMilliseconds + 1, .invalidDate), (0, .invalidDate),
            (1_378_894_906_000, .valid),
        ]
        for (date, verdict) in cases {
            let text = Store.google(changing: ["purchaseTime": "\(date)"])
            #expect(Store.verify(Store.sign(text)).verdict == verdict, "\(date)")
        }
        let undated = Store.sign(Store.google(changing: ["purchaseTime": nil]))
        #expect(Store.verify(undated).verdict == .valid)
    }

    @Test("members of another type count as absent, except those that name the purchase")
    func members() {
        let cases: [(String, String?, Verdict)] = [
            ("quantity", "\"many\"", .valid), ("acknowledged", "\"true\"", .valid),
            ("orderId", "17", .valid), ("developerPayload", "{}", .valid),
            ("productIds", "{}", .valid), ("newMember", "[[1]]", .valid),
            ("purchaseTime", "\"1535623500926\"", .valid),
            ("packageName", nil, .wrongKind), ("packageName", "{}", .wrongKind),
            ("purchaseToken", nil, .wrongKind), ("purchaseToken", "[]", .wrongKind),
        ]
        for (name, value, verdict) in cases {
            let text = Store.google(changing: [name: value])
            let answer = Store.verify(Store.sign(text))
            #expect(answer.verdict == verdict, "\(name) \(value ?? "absent"): \(answer.detail)")
        }
    }

    @Test("two statements about one purchase have one dedupKey and two evidence keys")
    func keys() {
        let texts = [
            Store.google(state: 4), Store.google(),
            Store.google(changing: ["acknowledged": "true"]),
        ]
        let answers = texts.map { Store.verify(Store.sign($0)) }
        #expect(Set(answers.map(\.dedupKey)).count == 1)
        #expect(Set(answers.map(\.evidenceKey)).count == 3)
        let again = Store.verify(Store.sign(texts[0]))
        #expect(again.evidenceKey == answers[0].evidenceKey)
        let other = Store.verify(Store.sign(Store.google(index: 2)))
        #expect(other.dedupKey != answers[0].dedupKey)
    }

    @Test("each order of a subscription of Huawei is a purchase, under one token")
    func orders() {
        let keys = [["orderId": #""a""#], ["orderId": #""b""#], ["orderId": nil]].map {
            (changes: KeyValuePairs<String, String?>) in
            Store.verify(Store.sign(Store.huawei(changing: changes), .huawei), as: .huaweiPurchase)
                .dedupKey
        }
        #expect(keys[0] == "huawei/\(Fixture.bundle)/a" && keys[1] == "huawei/\(Fixture.bundle)/b")
        #expect(keys[2]?.contains("0000018a") == true)
    }

    @Test("a member of Huawei's that could take the purchase back, and can't be read")
    func unreadableStates() {
        let cases: [(KeyValuePairs<String, String?>, PurchaseState)] = [
            ([:], .purchased), (["cancelTime": "null"], .purchased),
            (["cancelTime": "\"soon\""], .unknown), (["cancelTime": "{}"], .unknown),
            (["cancelTime": "\"1736917422513\""], .purchased), (["subIsvalid": "7"], .unknown),
            (["subIsvalid": "\"false\""], .purchased), (["purchaseType": "\"x\""], .unknown),
            (["purchaseType": "7"], .unknown), (["purchaseType": "0"], .purchased),
        ]
        for (changes, state) in cases {
            let evidence = Store.sign(Store.huawei(changing: changes), .huawei)
            let answer = Store.verify(evidence, as: .huaweiPurchase)
            #expect(answer.verdict == .valid && answer.state == state, "\(changes)")
        }
    }

    @Test("without a key of the store nothing is trusted, whatever the other store's is")
    func missingKey() {
        let cases: [(EvidenceKind, [UInt8], String)] = [
            (.googlePurchase, Store.sign(Store.google()), "--google-key"),
            (.huaweiPurchase, Store.sign(Store.huawei(), .huawei), "--huawei-key"),
        ]
        for (kind, evidence, option) in cases {
            var policy = Store.policy
            if kind == .googlePurchase { policy.google.keys = [] } else { policy.huawei.keys = [] }
            let answer = Store.verify(evidence, as: kind, policy: policy)
            #expect(answer.verdict == .untrustedChain)
            #expect(answer.detail.contains(option))
            #expect(answer.dedupKey == nil && answer.state == nil && answer.environment == nil)
        }
    }

    /// The base64 of a new public key.
    private static func publicKey(bits: Int) -> [UInt8] {
        StoreMinter(key: Store.signingKey(bits: bits)).publicKey
    }

    @Test("any of several keys; another app's alone is refused")
    func severalKeys() throws {
        let other = try PurchaseKey(Self.publicKey(bits: 2048))
        let large = try PurchaseKey(Self.publicKey(bits: 3072))
        let cases: [([PurchaseKey], Verdict)] = [
            ([Store.key], .valid), ([other, large, Store.key], .valid),
            ([Store.key, other], .valid), ([other], .invalidSignature),
            ([large], .invalidSignature),
        ]
        for (keys, verdict) in cases {
            var policy = Store.policy
            policy.google.keys = keys
            #expect(Store.verify(Store.sign(Store.google()), policy: policy).verdict == verdict)
        }
    }

    @Test("the forms of a key, and keys that are none")
    func keyForms() throws {
        let der = Store.minter.key.subjectPublicKeyInfo
        let base64 = Base64.encode(der.span)
        let lines = Array(base64[..<64]) + [0x0A] + base64[64...] + [0x0D, 0x0A]
        let pem = PEM.encode(der, label: "PUBLIC KEY")
        let joined = pem.filter { $0 != 0x0A }
        let urlSafe = base64.map { $0 == UInt8(ascii: "+") ? UInt8(ascii: "-") : $0 }
            .map { $0 == UInt8(ascii: "/") ? UInt8(ascii: "_") : $0 }
        let spaced = [0x20] + base64 + [0x0A]
        let mark: [UInt8] = [0xEF, 0xBB, 0xBF]
        for form in [base64, lines, der, pem, joined, urlSafe, spaced, mark + base64, mark + pem] {
            #expect(try PurchaseKey(form) == Store.key)
        }
        func refusal(_ text: [UInt8], legacy: Bool = false) -> PurchaseKeyError? {
            do throws(PurchaseKeyError) {
                _ = try PurchaseKey(text, allowsLegacySize: legacy)
                return nil
            } catch {
                return error
            }
        }
        for bad in [[], Array("key".utf8), Array(base64.dropLast(4)), base64 + base64] {
            #expect(refusal(bad)?.reason == .notAKey, "\(bad.count) bytes")
        }
        let pemText = String(decoding: pem, as: UTF8.self)
        let others = [
            (pemText.replacingAll("\n", "\\n"), "for its line breaks"),
            (pemText.replacingAll("PUBLIC", "PRIVATE").replacingAll("MI", "AA"), "a private key"),
            ("-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----", "a certificate"),
            ("-----BEGIN RSA PUBLIC KEY-----\nAAAA\n-----END RSA PUBLIC KEY-----", "PKCS #1"),
            ("<RSAKeyValue><Modulus>AAAA</Modulus></RSAKeyValue>", "XML"),
            ("\u{FEFF}\n", "it is empty"),
        ]
        for (text, reason) in others {
            let error = refusal(Array(text.utf8))
            #expect(error?.description.contains(reason) == true, "\(reason): \(error as Any)")
        }
        let curve = try SigningKey(generating: .p256)
        #expect(refusal(curve.subjectPublicKeyInfo) == .notRSA)
        let small = Self.publicKey(bits: 512)
        let legacy = Self.publicKey(bits: 1024)
        let large = Self.publicKey(bits: 4096)
        #expect(refusal(small) == .unsupportedSize(bits: 512))
        #expect(refusal(small, legacy: true) == .unsupportedSize(bits: 512))
        #expect(refusal(legacy) == .unsupportedSize(bits: 1024))
        #expect(refusal(legacy, legacy: true) == nil)
        #expect(refusal(large) == nil)
    }
}
