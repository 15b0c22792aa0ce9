import AssayBytes
import AssayMint
import AssayModels
import TestSupport
import Testing

@testable import Assay

private func decode<Payload: PayloadObject>(
    _ text: String, as type: Payload.Type = Payload.self
) throws(JSONError) -> Payload {
    try JSONDocument.parse([UInt8](text.utf8)).decode(type)
}

struct PayloadTests {
    typealias Transaction = JWSTransactionDecodedPayload

    /// Returns each field's JSON form, for comparison with the payload's text: enum values as
    /// their raw values, dates as milliseconds.
    static func leaves(of payload: Any) -> [String: String] {
        var leaves: [String: String] = [:]
        for child in Mirror(reflecting: payload).children {
            // Members that Apple may add later: none in what is compared here.
            if child.label == "unknownContainers" { continue }
            if let value = render(child.value) { leaves[member(of: child.label ?? "")] = value }
        }
        return leaves
    }

    private static func member(of field: String) -> String {
        guard field.hasPrefix("boxed") else { return field == "sku" ? "SKU" : field }
        return field.dropFirst(5).prefix(1).lowercased() + field.dropFirst(6)
    }

    private static func render(_ value: Any) -> String? {
        let mirror = Mirror(reflecting: value)
        // The content of a box is that of its only case.
        if mirror.displayStyle == .optional || mirror.displayStyle == .enum {
            return mirror.children.first.flatMap { render($0.value) }
        }
        if let string = value as? String { return "\"\(string)\"" }
        if mirror.displayStyle == .collection {
            return "[" + mirror.children.compactMap { render($0.value) }.joined(separator: ",")
                + "]"
        }
        guard mirror.displayStyle == .struct else { return "\(value)" }
        if mirror.children.count == 1, let only = mirror.children.first,
            only.label == "rawValue" || only.label == "milliseconds"
        {
            return render(only.value)
        }
        return render(leaves(of: value))
    }

    private static func render(_ leaves: [String: String]) -> String {
        "{" + leaves.sorted { $0.key < $1.key }.map { "\"\($0)\":\($1)" }.joined(separator: ",")
            + "}"
    }

    /// Renders a JSON value in the same form, with sorted members.
    private static func render(_ json: JSONValue) -> String {
        if let members = json.members {
            let pairs = members.pairs.map { ($0.name, render($0.value)) }
            return render(Dictionary(pairs) { first, _ in first })
        }
        if let elements = json.elements {
            return "[" + elements.map { render($0) }.joined(separator: ",") + "]"
        }
        if let string = json.string { return "\"\(string)\"" }
        return String(decoding: json.raw, as: UTF8.self)
    }

    /// Decodes a text in which every member is modelled, and compares every field.
    private func expectSame<Payload: PayloadObject>(
        _ text: [UInt8], _ type: Payload.Type, unknown: Set<String> = []
    ) throws {
        let document = try JSONDocument.parse(text)
        let fields = Self.leaves(of: try document.decode(type))
        let members = try document.members().pairs.filter { !unknown.contains($0.name) }
        #expect(Set(fields.keys) == Set(members.map(\.name)))
        for (name, value) in members { #expect(fields[name] == Self.render(value), "\(name)") }
    }

    // MARK: Apple's own examples

    @Test(.enabled(if: Vectors.has("apple-lib/models", "apple-lib/models-variants")))
    func appleModels() throws {
        var count = 0
        for folder in ["apple-lib/models", "apple-lib/models-variants"] {
            for file in Vectors.files(in: folder, suffix: ".json") {
                let bytes = try #require(Vectors.bytes("\(folder)/\(file)"))
                let name = file.split(separator: "-").last.map(String.init) ?? file
                if try compare(bytes, name) { count += 1 }
            }
        }
        try Vectors.report("Apple's payload models", count)
    }

    /// Compares a file with its decoded payload. Returns false for a file that is not a known
    /// payload.
    private func compare(_ bytes: [UInt8], _ file: String) throws -> Bool {
        switch file {
        case "signedTransaction.json", "signedTransactionWithRevocation.json":
            try expectSame(bytes, Transaction.self)
        case "signedRenewalInfo.json": try expectSame(bytes, JWSRenewalInfoDecodedPayload.self)
        case "appTransaction.json": try expectSame(bytes, AppTransaction.self)
        case "appData.json": try expectSame(bytes, AppData.self)
        case "decodedRealtimeRequest.json":
            try expectSame(bytes, DecodedRealtimeRequestBody.self)
        case "advancedCommerceDescriptors.json":
            try expectSame(bytes, AdvancedCommerceDescriptors.self)
        case "advancedCommerceOffer.json": try expectSame(bytes, AdvancedCommerceOffer.self)
        case _ where file.hasPrefix("signed") && file.hasSuffix("Notification.json"):
            try expectSame(bytes, ResponseBodyV2DecodedPayload.self)
        default: return false
        }
        return true
    }

    /// The payloads of Apple's signed examples. Xcode's have members that are not modelled.
    @Test(.enabled(if: Vectors.has("apple-lib/mock_signed_data", "apple-lib/xcode")))
    func appleSignedPayloads() throws {
        let device: Set = ["deviceVerification", "deviceVerificationNonce"]
        var count = 0
        func payload(_ path: String) throws -> [UInt8] {
            let text = try #require(Vectors.bytes("apple-lib/" + path))
            count += 1
            let segments = text.split(separator: UInt8(ascii: "."))
            return try Base64URL.decode([UInt8](segments[1]).span)
        }
        do {
            let text = try payload("mock_signed_data/transactionInfo")
            try expectSame(text, Transaction.self)
        }
        do {
            let text = try payload("mock_signed_data/renewalInfo")
            try expectSame(text, JWSRenewalInfoDecodedPayload.self)
        }
        do {
            let text = try payload("mock_signed_data/testNotification")
            let notification = try JSONDocument.parse(text).decode(
                ResponseBodyV2DecodedPayload.self)
            #expect(notification.notificationType == .test)
            #expect(notification.data?.appAppleId == 1234)
        }
        do {
            let text = try payload("xcode/xcode-signed-transaction")
            let transaction = try JSONDocument.parse(text).decode(Transaction.self)
            #expect(transaction.purchaseDate?.milliseconds == 1_697_679_936_049)
            #expect(transaction.expiresDate?.milliseconds == 1_700_358_336_049)
            #expect(transaction.environment == .xcode)
        }
        do {
            let text = try payload("xcode/xcode-signed-app-transaction")
            let app = try JSONDocument.parse(text).decode(AppTransaction.self)
            #expect(app.originalPurchaseDate?.milliseconds == -62_135_769_600_000)
            #expect(app.receiptCreationDate?.milliseconds == 1_697_680_122_257)
            #expect(app.requestDate?.milliseconds == 1_697_680_122_257)
        }
        do {
            let text = try payload("xcode/xcode-signed-renewal-info")
            let renewal = try JSONDocument.parse(text).decode(JWSRenewalInfoDecodedPayload.self)
            #expect(renewal.autoRenewStatus == .on)
            #expect(try device.isSubset(of: JSONDocument.parse(text).members().pairs.map(\.name)))
        }
        try Vectors.report("Apple's signed payloads", count)
    }

    // MARK: Full payloads

    static let renewal = """
        {"expirationIntent":1,"originalTransactionId":"12","autoRenewProductId":"p2",
        "productId":"p1","autoRenewStatus":0,"isInBillingRetryPeriod":true,
        "priceIncreaseStatus":1,"gracePeriodExpiresDate":1698148900000,"offerType":4,
        "offerIdentifier":"abc","signedDate":1698148800000,"environment":"Sandbox",
        "recentSubscriptionStartDate":1698148800001,"renewalDate":1698148850000,
        "renewalPrice":9990,"currency":"EUR","offerDiscountType":"ONE_TIME",
        "eligibleWinBackOfferIds":["one","two"],"appTransactionId":"71134","offerPeriod":"P1Y",
        "appAccountToken":"7e3fb20b-4cdb-47cc-936d-99d65f608138",
        "advancedCommerceInfo":{"consistencyToken":"t","descriptors":{"description":"d",
        "displayName":"n"},"items":[{"SKU":"s","description":"x","displayName":"y","price":1,
        "offer":{"period":"P3D","periodCount":2,"price":4990,"reason":"WIN_BACK"},
        "priceIncreaseInfo":{"dependentSKUs":["a","b"],"price":12990,"status":"PENDING"}},
        {"SKU":"s2"}],"period":"P1M","requestReferenceId":"r","taxCode":"C"},
        "commitmentInfo":{"commitmentAutoRenewProductId":"c","commitmentAutoRenewStatus":1,
        "commitmentRenewalBillingPlanType":"MONTHLY","commitmentRenewalDate":1698149500000,
        "commitmentRenewalPrice":9990},"renewalBillingPlanType":"BILLED_UPFRONT"}
        """

    static let transaction = """
        {"commitmentInfo":{"totalBillingPeriods":12,"commitmentPrice":119880,
        "commitmentExpiresDate":1698150000000,"billingPeriodNumber":3},
        "originalTransactionId":"1","transactionId":"2","webOrderLineItemId":"3",
        "bundleId":"com.example","productId":"com.example.p","subscriptionGroupIdentifier":"5",
        "purchaseDate":1698148900000,"originalPurchaseDate":1698148800000,
        "expiresDate":1698149000000,"quantity":1,"type":"Auto-Renewable Subscription",
        "appAccountToken":"7e3fb20b-4cdb-47cc-936d-99d65f608138",
        "inAppOwnershipType":"FAMILY_SHARED","signedDate":1698148900000,"revocationReason":0,
        "revocationDate":1698148950000,"isUpgraded":false,"offerType":1,
        "offerIdentifier":"abc.123","environment":"Production","storefront":"USA",
        "storefrontId":"143441","transactionReason":"RENEWAL","price":10990,"currency":"USD",
        "offerDiscountType":"FREE_TRIAL","appTransactionId":"71134","offerPeriod":"P1Y",
        "revocationType":"REFUND_PRORATED","revocationPercentage":50000,
        "advancedCommerceInfo":{"descriptors":{"description":"d","displayName":"n"},
        "estimatedTax":1500,"items":[{"SKU":"s","description":"x","displayName":"y",
        "offer":{"period":"P9M","periodCount":1,"price":0,"reason":"ACQUISITION"},"price":9990,
        "refunds":[{"refundAmount":5000,"refundDate":1698149100000,"refundReason":"LEGAL",
        "refundType":"FULL"}],"revocationDate":1698149200000}],"period":"P1M",
        "requestReferenceId":"r","taxCode":"C","taxExclusivePrice":8490,"taxRate":"0.15"},
        "billingPlanType":"MONTHLY"}
        """

    static let notification = """
        {"notificationType":"PRICE_CHANGE","subtype":"UPGRADE","notificationUUID":"u",
        "data":{"environment":"Production","appAppleId":41234,"bundleId":"com.example",
        "bundleVersion":"1.2.3","signedTransactionInfo":"a.b.c","signedRenewalInfo":"d.e.f",
        "status":4,"consumptionRequestReason":"OTHER"},
        "summary":{"environment":"Sandbox","appAppleId":1,"bundleId":"b","productId":"p",
        "requestIdentifier":"r","storefrontCountryCodes":["CAN","USA"],"succeededCount":5,
        "failedCount":2},"externalPurchaseToken":{"externalPurchaseId":"SANDBOX_1",
        "tokenCreationDate":1698148950000,"appAppleId":55555,"bundleId":"b"},
        "appData":{"appAppleId":9,"bundleId":"b","environment":"Sandbox",
        "signedAppTransactionInfo":"g.h.i"},"version":"2.0","signedDate":1698148900000}
        """

    @Test func fullPayloads() throws {
        try expectSame([UInt8](Self.transaction.utf8), Transaction.self)
        try expectSame([UInt8](Self.renewal.utf8), JWSRenewalInfoDecodedPayload.self)
        try expectSame([UInt8](Self.notification.utf8), ResponseBodyV2DecodedPayload.self)
    }

    /// Checks fields by name, in case the comparison above misses every difference.
    @Test func fullTransactionByName() throws {
        let payload = try decode(Self.transaction, as: Transaction.self)
        #expect(payload.transactionId == "2")
        #expect(payload.purchaseDate == Timestamp(milliseconds: 1_698_148_900_000))
        #expect(payload.type == .autoRenewableSubscription)
        #expect(payload.revocationReason == .other)
        #expect(payload.isUpgraded == false)
        #expect(payload.environment == .production)
        #expect(payload.commitmentInfo?.billingPeriodNumber == 3)
        let item = try #require(payload.advancedCommerceInfo?.items?.first)
        #expect(item.offer?.reason == .acquisition && item.offer?.periodCount == 1)
        #expect(item.refunds?.first?.refundReason == .legal)
    }

    /// Members in any order give the same payload.
    @Test func anyOrder() throws {
        let pairs = try JSONDocument.parse([UInt8](Self.transaction.utf8)).members().pairs
        let expected = try decode(Self.transaction, as: Transaction.self)
        for shift in [1, 7, pairs.count - 1] {
            var writer = JSONWriter()
            writer.object { object in
                for (name, value) in pairs[shift...].reversed() + pairs[..<shift] {
                    object.name(name)
                    object.value(value)
                }
            }
            #expect(try JSONDocument.parse(writer.text).decode() == expected)
        }
    }

    // MARK: Kept and refused values

    @Test func absentNullAndUnknown() throws {
        #expect(try decode("{}") == Transaction())
        #expect(
            try decode("{\"price\":null,\"type\":null,\"commitmentInfo\":null}") == Transaction())
        let payload = try decode(
            #"{"new":{"a":[1]},"environment":"Moon","offerType":99,"\u0074ype":"x"}"#,
            as: Transaction.self)
        #expect(payload.environment == StoreEnvironment(rawValue: "Moon"))
        #expect(payload.offerType == OfferType(rawValue: 99))
        #expect(payload.type == ProductType(rawValue: "x"))
    }

    @Test(
        "Members of a wrong JSON type",
        arguments: [
            ("transactionId", "1", .string), ("transactionId", "true", .string),
            ("environment", "1", .string), ("environment", "[]", .string),
            ("quantity", "\"1\"", .int32), ("quantity", "1.5", .int32),
            ("quantity", "2147483648", .int32), ("quantity", "-2147483649", .int32),
            ("quantity", "1e999", .int32), ("offerType", "\"1\"", .int32),
            ("price", "\"9\"", .int64), ("price", "0.1", .int64), ("price", "1e19", .int64),
            ("isUpgraded", "0", .bool), ("isUpgraded", "\"true\"", .bool),
            ("signedDate", "\"1698148900000\"", .date), ("signedDate", "[1]", .date),
            ("commitmentInfo", "[]", .object), ("commitmentInfo", "\"{}\"", .object),
        ] as [(String, String, JSONError.Expected)])
    func wrongType(member: String, json: String, expected: JSONError.Expected) {
        #expect(throws: JSONError.wrongType(member: member, expected: expected)) {
            try decode("{\"\(member)\":\(json)}", as: Transaction.self)
        }
    }

    @Test func wrongElements() {
        typealias Renewal = JWSRenewalInfoDecodedPayload
        for json in ["\"a\"", "[1]", "[\"a\",null]", "{}"] {
            #expect(
                throws: JSONError.wrongType(
                    member: "eligibleWinBackOfferIds", expected: .strings)
            ) { try decode("{\"eligibleWinBackOfferIds\":\(json)}", as: Renewal.self) }
        }
        for json in ["{}", "[1]", "[null]", "[[]]"] {
            #expect(throws: JSONError.wrongType(member: "items", expected: .objects)) {
                try decode("{\"advancedCommerceInfo\":{\"items\":\(json)}}", as: Renewal.self)
            }
        }
    }

    @Test(
        "Whole numbers in other spellings",
        arguments: [("1", 1), ("1.0", 1), ("1e2", 100), ("-0", 0), ("2147483647", .max)]
            as [(String, Int32)])
    func wholeNumbers(json: String, value: Int32) throws {
        #expect(try decode("{\"quantity\":\(json)}", as: Transaction.self).quantity == value)
        #expect(try decode("{\"price\":\(json)}", as: Transaction.self).price == Int64(value))
    }

    @Test(
        "Dates",
        arguments: [
            ("1697679936049.7297", 1_697_679_936_049), ("-62135769600000", -62_135_769_600_000),
            ("-1.5", -2), ("-0.5", -1), ("0.5", 0), ("1.698148E12", 1_698_148_000_000),
            ("9223372036854775807.5", .max), ("-9223372036854775808", .min),
        ] as [(String, Int64)])
    func dates(json: String, milliseconds: Int64) throws {
        let payload = try decode("{\"signedDate\":\(json)}", as: Transaction.self)
        #expect(payload.signedDate?.milliseconds == milliseconds)
    }

    @Test(arguments: ["1e999", "9223372036854775808", "-9223372036854775808.5", "-1e30"])
    func datesOutOfRange(json: String) {
        #expect(throws: JSONError.dateOutOfRange(member: "signedDate")) {
            try decode("{\"signedDate\":\(json)}", as: Transaction.self)
        }
    }

    @Test func requiredMembers() throws {
        let text = try #require(
            String(
                validating: Samples.realtimeRequest(
                    index: 1, bundleId: "b", appAppleId: 2, environment: .production,
                    signedDate: Timestamp(milliseconds: 3)), as: UTF8.self))
        try expectSame([UInt8](text.utf8), DecodedRealtimeRequestBody.self)
        let pairs = try JSONDocument.parse([UInt8](text.utf8)).members().pairs
        for left in pairs.map(\.name) {
            var writer = JSONWriter()
            writer.object { object in
                for (name, value) in pairs where name != left {
                    object.name(name)
                    object.value(value)
                }
            }
            #expect(throws: JSONError.missingMember(left)) {
                try JSONDocument.parse(writer.text).decode(DecodedRealtimeRequestBody.self)
            }
        }
    }

    @Test(arguments: ["[]", "1", "\"{}\"", "null", "[{}]"])
    func notAnObject(json: String) {
        #expect(throws: JSONError.notAnObject) { try decode(json, as: Transaction.self) }
    }

    /// Partners have no confirmed shape: no shape refuses evidence.
    @Test(arguments: [#"[{"id":"a","name":"\u0062"}]"#, #"["a"]"#, "{}", "7", #""t""#, "null", nil])
    func partners(text: String?) throws {
        let item = text.map { #"{"SKU":"s","partners":\#($0)}"# } ?? #"{"SKU":"s"}"#
        let expected = text == "null" ? nil : text
        let bought = try decode(item, as: AdvancedCommerceTransactionItem.self)
        #expect(bought.partners == expected && bought.sku == "s")
        #expect(try decode(item, as: AdvancedCommerceRenewalItem.self).partners == expected)
    }

    // MARK: Samples

    @Test func samples() throws {
        let now = Timestamp(milliseconds: 1_763_700_000_123)
        func made(
            _ make: (Int, String, Int64, StoreEnvironment, Timestamp) -> [UInt8], _ index: Int
        ) -> [UInt8] { make(index, "com.example.app", 1_234_567_890, .production, now) }
        let transaction = made(Samples.transaction, 7)
        #expect((750...1000).contains(transaction.count))
        try expectSame(transaction, Transaction.self)
        try expectSame(made(Samples.renewalInfo, 7), JWSRenewalInfoDecodedPayload.self)
        try expectSame(
            made(Samples.appTransaction, 7), AppTransaction.self)
        let notification = Samples.notification(
            index: 7, bundleId: "com.example.app", appAppleId: 1, environment: .sandbox,
            signedDate: now, signedTransactionInfo: "a.b.c", signedRenewalInfo: nil)
        try expectSame(notification, ResponseBodyV2DecodedPayload.self)
        let ids = try (0..<100).map { index in
            try JSONDocument.parse(made(Samples.transaction, index)).decode(Transaction.self)
        }
        #expect(Set(ids.map(\.transactionId)).count == 100)
        #expect(Set(ids.map(\.appAccountToken)).count == 100)
        #expect(ids.allSatisfy { $0.appAccountToken?.utf8.count == 36 })
    }
}
