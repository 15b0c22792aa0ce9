import AssayBytes

/// The apparent format of evidence, for messages about evidence of the wrong kind. It decides no
/// verdict but WRONG_KIND.
package enum EvidenceShape: Equatable, Sendable {
    /// Three segments of base64url.
    case jws
    /// CMS, as DER, as BER or in base64.
    case appReceipt
    /// The text property list, or its base64.
    case transactionReceipt
    /// JSON, such as Unity's wrapper around a receipt or a notification's POST body.
    case json

    /// The format's name, for messages.
    package var name: String {
        switch self {
        case .jws: "a StoreKit 2 JWS"
        case .appReceipt: "an app receipt"
        case .transactionReceipt: "a transaction receipt"
        case .json: "JSON"
        }
    }

    /// Detects the format from the first bytes, and a JWS also from its dots. Nil for an unknown
    /// format.
    package static func detect(_ evidence: Span<UInt8>) -> EvidenceShape? {
        var start = 0
        while start < evidence.count, evidence[start].isWhiteSpace { start += 1 }
        guard start < evidence.count else { return nil }
        // A DER or BER SEQUENCE. No text begins like this ("0" and a length octet from 0x80).
        if start == 0, evidence.count > 1, evidence[0] == Tag.sequence.rawValue,
            evidence[1] >= 0x80
        {
            return .appReceipt
        }
        if evidence[start] == UInt8(ascii: "{") {
            return brace(evidence.extracting(start..<evidence.count))
        }
        if starts(evidence, at: start, with: "ey") {
            var dots = 0
            for index in evidence.indices where evidence[index] == UInt8(ascii: ".") { dots += 1 }
            if dots == 2 { return .jws }
        }
        // 30 8x in base64.
        if starts(evidence, at: start, with: "MI") { return .appReceipt }
        // `{` and the characters that can follow it, in base64.
        for prefix in ["ew", "ey"] where starts(evidence, at: start, with: prefix) {
            let head = evidence.extracting(start..<min(evidence.count, start + 128))
            let digits = head.withoutWhiteSpace
            let whole = Array(digits.prefix(digits.count / 4 * 4))
            guard let text = try? Base64.decode(whole.span) else { return nil }
            return brace(text.span)
        }
        return nil
    }

    /// Distinguishes the text formats by the character after the first member's name: `=` or `:`.
    private static func brace(_ text: Span<UInt8>) -> EvidenceShape? {
        var quotes = 0
        for index in text.indices {
            let byte = text[index]
            if byte == UInt8(ascii: "\"") { quotes += 1 }
            guard quotes == 2 else { continue }
            if byte == UInt8(ascii: "=") { return .transactionReceipt }
            if byte == UInt8(ascii: ":") { return .json }
        }
        return nil
    }

    private static func starts(_ text: Span<UInt8>, at start: Int, with prefix: String) -> Bool {
        let prefix = Array(prefix.utf8)
        guard text.count - start >= prefix.count else { return false }
        return prefix.indices.allSatisfy { text[start + $0] == prefix[$0] }
    }
}
