import AssayBytes

/// The first member of a JSON text, at any depth, whose value begins like evidence. Not a parser:
/// it also reads text that is cut off or not quite JSON, in one pass.
struct EvidenceMember: Sendable {
    let name: String
    let isReceipt: Bool

    /// What the value begins like, for messages.
    var what: String { isReceipt ? "an app receipt" : "a JWS" }

    /// Nil if no value begins like evidence.
    init?(_ text: FormText) {
        let quote = UInt8(ascii: "\"")
        var offset = text.offset
        while offset < text.end {
            defer { offset += 1 }
            guard text[offset] == quote else { continue }
            let value = text.from(offset + 1)
            let isReceipt = value.starts("MI")
            guard isReceipt || value.starts("eyJ"), Self.isLong(value),
                let name = Self.name(before: offset, in: text)
            else { continue }
            self.name = name
            self.isReceipt = isReceipt
            return
        }
        return nil
    }

    /// Whether a value has more digits of base64 than a word has.
    private static func isLong(_ value: FormText) -> Bool {
        let head = value.slice.prefix(FormLimits.shortestEvidence)
        return head.count == FormLimits.shortestEvidence
            && head.allSatisfy {
                $0.isStandardBase64 || $0.isBase64URL || $0 == UInt8(ascii: ".")
                    || $0 == UInt8(ascii: "\\")
            }
    }

    /// The name of the member whose value begins at an offset.
    private static func name(before value: Int, in text: FormText) -> String? {
        var end = value - 1
        while end > text.offset, text[end].isWhiteSpace { end -= 1 }
        guard end > text.offset, text[end] == UInt8(ascii: ":") else { return nil }
        end -= 1
        while end > text.offset, text[end].isWhiteSpace { end -= 1 }
        guard end > text.offset, text[end] == UInt8(ascii: "\"") else { return nil }
        var start = end
        while start > text.offset, end - start <= FormLimits.nameBytes {
            if text[start - 1] == UInt8(ascii: "\"") {
                return String(decoding: text.slice[start..<end], as: UTF8.self)
            }
            start -= 1
        }
        return nil
    }
}
