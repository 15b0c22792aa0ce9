import AssayBytes
import AssayModels

/// A purchase of another store with a signature that nobody has checked. Its data must not leave
/// the library before.
struct UnverifiedPurchase: Sendable {
    fileprivate let document: JSONDocument
    fileprivate let signature: [UInt8]
    fileprivate let scheme: RSAScheme
    /// The name of the algorithm, where the envelope has one.
    fileprivate let algorithm: String?
    /// Whether a form decoder seems to have changed the signature.
    private let hasSpaces: Bool
    /// Whether the purchase came as an object, and not as the text that was signed.
    private let isObject: Bool
    let wrapper: EvidenceWrapper?

    /// Finds the purchase in the evidence, and checks everything that needs no key.
    init(_ evidence: Span<UInt8>, as kind: EvidenceKind, log: CheckLog?) throws(Refusal) {
        try kind.checkSize(evidence.count)
        try self.init(Self.envelope(evidence, kind), as: kind, log: log)
    }

    /// Checks everything that needs no key.
    init(_ envelope: PurchaseEnvelope, as kind: EvidenceKind, log: CheckLog?) throws(Refusal) {
        wrapper = envelope.wrapper
        isObject = envelope.isObject
        log?.begin(.purchaseText, found: "\(envelope.data.count) bytes")
        guard envelope.data.count <= Limits.purchaseBytes else {
            throw Refusal(
                .malformed,
                "the signed text has \(envelope.data.count) bytes; the limit is "
                    + "\(Limits.purchaseBytes)")
        }
        document = try JSONDocument.payload(envelope.data, named: "signed text")
        log?.begin(.algorithm, found: envelope.algorithm)
        algorithm = envelope.algorithm
        scheme = try Self.scheme(envelope.algorithm, kind.storeFormat)
        log?.begin(.signatureText, found: "\(envelope.signature.count) characters")
        if let octets = try? Base64.decode(envelope.signature.span), !octets.isEmpty {
            (signature, hasSpaces) = (octets, false)
        } else {
            signature = try Self.octets(envelope.signature, document)
            hasSpaces = envelope.signature.contains(UInt8(ascii: " "))
        }
    }

    private static func envelope(
        _ evidence: Span<UInt8>, _ kind: EvidenceKind
    ) throws(Refusal) -> PurchaseEnvelope {
        switch PurchaseEnvelope.find(evidence) {
        case .found(let envelope): return envelope
        case .none where evidence.count > 0 && evidence[0].isWhiteSpace:
            throw Refusal(.malformed, "white space comes before the JSON: remove it")
        case .none:
            throw Refusal(
                .malformed,
                "it is not JSON with a purchase and its signature: send "
                    + #"{"data": "…", "signature": "…"}"#)
        case .lacks(.signature):
            throw Refusal(
                .malformed,
                "the purchase has no signature: send it beside the signed text, as "
                    + #"{"data": "…", "signature": "…"}"#)
        case .lacks(.data):
            throw Refusal(
                .malformed,
                #"there is a signature and no signed text: send the purchase's JSON as "data""#)
        case .lacks(.form):
            throw Refusal(
                .malformed,
                "the signed text begins with no brace: send the purchase's JSON as the store "
                    + "returned it")
        case .lacks(.text):
            throw Refusal(
                .malformed,
                "the purchase is a JSON object: send the text that was signed, as a string")
        case .lacks(.several):
            throw Refusal(
                .malformed, "it has several purchases: send each as an item of its own")
        }
    }

    private static func scheme(
        _ algorithm: String?, _ store: StoreFormat
    ) throws(Refusal) -> RSAScheme {
        guard let scheme = store.scheme(algorithm?.lowercased() ?? "") else {
            throw Refusal(
                .unsupportedAlgorithm,
                "the signature algorithm is \(quoted(algorithm)), not \(store.schemeNames)")
        }
        return scheme
    }

    /// Decodes a signature that is not canonical base64. Some libraries break its lines, write it
    /// in the URL-safe alphabet, or leave the padding out.
    private static func octets(
        _ text: [UInt8], _ document: JSONDocument
    ) throws(Refusal) -> [UInt8] {
        guard text.contains(where: { !$0.isWhiteSpace }) else {
            let product = document.root["productId"]?.string
            throw Refusal(
                .invalidSignature,
                product?.hasPrefix("android.test.") == true
                    ? "the signature is empty: Google does not sign the static test product "
                        + "\(quoted(product)); test with a licence tester"
                    : "the signature is empty: the app sent no value")
        }
        if let token = document.root["purchaseToken"]?.bytes, text == token {
            throw Refusal(
                .malformed,
                "the signature is the purchaseToken: send what getSignature() returns")
        }
        do throws(Base64Error) {
            return try Base64.decodeLenient(text.span)
        } catch {
            if let wrapping = wrapping(text) { throw Refusal(.malformed, wrapping) }
            if text.contains(UInt8(ascii: " ")) { throw Refusal(.malformed, spacesText) }
            throw Refusal(.malformed, "the signature is not base64: \(error)")
        }
    }

    /// Names base64 that was encoded once more on its way.
    private static func wrapping(_ text: [UInt8]) -> String? {
        let text = String(decoding: text, as: UTF8.self).lowercased()
        if ["%2b", "%2f", "%3d"].contains(where: text.contains) {
            return "the signature is percent-encoded (%2B, %2F, %3D): decode it once"
        }
        if text.contains("\\u003d") || text.contains("\\u002b") || text.contains("\\/") {
            return "the signature has escapes of JSON (\\u003d) as text: parse the string once "
                + "more, or send the value that getSignature() returns"
        }
        return nil
    }

    private static let spacesText =
        "the signature has spaces: a form decoder turned + into spaces; send it in JSON, or "
        + "percent-encode + as %2B"

    /// Why no key's signature fits.
    fileprivate func refusal(_ keys: [PurchaseKey]) -> Refusal {
        if hasSpaces { return Refusal(.invalidSignature, Self.spacesText) }
        let names = keys.prefix(4).map(\.name).joined(separator: ", ")
        guard keys.contains(where: { $0.key.modulusOctets == signature.count }) else {
            return Refusal(
                .invalidSignature,
                "the signature has \(signature.count) octets, the app's key \(names) "
                    + "\(keys.first?.key.modulusOctets ?? 0)")
        }
        for key in keys {
            if let reason = reason(key) { return Refusal(.invalidSignature, reason) }
        }
        return Refusal(
            .invalidSignature,
            "the signature is not of the app's key \(names): it is of another app or another "
                + "store, or the signature itself is not as it was issued")
    }

    /// What the signature's encoded message says, if this key made it.
    private func reason(_ key: PurchaseKey) -> String? {
        switch key.key.opened(signature.span) {
        case .unknown: return nil
        case .pkcs1(scheme.digestAlgorithm?, _) where scheme != .pss:
            return "the app's key \(key.name) signed another text: \(damage)"
        case .pkcs1(let algorithm, let digest):
            let found = algorithm.map { RSAScheme.pkcs1($0) }
            let text = document.text
            let isOfText = found?.digest(text.span) == digest
            return "the app's key \(key.name) signed with "
                + (found?.name ?? "RSASSA-PKCS1-v1_5 with another digest than SHA-1 and SHA-256")
                + ", not with \(scheme.name)" + (isOfText ? "" : ", and another text")
        case .pss:
            return "the app's key \(key.name) signed with RSASSA-PSS, not with \(scheme.name)"
                + (scheme == .pss ? " and a salt of 32 octets, or it signed another text" : "")
        }
    }

    private var damage: String {
        if isObject {
            return "the purchase came as an object, whose text the app or a library wrote again; "
                + "send the text as a string"
        }
        if document.text.last?.isWhiteSpace == true {
            return "white space follows the text, which the store did not sign; remove it"
        }
        return looksRewritten
            ? "the text seems to have been parsed and written again; send it unchanged"
            : "the text was changed; send it as the store returned it"
    }

    /// Stores write compact JSON, escape no solidus, and write the time before the state, which
    /// the order of the alphabet reverses.
    private var looksRewritten: Bool {
        let text = document.text
        guard text.count > 1 else { return false }
        if text[1].isWhiteSpace { return true }
        let names = document.root.members?.pairs.map(\.name) ?? []
        if let time = names.firstIndex(of: "purchaseTime"),
            let state = names.firstIndex(of: "purchaseState"), state < time
        {
            return true
        }
        return zip(text, text.dropFirst()).contains { first, second in
            first == UInt8(ascii: "\\") && second == UInt8(ascii: "/")
                || first == UInt8(ascii: ":") && second == UInt8(ascii: " ")
        }
    }
}

/// A purchase whose signature holds under one of the app's keys.
struct VerifiedPurchase: Sendable {
    let document: JSONDocument
    let key: PurchaseKey
    /// The name of the signature's algorithm, where the envelope has one.
    let algorithm: String?
    /// The digest that the store signed, in hexadecimal: it distinguishes statements about one
    /// purchase, which have no date of their own.
    let digest: String

    /// Throws UNTRUSTED_CHAIN without a key, INVALID_SIGNATURE unless one verifies.
    init(
        _ purchase: UnverifiedPurchase, by keys: [PurchaseKey], _ kind: EvidenceKind, log: CheckLog?
    ) throws(Refusal) {
        log?.begin(
            .storeKey, found: keys.isEmpty ? "none" : keys.map(\.name).joined(separator: ", "))
        guard !keys.isEmpty else { throw Refusal(.untrustedChain, kind.storeFormat.missingKeyText) }
        log?.begin(.purchaseSignature, expected: purchase.scheme.name)
        let text = purchase.document.text
        let octets = purchase.scheme.digest(text.span)
        let key = keys.first {
            $0.key.verifies(
                signature: purchase.signature.span, overDigest: octets.span, purchase.scheme)
        }
        guard let key else { throw purchase.refusal(keys) }
        document = purchase.document
        algorithm = purchase.algorithm
        self.key = key
        digest = hexadecimal(octets.span)
    }
}
