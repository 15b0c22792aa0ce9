import AssayBytes
package import AssayModels

/// What bytes look like, for the refusal of evidence that could not be read.
///
/// A pure function of at most the first 64 KB. It decides no verdict, and runs only after reading
/// has failed, so it costs nothing for evidence that is valid. One pass over the text, and no
/// recursion but one level of base64.
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
        case amazonPurchase, unityTestStore, applePay, appAttest, certificate, privateKey
        case provisioningProfile, propertyList, webPage, address, fileName, json, other
    }

    package let name: Name
    /// What it is, where, and the one thing to do.
    package let text: String

    init(_ name: Name, _ text: String) {
        self.name = name
        self.text = text
    }

    /// Names the form of these bytes.
    package static func detect(_ evidence: Span<UInt8>) -> EvidenceForm {
        detect(evidence.array(0..<min(evidence.count, FormLimits.headBytes)), of: evidence.count)
    }

    /// - Parameters:
    ///   - head: the first bytes, at most `FormLimits.headBytes`.
    ///   - count: the number of all bytes.
    static func detect(_ head: [UInt8], of count: Int) -> EvidenceForm {
        let text = FormText(head, isWhole: head.count == count)
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
    var isEvidence: Bool {
        switch name {
        case .jws, .appReceipt, .transactionReceipt, .postBody, .serverAnswer, .notificationV1,
            .wrapper:
            true
        default: false
        }
    }

    /// Whether evidence of this kind has this form.
    package func fits(_ kind: EvidenceKind) -> Bool {
        switch kind {
        case .transaction, .renewalInfo, .appTransaction, .harmonyPurchase, .harmonySubscription,
            .harmonyNotification:
            name == .jws
        case .notification, .realtimeRequest: name == .jws || name == .postBody
        case .appReceipt: name == .appReceipt
        case .transactionReceipt: name == .transactionReceipt
        // Other JSON is refused with the members that are missing, and an error with its code.
        case .serverAnswer: [.serverAnswer, .postBody, .json, .storeError].contains(name)
        case .notificationV1: name == .notificationV1 || name == .json
        // The refusal says what is missing.
        case .googlePurchase, .huaweiPurchase:
            [.googlePurchase, .huaweiPurchase, .json, .wrapper, .empty, .other].contains(name)
        case .googleNotification: [.googleNotification, .json, .empty, .other].contains(name)
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
        if text.starts("MI") { return receipt(ReceiptSample(text, of: count)) }
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
    static let sampleBytes = 4 << 10
    /// A provisioning profile's property list begins after the headers of CMS.
    static let propertyListOffset = 256
    /// Members of a JSON object that are looked at. The forms are known by members that are
    /// among the first.
    static let members = 64
    /// Bytes of a member's name; Apple's longest has 30.
    static let nameBytes = 48
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
