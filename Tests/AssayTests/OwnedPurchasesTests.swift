import Assay
import AssayBytes
import AssayMint
import AssayModels
import Testing

/// Lists of what a customer of Huawei's owns: each member is evidence of its own.
@Suite struct OwnedPurchasesTests {
    private typealias Store = StoreFixture

    @Test("each purchase of a list of several is an item; a list of one is opened as evidence")
    func ownedPurchases() throws {
        let texts = [1, 2].map { Store.huawei(index: $0) }
        let signatures = try texts.map { try Store.minter.signature(of: $0, .huawei) }
        func list(_ items: [[UInt8]]) -> String {
            "[" + items.map { JSONWriter.quoted($0) }.joined(separator: ",") + "]"
        }
        func items(_ members: KeyValuePairs<String, String>) -> [[UInt8]]? {
            let text = members.map { "\"\($0)\":\($1)" }.joined(separator: ",")
            return OwnedPurchases.items(in: Array("{\(text)}".utf8).span)
        }
        for (data, signature) in [
            ("inAppPurchaseDataList", "inAppSignature"),
            ("inAppPurchaseDataList", "inAppDataSignatureList"),
            ("INAPP_PURCHASE_DATA_LIST", "INAPP_DATA_SIGNATURE_LIST"),
        ] {
            let found = try #require(items([data: list(texts), signature: list(signatures)]))
            let answers = found.map { Store.verify($0, as: .huaweiPurchase) }
            #expect(answers.map(\.verdict) == [.valid, .valid])
            #expect(Set(answers.map(\.dedupKey)).count == 2)
            // A pair that does not belong together is refused as the evidence that it is.
            let mixed = try #require(
                items([data: list(texts), signature: list([signatures[0], signatures[0]])]))
            let verdicts = mixed.map { Store.verify($0, as: .huaweiPurchase).verdict }
            #expect(verdicts == [.valid, .invalidSignature])
            #expect(items([data: list(texts), signature: list([signatures[0]])]) == nil)
            #expect(items([data: list([texts[0]]), signature: list([signatures[0]])]) == nil)
            #expect(items([data: list(texts)]) == nil)
            #expect(items([data: "[1,2]", signature: list(signatures)]) == nil)
        }
        let bytes = Fixture.token()
        let token = Fixture.text(bytes)
        let inside = #"{"jwsPurchaseOrder":"\#(token)"}"#
        let ofHarmony = items(["purchaseDataList": list([inside, inside].map { Array($0.utf8) })])
        #expect(ofHarmony == [bytes, bytes])
        #expect(items(["purchaseDataList": "[\(inside),\(inside)]"]) == ofHarmony)
        #expect(items(["purchaseDataList": list([Array(inside.utf8)])]) == nil)
        #expect(OwnedPurchases.items(in: bytes.span) == nil)
    }
}
