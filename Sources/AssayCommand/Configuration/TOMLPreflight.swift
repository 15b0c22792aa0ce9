/// What is looked for before TOMLKit sees a text: there its parser ends the process, instead of
/// saying what is wrong.
///
/// So it has to be known what is a string, a comment, or the line that begins a table. Where a text
/// is no TOML for another reason the parser says so, and gets no further than that.
enum TOMLPreflight: Equatable {
    /// A table's name that begins with what no name begins with, as in `[!]`, or with the line's
    /// end.
    case tableName
    /// `1979-05-27T*`: dates and times that go wrong half way. No setting takes one, so whole ones
    /// need not be told apart.
    case dateOrTime
    /// Tables within tables by the ten thousand, in one dotted name: the stack ends before they do.
    case depth
    /// `[1, }`: a brace that would close an array.
    case brace

    /// Dots in one statement; no setting has more than one.
    static let mostDots = 100

    /// The first one, and the bytes before it.
    static func first(in text: [UInt8]) -> (trap: TOMLPreflight, place: Int)? {
        var scan = TOMLScan(text: text)
        return scan.first()
    }
}

private struct TOMLScan {
    let text: [UInt8]
    private var position = 0
    /// The brackets and braces of arrays and inline tables that are open.
    private var open: [UInt8] = []
    /// No more than space has come since the last statement's end.
    private var isAtStart = true
    /// Since the statement's beginning.
    private var dots = 0

    init(text: [UInt8]) { self.text = text }

    mutating func first() -> (trap: TOMLPreflight, place: Int)? {
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

    /// What stands between words. What is neither space nor a letter in TOML may be taken for the
    /// one or the other: it separates, and a statement may still begin behind it.
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

    /// Any number with a colon, or a hyphen behind a digit.
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

    /// Goes behind the brackets and to the name; whether it is one, or is missing in a way that
    /// the parser tells of.
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
                    // Up to two more belong to the string, and end it.
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
