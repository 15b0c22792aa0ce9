import AssayBytes
import AssayModels

extension ReceiptAttribute {
    /// The value as text, where it is a single character string: Apple's later attributes mostly
    /// are. Nil for other values.
    var text: String? {
        do throws(DERError) {
            var reader = DERReader(value.span)
            return try reader.readText()
        } catch {
            return nil
        }
    }

    /// Such as `attribute 1799: 0c0141`, with a long value shortened.
    package var summary: String {
        let shown = text ?? hexadecimal(value.span)
        return "attribute \(type): " + shown.shortened(to: ExplanationLimits.valueLength)
    }
}

extension AppReceipt {
    /// Attribute 23: the organization that bought the app in volume. Not in StoreKit's
    /// documentation, and in no receipt that we have seen; kept among the unknown attributes.
    var organizationName: String? {
        unknownAttributes.first { $0.type == Self.organizationNameType }?.text
    }

    private static let organizationNameType: Int64 = 23
}

extension JSONWriter {
    /// Writes octets in hexadecimal; nothing where there are none.
    mutating func octets(_ name: String, _ octets: [UInt8]) {
        if !octets.isEmpty { member(name, hexadecimal(octets.span)) }
    }

    /// Writes the attributes that have no member of their own: the value in hexadecimal, and its
    /// text if it has one.
    mutating func unknownAttributes(_ attributes: [ReceiptAttribute]) {
        guard !attributes.isEmpty else { return }
        array("unknownAttributes") { list in
            for attribute in attributes {
                list.object { object in
                    object.member("type", attribute.type)
                    object.member("version", attribute.version)
                    object.member("value", hexadecimal(attribute.value.span))
                    object.member("text", attribute.text)
                }
            }
        }
    }
}
