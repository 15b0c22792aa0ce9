import AssayBytes
import AssayModels
import Testing

@testable import Assay

/// Incomplete members of payloads.
@Suite("Incomplete Advanced Commerce members")
struct AdvancedCommerceTests {
    private typealias Transaction = JWSTransactionDecodedPayload

    private func decode<Payload: PayloadObject>(
        _ text: String, as type: Payload.Type
    ) throws(JSONError) -> Payload {
        try JSONDocument.parse(Array(text.utf8)).decode(type)
    }

    /// Nobody needs the members of `advancedCommerceInfo` for a decision: what Apple leaves out is
    /// nil. A member of another type is still an error.
    @Test func incompleteAdvancedCommerce() throws {
        let offer = #"{"period":"P3D","periodCount":2,"price":1,"reason":"WIN_BACK"}"#
        let descriptors = #"{"description":"d","displayName":"n"}"#
        func info(_ offer: String, _ descriptors: String) -> String {
            "{\"advancedCommerceInfo\":{\"descriptors\":\(descriptors),"
                + "\"items\":[{\"SKU\":\"s\",\"offer\":\(offer)}]}}"
        }
        func without(_ name: String, of json: String) throws -> String {
            var writer = JSONWriter()
            let pairs = try JSONDocument.parse(Array(json.utf8)).members().pairs
            writer.object { object in
                for (member, value) in pairs where member != name {
                    object.name(member)
                    object.value(value)
                }
            }
            return String(decoding: writer.text, as: UTF8.self)
        }
        let whole = try decode(info(offer, descriptors), as: Transaction.self)
        #expect(whole.advancedCommerceInfo?.items?.first?.offer?.reason == .winBack)
        for name in ["period", "periodCount", "price", "reason"] {
            let text = info(try without(name, of: offer), descriptors)
            let payload = try decode(text, as: Transaction.self)
            let found = payload.advancedCommerceInfo?.items?.first?.offer
            #expect((found?.period == nil) == (name == "period"))
            #expect((found?.periodCount == nil) == (name == "periodCount"))
            #expect((found?.price == nil) == (name == "price"))
            #expect((found?.reason == nil) == (name == "reason"))
            _ = try decode(text, as: JWSRenewalInfoDecodedPayload.self)
            let wrong = info(
                offer.replacing("\"\(name)\":", with: "\"\(name)\":{},\"x\":"), descriptors)
            #expect(throws: JSONError.self, "\(name)") { try decode(wrong, as: Transaction.self) }
        }
        for name in ["description", "displayName"] {
            let text = info(offer, try without(name, of: descriptors))
            let payload = try decode(text, as: Transaction.self)
            let found = payload.advancedCommerceInfo?.descriptors
            #expect((found?.description == nil) == (name == "description"))
            #expect((found?.displayName == nil) == (name == "displayName"))
            let wrong = info(
                offer, descriptors.replacing("\"\(name)\":", with: "\"\(name)\":1,\"x\":"))
            #expect(throws: JSONError.self, "\(name)") { try decode(wrong, as: Transaction.self) }
        }
        _ = try decode(info("{}", "{}"), as: Transaction.self)
    }
}
