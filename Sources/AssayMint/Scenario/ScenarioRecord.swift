import AssayBytes
import AssayModels

/// A transaction as a record of an app receipt.
struct ScenarioRecord {
    let transaction: PayloadMembers
    /// Milliseconds since 1970.
    let start: Int64

    init(_ transaction: PayloadMembers, start: Int64) {
        self.transaction = transaction
        self.start = start
    }

    /// Codes of attribute 1707.
    private static let types: [String: Int64] = [
        "Non-Consumable": 0, "Consumable": 1, "Non-Renewing Subscription": 2,
        "Auto-Renewable Subscription": 3,
    ]

    var attribute: ReceiptAttribute {
        var attributes = [
            number(1701, transaction.number("quantity") ?? 1),
            text(1702, transaction.string("productId") ?? ""),
            text(1703, transaction.string("transactionId") ?? ""),
            text(1705, transaction.string("originalTransactionId") ?? ""),
            date(1704, "purchaseDate"), date(1706, "originalPurchaseDate"),
            date(1708, "expiresDate"), date(1712, "revocationDate"),
            number(1713, isTrial ? 1 : 0), number(1719, 0),
        ]
        if let type = Self.types[transaction.string("type") ?? ""] {
            attributes.append(number(1707, type))
        }
        return ReceiptPayload.inApp(attributes)
    }

    private var isTrial: Bool { transaction.string("offerDiscountType") == "FREE_TRIAL" }

    private func number(_ type: Int64, _ value: Int64) -> ReceiptAttribute {
        ReceiptAttribute(type: type, version: 1, value: DERWriter.build { $0.integer(value) })
    }

    private func text(_ type: Int64, _ value: String) -> ReceiptAttribute {
        ReceiptAttribute(type: type, version: 1, value: DERWriter.build { $0.utf8String(value) })
    }

    /// A date to the second. Without one its text is empty.
    private func date(_ type: Int64, _ member: String) -> ReceiptAttribute {
        let date = transaction.time(member).map { Timestamp(milliseconds: start + $0).rfc3339 }
        return ReceiptAttribute(
            type: type, version: 1, value: DERWriter.build { $0.ia5String(date ?? "") })
    }
}
