import AssayBytes
package import AssayModels

extension DERWriter {
    /// Writes a Time in the form of RFC 5280 (4.1.2.5): UTCTime through 2049, GeneralizedTime
    /// from 2050.
    package mutating func time(_ time: Timestamp) {
        let year = CivilTime(time).year
        if (1950..<2050).contains(year) { utcTime(time) } else { generalizedTime(time) }
    }

    /// Writes `YYMMDDHHMMSSZ` for any century.
    package mutating func utcTime(_ time: Timestamp) {
        element(tag: 0x17, content: Array(CivilTime(time).digits.dropFirst(2)))
    }

    /// Writes `YYYYMMDDHHMMSSZ`.
    package mutating func generalizedTime(_ time: Timestamp) {
        element(tag: 0x18, content: CivilTime(time).digits)
    }
}

extension CivilTime {
    /// `YYYYMMDDHHMMSSZ`: RFC 3339 without its separators.
    fileprivate var digits: [UInt8] {
        rfc3339.utf8.filter { !"-T:".utf8.contains($0) }
    }
}
