package import AssayModels

extension DERWriter {
    /// Writes a Time in the form of RFC 5280 (4.1.2.5): UTCTime through 2049, GeneralizedTime
    /// from 2050.
    package mutating func time(_ time: Timestamp) {
        let year = CalendarTime(time).year
        if (1950..<2050).contains(year) { utcTime(time) } else { generalizedTime(time) }
    }

    /// Writes `YYMMDDHHMMSSZ` for any century.
    package mutating func utcTime(_ time: Timestamp) {
        element(tag: 0x17, content: Array(CalendarTime(time).digits.dropFirst(2)))
    }

    /// Writes `YYYYMMDDHHMMSSZ`.
    package mutating func generalizedTime(_ time: Timestamp) {
        element(tag: 0x18, content: CalendarTime(time).digits)
    }
}

/// A point in time in the Gregorian calendar, UTC, to the second.
struct CalendarTime: Equatable {
    var year: Int
    var month: Int
    var day: Int
    var secondOfDay: Int

    init(_ time: Timestamp) {
        let seconds = Int(time.seconds)
        let days = seconds >= 0 ? seconds / 86400 : (seconds - 86399) / 86400
        secondOfDay = seconds - days * 86400
        // Howard Hinnant's civil_from_days: years begin in March, so that a leap day is a year's
        // last day.
        let shifted = days + 719_468
        let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
        let dayOfEra = shifted - era * 146_097
        let yearOfEra =
            (dayOfEra - dayOfEra / 1460 + dayOfEra / 36524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let marchMonth = (5 * dayOfYear + 2) / 153
        day = dayOfYear - (153 * marchMonth + 2) / 5 + 1
        month = marchMonth < 10 ? marchMonth + 3 : marchMonth - 9
        year = yearOfEra + era * 400 + (month <= 2 ? 1 : 0)
    }

    /// `YYYYMMDDHHMMSSZ`.
    var digits: [UInt8] {
        func decimal(_ value: Int, _ width: Int) -> [UInt8] {
            var rest = value
            var text: [UInt8] = []
            for _ in 0..<width {
                text.insert(UInt8(ascii: "0") + UInt8(rest % 10), at: 0)
                rest /= 10
            }
            return text
        }
        return decimal(year, 4) + decimal(month, 2) + decimal(day, 2)
            + decimal(secondOfDay / 3600, 2) + decimal(secondOfDay / 60 % 60, 2)
            + decimal(secondOfDay % 60, 2) + [UInt8(ascii: "Z")]
    }
}
