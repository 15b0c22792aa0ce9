import AssayBytes

/// Forms of a compact JWS, which begins with the base64 of an opening brace.
extension EvidenceForm {
    /// The characters of a signature of ES256: 64 octets.
    private static let signatureCharacters = 86

    static func token(_ text: FormText) -> EvidenceForm {
        let text = text.withoutLineBreak
        var dots: [Int] = []
        for offset in text.offset..<text.end {
            let byte = text[offset]
            if byte == UInt8(ascii: ".") {
                if dots.last == offset - 1 { return ellipsis(byte, offset, in: "the JWS") }
                dots.append(offset)
            } else if !byte.isBase64URL {
                return character(byte, at: offset, dots, text)
            }
        }
        if dots.isEmpty { return oneSegment(text) }
        // A JWS is not longer than the first bytes.
        guard text.isWhole else {
            return EvidenceForm(
                .jws, "a JWS of \(text.size) bytes; the limit of a JWS is \(Limits.jwsBytes)")
        }
        return segments(dots, text)
    }

    private static func jws(_ payload: JSONDocument?) -> EvidenceForm {
        guard let kind = payload.flatMap(PayloadKind.detect) else {
            return EvidenceForm(.jws, "a StoreKit 2 JWS: use the kind of its payload")
        }
        return EvidenceForm(
            .jws, "a StoreKit 2 JWS with a payload of \(kind.name)", of: kind)
    }

    // MARK: Characters

    private static func character(
        _ byte: UInt8, at offset: Int, _ dots: [Int], _ text: FormText
    ) -> EvidenceForm {
        let mark = FormText.mark(byte, offset)
        if let form = surrounding(byte, offset, of: "the JWS", named: "the JWS") { return form }
        switch byte {
        case UInt8(ascii: " "), UInt8(ascii: "\n"), UInt8(ascii: "\r"), UInt8(ascii: "\t"):
            return space(at: offset, dots, text)
        case UInt8(ascii: "="), UInt8(ascii: "+"), UInt8(ascii: "/"):
            if dots.isEmpty, !text.slice.contains(UInt8(ascii: ".")) { return oneSegment(text) }
            return EvidenceForm(
                .tokenAlphabet,
                "standard base64 (\(mark)) where a JWS has base64url without padding: send the "
                    + "token as StoreKit made it")
        default:
            return EvidenceForm(
                .other, "a JWS with another character (\(mark)): send the token alone")
        }
    }

    private static func space(at offset: Int, _ dots: [Int], _ text: FormText) -> EvidenceForm {
        let rest = text.from(offset)
        guard let next = rest.start else {
            return EvidenceForm(
                .whiteSpace,
                "white space after the JWS (\(FormText.mark(text[offset], offset))): only one line "
                    + "break can follow it")
        }
        if dots.count == 2, text.from(next).starts("ey") {
            return EvidenceForm(
                .joinedTokens,
                "several tokens, the second one at offset \(next): send one at a time")
        }
        if dots.count == 2 {
            return EvidenceForm(
                .whiteSpace,
                "white space after the JWS (\(FormText.mark(text[offset], offset))), and more text "
                    + "after it: send the token alone")
        }
        if dots.isEmpty, !text.slice.contains(UInt8(ascii: ".")) {
            return oneSegment(text)
        }
        return EvidenceForm(
            .wrappedToken,
            "white space inside the JWS (\(FormText.mark(text[offset], offset))): it was wrapped; "
                + "join its lines")
    }

    // MARK: Segments

    /// Base64 of a text that begins with a brace, and no dot.
    private static func oneSegment(_ text: FormText) -> EvidenceForm {
        let digits = text.slice.filter {
            !$0.isWhiteSpace && $0 != UInt8(ascii: "=")
        }
        let decoded = LenientBase64.decode(Array(digits).span).octets
        switch EvidenceShape.detect(decoded.span) {
        case .transactionReceipt:
            return transactionReceipt("base64 of a text")
        case .json, .jws, .appReceipt, nil: break
        }
        guard decoded.count > 1, decoded[0] == UInt8(ascii: "{") else {
            return cut("it has no dot", text)
        }
        if text.isWhole, (try? JSONDocument.parse(decoded)) == nil {
            return cut("it has no dot", text)
        }
        let total = text.isWhole ? decoded.count : max(text.total / 4 * 3, decoded.count + 1)
        return object(FormText(decoded, of: total)).inside("base64 of ")
    }

    static func transactionReceipt(_ encoding: String) -> EvidenceForm {
        EvidenceForm(
            .transactionReceipt, "a transaction receipt of iOS 3 to 6 (\(encoding))",
            of: .transactionReceipt)
    }

    private static func cut(_ reason: String, _ text: FormText) -> EvidenceForm {
        EvidenceForm(
            .cutToken,
            "a JWS that is cut off: \(reason), and ends at offset \(text.end); a JWS has three "
                + "segments between dots")
    }

    private static func segments(_ dots: [Int], _ text: FormText) -> EvidenceForm {
        if dots.count == 1 { return cut("the signature is missing", text) }
        if dots.count == 4 {
            let third = text.from(dots[2] + 1)
            if !third.starts("ey"), dots[2] - dots[1] - 1 < signatureCharacters + 2 {
                return EvidenceForm(
                    .encryptedToken,
                    "an encrypted token (JWE, five segments): the App Store encrypts no evidence")
            }
        }
        guard dots.count == 2 else {
            return EvidenceForm(
                .joinedTokens,
                "\(dots.count + 1) segments, more than the three of a JWS (the fourth at offset "
                    + "\(dots[2] + 1)): send one token at a time")
        }
        let header = segment(text.offset..<dots[0], of: text)
        let payload = segment(dots[0] + 1..<dots[1], of: text)
        guard let header else {
            return EvidenceForm(
                .cutToken,
                "a JWS whose header is no JSON (offset \(text.offset) to \(dots[0])): it is not "
                    + "whole; send it as StoreKit made it")
        }
        if let form = foreign(header, payload) { return form }
        guard payload != nil else {
            return EvidenceForm(
                .cutToken,
                "a JWS whose payload is no JSON (offset \(dots[0] + 1) to \(dots[1])): it is not "
                    + "whole; send it as StoreKit made it")
        }
        let size = text.end - dots[1] - 1
        if size < signatureCharacters {
            return EvidenceForm(
                .cutToken,
                "a JWS that is cut off: \(size) of \(signatureCharacters) characters of the "
                    + "signature; send the whole text")
        }
        if size > signatureCharacters {
            return EvidenceForm(
                .joinedTokens,
                "a JWS with \(size - signatureCharacters) characters after its signature (offset "
                    + "\(dots[1] + 1 + signatureCharacters)): send the token alone")
        }
        return jws(payload)
    }

    private static func segment(_ range: Range<Int>, of text: FormText) -> JSONDocument? {
        let decoded = try? Base64URL.decode(Array(text.slice[range]).span)
        guard let decoded, let document = try? JSONDocument.parse(decoded),
            document.root.kind == .object
        else { return nil }
        return document
    }

    // MARK: Foreign tokens

    /// A token that is none of the App Store's evidence, by its header and the issuer that it
    /// names.
    private static func foreign(
        _ header: JSONDocument, _ payload: JSONDocument?
    ) -> EvidenceForm? {
        let certificates = header.root["x5c"]?.elements.map { Array($0) }
        if certificates?.count == 1, isXcode(header, certificates?.first?.string) {
            return EvidenceForm(.xcodeToken, xcodeText)
        }
        guard certificates == nil else { return nil }
        let issuer = payload?.root["iss"]?.string ?? ""
        if payload?.root["aud"]?.equals("appstoreconnect-v1") == true {
            return EvidenceForm(
                .apiToken,
                "a token for calling the App Store Server API, which has to stay secret: send the "
                    + "signed data of Apple's answers")
        }
        if issuer == "https://appleid.apple.com" {
            return EvidenceForm(
                .signInWithApple,
                "an identity token of Sign in with Apple, which is no purchase: send the "
                    + "transaction's jwsRepresentation")
        }
        if issuer.hasPrefix("https://accounts.google.com")
            || issuer.hasPrefix("https://securetoken.google.com/")
        {
            return EvidenceForm(
                .googleToken,
                "an identity token of Google or Firebase, which is no purchase: send the "
                    + "transaction's jwsRepresentation")
        }
        let algorithm = quoted(header.root["alg"]?.string)
        return EvidenceForm(
            .foreignToken,
            "a token without certificates (alg \(algorithm), no x5c), so not of the App Store: "
                + "send the transaction's jwsRepresentation")
    }

    /// Whether one certificate in x5c is of Xcode's StoreKit testing.
    private static func isXcode(_ header: JSONDocument, _ certificate: String?) -> Bool {
        if JWSHeader.isOfXcode(header) { return true }
        guard let certificate,
            let der = try? Base64.decode(Array(certificate.utf8).span),
            let parsed = try? Certificate(der: der)
        else { return false }
        return parsed.isOfXcode
    }
}

extension Certificate {
    /// Whether Xcode's StoreKit testing made this certificate, by its name. Anybody can use the
    /// name, so it only chooses the text of a refusal.
    var isOfXcode: Bool {
        isIssued(inNameOf: self) && subjectCommonName.hasPrefix("StoreKit")
    }
}
