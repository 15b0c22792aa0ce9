import AssayBytes
import AssayTelemetry

/// The time limit of a call, as its protocol writes it. Milliseconds; a limit of less than one is
/// one, and a limit beyond 32 bits is the largest.
enum RPCTimeout {
    /// Reads `grpc-timeout`: up to eight digits and a unit; nil for other text.
    static func grpc(_ text: Span<UInt8>) -> UInt32? {
        guard text.count > 1, let number = number(text.extracting(0..<text.count - 1), digits: 8)
        else { return nil }
        switch text[text.count - 1] {
        case UInt8(ascii: "H"): return milliseconds(number * 3_600_000)
        case UInt8(ascii: "M"): return milliseconds(number * 60_000)
        case UInt8(ascii: "S"): return milliseconds(number * 1_000)
        case UInt8(ascii: "m"): return milliseconds(number)
        case UInt8(ascii: "u"): return milliseconds(number / 1_000)
        case UInt8(ascii: "n"): return milliseconds(number / 1_000_000)
        default: return nil
        }
    }

    /// Reads `Connect-Timeout-Ms`: up to ten digits; nil for other text.
    static func connect(_ text: Span<UInt8>) -> UInt32? {
        number(text, digits: 10).map(milliseconds)
    }

    private static func milliseconds(_ number: UInt64) -> UInt32 {
        UInt32(clamping: max(number, 1))
    }

    private static func number(_ text: Span<UInt8>, digits: Int) -> UInt64? {
        guard (1...digits).contains(text.count) else { return nil }
        var number: UInt64 = 0
        for index in text.indices {
            guard text[index].isDigit else { return nil }
            number = number * 10 + UInt64(text[index] - UInt8(ascii: "0"))
        }
        return number
    }
}
