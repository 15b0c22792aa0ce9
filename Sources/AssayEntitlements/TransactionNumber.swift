/// The order of transaction identifiers: as numbers, whatever their length.
///
/// Apple's identifiers are decimal numbers of up to 20 digits. Text that is not a number comes
/// after all numbers, in byte order.
enum TransactionNumber {
    static func isLess(_ left: String, _ right: String) -> Bool {
        let (left, right) = (left.utf8.span, right.utf8.span)
        let (leftStart, rightStart) = (firstDigit(of: left), firstDigit(of: right))
        guard let leftStart, let rightStart else {
            guard (leftStart == nil) == (rightStart == nil) else { return leftStart != nil }
            return precedes(left, right, from: 0, 0)
        }
        let (leftCount, rightCount) = (left.count - leftStart, right.count - rightStart)
        guard leftCount == rightCount else { return leftCount < rightCount }
        if precedes(left, right, from: leftStart, rightStart) { return true }
        if precedes(right, left, from: rightStart, leftStart) { return false }
        // Equal numbers with different leading zeros.
        return precedes(left, right, from: 0, 0)
    }

    /// Returns the elements in the order of their identifiers. Sorts small keys instead of the
    /// elements, which can have a dozen texts, and reads each number once.
    static func sorted<Element>(_ elements: [Element], by id: (Element) -> String) -> [Element] {
        guard elements.count > 1 else { return elements }
        var keys = elements.enumerated().map { (number: value(id($1)), index: $0) }
        keys.sort { left, right in
            if let left = left.number, let right = right.number { return left < right }
            return isLess(id(elements[left.index]), id(elements[right.index]))
        }
        return keys.map { elements[$0.index] }
    }

    /// The number; nil where it has leading zeros or exceeds 64 bits, and for other text.
    private static func value(_ text: String) -> UInt64? {
        var number: UInt64 = 0
        let digits = text.utf8.span
        for index in digits.indices {
            let byte = digits[index]
            guard byte >= 0x30, byte <= 0x39, number > 0 || byte > 0x30, number < .max / 10 else {
                return nil
            }
            number = number * 10 + UInt64(byte - 0x30)
        }
        return number > 0 ? number : nil
    }

    /// The index of the first digit that is not a leading zero; nil: not a number.
    private static func firstDigit(of text: Span<UInt8>) -> Int? {
        guard text.count > 0 else { return nil }
        for index in text.indices where text[index] < 0x30 || text[index] > 0x39 { return nil }
        var start = 0
        while start < text.count, text[start] == 0x30 { start += 1 }
        return start
    }

    /// Whether the bytes from these indices on are in lexicographic order.
    private static func precedes(
        _ left: Span<UInt8>, _ right: Span<UInt8>, from leftStart: Int, _ rightStart: Int
    ) -> Bool {
        let count = min(left.count - leftStart, right.count - rightStart)
        for index in 0..<count where left[leftStart + index] != right[rightStart + index] {
            return left[leftStart + index] < right[rightStart + index]
        }
        return left.count - leftStart < right.count - rightStart
    }
}
