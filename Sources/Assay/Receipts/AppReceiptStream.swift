import AssayBytes
public import AssayModels

/// Verifies an app receipt as it arrives, in chunks of any size.
///
/// Chunks are read in place and not kept: the stream holds what the caller asked for, not the
/// receipt. It returns nothing before the last check has passed. The verdict does not depend on
/// the chunk boundaries.
///
/// ```swift
/// var stream = AppReceiptStream(verifier, policy: policy, inApp: .latest)
/// while let chunk = try await next() { stream.receive(chunk.span) }
/// let answer = stream.finish(at: now)
/// ```
public struct AppReceiptStream: Sendable {
    private let verifier: Verifier
    private let policy: Policy
    private let expectations: Expectations
    private let inApp: InAppSelection
    private let log: CheckLog?
    private var encoding = Encoding.unknown
    private var reader: SignedDataReader<AppReceiptReader>
    private var feeder = ChunkFeeder()
    private var refusal: Refusal?
    /// The first bytes, for the text of a refusal.
    private var prefix = ReceiptPrefix()
    /// The offset of the chunk that is read.
    private var position = 0
    /// The octets of the receipt that were read.
    private var octets = 0
    private var isComplete = false

    /// The encoding of the receipt.
    private enum Encoding: Sendable {
        case unknown
        case der
        case base64(Base64Stream)
        /// JSON around a receipt, collected up to a limit.
        case wrapper([UInt8])
        /// No receipt. Its first bytes are collected, to name what it is.
        case other([UInt8], count: Int)
    }

    /// Creates a stream for one receipt.
    ///
    /// - Parameters:
    ///   - verifier: the verifier whose trust store applies.
    ///   - policy: the evidence that the operator accepts.
    ///   - expectations: the caller's expectations, which narrow the policy.
    ///   - inApp: the in-app records to return; all records are checked.
    public init(
        _ verifier: Verifier, policy: Policy, expecting expectations: Expectations = .none,
        inApp: InAppSelection = .all
    ) {
        self.init(verifier, policy: policy, expecting: expectations, inApp: inApp, log: nil)
    }

    init(
        _ verifier: Verifier, policy: Policy, expecting expectations: Expectations,
        inApp: InAppSelection, log: CheckLog?
    ) {
        self.log = log
        self.verifier = verifier
        self.policy = policy
        self.expectations = expectations
        self.inApp = inApp
        reader = SignedDataReader(
            content: AppReceiptReader(
                inApp: inApp, expecting: expectations, layouts: verifier.layouts.current))
    }

    /// Whether the receipt is already refused; further bytes do not change the verdict.
    public var isRefused: Bool {
        if case .other = encoding { true } else { refusal != nil }
    }

    /// Bytes of memory that the stream holds, including all buffers.
    public var heldBytes: Int {
        let bytes =
            Self.ownBytes + feeder.heldBytes + reader.heldBytes + reader.content.heldBytes
            + prefix.heldBytes
        switch encoding {
        case .wrapper(let text), .other(let text, _): return bytes + text.capacity
        case .unknown, .der, .base64: return bytes
        }
    }

    /// The value itself, and the small buffers of every receipt.
    private static let ownBytes = MemoryLayout<AppReceiptStream>.size + 1024

    /// Receives the next bytes.
    public mutating func receive(_ chunk: Span<UInt8>) {
        prefix.receive(chunk)
        begin(chunk)
    }

    private mutating func begin(_ chunk: Span<UInt8>) {
        guard refusal == nil, chunk.count > 0 else { return }
        do throws(Refusal) {
            try take(chunk)
        } catch {
            refusal = error
        }
        position += chunk.count
    }

    /// Returns the answer after the last byte has arrived.
    public consuming func finish(at now: Timestamp) -> Verification {
        prepare(at: now, unknownChains: .validate).verification
    }

    /// Prepares the answer as an item of a batch. It leaves no signature for `verifySignatures`.
    package func prepared(at now: Timestamp, unknownChains: UnknownChainPolicy)
        -> PreparedVerification
    {
        var copy = self
        return copy.prepare(at: now, unknownChains: unknownChains)
    }

    /// Prepares the answer to a receipt that is in memory. Keeps no prefix of one that is read.
    mutating func prepare(
        whole evidence: Span<UInt8>, at now: Timestamp, unknownChains: UnknownChainPolicy
    ) -> PreparedVerification {
        begin(evidence)
        do throws(Refusal) {
            if refusal == nil { try complete() }
        } catch {
            refusal = error
        }
        if refusal != nil { prefix.receive(evidence) }
        return prepare(at: now, unknownChains: unknownChains)
    }

    /// Prepares the answer without copying the parsed receipt. The stream cannot be used
    /// afterwards.
    mutating func prepare(at now: Timestamp, unknownChains: UnknownChainPolicy)
        -> PreparedVerification
    {
        let request = VerificationRequest(
            verifier, kind: .appReceipt, policy: policy, expectations: expectations, now: now,
            unknownChains: unknownChains, log: log)
        if case .wrapper(let text) = encoding, refusal == nil {
            return unwrapped(text, request)
        }
        do throws(Refusal) {
            let verification = try verification(request)
            return PreparedVerification(
                request: request, state: try .init(verification) { .answered($0) })
        } catch {
            log?.didRefuse()
            let refusal = form.map { error.describing($0, as: .appReceipt) } ?? error
            return PreparedVerification(
                request: request, state: .answered(refusal.answer(.appReceipt)))
        }
    }

    private mutating func verification(
        _ request: VerificationRequest
    ) throws(Refusal) -> ChainOutcome<Verification> {
        log?.begin(.receipt)
        if let refusal { throw refusal }
        try complete()
        return try verify(request)
    }

    /// What arrived, if it was no receipt that can be read.
    private var form: EvidenceForm? {
        switch encoding {
        case .unknown: return .detect([], of: 0)
        // The octet of a SEQUENCE is also the digit 0.
        case .der where prefix.totalCount > 0:
            return .receipt(der: prefix) ?? .detect(prefix.bytes, of: prefix.totalCount)
        case .base64 where prefix.totalCount > 0: return .receipt(prefix)
        // It was read, and refused for another reason.
        case .der, .base64: return nil
        case .wrapper(let text):
            let head = Array(text.prefix(FormLimits.headBytes))
            return .detect(head, of: max(prefix.totalCount, text.count))
        case .other(let head, let count): return .detect(head, of: count)
        }
    }

    private mutating func take(_ chunk: Span<UInt8>) throws(Refusal) {
        switch encoding {
        case .unknown:
            encoding = Self.encoding(of: chunk[0])
            try take(chunk)
        case .der:
            try feed(chunk)
        case .base64(var stream):
            var octets: [UInt8] = []
            octets.reserveCapacity(min(chunk.count, Limits.base64ChunkBytes))
            var start = 0
            while start < chunk.count {
                let end = min(start + Limits.base64ChunkBytes, chunk.count)
                octets.removeAll(keepingCapacity: true)
                let slice = chunk.extracting(start..<end)
                do throws(Base64Error) {
                    try stream.decode(slice, into: &octets)
                } catch {
                    // The bytes before the fault are read first, as if they had arrived alone: an
                    // error in them takes precedence.
                    try feed(octets.span)
                    if case .invalidCharacter(let offset) = error {
                        prefix.fault = (chunk[offset - position], offset)
                    }
                    throw Self.malformed(error)
                }
                try feed(octets.span)
                start = end
            }
            encoding = .base64(stream)
        case .wrapper(var text):
            guard text.count + chunk.count <= Limits.receiptWrapperBytes else {
                let missing = max(0, min(FormLimits.headBytes - text.count, chunk.count))
                let head = text.prefix(FormLimits.headBytes) + chunk.array(0..<missing)
                encoding = .wrapper(Array(head))
                throw Refusal(
                    .malformed,
                    "the JSON around the receipt exceeds "
                        + "\(Limits.receiptWrapperBytes) bytes; send the receipt alone")
            }
            // Moves the text out of `encoding` while it grows, to avoid a copy.
            encoding = .unknown
            text.append(contentsOf: chunk.array)
            encoding = .wrapper(text)
        case .other(var head, let count):
            encoding = .unknown
            let missing = min(FormLimits.headBytes - head.count, chunk.count)
            head.append(contentsOf: chunk.array(0..<missing))
            encoding = .other(head, count: count + chunk.count)
        }
    }

    /// Detects DER and base64 by the first byte: 0x30, or `M`, its first base64 digit.
    private static func encoding(of first: UInt8) -> Encoding {
        switch first {
        case Tag.sequence.rawValue: .der
        case UInt8(ascii: "M"): .base64(Base64Stream())
        case UInt8(ascii: "{"): .wrapper([])
        default: .other([], count: 0)
        }
    }

    private mutating func feed(_ bytes: Span<UInt8>) throws(Refusal) {
        octets += bytes.count
        guard try feeder.feed(bytes, to: &reader) == bytes.count else {
            throw Refusal(.malformed, "bytes follow the receipt")
        }
    }

    private mutating func complete() throws(Refusal) {
        guard !isComplete else { return }
        if case .wrapper = encoding { return }
        isComplete = true
        if case .other(let head, _) = encoding {
            // Base64 of an opening brace: a JWS, or a transaction receipt.
            throw Refusal(
                head.first == UInt8(ascii: "e") ? .wrongKind : .malformed,
                "this starts neither like DER nor like base64 of a receipt")
        }
        if case .base64(var stream) = encoding {
            var last: [UInt8] = []
            prefix.octets = octets
            do throws(Base64Error) {
                try stream.finish(into: &last)
            } catch {
                throw Self.malformed(error)
            }
            try feed(last.span)
            prefix.octets = octets
        }
        guard try feeder.finish(&reader) else {
            throw Refusal(.malformed, "the receipt ends too early")
        }
    }

    private static func malformed(_ error: Base64Error) -> Refusal {
        Refusal(.malformed, "the receipt is not base64: " + error.description)
    }

    private mutating func verify(
        _ request: VerificationRequest
    ) throws(Refusal) -> ChainOutcome<Verification> {
        let unverified = try reader.content.finish()
        log?.begin(
            .signerInfo, found: "\(reader.certificates.count) certificates")
        let signedData = try UnverifiedSignedData(reader, links: verifier.links)
        let date = EffectiveDate(
            signed: unverified.receipt.receiptCreationDate, now: request.now)
        let chains = RSAChainBuilder(
            purpose: .receipts, trust: verifier.trust, links: verifier.links,
            unknownChains: request.unknownChains, log: log)
        let chain = try signedData.verify(chains, effectiveDate: date)
        let time = try date.timestamp()
        let digest = try signedData.contentDigest().digest
        let answer = try chain.map {
            request.answer(unverified, $0, effectiveDate: time, digest: digest)
        }
        if case .validated(let answer) = answer, answer.verdict == .valid,
            let layouts = reader.content.newLayouts
        {
            verifier.layouts.keep(layouts)
        }
        return answer
    }

    /// Verifies the receipt inside a wrapper.
    private func unwrapped(
        _ text: [UInt8], _ request: VerificationRequest
    ) -> PreparedVerification {
        let refusal = Refusal(
            .wrongKind, "this starts with an opening brace, and is no wrapper around a receipt")
        func refused(_ refusal: Refusal) -> PreparedVerification {
            log?.begin(.receipt)
            log?.didRefuse()
            return PreparedVerification(
                request: request, state: .answered(refusal.answer(.appReceipt)))
        }
        guard let opened = EvidenceWrapper.open(text.span) else {
            return refused(refusal.describing(text.span, as: .appReceipt))
        }
        var prepared: PreparedVerification
        if EvidenceShape.detect(opened.evidence.span) == .appReceipt {
            var stream = AppReceiptStream(
                verifier, policy: policy, expecting: expectations, inApp: inApp, log: log)
            prepared = stream.prepare(
                whole: opened.evidence.span, at: request.now,
                unknownChains: request.unknownChains)
        } else {
            prepared = refused(
                refusal.describing(
                    opened.evidence.span, as: .appReceipt, in: opened.wrapper))
        }
        prepared.wrapper = opened.wrapper
        return prepared
    }
}

extension VerificationRequest {
    /// Checks policy and expectations of an app receipt whose chain and signature are verified.
    ///
    /// - Parameter digest: of the receipt's content.
    fileprivate func answer(
        _ unverified: UnverifiedAppReceipt, _ chain: ValidatedRSAChain, effectiveDate: Timestamp,
        digest: [UInt8]
    ) -> Verification {
        var claims = EvidenceClaims(unverified.receipt)
        claims.nameStatement(by: hexadecimal(digest.span))
        claims.productId = unverified.expectedProduct
        claims.transactionId = unverified.expectedTransaction
        let remark: String?
        do throws(Refusal) {
            remark = try checkRevocation(of: chain, signed: effectiveDate, log: log)
        } catch {
            log?.didRefuse()
            return error.answer(kind)
        }
        do throws(Refusal) {
            try claims.check(policy, expectations, chain: chain, log: log)
            try claims.check(expectations, effectiveDate: effectiveDate, log: log)
        } catch {
            log?.didRefuse()
            return refused(error, chain, claims)
        }
        var receipt = unverified.receipt
        receipt.inApp.keyPrefix = claims.keyPrefix
        if let end = receipt.expirationDate, end <= now {
            receipt.warnings = [.receiptExpired]
        }
        return accepted(chain, claims, .appReceipt(receipt), remark: remark)
    }
}
