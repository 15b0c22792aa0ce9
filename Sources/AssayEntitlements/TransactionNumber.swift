/// The order of transaction identifiers: as numbers, whatever their length.
///
/// Apple's identifiers are decimal numbers of up to 20 digits. Text that is no number comes after
/// all numbers, in byte order.
enum TransactionNumber {
    static func isLess(_ left: String, _ right: String) -> Bool {
        let (leftDigits, rightDigits) = (digits(left), digits(right))
        guard let leftDigits, let rightDigits else {
            guard (leftDigits == nil) == (rightDigits == nil) else { return leftDigits != nil }
            return left.utf8.lexicographicallyPrecedes(right.utf8)
        }
        guard leftDigits.count == rightDigits.count else {
            return leftDigits.count < rightDigits.count
        }
        if leftDigits.elementsEqual(rightDigits) {
            return left.utf8.lexicographicallyPrecedes(right.utf8)
        }
        return leftDigits.lexicographicallyPrecedes(rightDigits)
    }

    /// Without leading zeros; nil: not a number.
    private static func digits(_ text: String) -> Substring.UTF8View.SubSequence? {
        let bytes = text[...].utf8
        guard !bytes.isEmpty, bytes.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return bytes.drop { $0 == 0x30 }
    }
}
