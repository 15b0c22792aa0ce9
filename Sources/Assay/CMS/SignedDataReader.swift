import AssayBytes
import AssayModels

/// Receives the content of a SignedData as it arrives.
protocol ContentReader: Sendable {
    /// Reads the next octets and hashes each part after it is read: SHA instructions mostly wait
    /// for each other, so the processor reads the next part in the meantime.
    mutating func receive(
        _ octets: Span<UInt8>, hashingInto digests: inout ContentDigests
    ) throws(Refusal)
}

/// Reads CMS SignedData (RFC 5652, section 5.1) as it arrives: the outer structure as BER, the
/// elements inside as strict DER.
///
/// One pass suffices: the digest algorithms come before the content, the certificates after it.
/// The result is unverified; `UnverifiedSignedData` checks the signature.
struct SignedDataReader<Content: ContentReader>: ResumableReader, Sendable {
    var content: Content
    /// Content octets of the version.
    private(set) var version: [UInt8] = []
    private(set) var digests = ContentDigests()
    private(set) var certificates: [[UInt8]] = []
    private(set) var hasRevocationLists = false
    private(set) var signerInfo: [UInt8]?

    private var state = State.contentInfo
    /// The open constructed encodings, outermost first.
    private var frames: [Frame] = []
    private var segments = SegmentCount()
    /// Bytes read so far.
    private var position = 0

    init(content: Content) {
        self.content = content
        frames.reserveCapacity(6)  // From ContentInfo to OCTET STRING.
    }

    /// Bytes of memory for certificates and signer.
    var heldBytes: Int { certificates.reduce(signerInfo?.count ?? 0) { $0 + $1.capacity } }

    /// The element that the reader expects next.
    private enum State: Sendable {
        case contentInfo
        case contentType
        case explicitContent
        case signedData
        case version
        case digestAlgorithms
        case digestAlgorithm
        case encapsulatedContentInfo
        case eContentType
        case explicitEContent
        case eContent
        /// Octets of a primitive OCTET STRING that are yet to arrive.
        case octets(remaining: Int, isSegment: Bool)
        /// The next segment of a constructed OCTET STRING, or its end.
        case segment
        /// The ends of [0] and EncapsulatedContentInfo.
        case contentEnds(Int)
        /// certificates [0], crls [1] or signerInfos.
        case certificatesOrLater
        case certificate
        case crlsOrLater
        case skipped(remaining: Int)
        case signerInfos
        case signerInfoElement
        /// The ends of SignedData, [0] and ContentInfo.
        case ends(Int)
        case finished
    }

    /// An open constructed encoding: where it ends, or nil for end-of-contents octets.
    private struct Frame: Sendable {
        var end: Int?
    }

    mutating func step(_ bytes: Span<UInt8>) throws(Refusal) -> ResumableStep {
        switch state {
        case .contentInfo: return try open(bytes, .sequence, then: .contentType)
        case .contentType:
            return try element(bytes, .objectIdentifier, limit: Limits.cmsSmallElementBytes) {
                (reader: inout Self, element, bytes) throws(Refusal) in
                try Self.check(
                    bytes, element, is: OID.signedData,
                    "the content type is not signed-data")
                reader.state = .explicitContent
            }
        case .explicitContent: return try open(bytes, .context(0), then: .signedData)
        case .signedData: return try open(bytes, .sequence, then: .version)
        case .version:
            return try element(bytes, .integer, limit: Limits.cmsSmallElementBytes) {
                (reader: inout Self, element, bytes) throws(Refusal) in
                reader.version = bytes.array(element.content)
                reader.state = .digestAlgorithms
            }
        case .digestAlgorithms: return try open(bytes, .set, then: .digestAlgorithm)
        case .digestAlgorithm: return try digestAlgorithm(bytes)
        case .encapsulatedContentInfo: return try open(bytes, .sequence, then: .eContentType)
        case .eContentType:
            return try element(bytes, .objectIdentifier, limit: Limits.cmsSmallElementBytes) {
                (reader: inout Self, element, bytes) throws(Refusal) in
                try Self.check(
                    bytes, element, is: OID.data,
                    "the encapsulated content is not id-data")
                reader.state = .explicitEContent
            }
        case .explicitEContent:
            if let end = try endOfFrame(bytes) {
                if case .consumed = end {
                    throw Refusal(.malformed, "the signature is detached: there is no content")
                }
                return end
            }
            return try open(bytes, .context(0), then: .eContent)
        case .eContent: return try openContent(bytes)
        case .octets(let remaining, let isSegment):
            return try octets(bytes, remaining: remaining, isSegment: isSegment)
        case .segment: return try segment(bytes)
        case .contentEnds(let count):
            return try close(bytes, count, then: .certificatesOrLater) { .contentEnds($0) }
        case .certificatesOrLater: return try certificatesOrLater(bytes)
        case .certificate: return try certificate(bytes)
        case .crlsOrLater: return try crlsOrLater(bytes)
        case .skipped(let remaining):
            let count = min(remaining, bytes.count)
            position += count
            state = count == remaining ? .signerInfos : .skipped(remaining: remaining - count)
            return count == 0 && remaining > 0 ? .needs(1) : .consumed(count)
        case .signerInfos: return try open(bytes, .set, then: .signerInfoElement)
        case .signerInfoElement: return try signerInfoElement(bytes)
        case .ends(let count): return try close(bytes, count, then: .finished) { .ends($0) }
        case .finished: return .finished
        }
    }
}

// MARK: State handlers

extension SignedDataReader {
    private mutating func digestAlgorithm(_ bytes: Span<UInt8>) throws(Refusal) -> ResumableStep {
        if let end = try endOfFrame(bytes) {
            if case .consumed = end {
                guard digests.count > 0 else {
                    throw Refusal(.malformed, "digestAlgorithms is empty")
                }
                state = .encapsulatedContentInfo
            }
            return end
        }
        return try element(bytes, .sequence, limit: Limits.cmsSmallElementBytes) {
            (reader: inout Self, element, bytes) throws(Refusal) in
            guard reader.digests.count < Limits.cmsDigestAlgorithms else {
                throw Refusal(.malformed, "digestAlgorithms has too many entries")
            }
            reader.digests.add(try DigestAlgorithm.read(bytes, element))
        }
    }

    private mutating func openContent(_ bytes: Span<UInt8>) throws(Refusal) -> ResumableStep {
        let header: TLVHeader
        switch try peek(bytes) {
        case .needs(let count): return .needs(count)
        case .header(let found): header = found
        }
        if header.tag == .octetString {
            return primitiveOctets(header, isSegment: false)
        }
        // X.690, section 8.7.3: a constructed OCTET STRING is a series of OCTET STRINGs.
        return try open(bytes, Tag(rawValue: 0x24), then: .segment)
    }

    private mutating func segment(_ bytes: Span<UInt8>) throws(Refusal) -> ResumableStep {
        if let end = try endOfFrame(bytes) {
            if case .consumed = end { state = .contentEnds(2) }
            return end
        }
        switch try peek(bytes) {
        case .needs(let count): return .needs(count)
        case .header(let header):
            guard header.tag == .octetString else {
                throw Refusal(
                    .malformed, "a segment of the content is not a primitive OCTET STRING")
            }
            try segments.count(header.length ?? 0)
            return primitiveOctets(header, isSegment: true)
        }
    }

    private mutating func primitiveOctets(
        _ header: TLVHeader, isSegment: Bool
    ) -> ResumableStep {
        position += header.size
        state = .octets(remaining: header.length ?? 0, isSegment: isSegment)
        return .consumed(header.size)
    }

    private mutating func octets(
        _ bytes: Span<UInt8>, remaining: Int, isSegment: Bool
    ) throws(Refusal) -> ResumableStep {
        let count = min(remaining, bytes.count)
        if count > 0 {
            let octets = bytes.extracting(0..<count)
            try content.receive(octets, hashingInto: &digests)
            position += count
        }
        if count == remaining {
            state = isSegment ? .segment : .contentEnds(2)
            return .consumed(count)
        }
        state = .octets(remaining: remaining - count, isSegment: isSegment)
        return count == 0 ? .needs(1) : .consumed(count)
    }

    private mutating func certificatesOrLater(
        _ bytes: Span<UInt8>
    ) throws(Refusal) -> ResumableStep {
        switch try peek(bytes) {
        case .needs(let count): return .needs(count)
        case .header(let header) where header.tag == .context(0):
            return try open(bytes, .context(0), then: .certificate)
        case .header:
            state = .crlsOrLater
            return .consumed(0)
        }
    }

    private mutating func certificate(_ bytes: Span<UInt8>) throws(Refusal) -> ResumableStep {
        if let end = try endOfFrame(bytes) {
            if case .consumed = end { state = .crlsOrLater }
            return end
        }
        guard certificates.count < Limits.bagCertificates else {
            throw Refusal(
                .invalidChain, "there are more than \(Limits.bagCertificates) certificates")
        }
        // Receipts hold X.509 certificates only; the other choices ([0] to [3]) are refused.
        return try element(bytes, .sequence, limit: Limits.cmsCertificateBytes) {
            (reader: inout Self, element, bytes) throws(Refusal) in
            reader.certificates.append(bytes.array(element.whole))
        }
    }

    private mutating func crlsOrLater(_ bytes: Span<UInt8>) throws(Refusal) -> ResumableStep {
        switch try peek(bytes) {
        case .needs(let count): return .needs(count)
        case .header(let header) where header.tag == .context(1):
            guard let length = header.length else {
                throw Refusal(.malformed, "the revocation lists have no definite length")
            }
            position += header.size
            hasRevocationLists = true
            state = .skipped(remaining: length)
            return .consumed(header.size)
        case .header:
            state = .signerInfos
            return .consumed(0)
        }
    }

    private mutating func signerInfoElement(
        _ bytes: Span<UInt8>
    ) throws(Refusal) -> ResumableStep {
        if let end = try endOfFrame(bytes) {
            if case .consumed = end {
                guard signerInfo != nil else {
                    throw Refusal(.malformed, "there is no signer")
                }
                state = .ends(3)
            }
            return end
        }
        guard signerInfo == nil else {
            throw Refusal(.malformed, "there is more than one signer")
        }
        return try element(bytes, .sequence, limit: Limits.cmsSignerInfoBytes) {
            (reader: inout Self, element, bytes) throws(Refusal) in
            reader.signerInfo = bytes.array(element.whole)
        }
    }
}

// MARK: Elements and frames

extension SignedDataReader {
    private enum Peek {
        case needs(Int)
        case header(TLVHeader)
    }

    /// Decodes the next header, whose element has to fit the innermost frame.
    private func peek(_ bytes: Span<UInt8>) throws(Refusal) -> Peek {
        do throws(DERError) {
            guard let header = try TLVHeader.decode(bytes, at: 0, rules: .ber) else {
                return .needs(bytes.count + 1)
            }
            if let end = frames.last?.end {
                guard position + header.size + (header.length ?? 0) <= end else {
                    throw .truncated
                }
            }
            return .header(header)
        } catch {
            throw malformed(error)
        }
    }

    private func malformed(_ error: DERError) -> Refusal {
        Refusal(
            .malformed, "the CMS structure is invalid near byte \(position): " + error.description)
    }

    /// Opens a constructed encoding with the given tag.
    private mutating func open(
        _ bytes: Span<UInt8>, _ tag: Tag, then next: State
    ) throws(Refusal) -> ResumableStep {
        switch try peek(bytes) {
        case .needs(let count): return .needs(count)
        case .header(let header):
            guard header.tag == tag else {
                throw malformed(
                    .unexpectedTag(
                        expected: tag.rawValue, found: header.tag.rawValue, at: position))
            }
            position += header.size
            frames.append(Frame(end: header.length.map { position + $0 }))
            state = next
            return .consumed(header.size)
        }
    }

    /// Closes the innermost frame at its end. Returns nil before it, `.needs` for more bytes.
    private mutating func endOfFrame(_ bytes: Span<UInt8>) throws(Refusal) -> ResumableStep? {
        if let end = frames[frames.count - 1].end {
            guard position == end else { return nil }
            frames.removeLast()
            return .consumed(0)
        }
        guard bytes.count >= 2 else {
            return bytes.count == 1 && bytes[0] != 0 ? nil : .needs(bytes.count + 1)
        }
        guard bytes[0] == 0 else { return nil }
        guard bytes[1] == 0 else {
            throw malformed(.indefiniteLength(at: position))
        }
        position += 2
        frames.removeLast()
        return .consumed(2)
    }

    /// Closes `count` frames, one per step.
    private mutating func close(
        _ bytes: Span<UInt8>, _ count: Int, then next: State, again: (Int) -> State
    ) throws(Refusal) -> ResumableStep {
        guard let end = try endOfFrame(bytes) else {
            throw malformed(.trailingBytes(at: position))
        }
        if case .consumed = end { state = count == 1 ? next : again(count - 1) }
        return end
    }

    /// Reads a small element whole.
    private mutating func element(
        _ bytes: Span<UInt8>, _ tag: Tag, limit: Int,
        _ body: (inout Self, DERElement, Span<UInt8>) throws(Refusal) -> Void
    ) throws(Refusal) -> ResumableStep {
        switch try peek(bytes) {
        case .needs(let count): return .needs(count)
        case .header(let header):
            guard header.tag == tag else {
                throw malformed(
                    .unexpectedTag(
                        expected: tag.rawValue, found: header.tag.rawValue, at: position))
            }
            guard let length = header.length else {
                throw malformed(.indefiniteLength(at: position))
            }
            let whole = header.size + length
            guard whole <= limit else {
                throw Refusal(
                    .malformed,
                    "an element of \(whole) bytes near byte \(position) exceeds the "
                        + "limit of \(limit)")
            }
            guard bytes.count >= whole else { return .needs(whole) }
            let found = DERElement(tag: header.tag, start: 0, content: header.size..<whole)
            try body(&self, found, bytes)
            position += whole
            return .consumed(whole)
        }
    }

    private static func check(
        _ bytes: Span<UInt8>, _ element: DERElement, is identifier: [UInt8], _ detail: String
    ) throws(Refusal) {
        guard bytes.extracting(element.content).equals(identifier) else {
            throw Refusal(.malformed, detail)
        }
    }
}
