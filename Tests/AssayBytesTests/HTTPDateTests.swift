import AssayBytes
import Testing

@Suite("HTTP date")
struct HTTPDateTests {
    @Test(
        "a date is written, and read back",
        arguments: [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"), (784_111_777, "Sun, 06 Nov 1994 08:49:37 GMT"),
            (951_868_799, "Tue, 29 Feb 2000 23:59:59 GMT"),
            (-1, "Wed, 31 Dec 1969 23:59:59 GMT"), (-86_400, "Wed, 31 Dec 1969 00:00:00 GMT"),
            (-86_401, "Tue, 30 Dec 1969 23:59:59 GMT"), (86_400, "Fri, 02 Jan 1970 00:00:00 GMT"),
            (172_800, "Sat, 03 Jan 1970 00:00:00 GMT"), (345_600, "Mon, 05 Jan 1970 00:00:00 GMT"),
            (253_402_300_799, "Fri, 31 Dec 9999 23:59:59 GMT"),
            (-62_135_596_800, "Mon, 01 Jan 0001 00:00:00 GMT"),
        ] as [(Int64, String)])
    func written(seconds: Int64, text: String) {
        var output = Array("Date: ".utf8)
        HTTPDate.append(secondsSince1970: seconds, to: &output)
        #expect(String(decoding: output, as: UTF8.self) == "Date: " + text)
        #expect(HTTPDate.seconds(text) == seconds)
    }

    @Test(
        "other forms are refused; a leap second is the second before it",
        arguments: [
            ("Fri, 30 Jun 1972 23:59:60 GMT", 78_796_799),
            ("Sunday, 06-Nov-94 08:49:37 GMT", nil), ("Sun, 31 Feb 1994 08:49:37 GMT", nil),
            ("Sun, 06 Nov 1994 08:49:37 CET", nil), ("Sun, 06 Nov 1994 08:49 GMT", nil),
            ("Sun, 06 nov 1994 08:49:37 GMT", nil), ("Sun, 06 Nov 1994 24:49:37 GMT", nil),
            ("Sun Nov  6 08:49:37 1994", nil), ("", nil), ("1994-11-06T08:49:37Z", nil),
        ] as [(String, Int64?)])
    func read(text: String, seconds: Int64?) { #expect(HTTPDate.seconds(text) == seconds) }

    @Test("the days of the week repeat, before 1970 as well")
    func weekdays() {
        for day in Int64(-1000)...1000 {
            for second in [Int64(0), 86_399] {
                let weekday = CivilTime.weekday(secondsSince1970: day * 86_400 + second)
                #expect(weekday == Int((day + 4 + 7000) % 7))
            }
        }
    }
}
