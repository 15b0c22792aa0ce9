package import Assay
import AssayModels

/// Signs payloads into app receipts: CMS SignedData as Apple writes it, or as Xcode does.
public struct ReceiptMinter: Sendable {
    private let chain: SigningChain
    private let digest: ReceiptDigest
    private let encoding: Encoding

    /// How the CMS wrapping is written; payload and certificates are always DER.
    public enum Encoding: Sendable, Hashable {
        /// As Apple's receipts.
        case der
        /// As Xcode's: indefinite lengths, the content an OCTET STRING in segments of that size.
        case ber(segment: Int)
    }

    public init(
        _ chain: SigningChain, digest: ReceiptDigest = .sha256, encoding: Encoding = .der
    ) {
        self.chain = chain
        self.digest = digest
        self.encoding = encoding
    }

    /// The receipt around that payload, which needs not be one.
    public func sign(_ payload: [UInt8]) throws(MintError) -> [UInt8] {
        try sign(payload) { _ in }
    }

    /// The same, with parts that `change` made wrong before it was signed.
    package func sign(
        _ payload: [UInt8], changing change: (inout SignedDataBuilder) -> Void
    ) throws(MintError) -> [UInt8] {
        var builder = SignedDataBuilder(
            content: payload, chain: chain, digest: digest, encoding: encoding)
        change(&builder)
        return try minting { () throws(SigningKeyError) in try builder.encoded() }
    }

    /// Octets that the wrapping adds to a payload of about that size, in DER.
    func overhead() throws(MintError) -> Int {
        // Longer lengths of a large payload take some octets more; nobody counts them.
        try ReceiptMinter(chain, digest: digest).sign([]).count
    }

    /// A receipt as StoreKit's appStoreReceiptURL users send it.
    /// - Parameter lineLength: characters between line breaks (CR LF); nil: no line breaks.
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

/// CMS SignedData (RFC 5652), with every part open to a test that wants it wrong.
package struct SignedDataBuilder: Sendable {
    package var contentType = "1.2.840.113549.1.7.2"
    package var version: Int64 = 1
    /// DER of AlgorithmIdentifiers.
    package var digestAlgorithms: [[UInt8]]
    package var eContentType = "1.2.840.113549.1.7.1"
    /// What is signed.
    package var content: [UInt8]
    /// What is written in the content's place; nil: the content.
    package var writtenContent: [UInt8]?
    /// Whether the content is left out.
    package var isDetached = false
    package var encoding: ReceiptMinter.Encoding
    /// DER, in the order written; nil leaves the field out.
    package var certificates: [[UInt8]]?
    /// What `crls [1]` holds; nil leaves it out.
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

    /// Content octets of the eContent.
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

/// Something large in the middle, and what is wrapped around it: copied once, at the end.
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
