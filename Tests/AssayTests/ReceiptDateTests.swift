import AssayModels
import Testing

@testable import Assay

@Suite struct ReceiptDateTests {
    @Test func accepted() throws {
        let cases: [(String, Int64?)] = [
            ("", nil),
            ("1970-01-01T00:00:00Z", 0), ("2015-09-22T08:55:28Z", 1_442_912_128),
            ("2016-02-29T23:59:59Z", 1_456_790_399), ("4001-01-01T00:00:00Z", 64_092_211_200),
            ("2021-04-03T22:38:45+0300", 1_617_478_725),
            ("2021-04-03T19:38:45+0000", 1_617_478_725),
            ("2021-04-03T14:08:45-0530", 1_617_478_725),
        ]
        for (text, seconds) in cases {
            let bytes = Array(text.utf8)
            #expect(try ReceiptDate.parse(bytes.span)?.seconds == seconds, "\(text)")
        }
        let milliseconds: [(String, Int64)] = [
            ("2020-09-27T12:07:19.6Z", 1_601_208_439_600),
            ("2020-09-27T12:07:19.68Z", 1_601_208_439_680),
            ("2020-09-27T12:07:19.686Z", 1_601_208_439_686),
            ("2020-09-27T12:07:19.686999Z", 1_601_208_439_686),
            ("2020-09-27T12:07:19.0009Z", 1_601_208_439_000),
            ("2020-09-27T12:07:19.000000000000000000000000000000Z", 1_601_208_439_000),
            ("2020-09-27t12:07:19z", 1_601_208_439_000),
            ("2020-09-27T13:07:19.6+01:00", 1_601_208_439_600),
            ("2020-09-27T13:07:19.6+0100", 1_601_208_439_600),
            ("2020-09-27T12:07:19-00:00", 1_601_208_439_000),
            ("2020-09-27T06:37:19-05:30", 1_601_208_439_000),
            ("2016-12-31T23:59:60Z", 1_483_228_800_000),
            ("2016-12-31T23:59:60.25z", 1_483_228_800_250),
            ("2016-12-31T15:59:60-08:00", 1_483_228_800_000),
            ("2015-07-01T00:59:60+01:00", 1_435_708_800_000),
        ]
        for (text, expected) in milliseconds {
            let bytes = Array(text.utf8)
            #expect(try ReceiptDate.parse(bytes.span)?.milliseconds == expected, "\(text)")
        }
        let gmt = Array("2012-04-30 15:05:55 Etc/GMT".utf8)
        #expect(try ReceiptDate.parseGMT(gmt.span)?.seconds == 1_335_798_355)
        let empty: [UInt8] = []
        #expect(try ReceiptDate.parseGMT(empty.span) == nil)
    }

    @Test func rejected() {
        let cases: [(String, ReceiptDateError)] = [
            (" ", .form), ("2015-09-22", .form), ("2015-09-22T08:55:28", .form),
            ("2015-09-22T08:55:28zZ", .form), ("2015-09-22tT08:55:28Z", .form),
            ("2015-09-22 08:55:28Z", .form), ("2015-9-22T08:55:28Z ", .form),
            ("2015/09/22T08:55:28Z", .form), ("2015-09-22T08.55.28Z", .form),
            ("-015-09-22T08:55:28Z", .form), ("+015-09-22T08:55:28Z", .form),
            ("2015-09-22T08:55:28.Z", .form), ("2015-09-22T08:55:28,5Z", .form),
            ("2015-09-22T08:55:28.5", .form), ("2015-09-22T08:55:28.5.5Z", .form),
            ("2015-09-22T08:55.5Z", .form), ("2015-09-22T08:55:28.12x4Z", .form),
            ("2015-09-22T08:55:28.\u{661}Z", .form), ("2015-09-22T08:55:28ZZZZZ", .form),
            ("2015-09-22T08:55:28+03:0", .form), ("2015-09-22T08:55:28+03::00", .form),
            ("2015-09-22T08:55:28+3:00", .form), ("2015-09-22T08:55:28+03:00Z", .form),
            ("2015-09-22T08:55:28+03", .form), ("2015-09-22T08:55:28:03:00", .form),
            ("2015-09-22T08:55:28*0300", .form),
            ("2015-09-22T08:55:28+030x", .form), ("2015-09-22T08:55:2\u{661}Z", .form),
            ("2015-02-29T00:00:00Z", .noSuchTime), ("2015-13-01T00:00:00Z", .noSuchTime),
            ("2015-00-01T00:00:00Z", .noSuchTime), ("2015-01-00T00:00:00Z", .noSuchTime),
            ("2015-01-01T24:00:00Z", .noSuchTime), ("2015-01-01T00:60:00Z", .noSuchTime),
            ("2015-06-30T23:59:61Z", .noSuchTime), ("2015-06-30T23:58:60Z", .noSuchTime),
            ("2015-06-29T23:59:60Z", .noSuchTime), ("2015-06-30T22:59:60Z", .noSuchTime),
            ("2015-06-30T23:59:60-08:00", .noSuchTime), ("2015-06-31T23:59:60Z", .noSuchTime),
            ("9999-12-31T23:59:60Z", .noSuchTime), ("2015-01-01T00:00:00+2400", .noSuchTime),
            ("2015-01-01T00:00:00+24:00", .noSuchTime),
            ("2015-01-01T00:00:00+0060", .noSuchTime),
            ("2015-01-01T00:00:00-00:60", .noSuchTime),
        ]
        for (text, error) in cases {
            let bytes = Array(text.utf8)
            #expect(throws: error, "\(text)") { try ReceiptDate.parse(bytes.span) }
        }
        for text in [
            "2012-04-30 15:05:55 Etc/GMT ", "2012-04-30 15:05:55 Etc/UTC", "2012-04-30 15:05:55",
            "2012-04-30T15:05:55 Etc/GMT", "1335798355868",
        ] {
            let bytes = Array(text.utf8)
            #expect(throws: ReceiptDateError.form) { try ReceiptDate.parseGMT(bytes.span) }
        }
    }

    /// The hours around each change of offset, and years under every rule, with tzdata's offsets.
    @Test func pacificTime() {
        let cases: [(String, Int64)] = [
            ("1955-09-25T08:59:59Z", -7), ("1955-09-25T09:00:00Z", -8),
            ("1962-10-01T00:00:00Z", -7), ("1966-07-01T12:00:00Z", -7),
            ("1967-04-30T09:59:59Z", -8), ("1967-04-30T10:00:00Z", -7),
            ("1974-01-06T09:59:59Z", -8), ("1974-01-06T10:00:00Z", -7),
            ("1975-02-23T09:59:59Z", -8), ("1975-02-23T10:00:00Z", -7),
            ("1976-04-25T09:59:59Z", -8), ("1976-04-25T10:00:00Z", -7),
            ("1986-10-26T08:59:59Z", -7), ("1986-10-26T09:00:00Z", -8),
            ("1987-04-05T09:59:59Z", -8), ("1987-04-05T10:00:00Z", -7),
            ("2006-10-29T08:59:59Z", -7), ("2006-10-29T09:00:00Z", -8),
            ("2007-03-11T09:59:59Z", -8), ("2007-03-11T10:00:00Z", -7),
            ("2015-11-01T08:59:59Z", -7), ("2015-11-01T09:00:00Z", -8),
            ("2020-03-08T10:00:00Z", -7), ("2026-03-08T09:59:59Z", -8),
            ("2026-12-31T23:59:59Z", -8), ("2027-01-01T07:59:59Z", -8),
            ("4000-07-01T00:00:00Z", -7), ("9999-12-31T23:59:59Z", -8),
            ("9999-12-31T14:59:59-0900", -8), ("0000-01-01T00:00:00Z", -8),
        ]
        for (text, hours) in cases {
            let bytes = Array(text.utf8)
            guard let date = try? ReceiptDate.parse(bytes.span) else {
                Issue.record("\(text) is not a date")
                continue
            }
            let offset = PacificTime.offset(atSecondsSince1970: date.seconds)
            #expect(offset == hours * 3600, "\(text)")
        }
    }

    /// One reader of many dates, on the same day as the previous date or on another, gives the
    /// same results.
    @Test func manyDatesMatchSingleOnes() throws {
        var dates = ReceiptDates()
        let texts = [
            "2015-09-22T08:55:28Z", "2015-09-22T00:00:00Z", "2015-09-22T23:59:59Z",
            "2015-09-22T24:00:00Z", "2015-09-22T23:60:00Z", "2015-09-22T23:00:60Z",
            "2015-09-22T:0:00:00Z", "2015-09-22T08:5?:28Z", "2015-09-22T08:55:28z",
            "2015-09-22T08:55:28Z", "2015-09-23T08:55:28Z", "2015-09-22 08:55:28Z",
            "2015-09-22T08-55-28Z", "2015-09-31T08:55:28Z", "2015-09-31T08:55:28Z",
            "2015-09-22T08:55:28+03", "2021-04-03T22:38:45+0300", "", "2016-09-22T08:55:28Z",
            "0000-00-00T00:00:00Z", "1969-12-31T23:59:59Z", "1969-12-31T00:00:01Z",
            "2016-12-31T23:59:59Z", "2016-12-31T23:59:60Z", "2016-12-31T23:59:58Z",
            "2016-12-31t23:59:58Z", "2016-12-31T23:59:58Z", "2016-12-31T23:59:60z",
        ]
        for text in texts + texts.reversed() {
            let bytes = Array(text.utf8)
            let expected = Result { () throws(ReceiptDateError) in
                try ReceiptDate.parse(bytes.span)
            }
            let found = Result { () throws(ReceiptDateError) in try dates.parse(bytes.span) }
            #expect(found == expected, "\(text)")
        }
    }
}
