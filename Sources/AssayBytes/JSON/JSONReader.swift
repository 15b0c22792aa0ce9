/// Parses one JSON text (RFC 8259) into tokens in one pass.
///
/// Stricter than the RFC where it leaves a choice: rejects duplicate member names, lone
/// surrogates and a byte order mark, and bounds the depth.
struct JSONReader: ~Escapable {
    private let text: Span<UInt8>
    /// The offset of the next byte. Every `read…` function advances it past what it read.
    private var position = 0
    private var stops = JSONStops()
    private var tokens: [JSONToken] = []
    /// The index of the root's members, if the root is an object.
    private(set) var rootNames = JSONNameIndex.empty

    /// Tokens in the largest memory, 1,032 bytes with an array's head, that malloc has at hand.
    /// Most transactions have fewer.
    private static let fastCapacity = 62

    /// The maximum nesting depth of objects and arrays.
    private let depthLimit: Int
    /// The maximum number of values, a member's name included.
    private let valueLimit: Int

    @_lifetime(copy text)
    init(_ text: Span<UInt8>, depth: Int = JSONLimits.depth, values: Int = .max) {
        self.text = text
        depthLimit = depth
        valueLimit = values
        // Apple's payloads have one token per 13 to 20 bytes.
        let likely = min(text.count / 13, values) + 2
        let isSlightlyMore = likely > Self.fastCapacity && likely < 2 * Self.fastCapacity
        tokens.reserveCapacity(isSlightlyMore ? Self.fastCapacity : likely)
    }

    mutating func readDocument() throws(JSONError) -> [JSONToken] {
        if text.count >= 3, text[0] == 0xEF, text[1] == 0xBB, text[2] == 0xBF {
            throw .byteOrderMark
        }
        skipWhitespace()
        try readValue(depth: 0)
        skipWhitespace()
        guard position == text.count else { throw .trailingBytes(offset: position) }
        return tokens
    }

    /// Reads one value. `depthLimit` bounds the recursion.
    private mutating func readValue(depth: Int) throws(JSONError) {
        switch try peek() {
        case UInt8(ascii: "\""): _ = try readString(asName: false)
        case UInt8(ascii: "-"), UInt8(ascii: "0")...UInt8(ascii: "9"): try readNumber()
        case UInt8(ascii: "{"): try readObject(depth: depth + 1)
        case UInt8(ascii: "["): try readArray(depth: depth + 1)
        case UInt8(ascii: "t"): try readLiteral("true", .true)
        case UInt8(ascii: "f"): try readLiteral("false", .false)
        case UInt8(ascii: "n"): try readLiteral("null", .null)
        default: throw .unexpectedByte(offset: position)
        }
    }

    // MARK: Containers

    private mutating func readObject(depth: Int) throws(JSONError) {
        let object = try openContainer(.object, depth: depth)
        var names = JSONNames(object: object)
        if try peek() == UInt8(ascii: "}") { return closeContainer(object) }
        while true {
            guard try peek() == UInt8(ascii: "\"") else {
                throw .unexpectedByte(offset: position)
            }
            let name = tokens.count
            try names.insert(try readString(asName: true), at: name, tokens, text)
            skipWhitespace()
            guard try peek() == UInt8(ascii: ":") else {
                throw .unexpectedByte(offset: position)
            }
            position += 1
            skipWhitespace()
            try readValue(depth: depth)
            skipWhitespace()
            switch try peek() {
            case UInt8(ascii: ","):
                try checkCount()
                position += 1
                skipWhitespace()
            case UInt8(ascii: "}"):
                closeContainer(object)
                try names.finish(tokens, text)
                if object == 0 { rootNames = names.index }
                return
            default: throw .unexpectedByte(offset: position)
            }
        }
    }

    private mutating func readArray(depth: Int) throws(JSONError) {
        let array = try openContainer(.array, depth: depth)
        if try peek() == UInt8(ascii: "]") { return closeContainer(array) }
        while true {
            try readValue(depth: depth)
            skipWhitespace()
            switch try peek() {
            case UInt8(ascii: ","):
                try checkCount()
                position += 1
                skipWhitespace()
            case UInt8(ascii: "]"): return closeContainer(array)
            default: throw .unexpectedByte(offset: position)
            }
        }
    }

    /// Checks the number of values before another one. Only siblings are many: the depth limits the
    /// others.
    private func checkCount() throws(JSONError) {
        guard tokens.count < valueLimit else { throw .tooManyValues(limit: valueLimit) }
    }

    /// Reads the opening bracket and the white space after it. Returns the container's token
    /// index.
    private mutating func openContainer(
        _ kind: JSONKind, depth: Int
    ) throws(JSONError) -> Int {
        guard depth <= depthLimit else { throw .tooDeep(limit: depthLimit, offset: position) }
        append(kind, from: position, to: position + 1)
        position += 1
        skipWhitespace()
        return tokens.count - 1
    }

    /// Reads the closing bracket and completes the container's token.
    private mutating func closeContainer(_ index: Int) {
        position += 1
        tokens[index].end = UInt32(truncatingIfNeeded: position)
        tokens[index].next = UInt32(truncatingIfNeeded: tokens.count)
    }

    // MARK: Scalars

    private mutating func readLiteral(_ word: String, _ kind: JSONKind) throws(JSONError) {
        let start = position
        for byte in word.utf8 {
            guard try peek() == byte else { throw .unexpectedByte(offset: position) }
            position += 1
        }
        append(kind, from: start, to: position)
    }

    private mutating func readNumber() throws(JSONError) {
        let start = position
        if text[position] == UInt8(ascii: "-") { position += 1 }
        if byteIs(UInt8(ascii: "0")) {
            position += 1
        } else {
            try readDigits()
        }
        if byteIs(UInt8(ascii: ".")) {
            position += 1
            try readDigits()
        }
        if byteIs(UInt8(ascii: "e")) || byteIs(UInt8(ascii: "E")) {
            position += 1
            if byteIs(UInt8(ascii: "+")) || byteIs(UInt8(ascii: "-")) { position += 1 }
            try readDigits()
        }
        append(.number, from: start, to: position)
    }

    /// Reads one or more digits.
    private mutating func readDigits() throws(JSONError) {
        var end = position
        while end < text.count, text[end] &- UInt8(ascii: "0") < 10 { end += 1 }
        guard end > position else { throw .invalidNumber(offset: position) }
        position = end
    }

    // MARK: Strings

    /// Returns the tag of a name.
    private mutating func readString(asName: Bool) throws(JSONError) -> UInt16 {
        let start = position
        var form = JSONStringForm.ascii
        position += 1
        while true {
            position = stops.next(from: position, in: text)
            let byte = try peek()
            if byte == UInt8(ascii: "\"") { break }
            if byte == UInt8(ascii: "\\") {
                form = .escaped
                try readEscape()
            } else if byte >= 0x80 {
                guard let length = text.lengthOfUTF8(at: position) else {
                    throw .invalidUTF8(offset: position)
                }
                if form == .ascii { form = .utf8 }
                position += length
            } else {
                throw .controlCharacter(offset: position)
            }
        }
        let isTagged = asName && form != .escaped
        let tag = isTagged ? JSONToken.tag(text, start + 1..<position) : JSONToken.anyTag
        position += 1
        append(.string, from: start, to: position, tag: tag, form: form)
        return tag
    }

    private mutating func readEscape() throws(JSONError) {
        let start = position
        position += 1
        switch try peek() {
        case let byte where JSONEscaping.byte(ofEscape: byte) != nil: position += 1
        case UInt8(ascii: "u"):
            position += 1
            let unit = try readHex(escape: start)
            if UTF16.isTrailSurrogate(unit) { throw .loneSurrogate(offset: start) }
            guard UTF16.isLeadSurrogate(unit) else { return }
            guard position + 1 < text.count, text[position] == UInt8(ascii: "\\"),
                text[position + 1] == UInt8(ascii: "u")
            else { throw .loneSurrogate(offset: start) }
            position += 2
            let trail = try readHex(escape: position - 2)
            guard UTF16.isTrailSurrogate(trail) else { throw .loneSurrogate(offset: start) }
        default: throw .invalidEscape(offset: start)
        }
    }

    /// Reads four hexadecimal digits.
    private mutating func readHex(escape start: Int) throws(JSONError) -> UInt16 {
        guard position + 4 <= text.count else { throw .unexpectedEnd }
        guard let unit = text.hexadecimal4(at: position) else {
            throw .invalidEscape(offset: start)
        }
        position += 4
        return unit
    }

    // MARK: Bytes

    @inline(__always)
    private func peek() throws(JSONError) -> UInt8 {
        guard position < text.count else { throw .unexpectedEnd }
        return text[position]
    }

    @inline(__always)
    private func byteIs(_ byte: UInt8) -> Bool { position < text.count && text[position] == byte }

    @inline(__always)
    private mutating func skipWhitespace() {
        while position < text.count {
            let byte = text[position]
            // The first comparison decides most bytes.
            guard byte <= 0x20, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 else {
                return
            }
            position += 1
        }
    }

    @inline(__always)
    private mutating func append(
        _ kind: JSONKind, from start: Int, to end: Int, tag: UInt16 = JSONToken.anyTag,
        form: JSONStringForm = .ascii
    ) {
        let token = JSONToken(
            start: UInt32(truncatingIfNeeded: start), end: UInt32(truncatingIfNeeded: end),
            next: UInt32(truncatingIfNeeded: tokens.count + 1), tag: tag, kind: kind,
            form: form)
        tokens.append(token)
    }
}
