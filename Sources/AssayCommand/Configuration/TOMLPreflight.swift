/// Input that crashes TOMLKit's parser instead of failing it; detected before parsing.
///
/// The scan distinguishes strings, comments and table headers. Text that is invalid TOML in
/// other ways passes: the parser reports it.
enum TOMLPreflight: Equatable {
    /// A table name with an invalid first character, as in `[!]`, or at the end of the line.
    case tableName
    /// `1979-05-27T*`: malformed dates and times. No setting takes a date, so valid ones are
    /// rejected too.
    case dateOrTime
    /// Tens of thousands of nested tables in one dotted name, which overflow the stack.
    case depth
    /// `[1, }`: a brace in the place of an array's closing bracket.
    case brace

    /// The limit of dots in one statement. No setting has more than one.
    static let mostDots = 100

    /// The first such input, and the number of bytes before it.
    static func first(in text: [UInt8]) -> (trap: TOMLPreflight, offset: Int)? {
        var scan = TOMLScan(text: text)
        return scan.first()
    }
}

private struct TOMLScan {
    let text: [UInt8]
    private var position = 0
    /// The open brackets and braces of arrays and inline tables.
    private var open: [UInt8] = []
    /// True when only white space has come since the last statement ended.
    private var isAtStart = true
    /// The dots in the current statement.
    private var dots = 0

    init(text: [UInt8]) { self.text = text }

    mutating func first() -> (trap: TOMLPreflight, offset: Int)? {
        while position < text.count {
            let byte = text[position]
            switch byte {
            case UInt8(ascii: "#"): skipLine()
            case UInt8(ascii: "\""), UInt8(ascii: "'"):
                isAtStart = false
                skipString(byte)
            case UInt8(ascii: "[") where isAtStart:
                isAtStart = false
                if !beginsTable() { return (.tableName, position) }
            case UInt8(ascii: "}") where open.last == UInt8(ascii: "["): return (.brace, position)
            case _ where Self.separates(byte): separate(byte)
            default:
                isAtStart = false
                let start = position
                let word = word()
                if isDateOrTime(word) { return (.dateOrTime, start) }
                dots += word.count { $0 == UInt8(ascii: ".") }
                if dots > TOMLPreflight.mostDots { return (.depth, start) }
            }
        }
        return nil
    }

    /// Whether a byte separates words. Control characters and non-ASCII bytes, which are neither
    /// white space nor letters in TOML, do too; a statement can still begin after them.
    private static func separates(_ byte: UInt8) -> Bool {
        switch byte {
        case ...0x20, 0x7F..., UInt8(ascii: "="), UInt8(ascii: ","), UInt8(ascii: "#"),
            UInt8(ascii: "["), UInt8(ascii: "]"), UInt8(ascii: "{"), UInt8(ascii: "}"),
            UInt8(ascii: "\""), UInt8(ascii: "'"):
            true
        default: false
        }
    }

    private mutating func separate(_ byte: UInt8) {
        position += 1
        switch byte {
        case UInt8(ascii: "["), UInt8(ascii: "{"): open.append(byte)
        case UInt8(ascii: "]"), UInt8(ascii: "}"): _ = open.popLast()
        case UInt8(ascii: "\n") where open.isEmpty: (isAtStart, dots) = (true, 0)
        case ...0x20, 0x7F...: return
        default: break
        }
        if byte != UInt8(ascii: "\n") { isAtStart = false }
    }

    private mutating func word() -> ArraySlice<UInt8> {
        let start = position
        while position < text.count, !Self.separates(text[position]) { position += 1 }
        return text[start..<position]
    }

    /// Whether a word is a number with a colon, or with a hyphen after a digit.
    private func isDateOrTime(_ word: ArraySlice<UInt8>) -> Bool {
        let digits = UInt8(ascii: "0")...UInt8(ascii: "9")
        let isSigned = word.first == UInt8(ascii: "+") || word.first == UInt8(ascii: "-")
        let number = isSigned ? word.dropFirst() : word
        guard let first = number.first, digits.contains(first) else { return false }
        return number.contains(UInt8(ascii: ":"))
            || zip(number, number.dropFirst()).contains {
                digits.contains($0) && $1 == UInt8(ascii: "-")
            }
    }

    /// Advances past the brackets to the table's name. True when its first character is valid, or
    /// when it is missing in a way that the parser reports.
    private mutating func beginsTable() -> Bool {
        position += 1
        skipSpace()
        if position < text.count, text[position] == UInt8(ascii: "[") {
            position += 1
            skipSpace()
        }
        guard position < text.count else { return true }
        switch text[position] {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"),
            UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "]"):
            return true
        default: return false
        }
    }

    private mutating func skipSpace() {
        while position < text.count, [0x20, 0x09].contains(text[position]) { position += 1 }
    }

    private mutating func skipLine() {
        while position < text.count, text[position] != UInt8(ascii: "\n") { position += 1 }
    }

    private mutating func skipString(_ quote: UInt8) {
        let isLong = text[position...].starts(with: [quote, quote, quote])
        let isBasic = quote == UInt8(ascii: "\"")
        position += isLong ? 3 : 1
        while position < text.count {
            if isBasic, text[position] == UInt8(ascii: "\\") {
                position += 2
            } else if text[position] == quote {
                guard isLong else {
                    position += 1
                    return
                }
                if text[position...].starts(with: [quote, quote, quote]) {
                    position += 3
                    // Up to two more quotes belong to the end of the string.
                    for _ in 0..<2 where position < text.count && text[position] == quote {
                        position += 1
                    }
                    return
                }
                position += 1
            } else if !isLong, text[position] == UInt8(ascii: "\n") {
                return
            } else {
                position += 1
            }
        }
    }
}
