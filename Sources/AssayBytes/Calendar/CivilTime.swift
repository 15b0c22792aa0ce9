package import AssayModels

/// A UTC date and time of the proleptic Gregorian calendar, to the second.
@usableFromInline
package struct CivilTime: Equatable, Sendable {
    @usableFromInline package var year: Int
    @usableFromInline package var month: Int
    @usableFromInline package var day: Int
    @usableFromInline package var hour: Int
    @usableFromInline package var minute: Int
    @usableFromInline package var second: Int

    /// Nil for an invalid date or time. Leap seconds do not occur in DER (RFC 5280).
    @inlinable @inline(__always)
    package init?(year: Int, month: Int, day: Int, hour: Int, minute: Int, second: Int) {
        guard (0...9999).contains(year), (1...12).contains(month),
            // Every month has 28 days; only later days need the month's length.
            day >= 1, day <= 28 || day <= Self.days(inMonth: month, ofYear: year),
            (0...23).contains(hour), (0...59).contains(minute), (0...59).contains(second)
        else { return nil }
        self.year = year
        self.month = month
        self.day = day
        self.hour = hour
        self.minute = minute
        self.second = second
    }

    /// The seconds of the years 0 to 9999, since 1970.
    package static let seconds: ClosedRange<Int64> = -62_167_219_200...253_402_300_799

    package init(_ time: Timestamp) { self.init(secondsSince1970: time.seconds) }

    /// Converts seconds since 1970.
    package init(secondsSince1970 seconds: Int64) {
        let day = seconds / 86_400 - (seconds % 86_400 < 0 ? 1 : 0)
        let rest = Int(seconds - day * 86_400)
        // Counts days in 400-year eras that begin on 1 March, so that the leap day comes last.
        let shifted = Int(day) + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let shiftedMonth = (5 * dayOfYear + 2) / 153
        self.day = dayOfYear - (153 * shiftedMonth + 2) / 5 + 1
        month = shiftedMonth < 10 ? shiftedMonth + 3 : shiftedMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
        hour = rest / 3600
        minute = rest / 60 % 60
        second = rest % 60
    }

    @inlinable @inline(__always)
    package var secondsSince1970: Int64 {
        let shiftedYear = month <= 2 ? year - 1 : year
        let era = (shiftedYear >= 0 ? shiftedYear : shiftedYear - 399) / 400
        let yearOfEra = shiftedYear - era * 400
        let dayOfYear = (153 * (month > 2 ? month - 3 : month + 9) + 2) / 5 + day - 1
        let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
        let days = era * 146_097 + dayOfEra - 719_468
        return Int64(days) * 86_400 + Int64(hour * 3600 + minute * 60 + second)
    }

    @inlinable @inline(__always)
    static func days(inMonth month: Int, ofYear year: Int) -> Int {
        switch month {
        case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
        case 4, 6, 9, 11: 30
        default: 31
        }
    }
}

extension CivilTime {
    /// The day of the week of seconds since 1970: 0 is Sunday.
    package static func weekday(secondsSince1970 seconds: Int64) -> Int {
        let day = seconds / 86_400 - (seconds % 86_400 < 0 ? 1 : 0)
        // 1 January 1970 was a Thursday.
        return Int(((day + 4) % 7 + 7) % 7)
    }

    /// RFC 3339 in UTC, to the second, such as `2025-09-05T01:24:32Z`.
    package var rfc3339: String { dateText + "T" + timeText + "Z" }

    /// The date, such as `2025-09-05`. The year before 0000 is `-0001`, as in ISO 8601.
    package var dateText: String {
        (year < 0 ? "-" : "") + String(abs(year), width: 4) + "-" + String(month, width: 2) + "-"
            + String(day, width: 2)
    }

    /// The time, such as `01:24:32`.
    package var timeText: String {
        String(hour, width: 2) + ":" + String(minute, width: 2) + ":" + String(second, width: 2)
    }
}

extension Timestamp {
    /// RFC 3339 in UTC, to the second, such as `2025-09-05T01:24:32Z`.
    package var rfc3339: String { CivilTime(self).rfc3339 }

    /// RFC 3339 in UTC, to the millisecond, such as `2025-09-05T01:24:32.304Z`.
    package var rfc3339Milliseconds: String {
        let rest = milliseconds % 1000
        let time = CivilTime(self)
        return time.dateText + "T" + time.timeText + "."
            + String(rest < 0 ? rest + 1000 : rest, width: 3) + "Z"
    }

    package init(_ time: CivilTime) {
        self.init(milliseconds: time.secondsSince1970 * 1000)
    }
}
