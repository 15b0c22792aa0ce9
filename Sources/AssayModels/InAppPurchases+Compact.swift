extension InAppPurchases {
    /// The position of a text in a shared buffer. An empty slice means no text.
    @usableFromInline package struct TextSlice: Equatable, Sendable {
        @usableFromInline package let start: UInt32
        @usableFromInline package let count: UInt32

        @inlinable package init(start: UInt32, count: UInt32) {
            self.start = start
            self.count = count
        }

        @inlinable package init(_ range: Range<Int>) {
            self.init(start: UInt32(range.lowerBound), count: UInt32(range.count))
        }

        @inlinable package var range: Range<Int> { Int(start)..<Int(start) + Int(count) }
        @inlinable package static var none: TextSlice { TextSlice(start: 0, count: 0) }
    }

    /// The fields of a record that are not text: numbers, dates in milliseconds, booleans as 0
    /// and 1.
    @usableFromInline package enum Field: Int, Sendable {
        case quantity, productType, webOrderLineItemId, itemId, cancellationReason
        case isTrialPeriod, isInIntroOfferPeriod
        case purchaseDate, originalPurchaseDate, expiresDate, cancellationDate
    }

    @usableFromInline package enum TextField: Int, Sendable {
        case productId, transactionId, originalTransactionId, promotionalOfferId
    }

    /// A record whose text is in a separate buffer. One bit per field marks its presence:
    /// Optionals would double the memory of a large receipt's records.
    @usableFromInline package struct Compact: Sendable {
        // The values come first, so that copies of a record load them as they were stored.
        @usableFromInline package var values: [11 of Int64]
        @usableFromInline package var present: UInt16
        @usableFromInline package var texts: [4 of TextSlice]

        @inlinable @inline(__always)
        package init() {
            values = [11 of Int64](repeating: 0)
            present = 0
            texts = [4 of TextSlice](repeating: .none)
        }

        @inlinable package subscript(field: Field) -> Int64? {
            @inline(__always)
            get { present & (1 << field.rawValue) != 0 ? values[field.rawValue] : nil }
            @inline(__always)
            set {
                values[field.rawValue] = newValue ?? 0
                let bit: UInt16 = 1 << field.rawValue
                present = newValue != nil ? present | bit : present & ~bit
            }
        }

        @inlinable package subscript(text: TextField) -> TextSlice {
            @inline(__always)
            get { texts[text.rawValue] }
            @inline(__always)
            set { texts[text.rawValue] = newValue }
        }
    }
}

extension InAppPurchases {
    /// The records that were bought last, in the order of their purchase dates; all, in their
    /// order, if there are no more than that.
    package func newest(_ most: Int) -> InAppPurchases {
        guard count > most else { return self }
        let dates = indices.map { self[compact: $0][.purchaseDate] ?? .min }
        let newest = indices.sorted { dates[$0] < dates[$1] }.suffix(most)
        var kept = InAppPurchases()
        for index in newest { kept.append(self[index]) }
        return kept
    }
}
