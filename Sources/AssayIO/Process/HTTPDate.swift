import Glibc

extension SystemClock {
    /// The time of the machine's clock as in `Sun, 06 Nov 1994 08:49:37 GMT` (RFC 9110, section
    /// 5.6.7).
    package static var httpDate: String { httpDate(secondsSince1970: wallMilliseconds / 1000) }

    package static func httpDate(secondsSince1970 seconds: Int64) -> String {
        var seconds = time_t(seconds)
        var time = unsafe tm()
        // Fails only for years beyond 32 bits.
        unsafe gmtime_r(&seconds, &time)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let (day, month) = unsafe (days[Int(time.tm_wday)], months[Int(time.tm_mon)])
        let date = unsafe "\(two(time.tm_mday)) \(month) \(1900 + time.tm_year)"
        let clock = unsafe [time.tm_hour, time.tm_min, time.tm_sec].map(two)
        return "\(day), \(date) \(clock.joined(separator: ":")) GMT"
    }

    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]
}
