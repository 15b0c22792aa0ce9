import AssayBytes

/// Forms of evidence in another encoding.
extension EvidenceForm {
    /// A text that is evidence in another encoding, by its first characters.
    static func encoded(_ text: FormText) -> EvidenceForm? {
        if text.starts("-----BEGIN ") { return pem(text) }
        if text.first == UInt8(ascii: "%") { return percent(text.offset) }
        if text.starts("{length = ") || text.starts("{length=") {
            return EvidenceForm(
                .dataDescription,
                "the description of NSData, which leaves bytes out (\"{length =\" at offset "
                    + "\(text.offset)): send base64EncodedString()")
        }
        // A receipt from 64 KB on begins with 3083.
        for prefix: StaticString in ["\\x3082", "\\x3080", "\\x3083"]
        where text.starts(prefix) { return hexadecimal(text, at: 2) }
        if text.starts("0x30") || text.starts("0X30") { return hexadecimal(text, at: 2) }
        for prefix: StaticString in [
            "3082", "3080", "3083", "65794a", "65794A", "4d49", "4D49",
        ]
        where text.starts(prefix) && text.count > 64 { return hexadecimal(text, at: 0) }
        for prefix: StaticString in ["48,130,", "48, 130,", "48,131,", "48, 131,"]
        where text.starts(prefix) { return byteList(text) }
        return nil
    }

    private static func hexadecimal(_ text: FormText, at skipped: Int) -> EvidenceForm? {
        let start = text.offset + skipped
        guard text.count > 16,
            text.from(start).slice.allSatisfy({ $0.isHexadecimalDigit || $0.isWhiteSpace })
        else { return nil }
        return EvidenceForm(
            .hexadecimal,
            "hexadecimal digits (from offset \(text.offset) on): send the bytes, or base64 of them")
    }

    static func byteList(_ text: FormText) -> EvidenceForm {
        EvidenceForm(
            .byteList,
            "a list of numbers, one for each byte (\(FormText.mark(text.first, text.offset))): "
                + "send the bytes, or base64 of them")
    }

    /// The description of NSData before iOS 13: `<3082 0c…>`.
    static func description(_ text: FormText) -> EvidenceForm? {
        let digits = text.slice.dropFirst().prefix(8)
        guard digits.count == 8, digits.allSatisfy({ $0.isHexadecimalDigit || $0.isWhiteSpace })
        else {
            return nil
        }
        return EvidenceForm(
            .dataDescription,
            "the description of NSData (\"<\" at offset \(text.offset)): send "
                + "base64EncodedString()")
    }

    private static func pem(_ text: FormText) -> EvidenceForm {
        let line = text.slice.prefix { $0 != UInt8(ascii: "\n") }
        let label = String(decoding: line, as: UTF8.self)
        if label.contains("PRIVATE KEY") { return privateKey }
        if label.contains("BEGIN CERTIFICATE-") { return certificate }
        return EvidenceForm(
            .pem,
            "PEM (\"-----BEGIN\" at offset \(text.offset)): send the lines between BEGIN and END, "
                + "which are base64")
    }

    static let privateKey = EvidenceForm(
        .privateKey,
        "a private key, which has to stay secret: do not send it; evidence is what the App Store "
            + "signed")

    static let certificate = EvidenceForm(
        .certificate,
        "a certificate: pin it with --root; evidence is what was signed with it")

    static func percent(_ offset: Int) -> EvidenceForm {
        EvidenceForm(
            .percentEncoded,
            "a percent sign (\"%\" at offset \(offset)): the text is percent-encoded; decode it "
                + "once")
    }

    /// Base64 of something else than DER, JSON or a property list: of base64, for example.
    static func base64(_ text: FormText) -> EvidenceForm? {
        let head = text.slice.prefix(FormLimits.prefixBytes)
        guard head.count >= 8, let isURL = alphabet(of: head) else { return nil }
        // Base64 of MI and of eyJ.
        if text.starts("TUl") || text.starts("ZXlK") {
            return EvidenceForm(
                .base64Twice,
                "base64 of base64 (\(FormText.mark(text.first, text.offset)), the first digit of "
                    + "it): encode once")
        }
        let digits = head.filter { !$0.isWhiteSpace && $0 != UInt8(ascii: "=") }
        let whole = Array(digits.prefix(digits.count / 4 * 4))
        let decoded = isURL ? try? Base64URL.decode(whole.span) : try? Base64.decode(whole.span)
        let count = text.isWhole && text.count == head.count ? decoded?.count : nil
        guard let decoded, let form = binary(decoded, of: count), form.name != .other else {
            return nil
        }
        return form.inside("base64 of something else: ")
    }

    /// Whether the digits are those of base64url; nil for other characters.
    private static func alphabet(of text: ArraySlice<UInt8>) -> Bool? {
        var isURL = false
        for byte in text where !byte.isWhiteSpace && byte != UInt8(ascii: "=") {
            guard byte.isStandardBase64 || byte.isBase64URL else { return nil }
            if !byte.isStandardBase64 { isURL = true }
        }
        return isURL
    }
}
