import Assay
import AssayBytes
package import AssayModels

/// Parses date-times (RFC 3339, section 5.6).
package enum RFC3339 {
    /// Parses `2025-09-05T01:24:32Z`, with optional fractions of a second and offset; nil for
    /// anything else. POSIX time has no leap seconds: `23:59:60` is read as the second after it,
    /// and only at the end of a month in UTC, where leap seconds occur (RFC 3339, appendix D).
    package static func timestamp(_ text: String) -> Timestamp? {
        var rest = Array(text.utf8)[...]
        guard let year = digits(4, &rest), take("-", &rest),
            let month = digits(2, &rest), take("-", &rest),
            let day = digits(2, &rest), take("Tt", &rest),
            let hour = digits(2, &rest), take(":", &rest),
            let minute = digits(2, &rest), take(":", &rest),
            let second = digits(2, &rest),
            let time = CivilTime(
                year: year, month: month, day: day, hour: hour, minute: minute,
                second: min(second, 59)),
            let fraction = milliseconds(&rest),
            let offset = offsetSeconds(&rest), rest.isEmpty
        else { return nil }
        var seconds = time.secondsSince1970 - offset
        if second > 59 {
            seconds += 1
            let next = CivilTime(secondsSince1970: seconds)
            let isMonthsFirst = (next.day, next.hour, next.minute, next.second) == (1, 0, 0, 0)
            guard second == 60, isMonthsFirst else { return nil }
        }
        return Timestamp(milliseconds: seconds * 1000 + fraction)
    }

    /// Parses the fraction of a second, truncated to three digits; 0 without one.
    private static func milliseconds(_ rest: inout ArraySlice<UInt8>) -> Int64? {
        guard take(".", &rest) else { return 0 }
        let fraction = rest.prefix { (0x30...0x39).contains($0) }
        guard !fraction.isEmpty else { return nil }
        rest = rest[fraction.endIndex...]
        var three = fraction.prefix(3)
        return digits(three.count, &three).map { value in
            Int64(value) * [1, 100, 10, 1][min(fraction.count, 3)]
        }
    }

    private static func offsetSeconds(_ rest: inout ArraySlice<UInt8>) -> Int64? {
        if take("Zz", &rest) { return 0 }
        let isEast = rest.first == UInt8(ascii: "+")
        guard take("+-", &rest), let hours = digits(2, &rest), hours <= 23, take(":", &rest),
            let minutes = digits(2, &rest), minutes <= 59
        else { return nil }
        return Int64(hours * 3600 + minutes * 60) * (isEast ? 1 : -1)
    }

    private static func digits(_ count: Int, _ rest: inout ArraySlice<UInt8>) -> Int? {
        guard rest.count >= count, rest.prefix(count).allSatisfy({ (0x30...0x39).contains($0) })
        else { return nil }
        defer { rest = rest.dropFirst(count) }
        return rest.prefix(count).reduce(0) { $0 * 10 + Int($1 - 0x30) }
    }

    private static func take(_ oneOf: String, _ rest: inout ArraySlice<UInt8>) -> Bool {
        guard let first = rest.first, oneOf.utf8.contains(first) else { return false }
        rest = rest.dropFirst()
        return true
    }
}
