import AssayBytes
package import AssayKeys
import AssayModels

/// Signs payloads into app receipts: CMS SignedData in Apple's form or in Xcode's.
public struct ReceiptMinter: Sendable {
    private let chain: SigningChain
    private let digest: ReceiptDigest
    private let encoding: Encoding

    /// The encoding of the CMS wrapping. Payload and certificates are always DER.
    public enum Encoding: Sendable, Hashable {
        /// As in Apple's receipts.
        case der
        /// As in Xcode's receipts: indefinite lengths, the content an OCTET STRING in segments of
        /// the given size.
        case ber(segment: Int)
    }

    /// Creates a minter for the chain.
    public init(
        _ chain: SigningChain, digest: ReceiptDigest = .sha256, encoding: Encoding = .der
    ) {
        self.chain = chain
        self.digest = digest
        self.encoding = encoding
    }

    /// Signs a payload into a receipt. Any bytes are accepted as payload.
    public func sign(_ payload: [UInt8]) throws(MintError) -> [UInt8] {
        try sign(payload) { _ in }
    }

    /// Signs a payload into a receipt. `change` makes parts of it invalid before it is signed.
    package func sign(
        _ payload: [UInt8], changing change: (inout SignedDataBuilder) -> Void
    ) throws(MintError) -> [UInt8] {
        var builder = SignedDataBuilder(
            content: payload, chain: chain, digest: digest, encoding: encoding)
        change(&builder)
        return try minting { () throws(SigningKeyError) in try builder.encoded() }
    }

    /// Signs transaction receipts with the same chain.
    var transactionReceipts: TransactionReceiptMinter { TransactionReceiptMinter(chain) }

    /// Returns the octets that the wrapping adds to a payload, in DER.
    func overhead() throws(MintError) -> Int {
        // Ignores the few more length octets of a large payload.
        try ReceiptMinter(chain, digest: digest).sign([]).count
    }

    /// Returns a receipt as base64, the form that users of StoreKit's appStoreReceiptURL send.
    /// A line has `lineLength` characters and ends with CR LF; nil is one line without an end.
    public static func base64(_ receipt: [UInt8], lineLength: Int? = nil) -> [UInt8] {
        let text = Base64.encode(receipt.span)
        guard let lineLength else { return text }
        var lines: [UInt8] = []
        lines.reserveCapacity(text.count + text.count / lineLength * 2 + 2)
        for start in stride(from: 0, to: text.count, by: lineLength) {
            lines += text[start..<min(start + lineLength, text.count)]
            lines += [0x0D, 0x0A]
        }
        return lines
    }
}

/// Builds CMS SignedData (RFC 5652). Tests can make every part invalid.
package struct SignedDataBuilder: Sendable {
    package var contentType = "1.2.840.113549.1.7.2"
    package var version: Int64 = 1
    /// The DER AlgorithmIdentifiers.
    package var digestAlgorithms: [[UInt8]]
    package var eContentType = "1.2.840.113549.1.7.1"
    /// The signed content.
    package var content: [UInt8]
    /// Replaces the written content; nil writes the signed content.
    package var writtenContent: [UInt8]?
    /// Whether to omit the content.
    package var isDetached = false
    package var encoding: ReceiptMinter.Encoding
    /// DER, in the order written. Nil omits the field.
    package var certificates: [[UInt8]]?
    /// The content of `crls [1]`. Nil omits the field.
    package var crls: [UInt8]?
    package var signers: [SignerInfoBuilder]
    /// Written after the signers, inside the SignedData.
    package var trailingInside: [UInt8] = []
    /// Written after the ContentInfo.
    package var trailing: [UInt8] = []

    package init(
        content: [UInt8], chain: SigningChain, digest: ReceiptDigest,
        encoding: ReceiptMinter.Encoding
    ) {
        digestAlgorithms = [digest.der]
        self.content = content
        self.encoding = encoding
        certificates = chain.certificates
        signers = [SignerInfoBuilder(chain, digest)]
    }

    package func encoded() throws(SigningKeyError) -> [UInt8] {
        let isBER = encoding != .der
        var end: [UInt8] = []
        if let certificates { end += tagged(0xA0, Array(certificates.joined()), isBER) }
        if let crls { end += DERWriter.header(tag: 0xA1, count: crls.count) + crls }
        var infos: [UInt8] = []
        for signer in signers { infos += try signer.signed(content) }
        end += tagged(0x31, infos, isBER) + trailingInside
        let start = DERWriter.build { writer in
            writer.integer(version)
            writer.set { set in digestAlgorithms.forEach { set.raw($0) } }
        }
        var envelope = Envelope(middle: isDetached ? [] : octets(isBER))
        if !isDetached {
            if isBER { envelope.wrap(tag: 0x24, isIndefinite: true) } else { envelope.wrap(0x04) }
            envelope.wrap(tag: 0xA0, isIndefinite: isBER)
        }
        envelope.prepend(DERWriter.build { $0.oid(eContentType) })
        envelope.wrap(tag: 0x30, isIndefinite: isBER)
        envelope.prepend(start)
        envelope.append(end)
        envelope.wrap(tag: 0x30, isIndefinite: isBER)
        envelope.wrap(tag: 0xA0, isIndefinite: isBER)
        envelope.prepend(DERWriter.build { $0.oid(contentType) })
        envelope.wrap(tag: 0x30, isIndefinite: isBER)
        envelope.append(trailing)
        return envelope.bytes
    }

    private func tagged(_ tag: UInt8, _ content: [UInt8], _ isIndefinite: Bool) -> [UInt8] {
        isIndefinite
            ? [tag, 0x80] + content + [0, 0]
            : DERWriter.header(tag: tag, count: content.count) + content
    }

    /// Returns the content octets of the eContent.
    private func octets(_ isBER: Bool) -> [UInt8] {
        let content = writtenContent ?? content
        guard case .ber(let segment) = encoding else { return content }
        var octets: [UInt8] = []
        octets.reserveCapacity(content.count + content.count / segment * 6 + 8)
        for start in stride(from: 0, to: content.count, by: segment) {
            let end = min(start + segment, content.count)
            octets += DERWriter.header(tag: 0x04, count: end - start)
            octets += content[start..<end]
        }
        return octets
    }
}

/// A large content with its wrapping, copied only once, at the end.
private struct Envelope {
    private var prefix: [UInt8] = []
    private let middle: [UInt8]
    private var suffix: [UInt8] = []

    init(middle: [UInt8]) { self.middle = middle }

    var bytes: [UInt8] { prefix + middle + suffix }

    mutating func prepend(_ bytes: [UInt8]) { prefix = bytes + prefix }
    mutating func append(_ bytes: [UInt8]) { suffix += bytes }

    mutating func wrap(_ tag: UInt8) { wrap(tag: tag, isIndefinite: false) }

    mutating func wrap(tag: UInt8, isIndefinite: Bool) {
        if isIndefinite {
            prefix = [tag, 0x80] + prefix
            suffix += [0, 0]
        } else {
            let count = prefix.count + middle.count + suffix.count
            prefix = DERWriter.header(tag: tag, count: count) + prefix
        }
    }
}
