import AssayBytes

/// The parameters of a query (`application/x-www-form-urlencoded`), in their order.
package struct HTTPQuery: Sendable {
    package let parameters: [(name: String, value: String)]

    /// Returns nil for an escape without two hexadecimal digits, for text that is not UTF-8, and
    /// for more parameters than the limit.
    package init?(_ text: Span<UInt8>) {
        var parameters: [(name: String, value: String)] = []
        var start = 0
        while start < text.count {
            var end = start
            while end < text.count, text[end] != UInt8(ascii: "&") { end += 1 }
            if end > start {
                var equals = start
                while equals < end, text[equals] != UInt8(ascii: "=") { equals += 1 }
                guard parameters.count < HTTPLimits.parameters,
                    let name = Self.decoded(text.extracting(start..<equals)),
                    let value = Self.decoded(text.extracting(min(equals + 1, end)..<end))
                else { return nil }
                parameters.append((name, value))
            }
            start = end + 1
        }
        self.parameters = parameters
    }

    private static func decoded(_ text: Span<UInt8>) -> String? {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count)
        var index = 0
        while index < text.count {
            switch text[index] {
            case UInt8(ascii: "+"): bytes.append(.space)
            case UInt8(ascii: "%"):
                guard index + 2 < text.count, let high = text[index + 1].hexadecimalDigit,
                    let low = text[index + 2].hexadecimalDigit
                else { return nil }
                bytes.append(high << 4 | low)
                index += 2
            case let byte: bytes.append(byte)
            }
            index += 1
        }
        return String(validating: bytes, as: UTF8.self)
    }
}
