/// The date of an HTTP message (RFC 9110, section 5.6.7), in the one form that senders write:
/// `Sun, 06 Nov 1994 08:49:37 GMT`.
package enum HTTPDate {
    /// Appends the date of seconds since 1970.
    package static func append(secondsSince1970 seconds: Int64, to output: inout [UInt8]) {
        let time = CivilTime(secondsSince1970: seconds)
        output += days[CivilTime.weekday(secondsSince1970: seconds)].utf8
        output += ", ".utf8
        append(twoDigits: time.day, to: &output)
        output.append(UInt8(ascii: " "))
        output += months[time.month - 1].utf8
        output.append(UInt8(ascii: " "))
        output += String(time.year, width: 4).utf8
        output.append(UInt8(ascii: " "))
        append(twoDigits: time.hour, to: &output)
        output.append(UInt8(ascii: ":"))
        append(twoDigits: time.minute, to: &output)
        output.append(UInt8(ascii: ":"))
        append(twoDigits: time.second, to: &output)
        output += " GMT".utf8
    }

    /// Returns seconds since 1970; nil for another form.
    package static func seconds(_ text: String) -> Int64? {
        let words = text.split(separator: " ")
        guard words.count == 6, words[5] == "GMT",
            let month = months.firstIndex(of: String(words[2]))
        else { return nil }
        let time = words[4].split(separator: ":", omittingEmptySubsequences: false)
        guard time.count == 3, let day = Int(words[1]), let year = Int(words[3]),
            let hour = Int(time[0]), let minute = Int(time[1]), let second = Int(time[2]),
            let civil = CivilTime(
                year: year, month: month + 1, day: day, hour: hour, minute: minute,
                second: min(second, 59))
        else { return nil }
        return civil.secondsSince1970
    }

    private static func append(twoDigits number: Int, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "0") + UInt8(number / 10))
        output.append(UInt8(ascii: "0") + UInt8(number % 10))
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
