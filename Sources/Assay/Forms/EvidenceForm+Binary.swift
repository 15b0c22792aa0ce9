import AssayBytes

/// Forms that are known by their first octets, which are no text.
extension EvidenceForm {
    /// - Parameters:
    ///   - head: the first bytes.
    ///   - count: the number of all bytes; nil if it is not known.
    static func binary(_ head: [UInt8], of count: Int?) -> EvidenceForm? {
        guard head.count >= 2 else { return nil }
        switch (head[0], head[1]) {
        case (0xFF, 0xFE), (0xFE, 0xFF),
            (0x21...0x2F, 0), (0x32...0x7E, 0),
            (0, 0x21...0x7E):
            return EvidenceForm(
                .utf16,
                "UTF-16 (\(FormText.mark(head[1], 1))): save the text as UTF-8 without a byte "
                    + "order mark")
        case (0xEF, 0xBB) where head.count > 2 && head[2] == 0xBF:
            return EvidenceForm(
                .byteOrderMark,
                "a byte order mark (U+FEFF) at offset 0 precedes the evidence: save the text as "
                    + "UTF-8 without it")
        case (0x1F, 0x8B):
            return EvidenceForm(
                .compressed, "gzip (0x1f at offset 0): decompress it, and send what is inside")
        case (0x50, 0x4B) where head.count > 3 && head[2] == 3 && head[3] == 4:
            return EvidenceForm(
                .compressed, "a zip archive (\"PK\" at offset 0): send the files inside")
        case (0x62, 0x70) where head.starts(with: Array("bplist".utf8)):
            return EvidenceForm(
                .propertyList,
                "a binary property list (\"bplist\" at offset 0), such as that of "
                    + "NSKeyedArchiver: archive nothing; send the evidence as base64")
        case (0xA2, 0x69), (0xA3, 0x63):
            return appAttest(head)
        case (0x30, _): return der(head, of: count)
        case (0x31, _) where isSet(head, of: count):
            return EvidenceForm(
                .unsignedContent,
                "the attributes inside a receipt (a DER SET, 0x31 at offset 0), without their "
                    + "signature: send the whole receipt")
        default:
            guard head[0] < 0x20 && !head[0].isWhiteSpace || head[0] >= 0x7F && head[0] != 0xE2
            else { return nil }
            return EvidenceForm(
                .other,
                "bytes that are no known evidence (\(FormText.mark(head[0], 0))): send the JWS, or "
                    + "the receipt as it is on the device")
        }
    }

    /// CBOR of App Attest: a map of `fmt`, `attStmt` and `authData`, or of `signature` and
    /// `authenticatorData`.
    private static func appAttest(_ head: [UInt8]) -> EvidenceForm? {
        let rest = head.dropFirst(2)
        guard rest.starts(with: Array("fmt".utf8)) || rest.starts(with: Array("signature".utf8))
        else { return nil }
        return EvidenceForm(
            .appAttest,
            "an object of App Attest (CBOR, \(FormText.mark(head[0], 0))), which proves the app "
                + "and no purchase: send the transaction's jwsRepresentation")
    }

    /// Whether the bytes are one SET of SEQUENCEs. A text can begin with "1" too.
    private static func isSet(_ head: [UInt8], of count: Int?) -> Bool {
        guard let header = try? TLVHeader.decode(head.span, at: 0, rules: .ber),
            let length = header.length, header.size < head.count
        else { return false }
        return header.size + length == count && head[header.size] == Tag.sequence.rawValue
    }

    /// The bytes of a DER SEQUENCE, or of one that was damaged as text.
    static func der(_ head: [UInt8], of count: Int?) -> EvidenceForm? {
        if let form = damaged(head) { return form }
        // A short key of SEC 1. Other short elements are text: "0" and a character.
        if head.starts(with: [0x30, 0x77, 0x02, 0x01, 0x01, 0x04]) { return privateKey }
        guard head[1] >= 0x80 else { return nil }
        let sample = FormText(Array(head.prefix(FormLimits.propertyListOffset)))
        if sample.offset(of: "<?xml") != nil || sample.offset(of: "<!DOCTYPE plist") != nil {
            return EvidenceForm(
                .provisioningProfile,
                "a provisioning profile (a property list in CMS): send the app's receipt")
        }
        // The element after the outer SEQUENCE's header.
        let inner = head.dropFirst(head[1] == 0x80 ? 2 : 2 + Int(head[1] & 0x7F))
        switch inner.first {
        case 0x06, nil: break
        case 0x30: return certificate
        case 0x02: return privateKey
        default: break
        }
        if let count, let size = ReceiptPrefix.size(of: head), count < size {
            return cut(count, of: size)
        }
        return EvidenceForm(
            .appReceipt, "an app receipt (DER, 0x30 at offset 0)", of: .appReceipt)
    }

    /// DER that was read as text and written as UTF-8.
    private static func damaged(_ head: [UInt8]) -> EvidenceForm? {
        let second = head.dropFirst().prefix(3)
        if second.starts(with: [0xC2, 0x80]) || second.starts(with: [0xC2, 0x82])
            || second.starts(with: [0xC2, 0x83]) || second.starts(with: [0xE2, 0x80, 0x9A])
            || second.starts(with: [0xE2, 0x82, 0xAC]) || second.starts(with: [0xC6, 0x92])
        {
            return EvidenceForm(
                .latin1,
                "DER that was read as Latin-1 text and written as UTF-8 "
                    + "(\(FormText.mark(head[1], 1))): read the receipt as bytes, and send base64")
        }
        if second.starts(with: [0xEF, 0xBF, 0xBD]) || second.first == UInt8(ascii: "?") {
            return EvidenceForm(
                .utf8,
                "DER that was read as UTF-8 text, which lost its bytes "
                    + "(\(FormText.mark(head[1], 1))): read the receipt as bytes, and send base64")
        }
        return nil
    }
}
