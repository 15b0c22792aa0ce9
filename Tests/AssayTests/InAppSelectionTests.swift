import Assay
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Tests which of a receipt's records the caller gets. The verdict never depends on it.
@Suite struct InAppSelectionTests {
    private typealias Minted = MintedReceipts

    private static func receipt(
        _ bytes: [UInt8], _ verifier: Verifier, _ selection: InAppSelection,
        expecting expectations: Expectations = .none
    ) -> (Verification, AppReceipt?) {
        let policy = Policy(bundleId: nil, environments: [.sandbox, .production])
        let answer = verifier.verify(
            bytes.span, as: .appReceipt, policy: policy, expecting: expectations,
            inApp: selection, at: Minted.now)
        return (answer, AppReceiptFieldTests.receipt(answer))
    }

    private static func receipts() throws -> [([UInt8], Verifier)] {
        let minter = ReceiptMinter(try Minted.ca.get().chain)
        let minted = try minter.sign(Minted.sample(.count(300)).payload)
        var list = [(minted, try Minted.verifier())]
        for name in AppReceiptFieldTests.names where !name.hasPrefix("xcode") {
            let bytes = try #require(Vectors.bytes("sk1/unified/" + name + ".der"))
            list.append((bytes, Verifier(trust: .apple)))
        }
        return list
    }

    @Test func selections() throws {
        for (bytes, verifier) in try Self.receipts() {
            let all = try #require(Self.receipt(bytes, verifier, .all).1)
            var rest = all
            rest.inApp = InAppPurchases()

            let none = try #require(Self.receipt(bytes, verifier, .none).1)
            #expect(none == rest)

            let latest = try #require(Self.receipt(bytes, verifier, .latest).1)
            #expect(Array(latest.inApp) == Self.latest(of: Array(all.inApp)))

            for product in Set(all.inApp.compactMap(\.productId)) {
                let some = try #require(Self.receipt(bytes, verifier, .product(product)).1)
                #expect(Array(some.inApp) == all.inApp.filter { $0.productId == product })
            }
            let other = try #require(Self.receipt(bytes, verifier, .product("none.such")).1)
            #expect(other == rest)
        }
    }

    /// An independent implementation: for each original transaction ID, in order of first
    /// appearance, the record with the latest expiry date (or else purchase date). The first
    /// record wins a tie.
    private static func latest(of records: [InAppPurchaseReceipt]) -> [InAppPurchaseReceipt] {
        func date(_ record: InAppPurchaseReceipt) -> Timestamp {
            record.expiresDate ?? record.purchaseDate ?? Timestamp(milliseconds: .min)
        }
        var order: [String] = []
        var groups: [String: [InAppPurchaseReceipt]] = [:]
        for record in records {
            let id = record.originalTransactionId ?? record.transactionId ?? ""
            if groups[id] == nil { order.append(id) }
            groups[id, default: []].append(record)
        }
        return order.compactMap { id in
            groups[id]?.reduce(nil) { best, record in
                best.map { date($0) >= date(record) ? $0 : record } ?? record
            }
        }
    }

    @Test func expectationsCheckRecordsThatAreNotKept() throws {
        let minter = ReceiptMinter(try Minted.ca.get().chain)
        let bytes = try minter.sign(Minted.sample(.count(40)).payload)
        let verifier = try Minted.verifier()
        let all = try #require(Self.receipt(bytes, verifier, .all).1)
        let record = try #require(all.inApp.last)
        let product = try #require(record.productId)
        for selection in [InAppSelection.all, .latest, .none, .product("none.such")] {
            func verdict(_ expectations: Expectations) -> Verdict {
                Self.receipt(bytes, verifier, selection, expecting: expectations).0.verdict
            }
            #expect(verdict(Expectations(productIds: ["other", product])) == .valid)
            let id = try #require(record.transactionId)
            #expect(verdict(Expectations(transactionId: id)) == .valid)
            #expect(verdict(Expectations(productIds: ["other"])) == .mismatch)
            #expect(verdict(Expectations(productIds: [product + "x"])) == .mismatch)
            #expect(verdict(Expectations(transactionId: "1")) == .mismatch)
            // Both together must match the same record.
            let other = all.inApp.first { $0.productId != product }?.productId ?? "none"
            let products = [other, product]
            #expect(verdict(Expectations(productIds: [product], transactionId: id)) == .valid)
            #expect(verdict(Expectations(productIds: products, transactionId: id)) == .valid)
            #expect(other != "none")
            #expect(verdict(Expectations(productIds: [other])) == .valid)
            #expect(verdict(Expectations(productIds: [other], transactionId: id)) == .mismatch)
        }
    }

    /// Broken records reject the receipt even when they are not selected.
    @Test func invalidRecordsRefuseAnySelection() throws {
        let minter = ReceiptMinter(try Minted.ca.get().chain)
        var payload = ReceiptPayload()
        for attribute in Minted.sample().attributes { payload.append(attribute) }
        payload.append(
            ReceiptPayload.inApp([
                ReceiptAttribute(type: 1704, version: 1, value: [0x16, 3, 0x61, 0x62, 0x63])
            ]))
        let bytes = try minter.sign(payload.bytes)
        let verifier = try Minted.verifier()
        for selection in [InAppSelection.all, .latest, .none, .product("x")] {
            #expect(Self.receipt(bytes, verifier, selection).0.verdict == .malformed)
        }
    }
}
