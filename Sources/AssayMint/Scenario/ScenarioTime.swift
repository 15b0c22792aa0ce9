/// Times of a scenario: milliseconds after its start, written such as `30d`, `1d12h` or `30d-1ms`.
package enum ScenarioTime {
    package static let day: Int64 = 86_400_000

    private static let units: [String: Int64] = [
        "d": day, "h": 3_600_000, "m": 60_000, "s": 1000, "ms": 1,
    ]

    /// The largest number of one term. As days it is beyond the year 9999, which evidence can
    /// have, and far from the limits of 64 bits.
    private static let largest: Int64 = 10_000_000

    /// Returns the sum of the terms; nil for any other text. A sign holds until the next one.
    package static func parse(_ text: String) -> Int64? {
        var rest = text[...]
        var total: Int64 = 0
        var sign: Int64 = 1
        guard !rest.isEmpty else { return nil }
        while let first = rest.first {
            if first == "-" || first == "+" {
                sign = first == "-" ? -1 : 1
                rest.removeFirst()
            }
            let digits = rest.prefix { ("0"..."9").contains($0) }
            rest = rest[digits.endIndex...]
            let unit = rest.prefix { ("a"..."z").contains($0) }
            rest = rest[unit.endIndex...]
            guard let number = Int64(digits), number <= largest,
                let factor = units[String(unit)], abs(total) <= largest * day
            else { return nil }
            total += sign * number * factor
        }
        return total
    }
}
