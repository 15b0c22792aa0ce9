import AssayModels
import Testing

@testable import AssayWire

/// In-app records are written from their compact form.
@Suite("In-app records in answers") struct InAppPurchasesMessageTests {
    private static func purchase(_ change: (inout InAppPurchaseReceipt) -> Void)
        -> InAppPurchaseReceipt
    {
        var purchase = InAppPurchaseReceipt()
        purchase.quantity = 1
        purchase.productId = "com.example.game.coins"
        purchase.transactionId = "1000"
        purchase.originalTransactionId = "900"
        purchase.purchaseDate = Timestamp(milliseconds: 1_795_219_200_000)
        change(&purchase)
        return purchase
    }

    /// Each value that has a branch of its own, and its neighbours.
    private static let purchases: [InAppPurchaseReceipt] = {
        let types = [nil, 0, 1, 2, 3, 4, -1] as [Int64?]
        let items = [nil, 0, 1, 10, 999_999_999_999, .max, .min, -7] as [Int64?]
        let ids = [nil, "", "0", "00", "1", "1000"] as [String?]
        var all: [InAppPurchaseReceipt] = []
        for (type, item) in types.flatMap({ type in items.map { (type, $0) } }) {
            for (own, original) in ids.flatMap({ own in ids.map { (own, $0) } }) {
                for end in [nil, Timestamp(milliseconds: 0)] {
                    all.append(
                        purchase {
                            $0.productType = type.map(InAppProductType.init)
                            $0.webOrderLineItemId = item
                            $0.transactionId = own
                            $0.originalTransactionId = original
                            $0.expiresDate = end
                        })
                }
            }
        }
        return all + [
            InAppPurchaseReceipt(),
            purchase {
                $0.originalPurchaseDate = Timestamp(milliseconds: -1)
                $0.cancellationDate = Timestamp(milliseconds: .max)
                $0.isTrialPeriod = true
                $0.isInIntroOfferPeriod = false
                $0.promotionalOfferId = "winback"
                $0.cancellationReason = 1
                $0.itemId = .max
                $0.quantity = -1
            },
            purchase {
                $0.unknownAttributes = [ReceiptAttribute(type: 99, version: 1, value: [1])]
            },
            purchase { $0.dedupKey = "a key of its own" },
        ]
    }()

    private static func written(_ write: (inout MessageWriter) -> Void) -> [UInt8] {
        var writer = MessageWriter()
        var bytes: [UInt8] = []
        write(&writer)
        writer.append(to: &bytes)
        return bytes
    }

    @Test(
        "The compact form is written as the structs are",
        arguments: [nil, KeyPrefix("Sandbox", "app")])
    func sameBytes(keyPrefix: KeyPrefix?) {
        var all = InAppPurchases()
        all.keyPrefix = keyPrefix
        var others = all
        for purchase in Self.purchases {
            var one = InAppPurchases()
            one.keyPrefix = keyPrefix
            one.append(purchase)
            let bytes = Self.written { $0.setEach(16, one) }
            #expect(bytes == Self.written { $0.nest(16, one[0]) }, "\(purchase)")
            all.append(purchase)
        }
        for text in ["münze", "münze \u{FFFD}", "\u{0}"] {
            others.append(Self.purchase { $0.productId = text })
        }
        // As a receipt has it: a struct repairs what is not UTF-8.
        var (record, repaired) = (InAppPurchases.Compact(), InAppPurchases())
        record[.productId] = InAppPurchases.TextSlice(0..<3)
        repaired.append(record, unknown: []) { output in
            for octet in [0x61, 0xff, 0x62] as [UInt8] { output.append(octet) }
        }
        for purchases in [all, others, repaired, InAppPurchases()] {
            let bytes = Self.written { $0.setEach(16, purchases) }
            let structs = Self.written { writer in
                for purchase in purchases.reversed() { writer.nest(16, purchase) }
            }
            #expect(bytes == structs)
        }
        #expect(all.count > 4_000)
    }
}
