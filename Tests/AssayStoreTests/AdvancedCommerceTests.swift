import AssayBytes
import TestSupport
import Testing

@testable import AssayStore

@Suite("Rules of Advanced Commerce")
struct AdvancedCommerceTests {
    private static let info =
        #""requestInfo":{"requestReferenceId":"550e8400-e29b-41d4-a716-446655440000"}"#
    private static let item =
        #""SKU":"sku","description":"words","displayName":"name","price":9990"#
    private static let offer =
        #""offer":{"period":"P1M","periodCount":3,"price":0,"reason":"WIN_BACK"}"#

    private static let charge =
        #"{"operation":"CREATE_ONE_TIME_CHARGE",\#(info),"currency":"USD","taxCode":"T1","#
        + #""storefront":"USA","item":{\#(item)}}"#
    private static let create =
        #"{"operation":"CREATE_SUBSCRIPTION","version":"1",\#(info),"currency":"USD","#
        + #""taxCode":"T1","period":"P1M","descriptors":{"description":"words","#
        + #""displayName":"name"},"items":[{\#(item)},{\#(item),\#(offer)}],"#
        + #""previousTransactionId":"1"}"#
    private static let modify =
        #"{"operation":"MODIFY_SUBSCRIPTION",\#(info),"transactionId":"1","#
        + #""retainBillingCycle":true,"addItems":[{\#(item),\#(offer),"proratedPrice":5}],"#
        + #""changeItems":[{\#(item),"currentSKU":"old","reason":"UPGRADE","#
        + #""effective":"IMMEDIATELY"}],"removeItems":[{"SKU":"gone"}],"#
        + #""descriptors":{"effective":"NEXT_BILL_CYCLE","displayName":"name"},"#
        + #""periodChange":{"effective":"IMMEDIATELY","period":"P1Y"},"currency":"EUR","#
        + #""taxCode":"T1"}"#
    private static let reactivate =
        #"{"operation":"REACTIVATE_SUBSCRIPTION",\#(info),"transactionId":"1","#
        + #""items":[{"SKU":"sku"}]}"#

    private static func refusal(
        _ json: String, _ kind: AdvancedCommerceRequest.Kind? = nil
    ) -> String? {
        do throws(StoreError) {
            _ = try AdvancedCommerceRequest(json: Array(json.utf8), kind: kind)
            return nil
        } catch {
            return error.description
        }
    }

    @Test("a request of each type is accepted", arguments: [charge, create, modify, reactivate])
    func accepted(json: String) {
        #expect(Self.refusal(json) == nil)
    }

    /// A request, what is replaced in it by what, and the reason of the refusal; nil where the
    /// change is allowed.
    private static let changes: [(String, String, String, String?)] = [
        (charge, #","taxCode":"T1""#, "", "taxCode is missing"),
        (charge, #""taxCode":"T1""#, #""taxCode":"""#, "taxCode is empty"),
        (charge, #""taxCode":"T1""#, #""taxCode":null"#, "taxCode is missing"),
        (charge, "\"USD\"", "\"usd\"", "currency is not a currency"),
        (charge, "\"USD\"", "\"US\"", "currency is not a currency"),
        (charge, "\"USD\"", "840", "currency is not a string"),
        (charge, #""storefront":"USA","#, "", nil),
        (charge, "\"USA\"", "\"US\"", "storefront is not a storefront"),
        (charge, "9990", "9.99", "item.price is in milliunits, a whole number: 9990 for 9.99"),
        (charge, "9990", "\"9990\"", "item.price is in milliunits"),
        (charge, "9990", "-1", "item.price is negative"), (charge, "9990", "0", nil),
        (charge, #","price":9990"#, "", "item.price is missing"),
        (charge, "\"sku\"", "\"\(String(repeating: "s", count: 128))\"", nil),
        (
            charge, "\"sku\"", "\"\(String(repeating: "s", count: 129))\"",
            "item.SKU has more than 128 characters"
        ),
        (charge, "\"words\"", "\"\(String(repeating: "w", count: 45))\"", nil),
        (
            charge, "\"words\"", "\"\(String(repeating: "w", count: 46))\"",
            "item.description has more than 45 characters"
        ),
        (charge, "\"name\"", "\"\(String(repeating: "ü", count: 30))\"", nil),
        (
            charge, "\"name\"", "\"\(String(repeating: "n", count: 31))\"",
            "item.displayName has more than 30 characters"
        ),
        (charge, #""SKU""#, #""sku""#, "unknown member \"sku\" of item"),
        (charge, #","item":{\#(item)}"#, "", "item is missing"),
        (charge, "{\(item)}", "[]", "item is not an object"),
        (charge, "550e8400-", "550e8400", "requestInfo.requestReferenceId is not a UUID"),
        (charge, "\(info),", "", "requestInfo is missing"),
        (
            charge, info, #""requestInfo":{"appAccountToken":"x"}"#,
            "requestInfo.requestReferenceId is missing"
        ),
        (charge, "CREATE_ONE_TIME_CHARGE", "BUY", "operation is not one of"),
        (charge, #""operation":"CREATE_ONE_TIME_CHARGE","#, "", "operation is missing"),
        (create, #""version":"1""#, #""version":"2""#, "version is not one of 1"),
        (create, #""period":"P1M","desc"#, #""period":"P9M","desc"#, "period is not one of P1W"),
        (create, #""period":"P1M","desc"#, #""desc"#, "period is missing"),
        (create, "[{\(item)},", "[{},", "items[0].SKU is missing"),
        (create, "[{\(item)},{\(item),\(offer)}]", "[]", "items is empty"),
        (create, "[{\(item)},{\(item),\(offer)}]", "[null]", "items[0] is not an object"),
        (create, "[{\(item)},{\(item),\(offer)}]", "{}", "items is not an array"),
        (create, #""periodCount":3"#, #""periodCount":12"#, nil),
        (
            create, #""periodCount":3"#, #""periodCount":13"#,
            "items[1].offer.periodCount is not a whole number from 1 to 12"
        ),
        (
            create, #""periodCount":3"#, #""periodCount":0"#,
            "items[1].offer.periodCount is not a whole number from 1 to 12"
        ),
        (create, #"{"period":"P1M","periodC"#, #"{"period":"P9M","periodC"#, nil),
        (
            create, #"{"period":"P1M","periodC"#, #"{"period":"P2Y","periodC"#,
            "items[1].offer.period is not one of P3D"
        ),
        (create, "WIN_BACK", "BRIBE", "items[1].offer.reason is not one of ACQUISITION"),
        (
            create, #"{"description":"words","displayName":"name"}"#, #"{"description":"words"}"#,
            "descriptors.displayName is missing"
        ),
        (
            create, #""descriptors":{"description":"words","displayName":"name"},"#, "",
            "descriptors is"
        ),
        (modify, #""retainBillingCycle":true"#, #""retainBillingCycle":1"#, "is not true or false"),
        (modify, #""retainBillingCycle":true,"#, "", "retainBillingCycle is missing"),
        (modify, #""transactionId":"1","#, "", "transactionId is missing"),
        (modify, "UPGRADE", "SIDEGRADE", "changeItems[0].reason is not one of UPGRADE"),
        (
            modify, #""currentSKU":"old","#, "", "changeItems[0].currentSKU is missing"
        ),
        (
            modify, #""reason":"UPGRADE","effective":"IMMEDIATELY""#,
            #""reason":"UPGRADE","effective":"NOW""#, "changeItems[0].effective is not one of"
        ),
        (modify, #""proratedPrice":5"#, #""proratedPrice":0.5"#, "addItems[0].proratedPrice is in"),
        (modify, #"[{"SKU":"gone"}]"#, "[]", "removeItems is empty"),
        (modify, #"{"SKU":"gone"}"#, #"{"SKU":""}"#, "removeItems[0].SKU is empty"),
        (modify, #"{"effective":"NEXT_BILL_CYCLE","#, "{", "descriptors.effective is missing"),
        (modify, #","period":"P1Y""#, "", "periodChange.period is missing"),
        (reactivate, #","items":[{"SKU":"sku"}]"#, "", nil),
        (reactivate, #"{"SKU":"sku"}"#, #"{"SKU":"sku","price":1}"#, "\"price\" of items[0]"),
        (reactivate, #""transactionId":"1","#, "", "transactionId is missing"),
    ]

    @Test("what breaks a rule is refused, and the member named")
    func rules() throws {
        for (json, old, new, reason) in Self.changes {
            let changed = json.replacing(old, with: new)
            try #require(changed != json, "\(old)")
            let found = Self.refusal(changed)
            if let reason {
                #expect(found?.contains(reason) == true, "\(new): \(found ?? "accepted")")
            } else {
                #expect(found == nil, "\(new): \(found ?? "")")
            }
        }
    }

    @Test("the type is that of the request or of the caller, and both agree")
    func types() {
        let bare = Self.charge.replacing(#""operation":"CREATE_ONE_TIME_CHARGE","#, with: "")
        #expect(Self.refusal(bare, .oneTimeChargeCreate) == nil)
        #expect(Self.refusal(bare, .subscriptionCreate)?.contains("unknown member") == true)
        #expect(Self.refusal(Self.charge, .oneTimeChargeCreate) == nil)
        #expect(
            Self.refusal(Self.charge, .subscriptionCreate)
                == "operation is CREATE_ONE_TIME_CHARGE, not CREATE_SUBSCRIPTION")
    }

    @Test(
        "the requests of Apple's libraries are accepted",
        .enabled(if: Vectors.has("apple-lib/models")),
        arguments: [
            ("OneTimeChargeCreateRequest", .oneTimeChargeCreate),
            ("SubscriptionCreateRequest", .subscriptionCreate),
            ("SubscriptionModifyInAppRequest", .subscriptionModifyInApp),
            ("SubscriptionReactivateInAppRequest", .subscriptionReactivateInApp),
        ] as [(String, AdvancedCommerceRequest.Kind)])
    func vectors(name: String, kind: AdvancedCommerceRequest.Kind) throws {
        let json = try #require(Vectors.bytes("apple-lib/models/advancedCommerce\(name).json"))
        // The made-up id of a transaction there is none that Apple has.
        let text = String(decoding: json, as: UTF8.self)
            .replacing(": \"transactionId\"", with: ": \"470001500000001\"")
        #expect(Self.refusal(text, kind) == nil)
    }
}
