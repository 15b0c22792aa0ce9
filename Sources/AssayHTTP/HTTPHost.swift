import AssayBytes

/// The grammar of Host, and of the authority of a request target (RFC 9110, section 7.2; RFC 3986,
/// section 3.2): a name or an address, and a port after a colon.
///
/// Names have letters, digits, `-._~` and percent-encoded octets, which gRPC's clients send for the
/// path of a Unix socket. RFC 3986 also admits commas and others, about which parsers disagree.
enum HTTPHost {
    static func isValid(_ text: Span<UInt8>) -> Bool {
        guard text.count > 0 else { return false }
        if text[0] == UInt8(ascii: "[") {
            var end = 1
            while end < text.count, text[end] != UInt8(ascii: "]") { end += 1 }
            return end < text.count && isIPv6(text.extracting(1..<end))
                && isPort(text.extracting((end + 1)...))
        }
        var end = 0
        while end < text.count {
            if text[end].isHostName {
                end += 1
            } else if isEscape(text, at: end) {
                end += 3
            } else {
                break
            }
        }
        return end > 0 && isPort(text.extracting(end...))
    }

    /// Whether a percent-encoded octet is here (RFC 3986, section 2.1).
    private static func isEscape(_ text: Span<UInt8>, at index: Int) -> Bool {
        text[index] == UInt8(ascii: "%") && index + 2 < text.count
            && text[index + 1].hexadecimalDigit != nil && text[index + 2].hexadecimalDigit != nil
    }

    /// Digits of a port: up to 65535. A colon without a port is valid.
    private static let portDigits = 5

    private static func isPort(_ text: Span<UInt8>) -> Bool {
        guard text.count > 0 else { return true }
        guard text[0] == UInt8(ascii: ":"), text.count <= 1 + portDigits else { return false }
        var port = 0
        for index in 1..<text.count {
            guard text[index].isDigit else { return false }
            port = port * 10 + Int(text[index] - UInt8(ascii: "0"))
        }
        return port <= 65_535
    }

    /// Groups of 16 bits in an IPv6 address.
    private static let groups = 8

    /// Whether this is an IPv6 address, without a zone: groups of up to four hexadecimal digits, of
    /// which `::` can leave out one or more, and an IPv4 address can be the last two.
    private static func isIPv6(_ text: Span<UInt8>) -> Bool {
        var (index, count, hasGap) = (0, 0, false)
        while index < text.count {
            if text[index] == UInt8(ascii: ":") {
                let isGap = index + 1 < text.count && text[index + 1] == UInt8(ascii: ":")
                // A single colon only separates two groups.
                guard isGap ? !hasGap : count > 0 && index + 1 < text.count else { return false }
                hasGap = hasGap || isGap
                index += isGap ? 2 : 1
                guard index < text.count else { break }
                guard text[index] != UInt8(ascii: ":") else { return false }
            }
            let start = index
            while index < text.count, text[index].hexadecimalDigit != nil { index += 1 }
            guard index > start else { return false }
            if index < text.count, text[index] == UInt8(ascii: ".") {
                guard isIPv4(text.extracting(start...)) else { return false }
                count += 2
                break
            }
            guard index - start <= 4 else { return false }
            guard index == text.count || text[index] == UInt8(ascii: ":") else { return false }
            count += 1
            guard count <= groups else { return false }
        }
        return hasGap ? count < groups : count == groups
    }

    private static func isIPv4(_ text: Span<UInt8>) -> Bool {
        var (start, numbers) = (0, 0)
        for index in 0...text.count where index == text.count || text[index] == UInt8(ascii: ".") {
            guard isOctet(text.extracting(start..<index)) else { return false }
            numbers += 1
            start = index + 1
        }
        return numbers == 4
    }

    /// Whether this is a decimal number up to 255, without leading zeros.
    private static func isOctet(_ text: Span<UInt8>) -> Bool {
        guard (1...3).contains(text.count), text.count == 1 || text[0] != UInt8(ascii: "0") else {
            return false
        }
        var number = 0
        for index in text.indices {
            guard text[index].isDigit else { return false }
            number = number * 10 + Int(text[index] - UInt8(ascii: "0"))
        }
        return number <= 255
    }
}
