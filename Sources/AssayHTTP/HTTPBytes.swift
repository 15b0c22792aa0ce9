import AssayBytes

/// The lines of a head, without their line breaks.
struct HTTPLines: ~Escapable {
    private let bytes: Span<UInt8>
    private var start: Int
    private let end: Int

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, _ range: Range<Int>) {
        self.bytes = bytes
        start = range.lowerBound
        end = range.upperBound
    }

    /// The next line; the last one is empty. Each ends with CR LF.
    mutating func next() -> Range<Int> {
        var index = start
        while index < end, bytes[index] != .carriageReturn { index += 1 }
        defer { start = min(index + 2, end) }
        return start..<index
    }
}

/// The classes of characters of RFC 9110 and RFC 3986.
extension UInt8 {
    static let carriageReturn: UInt8 = 0x0D
    static let lineFeed: UInt8 = 0x0A
    static let space: UInt8 = 0x20

    /// Space or tab.
    var isBlank: Bool { self == .space || self == 0x09 }

    /// A control character other than tab.
    var isControl: Bool { self < 0x20 && self != 0x09 || self == 0x7F }

    /// A character of a token: a method or the name of a field.
    var isToken: Bool {
        if isLetter || isDigit { return true }
        switch self {
        case UInt8(ascii: "!"), UInt8(ascii: "#"), UInt8(ascii: "$"), UInt8(ascii: "%"),
            UInt8(ascii: "&"), UInt8(ascii: "'"), UInt8(ascii: "*"), UInt8(ascii: "+"),
            UInt8(ascii: "-"), UInt8(ascii: "."), UInt8(ascii: "^"), UInt8(ascii: "_"),
            UInt8(ascii: "`"), UInt8(ascii: "|"), UInt8(ascii: "~"):
            return true
        default: return false
        }
    }

    /// A character of a request target: one of a URI, without a fragment.
    var isTarget: Bool {
        switch self {
        case 0...0x20, 0x7F...0xFF, UInt8(ascii: "#"), UInt8(ascii: "\""), UInt8(ascii: "<"),
            UInt8(ascii: ">"), UInt8(ascii: "\\"), UInt8(ascii: "^"), UInt8(ascii: "`"),
            UInt8(ascii: "{"), UInt8(ascii: "|"), UInt8(ascii: "}"):
            false
        default: true
        }
    }

    /// A character of a host's name.
    var isHostName: Bool {
        if isLetter || isDigit { return true }
        switch self {
        case UInt8(ascii: "."), UInt8(ascii: "-"), UInt8(ascii: "_"), UInt8(ascii: "~"):
            return true
        default: return false
        }
    }

    /// The first character after the host of a request target.
    var endsAuthority: Bool { self == UInt8(ascii: "/") || self == UInt8(ascii: "?") }
}

extension Span<UInt8> {
    func begins(_ text: String) -> Bool {
        guard count >= text.utf8.count else { return false }
        var index = 0
        for byte in text.utf8 {
            if self[index] != byte { return false }
            index += 1
        }
        return true
    }

    /// Whether a comma-separated list has this member, compared without case.
    func hasListMember(_ name: String) -> Bool {
        var start = 0
        while start <= count {
            var end = start
            while end < count, self[end] != UInt8(ascii: ",") { end += 1 }
            var (first, last) = (start, end)
            while first < last, self[first].isBlank { first += 1 }
            while first < last, self[last - 1].isBlank { last -= 1 }
            if extracting(first..<last).equalsLowercase(name) { return true }
            start = end + 1
        }
        return false
    }

    /// The bytes as text; each invalid byte becomes U+FFFD.
    package var httpText: String { String(decoding: array, as: UTF8.self) }
}
