import AssayBytes
import AssayModels

/// The `Retry-After` of an answer with status 429 or 503. Apple writes UNIX time in milliseconds.
/// Seconds since 1970 and HTTP's two forms, seconds from now and a date, are understood as well: no
/// value of one form is a sensible one of another.
enum RetryAfter {
    /// The first number that is a time in milliseconds: 1973.
    private static let firstMilliseconds: Int64 = 100_000_000_000
    /// The first number that is a time in seconds: 2001. As a pause it were 31 years.
    private static let firstSeconds: Int64 = 1_000_000_000

    /// Parses the value of the field; nil for anything but a whole number of 64 bits or a date of
    /// RFC 9110.
    static func time(_ text: String, now: Timestamp) -> Timestamp? {
        let digits = text.utf8.drop { $0 == 0x20 || $0 == 0x09 }
        let trimmed = String(decoding: digits, as: UTF8.self)
            .split(separator: " ", omittingEmptySubsequences: true)
        if let date = HTTPDate.seconds(String(decoding: digits, as: UTF8.self)) {
            return Timestamp(milliseconds: date * 1000)
        }
        guard trimmed.count == 1, trimmed[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(trimmed[0])
        else { return nil }
        if number >= firstMilliseconds { return Timestamp(milliseconds: number) }
        if number >= firstSeconds { return Timestamp(milliseconds: number * 1000) }
        return now.advanced(by: number * 1000)
    }
}
