/// JSON strings as bytes: scanning, and for validated strings comparing and decoding.
extension Span<UInt8> {
    /// Returns the offset, from `start` on, of the first byte that ends a run of plain ASCII in a
    /// string: a quote, a backslash, a control character or a non-ASCII byte. `count` if there is
    /// none.
    @inline(__always)
    func endOfPlainJSON(from start: Int) -> Int {
        var stops = JSONStops()
        return stops.next(from: start, in: self)
    }

    /// Returns the length of the well-formed sequence of two to four bytes at `position`
    /// (Unicode, table 3-7: not overlong, not a surrogate, not above U+10FFFF), or nil.
    func lengthOfUTF8(at position: Int) -> Int? {
        let length: Int
        let second: ClosedRange<UInt8>
        switch self[position] {
        case 0xC2...0xDF: (length, second) = (2, 0x80...0xBF)
        case 0xE0: (length, second) = (3, 0xA0...0xBF)
        case 0xED: (length, second) = (3, 0x80...0x9F)
        case 0xE1...0xEF: (length, second) = (3, 0x80...0xBF)
        case 0xF0: (length, second) = (4, 0x90...0xBF)
        case 0xF1...0xF3: (length, second) = (4, 0x80...0xBF)
        case 0xF4: (length, second) = (4, 0x80...0x8F)
        default: return nil
        }
        guard position + length <= count, second.contains(self[position + 1]) else { return nil }
        for index in position + 2..<Swift.max(position + length, position + 2) {
            guard self[index] & 0xC0 == 0x80 else { return nil }
        }
        return length
    }

    // MARK: Validated strings

    /// The UTF-8 bytes of a string token with escapes decoded.
    @usableFromInline
    func unescapedBytes(_ token: JSONToken) -> [UInt8] {
        let (start, end) = (token.content.lowerBound, token.content.upperBound)
        var decoded: [UInt8] = []
        // An escape is longer than its bytes.
        decoded.append(addingCapacity: end - start) { output in
            var position = start
            while position < end {
                let stop = endOfPlainJSON(from: position)
                extracting(position..<stop).append(to: &output)
                guard stop < end else { return }
                var bytes = JSONStringBytes(self, stop..<end)
                position = bytes.copyFirst(to: &output)
            }
        }
        return decoded
    }

    /// Whether two string tokens have the same text after decoding escapes.
    func equalJSONStrings(_ left: JSONToken, _ right: JSONToken) -> Bool {
        if !left.escaped, !right.escaped {
            return extracting(left.content).equals(extracting(right.content))
        }
        var leftBytes = JSONStringBytes(self, left)
        var rightBytes = JSONStringBytes(self, right)
        while true {
            let byte = leftBytes.next()
            guard byte == rightBytes.next() else { return false }
            if byte == nil { return true }
        }
    }

    /// Whether one string token's text sorts before another's, byte by byte.
    func precedesJSONString(_ left: JSONToken, _ right: JSONToken) -> Bool {
        var leftBytes = JSONStringBytes(self, left)
        var rightBytes = JSONStringBytes(self, right)
        while true {
            guard let rightByte = rightBytes.next() else { return false }
            guard let leftByte = leftBytes.next() else { return true }
            if leftByte != rightByte { return leftByte < rightByte }
        }
    }

    /// FNV-1a over a string token's text after decoding escapes.
    func digestOfJSONString(_ token: JSONToken) -> UInt64 {
        var digest: UInt64 = 0xCBF2_9CE4_8422_2325
        var bytes = JSONStringBytes(self, token)
        while let byte = bytes.next() { digest = (digest ^ UInt64(byte)) &* 0x0000_0100_0000_01B3 }
        return digest
    }
}

/// An iterator over the UTF-8 bytes of a validated string token, with escapes decoded.
struct JSONStringBytes: ~Escapable {
    private let text: Span<UInt8>
    private var position: Int
    private let end: Int
    /// The remaining bytes of an escaped scalar, the next one in the lowest byte. Zero means
    /// none: the only zero byte in UTF-8 is U+0000, which is returned at once.
    private var pending: UInt32 = 0

    @_lifetime(copy text)
    init(_ text: Span<UInt8>, _ token: JSONToken) {
        self.init(text, token.content)
    }

    /// An iterator over a range of a string's content that begins with a whole character or escape.
    @_lifetime(copy text)
    init(_ text: Span<UInt8>, _ range: Range<Int>) {
        self.text = text
        position = range.lowerBound
        end = range.upperBound
    }

    /// Appends the first byte, or all bytes of an escape. Returns the position after it.
    mutating func copyFirst(to output: inout OutputSpan<UInt8>) -> Int {
        repeat {
            guard let byte = next() else { break }
            output.append(byte)
        } while pending != 0
        return position
    }

    mutating func next() -> UInt8? {
        if pending != 0 {
            let byte = UInt8(truncatingIfNeeded: pending)
            pending >>= 8
            return byte
        }
        guard position < end else { return nil }
        let byte = text[position]
        position += 1
        return byte == UInt8(ascii: "\\") ? nextEscaped() : byte
    }

    /// Decodes the escape at `position` (after its backslash) and returns its first byte.
    private mutating func nextEscaped() -> UInt8 {
        let byte = text[position]
        position += 1
        // The text is valid: any other escape is `\u`.
        if let escaped = JSONEscaping.byte(ofEscape: byte) { return escaped }
        var shift: UInt32 = 0
        for unit in String(nextScalar()).utf8 {
            pending |= UInt32(unit) << shift
            shift += 8
        }
        let first = UInt8(truncatingIfNeeded: pending)
        pending >>= 8
        return first
    }

    /// Returns the scalar of one `\u` escape, or of two that form a surrogate pair. `position` is
    /// at the first digit.
    private mutating func nextScalar() -> Unicode.Scalar {
        let replacement: Unicode.Scalar = "\u{FFFD}"
        guard let unit = text.hexadecimal4(at: position) else { return replacement }
        position += 4
        guard UTF16.isLeadSurrogate(unit) else { return Unicode.Scalar(unit) ?? replacement }
        guard let trail = text.hexadecimal4(at: position + 2) else { return replacement }
        position += 6
        let (high, low) = (UInt32(unit) - 0xD800, UInt32(trail) - 0xDC00)
        return Unicode.Scalar(0x10000 + (high << 10 | low)) ?? replacement
    }
}

/// Finds the ends of runs of plain ASCII in strings, one after the other. Most strings are short:
/// one look at 64 bytes finds the ends of several.
struct JSONStops {
    /// The stops of the block that begins at `start`.
    private var block: UInt64 = 0
    /// No position is less than 64 bytes after it.
    private var start = -64

    /// Returns the offset of the first stop from `position` on, or the end of the text.
    ///
    /// - Parameter position: not before the last one that was returned.
    @inline(__always)
    mutating func next(from position: Int, in text: Span<UInt8>) -> Int {
        var position = position
        while true {
            let offset = position &- start
            if offset < 64 {
                let rest = block &>> UInt64(offset)
                if rest != 0 { return position &+ rest.trailingZeroBitCount }
                position = start &+ 64
            }
            look(from: position, in: text)
        }
    }

    // Not inlined: what is around its calls is short, and runs more often.
    @inline(never)
    private mutating func look(from position: Int, in text: Span<UInt8>) {
        (block, start) = (text.jsonStops(from: position), position)
    }
}
