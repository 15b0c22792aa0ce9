/// The whole part of a JSON number, computed exactly, without floating point.
@usableFromInline
package struct JSONNumber: Equatable, Sendable {
    /// The largest whole number that is not greater than the number.
    @usableFromInline
    package let floor: Int64
    /// Whether the number equals `floor`.
    @usableFromInline
    package let exact: Bool

    /// Parses a valid JSON number; returns nil if the whole part exceeds 64 bits.
    @usableFromInline
    init?(_ text: Span<UInt8>) {
        if let plain = Self.plain(text) {
            (floor, exact) = (plain, true)
            return
        }
        let negative = text.count > 0 && text[0] == UInt8(ascii: "-")
        let digits = JSONDigits(text, from: negative ? 1 : 0)
        guard let (magnitude, exact) = digits.wholePart(negative: negative) else { return nil }
        self.exact = exact
        guard negative, !exact else {
            floor = magnitude
            return
        }
        let (below, overflow) = magnitude.subtractingReportingOverflow(1)
        guard !overflow else { return nil }
        floor = below
    }

    /// Parses a number that consists of digits only, as nearly all do. At most 18 digits always
    /// fit.
    @inline(__always)
    private static func plain(_ text: Span<UInt8>) -> Int64? {
        guard text.count <= 18 else { return nil }
        var value: Int64 = 0
        for index in text.indices {
            let digit = text[index] &- UInt8(ascii: "0")
            guard digit < 10 else { return nil }
            value = value &* 10 &+ Int64(digit)
        }
        return value
    }
}

/// The digits of a validated number, without sign and decimal point.
private struct JSONDigits: ~Escapable {
    private let text: Span<UInt8>
    private let start: Int
    /// The offset after the last digit of the significand.
    private let end: Int
    /// The number of digits before the decimal point, after applying the exponent.
    private let whole: Int

    @_lifetime(copy text)
    init(_ text: Span<UInt8>, from start: Int) {
        self.text = text
        self.start = start
        var end = start
        var point: Int?
        while end < text.count, text[end] | 0x20 != UInt8(ascii: "e") {
            if text[end] == UInt8(ascii: ".") { point = end }
            end += 1
        }
        self.end = end
        whole = (point ?? end) - start + Self.exponent(text, from: end)
    }

    /// Returns the exponent after the `e` at `start`, or 0. Clamped to 2⁴⁰, which exceeds the
    /// length of any text, so larger values change nothing.
    private static func exponent(_ text: Span<UInt8>, from start: Int) -> Int {
        guard start < text.count else { return 0 }
        let ceiling = 1 << 40
        var (value, negative) = (0, false)
        for index in start + 1..<text.count {
            switch text[index] {
            case UInt8(ascii: "-"): negative = true
            case UInt8(ascii: "+"): continue
            default: value = min(value * 10 + Int(text[index] - UInt8(ascii: "0")), ceiling)
            }
        }
        return negative ? -value : value
    }

    /// Returns the digits before the decimal point as a number (rounded towards zero), and
    /// whether only zeros follow; nil on overflow.
    func wholePart(negative: Bool) -> (Int64, exact: Bool)? {
        var value: Int64 = 0
        var (taken, exact) = (0, true)
        for index in start..<end where text[index] != UInt8(ascii: ".") {
            let digit = Int64(text[index] - UInt8(ascii: "0"))
            if taken < whole {
                guard let next = Self.append(negative ? -digit : digit, to: value) else {
                    return nil
                }
                value = next
            } else if digit != 0 {
                exact = false
            }
            taken += 1
        }
        // Appends the zeros of the exponent: at most 19 before a nonzero value overflows.
        while taken < whole, value != 0 {
            guard let next = Self.append(0, to: value) else { return nil }
            value = next
            taken += 1
        }
        return (value, exact)
    }

    private static func append(_ digit: Int64, to value: Int64) -> Int64? {
        let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
        let (sum, overflows) = shifted.addingReportingOverflow(digit)
        return overflow || overflows ? nil : sum
    }
}
