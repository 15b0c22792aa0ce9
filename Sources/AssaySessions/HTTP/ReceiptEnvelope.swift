import Assay
import AssayBytes
import AssayService
import AssayTelemetry
import AssayWire

/// The JSON around a receipt that is verified as it arrives: the body of a request to Apple's
/// endpoint, `{"receipt-data": "…"}`. Passes on the content of that string, and keeps the text
/// around it, which is parsed at the end: the answer is that to the body read whole.
struct ReceiptEnvelope: Envelope {
    private enum Phase { case before, inside, after }

    private var phase = Phase.before
    private var members = MemberScanner()
    /// The text up to the opening quotation mark, and from the closing one on.
    private var text: [UInt8] = []
    /// An escape that has begun.
    private var escape: [UInt8] = []
    /// The content of one slice, where it has escapes.
    private var decoded: [UInt8] = []
    private var problem: HTTPProblem?

    /// Bytes of the text around the receipt: a password, and members that are ignored.
    static let textBytes = 64 << 10

    var heldBytes: Int { text.capacity + decoded.capacity }

    /// Receives the next bytes of the body.
    ///
    /// - Parameter receipt: called with the next bytes of the string's content.
    mutating func receive(_ bytes: Span<UInt8>, _ receipt: (Span<UInt8>) -> Void) {
        var position = 0
        while position < bytes.count, problem == nil {
            switch phase {
            case .before:
                keep(bytes.extracting(position..<position + 1))
                if members.beginsReceipt(bytes[position]) { phase = .inside }
                position += 1
            case .inside: position = readContent(bytes, from: position, receipt)
            case .after:
                keep(bytes.extracting(position..<bytes.count))
                position = bytes.count
            }
        }
    }

    /// Returns the members of the body, with an empty text instead of the receipt.
    func finish() throws(HTTPProblem) -> JSONObject {
        if let problem { throw problem }
        let members = try HTTPJSONBody.membersOfApple(text.span)
        _ = try HTTPJSONBody.receipt(members, text.span)
        return members
    }

    private mutating func keep(_ bytes: Span<UInt8>) {
        guard text.count + bytes.count <= Self.textBytes else {
            problem =
                phase == .before
                ? .noReceipt(.detect(text, of: .max))
                : HTTPProblem(
                    400, .invalidArgument,
                    "the members beside receipt-data have more than \(Self.textBytes) bytes")
            text = []
            return
        }
        text += bytes.array
    }

    /// Reads the string up to its end or that of the slice. Returns the position after it.
    private mutating func readContent(
        _ bytes: Span<UInt8>, from start: Int, _ receipt: (Span<UInt8>) -> Void
    ) -> Int {
        decoded.removeAll(keepingCapacity: true)
        var (position, plain) = (start, start)
        // Most slices have no escape, and are passed on in place.
        var isPlain = escape.isEmpty
        while position < bytes.count, problem == nil {
            let byte = bytes[position]
            position += 1
            if !escape.isEmpty {
                takeEscaped(byte)
                plain = position
                continue
            }
            if byte > 0x1F, byte != UInt8(ascii: "\""), byte != UInt8(ascii: "\\") { continue }
            if byte == UInt8(ascii: "\\") {
                decoded += bytes.array(plain..<position - 1)
                isPlain = false
                escape = [byte]
            } else if byte == UInt8(ascii: "\"") {
                pass(bytes.extracting(plain..<position - 1), isPlain, receipt)
                phase = .after
                keep([byte].span)
                return position
            } else {
                problem = Self.notJSON("a control character in receipt-data")
            }
        }
        if escape.isEmpty {
            pass(bytes.extracting(plain..<position), isPlain, receipt)
        } else if !decoded.isEmpty {
            receipt(decoded.span)
        }
        return position
    }

    private mutating func pass(
        _ rest: Span<UInt8>, _ isPlain: Bool, _ receipt: (Span<UInt8>) -> Void
    ) {
        guard !isPlain else { return receipt(rest) }
        decoded += rest.array
        receipt(decoded.span)
    }

    // MARK: Escapes

    private mutating func takeEscaped(_ byte: UInt8) {
        escape.append(byte)
        if escape.count == 2 {
            guard byte != UInt8(ascii: "u") else { return }
            guard let octet = JSONEscaping.byte(ofEscape: byte) else {
                problem = Self.notJSON("an unknown escape in receipt-data")
                return
            }
            decoded.append(octet)
        } else {
            guard escape.count == Self.unicodeEscape else { return }
            guard let unit = escape.span.hexadecimal4(at: 2) else {
                problem = Self.notJSON("an escape without four hexadecimal digits in receipt-data")
                return
            }
            // Beyond ASCII no character is base64: which one it is does not matter.
            decoded.append(unit < 0x80 ? UInt8(unit) : 0xFF)
        }
        escape = []
    }

    private static let unicodeEscape = 6

    private static func notJSON(_ reason: String) -> HTTPProblem {
        HTTPProblem(400, .invalidArgument, "the body is not JSON: \(reason)")
    }
}

/// Finds the string `receipt-data` among the members of an object, byte by byte. It checks
/// nothing else: the text is parsed later.
private struct MemberScanner: Sendable {
    private var depth = 0
    private var isInString = false
    private var isEscaped = false
    /// The last string of the object, as far as it can be the name.
    private var name: [UInt8] = []
    private var awaitsReceipt = false

    private static let receiptData = Array("receipt-data".utf8)

    /// Returns true for the opening quotation mark of the member's value.
    mutating func beginsReceipt(_ byte: UInt8) -> Bool {
        if isInString {
            if isEscaped {
                isEscaped = false
            } else if byte == UInt8(ascii: "\\") {
                isEscaped = true
            } else if byte == UInt8(ascii: "\"") {
                isInString = false
                return false
            }
            if name.count <= Self.receiptData.count { name.append(byte) }
            return false
        }
        switch byte {
        case UInt8(ascii: "\""):
            if awaitsReceipt { return true }
            isInString = true
            name.removeAll(keepingCapacity: true)
        case UInt8(ascii: "{"), UInt8(ascii: "["):
            depth += 1
            awaitsReceipt = false
        case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
        case UInt8(ascii: ":"): awaitsReceipt = depth == 1 && name == Self.receiptData
        case UInt8(ascii: ","): awaitsReceipt = false
        default: break
        }
        return false
    }
}
