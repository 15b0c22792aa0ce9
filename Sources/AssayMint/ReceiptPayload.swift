import Assay
import AssayBytes
package import AssayModels

/// Writes the payload of an app receipt: a SET of attributes, each SEQUENCE { type INTEGER,
/// version INTEGER, value OCTET STRING }.
///
/// Fast enough for hundreds of thousands of records: computes lengths first and appends
/// everything to one array.
package struct ReceiptPayload: Sendable {
    /// The SET's content so far.
    package private(set) var attributes: [UInt8] = []
    /// The buffer of the current record, kept for its capacity.
    private var record: [UInt8] = []

    package init() {}

    /// The encoded SET.
    package var bytes: [UInt8] {
        DERWriter.header(tag: 0x31, count: attributes.count) + attributes
    }

    package mutating func reserve(_ count: Int) { attributes.reserveCapacity(count) }

    package mutating func append(_ attribute: ReceiptAttribute) {
        attributes += ReceiptPayload.encode(attribute)
    }

    /// Appends bytes as is.
    package mutating func append(raw bytes: [UInt8]) { attributes += bytes }

    package static func encode(_ attribute: ReceiptAttribute) -> [UInt8] {
        DERWriter.build { writer in
            writer.sequence {
                $0.integer(attribute.type)
                $0.integer(attribute.version)
                $0.octetString(attribute.value)
            }
        }
    }

    /// Returns an in-app record (attribute 17) with these attributes, in the given order.
    package static func inApp(_ attributes: [ReceiptAttribute]) -> ReceiptAttribute {
        let content = Array(attributes.map(encode).joined())
        return ReceiptAttribute(
            type: 17, version: 1,
            value: DERWriter.header(tag: 0x31, count: content.count) + content)
    }

    /// 9999-12-31T23:59:59Z. A date in a receipt has a year of four digits.
    private static let lastDate = Timestamp(milliseconds: 253_402_300_799_000)

    /// Returns the record of a purchase. A date without a value is an empty text, as in Apple's
    /// receipts.
    package static func inApp(_ purchase: InAppPurchaseReceipt) -> ReceiptAttribute {
        var attributes: [ReceiptAttribute] = []
        func add(_ type: Int64, _ value: [UInt8]) {
            attributes.append(ReceiptAttribute(type: type, version: 1, value: value))
        }
        func add(_ type: Int64, number: Int64) { add(type, DERWriter.build { $0.integer(number) }) }
        func add(_ type: Int64, text: String?) {
            add(type, DERWriter.build { $0.utf8String(text ?? "") })
        }
        func add(_ type: Int64, date: Timestamp?) {
            let text = date.map { min($0, lastDate).rfc3339 }
            add(type, DERWriter.build { $0.ia5String(text ?? "") })
        }
        add(1701, number: purchase.quantity ?? 1)
        add(1702, text: purchase.productId)
        add(1703, text: purchase.transactionId)
        add(1705, text: purchase.originalTransactionId)
        add(1704, date: purchase.purchaseDate)
        add(1706, date: purchase.originalPurchaseDate)
        add(1708, date: purchase.expiresDate)
        if purchase.isAutoRenewable { add(1711, number: purchase.webOrderLineItemId ?? 0) }
        add(1712, date: purchase.cancellationDate)
        add(1713, number: purchase.isTrialPeriod == true ? 1 : 0)
        add(1719, number: purchase.isInIntroOfferPeriod == true ? 1 : 0)
        if let type = purchase.productType { add(1707, number: type.rawValue) }
        if let offer = purchase.promotionalOfferId { add(1721, text: offer) }
        return inApp(attributes)
    }

    /// Appends a record in the sandbox's form: all attributes of 2022, in DER order.
    package mutating func append(_ purchase: SamplePurchase) {
        record.removeAll(keepingCapacity: true)
        let isSubscription = purchase.productType == 3
        for type in [1709, 1712] { text(type, 0x0C, "".utf8) }
        for type in 1714...1718 { text(type, 0x0C, "".utf8) }
        if !isSubscription { text(1708, 0x16, "".utf8) }
        number(1701, 1)
        number(1707, purchase.productType)
        number(1710, 0)
        number(1713, purchase.isTrialPeriod ? 1 : 0)
        number(1719, 0)
        number(1722, 0)
        number(1711, isSubscription ? purchase.webOrderLineItemId : 0)
        text(1703, 0x0C, purchase.transactionId.utf8)
        text(1705, 0x0C, purchase.originalTransactionId.utf8)
        date(1704, purchase.purchaseDate)
        date(1706, purchase.originalPurchaseDate)
        if isSubscription { date(1708, purchase.expiresDate) }
        text(1702, 0x0C, purchase.productId.utf8)
        let set = DERWriter.header(tag: 0x31, count: record.count)
        let octets = DERWriter.header(tag: 0x04, count: set.count + record.count)
        let content = 6 + octets.count + set.count + record.count
        attributes += DERWriter.header(tag: 0x30, count: content)
        attributes += [0x02, 0x01, 17, 0x02, 0x01, 0x01]
        attributes += octets
        attributes += set
        attributes += record
    }

    /// Writes type, version 1 and the header of the OCTET STRING. The total is shorter than 128
    /// octets.
    private mutating func open(_ type: Int, tag: UInt8, count: Int) {
        precondition(count < 100, "a sample's text is short")
        record.append(0x30)
        record.append(UInt8(11 + count))
        record.append(0x02)
        record.append(0x02)
        record.append(UInt8(type >> 8))
        record.append(UInt8(type & 0xFF))
        record.append(0x02)
        record.append(0x01)
        record.append(0x01)
        record.append(0x04)
        record.append(UInt8(2 + count))
        record.append(tag)
        record.append(UInt8(count))
    }

    private mutating func text(_ type: Int, _ tag: UInt8, _ text: String.UTF8View) {
        open(type, tag: tag, count: text.count)
        record.append(contentsOf: text)
    }

    /// Writes an INTEGER attribute. The value is not negative.
    private mutating func number(_ type: Int, _ value: Int64) {
        let octets = (64 - value.leadingZeroBitCount) / 8 + 1
        open(type, tag: 0x02, count: octets)
        for index in (0..<octets).reversed() {
            record.append(UInt8(truncatingIfNeeded: value >> Int64(index * 8)))
        }
    }

    private mutating func date(_ type: Int, _ date: Timestamp) {
        text(type, 0x16, date.rfc3339.utf8)
    }
}

/// The fields that differ between the records of a sample.
package struct SamplePurchase: Sendable, Equatable {
    package var productId: String
    package var transactionId: String
    package var originalTransactionId: String
    package var purchaseDate: Timestamp
    package var originalPurchaseDate: Timestamp
    package var expiresDate: Timestamp
    package var webOrderLineItemId: Int64
    /// 0 non-consumable, 1 consumable, 3 auto-renewable.
    package var productType: Int64
    package var isTrialPeriod: Bool
}
