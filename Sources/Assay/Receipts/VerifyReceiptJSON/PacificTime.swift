import AssayBytes
import AssayModels

/// The local time of America/Los_Angeles, by the rules of the tz database since 1950. No receipt
/// is older.
enum PacificTime {
    /// Returns the local date and time for seconds since 1970.
    static func local(secondsSince1970 seconds: Int64) -> CivilTime {
        CivilTime(secondsSince1970: seconds + offset(atSecondsSince1970: seconds))
    }

    /// Returns the offset from UTC in seconds.
    static func offset(atSecondsSince1970 seconds: Int64) -> Int64 {
        let year = CivilTime(secondsSince1970: seconds + standard).year
        guard let (begin, end) = daylight(in: year) else { return standard }
        // Both changes are at 2:00 in the local time before the change.
        let begins = midnight(year, begin) + 2 * 3600 - standard
        let ends = midnight(year, end) + 2 * 3600 - daylight
        return begins <= seconds && seconds < ends ? daylight : standard
    }

    private static let standard: Int64 = -8 * 3600
    private static let daylight: Int64 = -7 * 3600

    private struct Day {
        let month: Int
        let day: Int
    }

    /// Returns the days on which daylight saving time begins and ends.
    private static func daylight(in year: Int) -> (begin: Day, end: Day)? {
        switch year {
        // There are no rules before 1950, and CivilTime has no years from 10,000 on: standard
        // time.
        case ..<1950, 10_000...: nil
        case ..<1962: (sunday(onOrAfter: 24, month: 4, year), sunday(onOrAfter: 24, month: 9, year))
        // The oil embargo.
        case 1974: (Day(month: 1, day: 6), sunday(onOrAfter: 25, month: 10, year))
        case 1975: (Day(month: 2, day: 23), sunday(onOrAfter: 25, month: 10, year))
        case ..<1987:
            (sunday(onOrAfter: 24, month: 4, year), sunday(onOrAfter: 25, month: 10, year))
        case ..<2007: (sunday(onOrAfter: 1, month: 4, year), sunday(onOrAfter: 25, month: 10, year))
        // The Energy Policy Act of 2005.
        default: (sunday(onOrAfter: 8, month: 3, year), sunday(onOrAfter: 1, month: 11, year))
        }
    }

    private static func sunday(onOrAfter day: Int, month: Int, _ year: Int) -> Day {
        let first = midnight(year, Day(month: month, day: day))
        let weekday = CivilTime.weekday(secondsSince1970: first)
        return Day(month: month, day: day + (7 - weekday) % 7)
    }

    private static func midnight(_ year: Int, _ day: Day) -> Int64 {
        guard
            let time = CivilTime(
                year: year, month: day.month, day: day.day, hour: 0, minute: 0, second: 0)
        else { preconditionFailure("the days above exist in every year of CivilTime") }
        return time.secondsSince1970
    }
}
