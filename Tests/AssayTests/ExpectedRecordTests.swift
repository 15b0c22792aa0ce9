@testable import Assay
import AssayMint
import AssayModels
import Glibc
import Testing

/// Expected in-app records: the result is the same as with one comparison at a time, and the cost
/// does not depend on the number of expectations.
@Suite(.serialized) struct ExpectedRecordTests {
    private static func matches(
        _ expectations: Expectations, _ product: String, _ id: String
    ) -> Bool? {
        ExpectedRecord(expectations)?.matches(
            product: Array(product.utf8).span, transactionId: Array(id.utf8).span)
    }

    @Test func oneByOne() {
        #expect(Self.matches(.none, "a", "1") == nil)
        // Two of the texts are canonically equivalent but differ in their octets.
        let texts = ["", "a", "b", "ab", "ba", "\u{E9}", "e\u{301}", "a\0", "A"]
        var cases = 0
        for first in texts {
            for second in texts + ["a"] {
                let products = [first, second, first]
                for expectedId in [nil, "", "1", "12"] {
                    var expectations = Expectations(productIds: products)
                    expectations.transactionId = expectedId
                    for product in texts {
                        for id in ["", "1", "12", "2"] {
                            let isProduct =
                                !product.isEmpty
                                && products.contains { $0.utf8.elementsEqual(product.utf8) }
                            let isId = expectedId.map { $0 == id && !id.isEmpty } ?? true
                            #expect(
                                Self.matches(expectations, product, id) == (isProduct && isId),
                                "\(products) \(expectedId ?? "-") \(product) \(id)")
                            cases += 1
                        }
                    }
                }
            }
        }
        #expect(cases > 10_000)
        let byId = Expectations(transactionId: "7")
        #expect(Self.matches(byId, "", "7") == true)
        #expect(Self.matches(byId, "any", "7") == true)
        #expect(Self.matches(byId, "any", "8") == false)
    }

    @Test func manyProducts() {
        let products = (0..<10_000).map { "com.example.game.product.\($0)" }
        let expected = ExpectedRecord(Expectations(productIds: products))
        for index in stride(from: 0, to: 10_000, by: 7) {
            let (hit, miss) = (Array(products[index].utf8), Array((products[index] + "x").utf8))
            let none: [UInt8] = []
            #expect(expected?.matches(product: hit.span, transactionId: none.span) == true)
            #expect(expected?.matches(product: miss.span, transactionId: none.span) == false)
        }
    }

    /// Makes records of 34 octets. Each product is as long as the expected products.
    private static func payload(_ records: Int) -> [UInt8] {
        var payload = ReceiptPayload()
        for index in 0..<records {
            let number = String(index)
            let text = String(repeating: "0", count: 7 - number.count) + number
            let value = [0x0C, UInt8(text.utf8.count)] + Array(text.utf8)
            payload.append(
                ReceiptPayload.inApp([ReceiptAttribute(type: 1702, version: 1, value: value)]))
        }
        return payload.bytes
    }

    /// Returns the CPU time that this thread spent reading the payload.
    private static func work(_ payload: [UInt8], _ selection: InAppSelection, products: Int)
        throws -> Double
    {
        var expectations = Expectations()
        expectations.productIds = (0..<products).map { "product\($0)".suffix(7).description }
        var reader = AppReceiptReader(
            inApp: selection, expecting: expectations, layouts: InAppLayouts())
        var digests = ContentDigests()
        let start = seconds()
        try reader.receive(payload.span, hashingInto: &digests)
        let end = seconds()
        #expect(try reader.finish().expectedProduct == nil)
        return end - start
    }

    private static func seconds() -> Double {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return Double(time.tv_sec) + Double(time.tv_nsec) / 1e9
    }

    @Test("line 75: records cost the same with 1, 20, 100 and 1,000 expected products")
    func costOfExpectations() throws {
        let payload = Self.payload(10_000)
        for selection in [InAppSelection.none, .product("0000000x")] {
            // A processor is at times half as fast for a moment, so that times are compared within
            // a round only, and the round with the least ratio counts.
            var least: [Int: Double] = [:]
            for _ in 0..<5 {
                let none = try Self.work(payload, selection, products: 0)
                let one = try Self.work(payload, selection, products: 1)
                least[1] = min(least[1] ?? .infinity, one / none)
                for products in [20, 100, 1000] {
                    let ratio = try Self.work(payload, selection, products: products) / one
                    least[products] = min(least[products] ?? .infinity, ratio)
                }
            }
            for (products, ratio) in least where products > 1 {
                #expect(ratio < 1.5, "\(products) products")
            }
            // The difference is one keyed hash of the product, in unoptimized code.
            #expect(try #require(least[1]) < 3)
        }
    }
}
