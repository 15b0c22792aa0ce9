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
        var text = JSONTextScan()
        let bytes = span
        for index in bytes.indices where text.isWhiteSpace(bytes[index]) { return index }
        return nil
    }
}

/// Follows the strings of valid JSON text, byte by byte.
private struct JSONTextScan {
    private var isInString = false
    private var isEscaped = false

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
