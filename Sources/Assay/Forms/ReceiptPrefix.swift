import AssayBytes

/// The first bytes of a receipt and its size, to name the form of one that can't be read.
///
/// `AppReceiptStream` collects it while a receipt arrives; `EvidenceForm` takes it from a whole
/// text. Neither examines it before the receipt turns out to be unreadable.
struct ReceiptPrefix: Sendable {
    /// The first bytes, at most `FormLimits.prefixBytes`.
    private(set) var bytes: [UInt8] = []
    /// All bytes so far.
    private(set) var totalCount = 0
    /// The first character that is neither a digit, nor padding, nor white space, if it is after
    /// the prefix.
    var fault: (byte: UInt8, offset: Int)?
    /// The octets that arrived; nil if their number is not known.
    var octets: Int?
    /// The offset of the first byte.
    private var start = 0

    init() {}

    /// Takes the prefix of a text that begins like base64 of a receipt.
    init(_ text: FormText, of count: Int) {
        bytes = Array(text.slice.prefix(FormLimits.prefixBytes))
        totalCount = count
        start = text.offset
        fault = text.slice.firstIndex(where: Self.isFault).map { (text[$0], $0) }
        guard text.isWhole else { return }
        octets = text.slice.count(where: \.isStandardBase64) * 3 / 4
    }

    /// Notes the next bytes of a receipt.
    mutating func receive(_ chunk: Span<UInt8>) {
        totalCount += chunk.count
        let missing = FormLimits.prefixBytes - bytes.count
        guard missing > 0 else { return }
        bytes.append(contentsOf: chunk.array(0..<min(missing, chunk.count)))
    }

    var heldBytes: Int { bytes.capacity }

    /// The number of octets that an outer element has by its header; nil for an indefinite length.
    static func size(of head: [UInt8]) -> Int? {
        guard let header = try? TLVHeader.decode(head.span, at: 0, rules: .ber),
            let length = header.length
        else { return nil }
        return header.size + length
    }

    /// The offset of the first space, if the spaces are not where lines end. Line breaks that
    /// became spaces are as far from each other as a line is long; those that were `+` are
    /// anywhere.
    fileprivate var suspiciousSpace: Int? {
        let end = (bytes.lastIndex { !$0.isWhiteSpace }).map { $0 + 1 } ?? 0
        let spaces = bytes[..<end].indices.filter { bytes[$0] == UInt8(ascii: " ") }
        guard let first = spaces.first else { return nil }
        let isRegular =
            spaces.count > 1 && zip(spaces, spaces.dropFirst()).allSatisfy { $1 - $0 == first + 1 }
        return isRegular ? nil : start + first
    }

    /// The first character that base64 can't have.
    fileprivate var firstFault: (byte: UInt8, offset: Int)? {
        bytes.firstIndex(where: Self.isFault).map { (bytes[$0], start + $0) } ?? fault
    }

    private static func isFault(_ byte: UInt8) -> Bool {
        !byte.isStandardBase64 && !byte.isWhiteSpace && byte != UInt8(ascii: "=")
    }
}

extension EvidenceForm {
    /// The form of base64 that begins like a receipt.
    static func receipt(_ prefix: ReceiptPrefix) -> EvidenceForm {
        if let (byte, offset) = prefix.firstFault { return receipt(byte, offset) }
        let digits = prefix.bytes.filter(\.isStandardBase64)
        let whole = Array(digits.prefix(digits.count / 4 * 4))
        let head = (try? Base64.decode(whole.span)) ?? []
        if head.count >= 2, let form = binary(head, of: nil), form.name != .appReceipt {
            return form.inside("base64 of ")
        }
        let size = ReceiptPrefix.size(of: head)
        if let offset = prefix.suspiciousSpace, size == nil || prefix.octets != size {
            return EvidenceForm(
                .spaces,
                "spaces inside base64 (the first at offset \(offset)): a form decoder turned + "
                    + "into spaces; percent-encode the value, or send JSON")
        }
        if let size, let octets = prefix.octets, octets < size { return cut(octets, of: size) }
        return EvidenceForm(
            .appReceipt, "an app receipt (base64 that begins with MI)", of: .appReceipt)
    }

    /// The form of DER that could not be read.
    static func receipt(der prefix: ReceiptPrefix) -> EvidenceForm? {
        prefix.bytes.count < 2 ? nil : der(prefix.bytes, of: prefix.totalCount)
    }

    static func cut(_ octets: Int, of size: Int) -> EvidenceForm {
        EvidenceForm(
            .cutReceipt,
            "an app receipt that is cut off: \(octets) of \(size) octets have arrived; look for a "
                + "limit of a database column, a form field or a log")
    }

    /// The form of base64 with a character that it can't have.
    private static func receipt(_ byte: UInt8, _ offset: Int) -> EvidenceForm {
        let mark = FormText.mark(byte, offset)
        if let form = surrounding(byte, offset, of: "the receipt", named: "the evidence") {
            return form
        }
        switch byte {
        case UInt8(ascii: "-"), UInt8(ascii: "_"):
            return EvidenceForm(
                .urlSafe,
                "base64url (\(mark)) where a receipt has standard base64: replace - by + and _ by "
                    + "/")
        case UInt8(ascii: "."): return ellipsis(byte, offset, in: "the receipt")
        default:
            return EvidenceForm(
                .other,
                "base64 of a receipt with another character (\(mark)): remove it, or send the "
                    + "receipt as bytes")
        }
    }
}
