import AssayBytes

extension DERReader {
    /// Reads a UTCTime or GeneralizedTime in the only forms of RFC 5280, section 4.1.2.5: to the
    /// second, ending in Z. Returns seconds since 1970.
    package mutating func readTime() throws(DERError) -> Int64 {
        let element = try readElement()
        switch element.tag {
        case .utcTime where element.content.count == 13:
            // 4.1.2.5.1: 50 to 99 are 19YY, 00 to 49 are 20YY.
            let short = try digits(element, at: 0, count: 2)
            return try seconds(element, year: short + (short >= 50 ? 1900 : 2000), yearDigits: 2)
        case .generalizedTime where element.content.count == 15:
            return try seconds(
                element, year: try digits(element, at: 0, count: 4), yearDigits: 4)
        case .utcTime, .generalizedTime:
            throw .invalidTime(at: element.start)
        default:
            throw .unexpectedTag(
                expected: Tag.utcTime.rawValue, found: element.tag.rawValue, at: element.start)
        }
    }

    private func seconds(
        _ element: DERElement, year: Int, yearDigits: Int
    ) throws(DERError) -> Int64 {
        guard bytes[element.content.upperBound - 1] == UInt8(ascii: "Z"),
            let time = CivilTime(
                year: year,
                month: try digits(element, at: yearDigits, count: 2),
                day: try digits(element, at: yearDigits + 2, count: 2),
                hour: try digits(element, at: yearDigits + 4, count: 2),
                minute: try digits(element, at: yearDigits + 6, count: 2),
                second: try digits(element, at: yearDigits + 8, count: 2))
        else { throw .invalidTime(at: element.start) }
        return time.secondsSince1970
    }

    private func digits(
        _ element: DERElement, at offset: Int, count: Int
    ) throws(DERError) -> Int {
        var value = 0
        for index in 0..<count {
            let byte = bytes[element.content.lowerBound + offset + index]
            guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else {
                throw .invalidTime(at: element.start)
            }
            value = value * 10 + Int(byte - UInt8(ascii: "0"))
        }
        return value
    }
}
