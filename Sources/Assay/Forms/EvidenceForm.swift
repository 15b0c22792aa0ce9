import AssayBytes
package import AssayModels

/// What bytes look like, for the refusal of evidence that could not be read.
///
/// A pure function of at most the first 64 KB, but for the fault of JSON. It decides no verdict,
/// and runs only after reading has failed, so it costs nothing for evidence that is valid. One pass
/// over the text, and no recursion but one level of base64.
package struct EvidenceForm: Equatable, Sendable {
    /// The forms. Each has a line in docs/mistakes.md.
    package enum Name: String, CaseIterable, Sendable {
        // MARK: Evidence
        case jws, appReceipt, transactionReceipt, postBody, serverAnswer, notificationV1
        case wrapper
        // MARK: No value
        case empty, noValue, emptyObject, transactionId, uuid
        // MARK: Around the evidence
        case byteOrderMark, whiteSpace, quoted, optional, pythonBytes, bearer, dataURI, formBody
        case httpMessage, csv, jsonList, verifyRequest, receiptRequest, purchaseRequest
        // MARK: Encodings
        case utf16, latin1, utf8, escaped, percentEncoded, spaces, urlSafe, base64Twice
        case hexadecimal, dataDescription, byteList, pem, compressed
        // MARK: Parts
        case cutToken, cutReceipt, wrappedToken, tokenAlphabet, joinedTokens, ellipsis
        case unsignedContent, decodedPayload, decodedHeader, severalTokens
        // MARK: Other things
        case xcodeToken, apiToken, signInWithApple, googleToken, foreignToken, encryptedToken
        case receiptAnswer, storeError, googlePurchase, googleNotification, huaweiPurchase
        case huaweiNotification
        case amazonPurchase, unityTestStore, applePay, appAttest, certificate, privateKey
        case provisioningProfile, propertyList, webPage, address, fileName, json, other
    }

    package let name: Name
    /// What it is, where, and the one thing to do.
    package let text: String
    /// The kind that the text names, whose limit counts.
    let kind: EvidenceKind?

    init(_ name: Name, _ text: String) {
        self.name = name
        self.text = text
        kind = nil
    }

    /// Evidence of a kind.
    ///
    /// - Parameter what: what it is.
    init(_ name: Name, _ what: String, of kind: EvidenceKind) {
        self.name = name
        text = what + Self.kindAdvice + kind.name
        self.kind = kind
    }

    private init(_ name: Name, _ text: String, _ kind: EvidenceKind?) {
        self.name = name
        self.text = text
        self.kind = kind
    }

    private static let kindAdvice = ": use the kind "

    /// The form of what is inside something else.
    ///
    /// - Parameter around: what is around it, such as `base64 of `.
    func inside(_ around: String, named name: Name? = nil) -> EvidenceForm {
        EvidenceForm(name ?? self.name, around + text, kind)
    }

    /// The text without the kind to use.
    var what: String {
        kind.map { String(text.dropLast(Self.kindAdvice.count + $0.name.count)) } ?? text
    }

    /// The text for a path that has no kinds.
    package var textOfPath: String { Self.namingPath(text) }

    /// A text with the path to use in place of the kind: Apple's endpoint has no kinds.
    package static func namingPath(_ text: String) -> String {
        guard let advice = text.firstRange(of: kindAdvice) else { return text }
        let rest = text[advice.upperBound...]
        let named = rest.prefix { $0.isLowercase || $0.isNumber || $0 == "-" }
        let isKind = EvidenceKind(name: String(named)) != nil
        let path = ": post it to /v1/verify?kind=" + (isKind ? named : "auto")
        let end = isKind ? named.endIndex : rest.endIndex
        return text[..<advice.lowerBound] + path + text[end...]
    }

    /// Names the form of these bytes.
    package static func detect(_ evidence: Span<UInt8>) -> EvidenceForm {
        let head = evidence.array(0..<min(evidence.count, FormLimits.headBytes))
        return detect(head, of: evidence.count).withFault(of: evidence)
    }

    /// The form of evidence in JSON that can't be read, with the fault: the kind to use would say
    /// it next.
    private func withFault(of evidence: Span<UInt8>) -> EvidenceForm {
        guard let limit = kind?.byteLimit, (1...limit).contains(evidence.count),
            evidence[0] == UInt8(ascii: "{"), name != .transactionReceipt
        else { return self }
        do throws(JSONError) {
            _ = try JSONDocument.parse(evidence, limit: limit)
            return self
        } catch {
            return EvidenceForm(name, "\(what), which is not valid JSON: \(error)")
        }
    }

    /// - Parameters:
    ///   - head: the first bytes, at most `FormLimits.headBytes`.
    ///   - count: the number of all bytes.
    package static func detect(_ head: [UInt8], of count: Int) -> EvidenceForm {
        let text = FormText(head, of: count)
        if let form = binary(head, of: count) { return form }
        guard let start = text.start else {
            return EvidenceForm(.empty, "it is empty: the app sent no value")
        }
        let form = self.text(text.from(start), of: count)
        guard start > 0, form.isEvidence else { return form }
        return EvidenceForm(
            .whiteSpace,
            "white space before the evidence (\(FormText.mark(head[0], 0))): remove it")
    }

    /// Whether the form is that of evidence of some kind, alone or in a wrapper.
    package var isEvidence: Bool {
        switch name {
        case .jws, .appReceipt, .transactionReceipt, .postBody, .serverAnswer, .notificationV1,
            .wrapper:
            true
        default: false
        }
    }

    /// Whether evidence of this kind has this form.
    package func fits(_ kind: EvidenceKind) -> Bool {
        switch kind.format {
        case .jws:
            name == .jws
                || name == .postBody && kind.store == .apple && kind.traits.bodyMember != nil
        case .appReceipt: name == .appReceipt
        case .transactionReceipt: name == .transactionReceipt
        // Other JSON is refused with the members that are missing, and an error with its code.
        case .serverAnswer: [.serverAnswer, .postBody, .json, .storeError].contains(name)
        case .notificationV1: name == .notificationV1 || name == .json
        // The refusal says what is missing.
        case .signedText:
            [.googlePurchase, .huaweiPurchase, .json, .wrapper, .empty, .other].contains(name)
        case .push: [.googleNotification, .json, .empty, .other].contains(name)
        case .signedBody: [.huaweiNotification, .json, .empty, .other].contains(name)
        }
    }

    /// Xcode's StoreKit testing signs with a certificate of its own.
    package static let xcodeText =
        "it is signed by Xcode's StoreKit testing: pin its certificate with --root (or "
        + "development-roots) and accept --environment Xcode"

    /// Text in ASCII or UTF-8. The most specific forms come first.
    private static func text(_ text: FormText, of count: Int) -> EvidenceForm {
        if let form = noValue(text) ?? around(text) ?? encoded(text) { return form }
        switch text.first {
        case UInt8(ascii: "{"): return object(text)
        case UInt8(ascii: "["): return list(text)
        default: break
        }
        if text.starts("MI") { return receipt(ReceiptPrefix(text, of: count)) }
        if text.starts("ey") || text.starts("ew") { return token(text) }
        return base64(text) ?? field(text)
            ?? EvidenceForm(
                .other,
                "it begins with \(FormText.mark(text.first, text.offset)): a JWS begins with ey, "
                    + "the base64 of an app receipt with MI")
    }
}

/// Bounds the work of naming a form.
package enum FormLimits {
    /// A JWS has at most this size, and a receipt's mistakes show in its first characters.
    package static let headBytes = 64 << 10
    /// The first bytes of a receipt that are kept while it arrives. Of its base64 one character in
    /// 32 is + or /, so a mistake with these shows.
    static let prefixBytes = 4 << 10
    /// A provisioning profile's property list begins after the headers of CMS.
    static let propertyListOffset = 256
    /// Members of a JSON object that are looked at. The forms are known by members that are
    /// among the first.
    static let members = 64
    /// Bytes of a member's name; Apple's longest has 30.
    static let nameBytes = 48
    /// Characters of a member's value that is taken for evidence. Words that begin like it are
    /// shorter.
    static let shortestEvidence = 32
}

extension Refusal {
    /// The refusal of evidence that could not be read, with what the evidence is instead.
    ///
    /// - Parameter wrapper: the wrapper that the evidence was in.
    func describing(
        _ evidence: Span<UInt8>, as kind: EvidenceKind, in wrapper: EvidenceWrapper? = nil
    ) -> Refusal {
        guard verdict.isOfForm else { return self }
        return describing(EvidenceForm.detect(evidence), as: kind, in: wrapper)
    }

    func describing(
        _ form: EvidenceForm, as kind: EvidenceKind, in wrapper: EvidenceWrapper? = nil
    ) -> Refusal {
        guard verdict.isOfForm, !form.fits(kind) else { return self }
        let text = wrapper.map { "inside \($0.phrase): " + form.text } ?? form.text
        return Refusal(verdict, text)
    }
}

extension Verdict {
    /// Whether evidence of another form can get this verdict.
    fileprivate var isOfForm: Bool {
        switch self {
        case .malformed, .wrongKind, .unsupportedAlgorithm, .invalidChain, .invalidSignature: true
        default: false
        }
    }
}
