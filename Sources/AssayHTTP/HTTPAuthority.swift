import AssayBytes

/// The value of `Host`, parsed: a name or an address. The port does not matter.
package struct HTTPAuthority: Equatable, Sendable {
    /// The name or address in lower case, without brackets.
    package let name: String
    private let isBracketed: Bool

    /// - Returns: nil for text that violates the grammar of `Host`.
    package init?(_ text: String) {
        let bytes = Array(text.lowercased().utf8)
        guard HTTPHost.isValid(bytes.span) else { return nil }
        isBracketed = bytes[0] == UInt8(ascii: "[")
        let mark = isBracketed ? UInt8(ascii: "]") : UInt8(ascii: ":")
        let end = bytes.firstIndex(of: mark) ?? bytes.count
        name = String(decoding: bytes[(isBracketed ? 1 : 0)..<end], as: UTF8.self)
    }

    /// Whether this is `localhost` or a loopback address. `localhost.` and names below it are not.
    package var isLoopback: Bool {
        if isBracketed { return Self.isIPv6Loopback(name) }
        return name == "localhost" || Self.isIPv4Loopback(name)
    }

    /// 127.0.0.0/8 in four decimal numbers. Browsers write no other form.
    private static func isIPv4Loopback(_ text: String) -> Bool {
        let parts = text.split(separator: ".", omittingEmptySubsequences: false)
        return parts.count == 4 && parts[0] == "127"
            && parts.allSatisfy { part in
                (1...3).contains(part.utf8.count) && part.utf8.allSatisfy(\.isDigit)
                    && (part == "0" || part.first != "0") && Int(part) ?? 256 < 256
            }
    }

    /// ::1. Browsers write no other form.
    private static func isIPv6Loopback(_ text: String) -> Bool {
        text == "::1" || text == "0:0:0:0:0:0:0:1"
    }
}
