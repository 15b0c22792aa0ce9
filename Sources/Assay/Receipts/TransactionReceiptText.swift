import AssayBytes
import AssayModels

/// The decoded parts of a transaction receipt. Parsed but unverified.
struct TransactionReceiptText: Sendable {
    let signature: TransactionReceiptSignature
    /// The octets of purchase-info as signed.
    let purchaseInfo: [UInt8]
    // The unsigned members.
    let environment: String?
    let pod: String?
    let signingStatus: String?

    /// Parses the text, or base64 of it.
    init(_ evidence: Span<UInt8>) throws(Refusal) {
        guard evidence.count <= Limits.transactionReceiptBytes else {
            throw Refusal(
                .malformed,
                "the transaction receipt has \(evidence.count) bytes; the limit is "
                    + "\(Limits.transactionReceiptBytes)")
        }
        if let shape = EvidenceShape.detect(evidence), shape != .transactionReceipt {
            throw Refusal(.wrongKind, "the evidence is \(shape.name), not a transaction receipt")
        }
        let text = try Self.text(evidence)
        let list: TextPropertyList
        do throws(TextPropertyListError) {
            list = try TextPropertyList(text.span)
        } catch {
            throw Refusal(
                .malformed, "the transaction receipt is not a text property list: \(error)")
        }
        let blob = try Self.part("signature", of: list)
        signature = try TransactionReceiptSignature(blob.span)
        purchaseInfo = try Self.part("purchase-info", of: list)
        environment = list["environment"]
        pod = list["pod"]
        signingStatus = list["signing-status"]
    }

    private static func text(_ evidence: Span<UInt8>) throws(Refusal) -> [UInt8] {
        var start = 0
        while start < evidence.count, evidence[start] <= UInt8(ascii: " ") { start += 1 }
        if start < evidence.count, evidence[start] == UInt8(ascii: "{") { return evidence.array }
        let text = evidence.withoutWhiteSpace
        return try base64(text.span, named: "transaction receipt")
    }

    private static func part(
        _ name: String, of list: TextPropertyList
    ) throws(Refusal) -> [UInt8] {
        guard let value = list[name] else {
            throw Refusal(.malformed, "the transaction receipt has no \(name)")
        }
        let text = Array(value.utf8)
        return try base64(text.span, named: name)
    }

    private static func base64(
        _ text: Span<UInt8>, named name: String
    ) throws(Refusal) -> [UInt8] {
        do throws(Base64Error) {
            return try Base64.decode(text)
        } catch {
            throw Refusal(.malformed, "the \(name) is not base64: \(error)")
        }
    }
}

/// The signature blob: version ‖ signature ‖ length of the certificate, 4 octets big-endian ‖
/// certificate.
struct TransactionReceiptSignature: Sendable {
    enum Version: UInt8, Sendable {
        /// A key of 1024 bits, until 2015.
        case v2 = 2
        /// The key that signed app receipts at the same time.
        case v3 = 3

        /// The length of the signature in octets. A valid signature is as long as the key's
        /// modulus, so the version determines the key's size.
        var signatureOctets: Int { self == .v2 ? 128 : 256 }
        var purpose: RSAChainPurpose { self == .v2 ? .purchaseReceipts : .receipts }
    }

    let version: Version
    let signature: [UInt8]
    let certificate: [UInt8]

    init(_ blob: Span<UInt8>) throws(Refusal) {
        guard blob.count > 0 else { throw Refusal(.malformed, "the signature is empty") }
        guard let version = Version(rawValue: blob[0]) else {
            throw Refusal(
                .malformed, "the signature has version \(blob[0]), not 2 or 3")
        }
        let lengthAt = 1 + version.signatureOctets
        guard blob.count >= lengthAt + 4 else {
            throw Refusal(.malformed, "the signature ends before the length of its certificate")
        }
        var length = 0
        for index in lengthAt..<lengthAt + 4 { length = length << 8 | Int(blob[index]) }
        guard length == blob.count - lengthAt - 4 else {
            throw Refusal(
                .malformed,
                "the signature gives its certificate \(length) octets; "
                    + "\(blob.count - lengthAt - 4) follow")
        }
        self.version = version
        signature = blob.array(1..<lengthAt)
        certificate = blob.array(lengthAt + 4..<blob.count)
    }
}
