import AssayBytes

/// Forms that are known by the first characters of a text.
extension EvidenceForm {
    /// Texts that programs print for a missing value, and ids.
    static func noValue(_ text: FormText) -> EvidenceForm? {
        guard let short = text.short(64) else { return nil }
        switch short {
        case "null", "(null)", "<null>", "nil", "undefined", "None", "NaN", "true", "false",
            "\"\"", "''", "Optional(nil)":
            return EvidenceForm(.noValue, "the text \(short): the app sent no value")
        case _
        where short.hasPrefix("[object ") && short.hasSuffix("]")
            && short.utf8.allSatisfy({ $0 == 0x20 || $0.isLetter || $0 == 0x5B || $0 == 0x5D }):
            return EvidenceForm(
                .noValue,
                "the text \(short): JavaScript made it of an object; send its member "
                    + "jwsRepresentation or purchaseToken")
        case "{}":
            return EvidenceForm(
                .emptyObject,
                "an empty JSON object, such as that of an unfinished promise: await the value "
                    + "before you send it")
        default: break
        }
        if isTransactionId(short) {
            return EvidenceForm(
                .transactionId,
                "a transaction id (\(short.utf8.count) digits), which is no evidence: ask the App "
                    + "Store for it with fetch, or send the transaction's jwsRepresentation")
        }
        if UUIDText.isValid(short) {
            return EvidenceForm(
                .uuid,
                "a UUID, such as an appAccountToken or notificationUUID: send the signed JWS")
        }
        return nil
    }

    static func isTransactionId(_ text: String) -> Bool {
        (1...20).contains(text.utf8.count) && text.utf8.allSatisfy(\.isDigit)
    }

    /// Something around the evidence, or in its place.
    static func around(_ text: FormText) -> EvidenceForm? {
        let mark = FormText.mark(text.first, text.offset)
        switch text.first {
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"):
            return EvidenceForm(
                .quoted,
                "a quotation mark before the evidence (\(mark)): it was encoded as JSON or "
                    + "copied with its quotes; send the text between them")
        case 0xE2 where text.starts("\u{201C}") || text.starts("\u{2018}"):
            return EvidenceForm(
                .quoted,
                "a typographic quotation mark before the evidence at offset \(text.offset): send "
                    + "the text between the quotes")
        // A database writes hexadecimal with `\x` before it.
        case UInt8(ascii: "\\") where !text.starts("\\x30"): return escaped(text.offset)
        case UInt8(ascii: "b") where text.starts("b'") || text.starts("b\""):
            return EvidenceForm(
                .pythonBytes,
                "Python's text of bytes (\(mark), then a quotation mark): send value.decode()")
        case UInt8(ascii: "O") where text.starts("Optional("):
            return EvidenceForm(
                .optional, "Swift's Optional(…) at offset \(text.offset): unwrap the value first")
        default: break
        }
        if text.starts("bearer ", ignoringCase: true) {
            return EvidenceForm(
                .bearer,
                "the word Bearer before the evidence at offset \(text.offset): send the token "
                    + "after it")
        }
        if text.starts("data:", ignoringCase: true) {
            return EvidenceForm(
                .dataURI,
                "a data: URI at offset \(text.offset): send what follows the comma")
        }
        return address(text) ?? message(text) ?? formBody(text)
    }

    /// A URL or path instead of the content.
    private static func address(_ text: FormText) -> EvidenceForm? {
        if text.starts("http://", ignoringCase: true) || text.starts("https://", ignoringCase: true)
        {
            return EvidenceForm(.address, "the address of a page: send the evidence itself")
        }
        let name = text.short(1024)
        if text.starts("file://")
            || text.first == UInt8(ascii: "/") && name?.contains("/") == true
                && (name?.hasSuffix("/receipt") == true
                    || name?.hasSuffix("/sandboxReceipt") == true)
        {
            return EvidenceForm(
                .fileName,
                "the name of a file, such as appStoreReceiptURL: send the file's content as base64")
        }
        return nil
    }

    private static func message(_ text: FormText) -> EvidenceForm? {
        if text.starts("HTTP/1.") || text.starts("HTTP/2") || text.starts("POST /")
            || text.starts("GET /") || text.starts("PUT /")
        {
            return EvidenceForm(
                .httpMessage, "an HTTP message with its head: send the body alone")
        }
        guard text.first == UInt8(ascii: "<") else { return nil }
        if text.starts("<!doctype html", ignoringCase: true)
            || text.starts("<html", ignoringCase: true)
        {
            return EvidenceForm(
                .webPage,
                "a web page (HTML), such as the error of a proxy: look at what the request got")
        }
        if text.starts("<?xml") || text.starts("<!DOCTYPE plist") || text.starts("<plist") {
            return EvidenceForm(
                .propertyList,
                "XML, such as a property list: send the evidence that is inside as base64")
        }
        return description(text)
    }

    /// A body of `application/x-www-form-urlencoded`, such as `receipt-data=MII…`.
    private static func formBody(_ text: FormText) -> EvidenceForm? {
        guard text.first.isLetter, !text.starts("ey"), !text.starts("MI") else { return nil }
        var index = text.offset
        while index < text.end, index - text.offset < FormLimits.nameBytes {
            let byte = text[index]
            if byte == UInt8(ascii: "=") { break }
            guard byte.isBase64URL else { return nil }
            index += 1
        }
        // Padding of base64 is followed by nothing.
        guard index < text.end, text[index] == UInt8(ascii: "="), text.end - index > 8,
            text[index + 1] != UInt8(ascii: "=")
        else { return nil }
        return EvidenceForm(
            .formBody,
            "a form body (\"=\" at offset \(index)): send the value after it, percent-decoded, or "
                + "JSON")
    }

    static func escaped(_ offset: Int) -> EvidenceForm {
        EvidenceForm(
            .escaped,
            "a backslash (\"\\\" at offset \(offset)): the text is escaped, as inside JSON; decode "
                + "the JSON and send the string's value")
    }

    /// A character that is no digit of base64, and belongs to what is around the evidence.
    ///
    /// - Parameters:
    ///   - what: the evidence, such as `the receipt`.
    ///   - name: the same for a reader who may not know that it is one.
    static func surrounding(
        _ byte: UInt8, _ offset: Int, of what: String, named name: String
    ) -> EvidenceForm? {
        let mark = FormText.mark(byte, offset)
        switch byte {
        case UInt8(ascii: "%"): return percent(offset)
        case UInt8(ascii: "\\"): return escaped(offset)
        case UInt8(ascii: "\""), UInt8(ascii: "'"), UInt8(ascii: "`"):
            return EvidenceForm(
                .quoted, "a quotation mark after \(name) (\(mark)): send the text before it")
        case UInt8(ascii: "&"):
            return EvidenceForm(
                .formBody,
                "the next field of a form follows \(what) (\(mark)): send the value before it")
        case UInt8(ascii: ","), UInt8(ascii: ";"), UInt8(ascii: "|"):
            return EvidenceForm(
                .csv, "a line of a table (\(mark)): send the field with \(name) alone")
        case 0xE2: return ellipsis(byte, offset, in: what)
        default: return nil
        }
    }

    static func ellipsis(_ byte: UInt8, _ offset: Int, in what: String) -> EvidenceForm {
        EvidenceForm(
            .ellipsis,
            "an ellipsis (\(FormText.mark(byte, offset))): a log or a debugger shortened \(what); "
                + "send the whole value")
    }

    /// A line of a table with evidence in one of its fields.
    static func field(_ text: FormText) -> EvidenceForm? {
        // The base64 of a receipt begins with MIM from 64 KB on.
        for prefix: StaticString in [
            ",eyJ", ";eyJ", "\teyJ", "|eyJ", ",MII", ";MII", "\tMII", ",MIM", ";MIM", "\tMIM",
        ] {
            guard let offset = text.offset(of: prefix) else { continue }
            return EvidenceForm(
                .csv,
                "a line of a table (\(FormText.mark(text[offset], offset))): send the field with "
                    + "the evidence alone")
        }
        if let offset = text.offset(of: ".AO-J1O") {
            return EvidenceForm(
                .googlePurchase,
                "a purchase token of Google Play (\".AO-J1O\" at offset \(offset)): ask Google")
        }
        return nil
    }
}
