/// The trace to which a request belongs: the value of `traceparent` (W3C Trace Context).
public struct TraceContext: Hashable, Sendable {
    /// The trace, in two halves of which one is not 0.
    private let high: UInt64
    private let low: UInt64
    /// The client's span; not 0.
    private let parent: UInt64
    private let flags: UInt8

    /// Reads the value of `traceparent`. Returns nil for one that the standard ignores: of another
    /// form than version 00, or without a trace or a span. Of a later version it reads the members
    /// of version 00.
    package init?(_ text: Span<UInt8>) {
        guard text.count >= Self.length, text.count <= Self.longest,
            text[2] == Self.dash, text[35] == Self.dash, text[52] == Self.dash,
            let version = Self.number(text, 0..<2), version != Self.noVersion,
            text.count == Self.length || version != 0 && text[Self.length] == Self.dash,
            let high = Self.number(text, 3..<19), let low = Self.number(text, 19..<35),
            let parent = Self.number(text, 36..<52), let flags = Self.number(text, 53..<55),
            high != 0 || low != 0, parent != 0
        else { return nil }
        self.high = high
        self.low = low
        self.parent = parent
        self.flags = UInt8(flags)
    }

    /// Reads the value of `traceparent`. Returns nil for one that the standard ignores.
    public init?(_ text: String) { self.init(text.utf8Span.span) }

    /// Bytes of a value of version 00.
    private static let length = 55
    /// Bytes of a value of a later version, which can have further members. Longer ones are
    /// ignored: the standard names no limit, and no version has further members yet.
    private static let longest = 256
    /// The version that no value has.
    private static let noVersion: UInt64 = 0xFF
    private static let sampled: UInt8 = 1
    private static let dash = UInt8(ascii: "-")

    /// The number with these hexadecimal digits, in lower case; nil for others.
    private static func number(_ text: Span<UInt8>, _ range: Range<Int>) -> UInt64? {
        var number: UInt64 = 0
        for index in range {
            let digit: UInt8
            switch text[index] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digit = text[index] - UInt8(ascii: "0")
            case UInt8(ascii: "a")...UInt8(ascii: "f"):
                digit = text[index] - UInt8(ascii: "a") + 10
            default: return nil
            }
            number = number << 4 | UInt64(digit)
        }
        return number
    }

    /// The trace's id: 32 hexadecimal digits.
    public var traceId: String { Self.text(high, 16) + Self.text(low, 16) }
    /// The id of the client's span: 16 hexadecimal digits.
    public var parentId: String { Self.text(parent, 16) }
    /// Whether the client records the trace.
    public var isSampled: Bool { flags & Self.sampled != 0 }
    /// The value of `traceparent`, of version 00.
    public var text: String {
        "00-\(traceId)-\(parentId)-\(Self.text(UInt64(flags), 2))"
    }

    /// A number in this many hexadecimal digits, in lower case.
    private static func text(_ number: UInt64, _ width: Int) -> String {
        let digits = String(number, radix: 16)
        return String(repeating: "0", count: width - digits.utf8.count) + digits
    }
}

extension ResponseHead {
    /// The same answer, with the trace of its request. An answer with a result names none: its
    /// client has found what it looked for.
    package func naming(_ trace: TraceContext?) -> ResponseHead {
        guard let trace, status != .ok else { return self }
        var head = self
        head.traceId = trace.traceId
        return head
    }
}
