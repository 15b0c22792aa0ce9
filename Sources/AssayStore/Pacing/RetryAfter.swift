import AssayModels

/// The `Retry-After` of an answer with status 429. Apple writes UNIX time in milliseconds. Seconds
/// since 1970 and, as HTTP has it, seconds from now are understood as well: no value of one form is
/// a sensible one of another.
enum RetryAfter {
    /// The first number that is a time in milliseconds: 1973.
    private static let firstMilliseconds: Int64 = 100_000_000_000
    /// The first number that is a time in seconds: 2001. As a pause it were 31 years.
    private static let firstSeconds: Int64 = 1_000_000_000

    /// Parses the value of the field; nil for anything but a whole number of 64 bits.
    static func time(_ text: String, now: Timestamp) -> Timestamp? {
        let digits = text.utf8.drop { $0 == 0x20 || $0 == 0x09 }
        let trimmed = String(decoding: digits, as: UTF8.self)
            .split(separator: " ", omittingEmptySubsequences: true)
        guard trimmed.count == 1, trimmed[0].utf8.allSatisfy({ (0x30...0x39).contains($0) }),
            let number = Int64(trimmed[0])
        else { return nil }
        if number >= firstMilliseconds { return Timestamp(milliseconds: number) }
        if number >= firstSeconds { return Timestamp(milliseconds: number * 1000) }
        return now.advanced(by: number * 1000)
    }
}
