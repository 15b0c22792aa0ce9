/// UUIDs in their text form (RFC 9562): 8-4-4-4-12 hexadecimal digits.
package enum UUIDText {
    /// Whether a text is a UUID, in either case.
    package static func isValid(_ text: String) -> Bool {
        let groups = text.utf8.split(separator: UInt8(ascii: "-"), omittingEmptySubsequences: false)
        return groups.map(\.count) == [8, 4, 4, 4, 12]
            && groups.allSatisfy { $0.allSatisfy(\.isHexadecimalDigit) }
    }

    /// A random UUID of version 4, in lower case. The generator is the system's.
    package static func random() -> String {
        var octets = (0..<16).map { _ in UInt8.random(in: 0...255) }
        octets[6] = octets[6] & 0x0F | 0x40
        octets[8] = octets[8] & 0x3F | 0x80
        let groups = [0..<4, 4..<6, 6..<8, 8..<10, 10..<16].map {
            hexadecimal(octets[$0].span)
        }
        return groups.joined(separator: "-")
    }
}
