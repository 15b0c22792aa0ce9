import AssayModels

extension MessageWriter {
    /// Writes records from their compact form, as their structs are written. A receipt of many
    /// megabytes has tens of thousands, and strings of their texts take longer than all else.
    mutating func setEach(_ number: Int, _ purchases: InAppPurchases) {
        let all = purchases.allText
        let text = all.span
        // Of other text, a struct has what is left after repair.
        let isASCII = all.allSatisfy { $0 < 0x80 }
        let prefix = purchases.keyPrefix.map { Array($0.text.utf8) }
        for index in purchases.indices.reversed() {
            guard isASCII, let record = purchases.plain(at: index) else {
                nest(number, purchases[index])
                continue
            }
            let end = count
            if let prefix, let names = PurchaseIdentity.names(of: record) {
                wrap(17) { $0.putKey(names, after: prefix.span, text) }
            }
            write(record, text)
            wrap(number, since: end)
        }
    }

    private mutating func putKey(
        _ names: (id: InAppPurchases.TextSlice, lineItem: Int64?), after prefix: Span<UInt8>,
        _ text: Span<UInt8>
    ) {
        if let lineItem = names.lineItem {
            put(decimal: lineItem.magnitude)
            if lineItem < 0 { put([UInt8(ascii: "-")].span) }
            put([UInt8(ascii: "/")].span)
        }
        put(text.extracting(names.id.range))
        put(prefix)
    }

    private mutating func write(_ record: InAppPurchases.Compact, _ text: Span<UInt8>) {
        set(15, record[.itemId])
        set(14, record[.cancellationReason])
        set(13, record[.promotionalOfferId], of: text)
        set(12, record[.isInIntroOfferPeriod].map { $0 != 0 })
        set(11, record[.isTrialPeriod].map { $0 != 0 })
        set(10, record[.productType])
        set(9, record[.webOrderLineItemId])
        set(8, record[.cancellationDate])
        set(7, record[.expiresDate])
        set(6, record[.originalPurchaseDate])
        set(5, record[.purchaseDate])
        set(4, record[.originalTransactionId], of: text)
        set(3, record[.transactionId], of: text)
        set(2, record[.productId], of: text)
        set(1, record[.quantity])
    }

    private mutating func set(
        _ number: Int, _ slice: InAppPurchases.TextSlice, of text: Span<UInt8>
    ) {
        if slice != .none { write(number, bytes: text.extracting(slice.range)) }
    }
}
