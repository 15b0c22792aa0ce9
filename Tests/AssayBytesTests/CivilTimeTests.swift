import AssayModels
import Testing
@testable import AssayBytes

struct CivilTimeTests {
    @Test(
        "seconds since 1970 and dates, at the ends of days, months, leap years and the range",
        arguments: [
            (0, "1970-01-01T00:00:00Z"), (-1, "1969-12-31T23:59:59Z"),
            (-86_400, "1969-12-31T00:00:00Z"), (-86_401, "1969-12-30T23:59:59Z"),
            (86_399, "1970-01-01T23:59:59Z"), (86_400, "1970-01-02T00:00:00Z"),
            (951_782_400, "2000-02-29T00:00:00Z"), (951_868_800, "2000-03-01T00:00:00Z"),
            (1_709_251_199, "2024-02-29T23:59:59Z"), (1_709_251_200, "2024-03-01T00:00:00Z"),
            (-2_203_977_600, "1900-02-28T00:00:00Z"), (-2_203_891_200, "1900-03-01T00:00:00Z"),
            (4_107_542_400, "2100-03-01T00:00:00Z"), (4_107_542_399, "2100-02-28T23:59:59Z"),
            (253_402_300_799, "9999-12-31T23:59:59Z"), (253_402_300_800, "10000-01-01T00:00:00Z"),
            (-62_167_219_200, "0000-01-01T00:00:00Z"), (-62_167_219_201, "-0001-12-31T23:59:59Z"),
            (-62_162_121_600, "0000-02-29T00:00:00Z"), (-62_162_035_200, "0000-03-01T00:00:00Z"),
            (-62_135_596_800, "0001-01-01T00:00:00Z"),
        ] as [(Int64, String)])
    func boundaries(seconds: Int64, text: String) {
        let time = CivilTime(secondsSince1970: seconds)
        #expect(time.rfc3339 == text)
        #expect(time.secondsSince1970 == seconds)
        let isInRange = !text.hasPrefix("-") && !text.hasPrefix("10000")
        #expect(CivilTime.seconds.contains(seconds) == isInRange)
        let parts = CivilTime(
            year: time.year, month: time.month, day: time.day, hour: time.hour,
            minute: time.minute, second: time.second)
        #expect(parts == (isInRange ? time : nil))
    }

    @Test("a date and its seconds agree across the repeating 400 years and beyond")
    func roundTrips() {
        for day in stride(from: Int64(-800_000), through: 800_000, by: 7) {
            let time = CivilTime(secondsSince1970: day * 86_400 + 86_399)
            #expect(time.secondsSince1970 == day * 86_400 + 86_399)
            #expect((1...12).contains(time.month) && (1...31).contains(time.day))
        }
    }

    @Test(
        "days exist or not by the month and the leap year",
        arguments: [
            (2024, 2, 29, true), (2025, 2, 29, false), (2000, 2, 29, true), (1900, 2, 29, false),
            (0, 2, 29, true), (2024, 2, 30, false), (2025, 4, 30, true), (2025, 4, 31, false),
            (2025, 12, 31, true), (2025, 12, 32, false), (2025, 1, 0, false), (2025, 13, 1, false),
            (2025, 0, 1, false), (9999, 12, 31, true), (10_000, 1, 1, false), (-1, 1, 1, false),
        ])
    func days(year: Int, month: Int, day: Int, exists: Bool) {
        let time = CivilTime(year: year, month: month, day: day, hour: 0, minute: 0, second: 0)
        #expect((time != nil) == exists)
    }

    @Test(
        "times end at 23:59:59",
        arguments: [
            (0, 0, 0, true), (23, 59, 59, true), (24, 0, 0, false), (0, 60, 0, false),
            (23, 59, 60, false), (-1, 0, 0, false), (0, -1, 0, false), (0, 0, -1, false),
        ])
    func times(hour: Int, minute: Int, second: Int, exists: Bool) {
        let time = CivilTime(
            year: 2025, month: 1, day: 1, hour: hour, minute: minute, second: second)
        #expect((time != nil) == exists)
    }

    @Test(
        "milliseconds count forward from the second, before 1970 as well",
        arguments: [
            (0, "1970-01-01T00:00:00.000Z"), (1, "1970-01-01T00:00:00.001Z"),
            (999, "1970-01-01T00:00:00.999Z"), (1000, "1970-01-01T00:00:01.000Z"),
            (-1, "1969-12-31T23:59:59.999Z"), (-999, "1969-12-31T23:59:59.001Z"),
            (-1000, "1969-12-31T23:59:59.000Z"), (-1001, "1969-12-31T23:59:58.999Z"),
        ] as [(Int64, String)])
    func milliseconds(milliseconds: Int64, text: String) {
        #expect(Timestamp(milliseconds: milliseconds).rfc3339Milliseconds == text)
    }

    @Test func limitsOfTimestamp() {
        for milliseconds in [Int64.min, .max] {
            let time = Timestamp(milliseconds: milliseconds)
            #expect(!time.rfc3339.isEmpty && !time.rfc3339Milliseconds.isEmpty)
        }
        #expect(Timestamp(milliseconds: -1).seconds == -1)
        #expect(Timestamp(milliseconds: -1000).seconds == -1)
        #expect(Timestamp(milliseconds: 999).seconds == 0)
        #expect(Timestamp(milliseconds: .max).advanced(by: 1).milliseconds == .max)
        #expect(Timestamp(milliseconds: .min).advanced(by: -1).milliseconds == .min)
    }

    @Test(
        "numbers are padded to a width, and never cut",
        arguments: [
            (0, 0, "0"), (0, 2, "00"), (7, 2, "07"), (42, 2, "42"), (123, 2, "123"), (5, -1, "5"),
        ])
    func zeroPadding(number: Int, width: Int, text: String) {
        #expect(String(number, width: width) == text)
    }

    @Test func hexadecimalPadding() {
        #expect(String(0x1B, width: 4, radix: 16) == "001b")
        #expect(String(UInt64.max, width: 4, radix: 16) == "ffffffffffffffff")
    }
}
