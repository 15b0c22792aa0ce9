import AssayBytes
import AssayModels

/// The sentence about an invalid date in an app receipt: its attribute, its record and its text.
enum ReceiptDateFault {
    /// Describes the first invalid date in an attribute of a receipt; nil if there is none.
    ///
    /// - Parameters:
    ///   - attribute: the attribute with its header, at the front of the bytes.
    ///   - record: the number of the in-app record that it is, if it is one; from 1.
    static func sentence(_ attribute: Span<UInt8>, record: Int) -> String? {
        do throws(DERError) {
            var reader = DERReader(attribute)
            let whole = try ReceiptAttributeFields(&reader)
            guard whole.type == 17 else {
                return try sentence(whole, reader.inside(whole.value), receiptDates, "")
            }
            var content = DERReader(attribute.extracting(whole.value.content))
            var list = try content.readInside(.set)
            while !list.isAtEnd {
                let field = try ReceiptAttributeFields(&list)
                let suffix = " of in-app record \(record)"
                if let sentence = try sentence(field, list.inside(field.value), recordDates, suffix)
                {
                    return sentence
                }
            }
        } catch {
            // Another error than that of a date.
        }
        return nil
    }

    private static func sentence(
        _ field: ReceiptAttributeFields, _ value: consuming DERReader, _ names: [Int64: String],
        _ suffix: String
    ) throws(DERError) -> String? {
        var value = value
        guard let name = names[field.type], let range = try value.readTextRange() else {
            return nil
        }
        let text = value.bytes.extracting(range)
        do throws(ReceiptDateError) {
            _ = try ReceiptDate.parse(text)
            return nil
        } catch {
            let shown = String(
                decoding: text.array(0..<min(text.count, longestText)), as: UTF8.self)
            return "attribute \(field.type) (\(name))\(suffix) is \(quoted(shown)): \(error)"
        }
    }

    /// Bytes of a text that is quoted. Apple's dates have 20 to 24.
    private static let longestText = 64

    private static let receiptDates: [Int64: String] = [
        12: "creation date", 18: "original purchase date", 21: "expiration date",
        32: "preorder date",
    ]
    private static let recordDates: [Int64: String] = [
        1704: "purchase date", 1706: "original purchase date", 1708: "expiration date",
        1712: "cancellation date",
    ]
}
