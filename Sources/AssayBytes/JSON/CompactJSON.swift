extension [UInt8] {
    /// Valid JSON text without the white space outside of strings.
    package var compactJSON: [UInt8] {
        // Apple's payloads have none.
        guard let first = firstWhiteSpaceOfJSON else { return self }
        var compact = Array(self[..<first])
        compact.reserveCapacity(count)
        var text = JSONTextScan()
        for byte in self[first...] where !text.isWhiteSpace(byte) { compact.append(byte) }
        return compact
    }

    private var firstWhiteSpaceOfJSON: Int? {
        let bytes = span
        var text = JSONTextScan()
        var index = 0
        while index < bytes.count {
            if text.isWhiteSpace(bytes[index]) { return index }
            index += 1
            if text.isInPlainString { index = bytes.endOfPlainJSON(from: index) }
        }
        return nil
    }
}

/// Follows the strings of valid JSON text, byte by byte.
private struct JSONTextScan {
    private var isInString = false
    private var isEscaped = false

    /// Whether the next bytes up to one with a meaning are a string's.
    var isInPlainString: Bool { isInString && !isEscaped }

    /// Whether the next byte is white space outside of a string.
    @inline(__always)
    mutating func isWhiteSpace(_ byte: UInt8) -> Bool {
        guard isInString else {
            isInString = byte == UInt8(ascii: "\"")
            return byte.isWhiteSpace
        }
        if isEscaped {
            isEscaped = false
        } else if byte == UInt8(ascii: "\\") {
            isEscaped = true
        } else if byte == UInt8(ascii: "\"") {
            isInString = false
        }
        return false
    }
}
