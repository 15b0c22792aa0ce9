import AssayBytes

/// PEM text (RFC 7468) of one DER value.
package enum PEM {
    /// Base64 characters per line (RFC 7468).
    private static let lineLength = 64

    package static func encode(_ der: [UInt8], label: String) -> [UInt8] {
        let text = Base64.encode(der.span)
        var result = Array("-----BEGIN \(label)-----\n".utf8)
        for start in stride(from: 0, to: text.count, by: lineLength) {
            result += text[start..<min(start + lineLength, text.count)]
            result.append(UInt8(ascii: "\n"))
        }
        return result + Array("-----END \(label)-----\n".utf8)
    }

    /// Returns the DER of the first block with the label.
    package static func decode(_ text: [UInt8], label: String) -> [UInt8]? {
        let lines = text.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D })
        let begin = Array("-----BEGIN \(label)-----".utf8)
        let end = Array("-----END \(label)-----".utf8)
        guard let first = lines.firstIndex(where: { $0.elementsEqual(begin) }),
            let last = lines[first...].firstIndex(where: { $0.elementsEqual(end) })
        else { return nil }
        return try? Base64.decode(Array(lines[(first + 1)..<last].joined()).span)
    }
}
