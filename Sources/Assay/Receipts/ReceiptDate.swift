import AssayBytes
package import AssayModels

/// Parses the dates of app receipts: RFC 3339, section 5.6, and Xcode's offset without a colon
/// (`2021-04-03T22:38:45+0300`). Apple's receipts use UTC to the second (`2015-09-22T08:55:28Z`) or
/// the millisecond (`2020-10-08T08:46:35.304Z`); the form has changed overnight before. The empty
/// string means no date.
package enum ReceiptDate {
    /// Returns nil for the empty string. Fractions are cut to milliseconds. A leap second is the
    /// second after it, and is only at the end of a month in UTC (RFC 3339, appendix D).
    package static func parse(_ text: Span<UInt8>) throws(ReceiptDateError) -> Timestamp? {
        guard text.count > 0 else { return nil }
        if let date = parseUTC(text) { return date }
        var digits = DateDigits(text)
        let year = try digits.number(4)
        try digits.expect("-")
        let month = try digits.number(2)
        try digits.expect("-")
        let day = try digits.number(2)
        try digits.expect("T", or: "t")
        let time = try digits.time()
        let milliseconds = try digits.fraction()
        let offset = try digits.zone()
        let isLeap = time.second == 60
        guard
            let civil = CivilTime(
                year: year, month: month, day: day, hour: time.hour, minute: time.minute,
                second: isLeap ? 59 : time.second)
        else { throw .noSuchTime }
        let seconds = civil.secondsSince1970 - offset + (isLeap ? 1 : 0)
        // The year has to have four digits in UTC, too.
        guard CivilTime.seconds.contains(seconds) else { throw .noSuchTime }
        if isLeap {
            let next = CivilTime(secondsSince1970: seconds)
            guard (next.day, next.hour, next.minute, next.second) == (1, 0, 0, 0) else {
                throw .noSuchTime
            }
        }
        return Timestamp(milliseconds: seconds * 1000 + milliseconds)
    }

    /// Parses the most common form, `2015-09-22T08:55:28Z`; returns nil for any other.
    @inline(__always)
    private static func parseUTC(_ text: Span<UInt8>) -> Timestamp? {
        guard text.count == 20 else { return nil }
        let text = text.extracting(0..<20)
        // The check for digits is at the end, which avoids a branch per digit.
        var largest: UInt8 = 0
        func number(_ index: Int) -> Int {
            let (tens, ones) = (text[index] &- 0x30, text[index &+ 1] &- 0x30)
            largest = max(largest, tens, ones)
            return Int(tens) &* 10 &+ Int(ones)
        }
        let year = number(0) &* 100 &+ number(2)
        let (month, day) = (number(5), number(8))
        let (hour, minute, second) = (number(11), number(14), number(17))
        guard largest <= 9, text[4] == UInt8(ascii: "-"), text[7] == UInt8(ascii: "-"),
            text[10] == UInt8(ascii: "T"), text[13] == UInt8(ascii: ":"),
            text[16] == UInt8(ascii: ":"), text[19] == UInt8(ascii: "Z"),
            let civil = CivilTime(
                year: year, month: month, day: day, hour: hour, minute: minute, second: second)
        else { return nil }
        return Timestamp(milliseconds: civil.secondsSince1970 * 1000)
    }

    /// Parses `2012-04-30 15:05:55 Etc/GMT`, the dates of transaction receipts and of
    /// verifyReceipt. Returns nil for the empty string.
    package static func parseGMT(_ text: Span<UInt8>) throws(ReceiptDateError) -> Timestamp? {
        guard text.count > 0 else { return nil }
        guard text.count == 27 else { throw .form }
        var digits = DateDigits(text)
        let year = try digits.number(4)
        try digits.expect("-")
        let month = try digits.number(2)
        try digits.expect("-")
        let day = try digits.number(2)
        try digits.expect(" ")
        let time = try digits.time()
        for character in " Etc/GMT".unicodeScalars { try digits.expect(character) }
        guard
            let civil = CivilTime(
                year: year, month: month, day: day, hour: time.hour, minute: time.minute,
                second: time.second)
        else { throw .noSuchTime }
        return Timestamp(civil)
    }
}

/// Reads the dates of many records, with the same results as `ReceiptDate.parse`. Dates mostly
/// fall on the same day as the previous one; then only the time of day is parsed.
struct ReceiptDates: Sendable {
    /// Octets 0 to 7 and 3 to 10 of the last date, which cover it up to the T.
    private var day: (UInt64, UInt64) = (0, 0)
    /// The start of that day, in seconds since 1970.
    private var beginning: Int64 = 0

    @inline(__always)
    mutating func parse(_ text: Span<UInt8>) throws(ReceiptDateError) -> Timestamp? {
        guard text.count == 20, text[19] == UInt8(ascii: "Z") else {
            return try ReceiptDate.parse(text)
        }
        let day = (text.word(at: 0), text.word(at: 3))
        if day == self.day, let seconds = Self.secondOfDay(text.word(at: 11)) {
            return Timestamp(milliseconds: (beginning &+ seconds) &* 1000)
        }
        return try parse(text, day)
    }

    @inline(never)
    private mutating func parse(
        _ text: Span<UInt8>, _ day: (UInt64, UInt64)
    ) throws(ReceiptDateError) -> Timestamp? {
        let date = try ReceiptDate.parse(text)
        if let date, let seconds = Self.secondOfDay(text.word(at: 11)) {
            self.day = day
            beginning = date.seconds - seconds
        }
        return date
    }

    /// Returns the beginning of the last date's day, in milliseconds since 1970; nil for a date
    /// of another day.
    func beginningOfDay(of text: Span<UInt8>) -> Int64? {
        guard text.count == 20, (text.word(at: 0), text.word(at: 3)) == day else { return nil }
        return beginning * 1000
    }

    /// Returns the second of the day for `14:21:49`, eight octets at once; nil if it is not a
    /// time.
    @inline(__always)
    private static func secondOfDay(_ text: UInt64) -> Int64? {
        // Digits are 30 to 39: the high half is 3, and adding 6 does not carry into it.
        let digits = text & 0x0F0F_000F_0F00_0F0F
        guard text & 0xF0F0_FFF0_F0FF_F0F0 == 0x3030_3A30_303A_3030,
            (digits &+ 0x0606_0006_0600_0606) & 0xF0F0_00F0_F000_F0F0 == 0
        else { return nil }
        // Tens and ones, in the octets of the ones: 99 at most.
        let numbers = ((digits &>> 8) &* 10 &+ digits) & 0x00FF_0000_FF00_00FF
        // An hour from 24 on, or a minute or second from 60 on, sets its octet's highest bit.
        guard (numbers &+ 0x0068_0000_4400_0044) & 0x0080_0000_8000_0080 == 0 else { return nil }
        let (hour, minute, second) = (numbers &>> 48, numbers &>> 24 & 0xFF, numbers & 0xFF)
        return Int64(truncatingIfNeeded: hour &* 3600 &+ minute &* 60 &+ second)
    }
}

/// An error in the text of a receipt's date.
package enum ReceiptDateError: Error, Equatable, Sendable {
    /// Not a form that Apple or Xcode writes.
    case form
    /// Not a real date or time: 30 February, or 25 o'clock.
    case noSuchTime
}

extension ReceiptDateError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .form: "it is not of the form YYYY-MM-DDThh:mm:ssZ (RFC 3339)"
        case .noSuchTime: "there is no such day or time"
        }
    }
}

/// Reads a date from left to right.
private struct DateDigits: ~Escapable {
    private let text: Span<UInt8>
    private var position = 0

    @_lifetime(copy text)
    init(_ text: Span<UInt8>) { self.text = text }

    mutating func number(_ count: Int) throws(ReceiptDateError) -> Int {
        var value = 0
        for _ in 0..<count {
            guard position < text.count, Self.isDigit(text[position]) else { throw .form }
            value = value * 10 + Int(text[position] - UInt8(ascii: "0"))
            position += 1
        }
        return value
    }

    mutating func expect(_ character: Unicode.Scalar) throws(ReceiptDateError) {
        try expect(character, or: character)
    }

    mutating func expect(
        _ character: Unicode.Scalar, or other: Unicode.Scalar
    ) throws(ReceiptDateError) {
        guard position < text.count,
            text[position] == UInt8(ascii: character) || text[position] == UInt8(ascii: other)
        else { throw .form }
        position += 1
    }

    private static func isDigit(_ character: UInt8) -> Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(character)
    }

    mutating func time() throws(ReceiptDateError) -> (hour: Int, minute: Int, second: Int) {
        let hour = try number(2)
        try expect(":")
        let minute = try number(2)
        try expect(":")
        return (hour, minute, try number(2))
    }

    /// Reads the fraction of a second, at least one digit after the point, and returns its
    /// milliseconds; 0 if there is none. Mac App Store purchases have three digits.
    mutating func fraction() throws(ReceiptDateError) -> Int64 {
        guard position < text.count, text[position] == UInt8(ascii: ".") else { return 0 }
        position += 1
        var (milliseconds, unit) = (0, 100)
        repeat {
            milliseconds += try number(1) * unit
            unit /= 10
        } while position < text.count && Self.isDigit(text[position])
        return Int64(milliseconds)
    }

    /// Reads `Z`, `+hh:mm`, `-hh:mm`, or Xcode's form without the colon, at the end of the text.
    /// Returns the offset from UTC in seconds.
    mutating func zone() throws(ReceiptDateError) -> Int64 {
        guard position < text.count else { throw .form }
        let sign = text[position]
        position += 1
        if sign == UInt8(ascii: "Z") || sign == UInt8(ascii: "z") {
            guard position == text.count else { throw .form }
            return 0
        }
        guard sign == UInt8(ascii: "+") || sign == UInt8(ascii: "-") else { throw .form }
        let hours = try number(2)
        if position < text.count, text[position] == UInt8(ascii: ":") { position += 1 }
        let minutes = try number(2)
        guard position == text.count else { throw .form }
        guard hours <= 23, minutes <= 59 else { throw .noSuchTime }
        let seconds = Int64(hours * 3600 + minutes * 60)
        return sign == UInt8(ascii: "-") ? -seconds : seconds
    }
}
