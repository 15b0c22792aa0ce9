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

    /// The encoding of the receipt.
    private enum Encoding: Sendable {
        case unknown
        case der
        case base64(Base64Stream)
        /// Unity's JSON around a receipt, collected up to a limit.
        case wrapper([UInt8])
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
    public var isRefused: Bool { refusal != nil }

    /// Bytes of memory that the stream holds, including all buffers.
    public var heldBytes: Int {
        var bytes = Self.ownBytes + feeder.heldBytes + reader.heldBytes + reader.content.heldBytes
        if case .wrapper(let text) = encoding { bytes += text.capacity }
        return bytes
    }

    /// The value itself, and the small buffers of every receipt.
    private static let ownBytes = MemoryLayout<AppReceiptStream>.size + 1024

    /// Receives the next bytes.
    public mutating func receive(_ chunk: Span<UInt8>) {
        guard refusal == nil, chunk.count > 0 else { return }
        do throws(Refusal) {
            try take(chunk)
        } catch {
            refusal = error
        }
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

    /// Prepares the answer without copying the parsed receipt. The stream cannot be used
    /// afterwards.
    mutating func prepare(at now: Timestamp, unknownChains: UnknownChainPolicy)
        -> PreparedVerification
    {
        let request = VerificationRequest(
            verifier, kind: .appReceipt, policy: policy, expectations: expectations, now: now,
            unknownChains: unknownChains, log: log)
        do throws(Refusal) {
            let verification = try verification(request)
            return PreparedVerification(
                request: request, state: try .init(verification) { .answered($0) })
        } catch {
            log?.didRefuse()
            return PreparedVerification(
                request: request, state: .answered(error.answer(.appReceipt)))
        }
    }

    private mutating func verification(
        _ request: VerificationRequest
    ) throws(Refusal) -> ChainOutcome<Verification> {
        if case .wrapper(let text) = encoding, refusal == nil {
            return try unwrapped(text, request)
        }
        log?.begin(.receipt)
        if let refusal { throw refusal }
        try complete()
        return try verify(request)
    }

    private mutating func take(_ chunk: Span<UInt8>) throws(Refusal) {
        switch encoding {
        case .unknown:
            encoding = try Self.encoding(of: chunk[0])
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
                    throw Self.malformed(error)
                }
                try feed(octets.span)
                start = end
            }
            encoding = .base64(stream)
        case .wrapper(var text):
            guard text.count + chunk.count <= Limits.receiptWrapperBytes else {
                throw Refusal(
                    .malformed,
                    "the JSON around the receipt exceeds "
                        + "\(Limits.receiptWrapperBytes) bytes; send the receipt alone")
            }
            // Moves the text out of `encoding` while it grows, to avoid a copy.
            encoding = .unknown
            text.append(contentsOf: chunk.array)
            encoding = .wrapper(text)
        }
    }

    /// Detects DER and base64 by the first byte: 0x30, or `M`, its first base64 digit.
    private static func encoding(of first: UInt8) throws(Refusal) -> Encoding {
        switch first {
        case Tag.sequence.rawValue: return .der
        case UInt8(ascii: "M"): return .base64(Base64Stream())
        case UInt8(ascii: "{"): return .wrapper([])
        case UInt8(ascii: "e"):
            throw Refusal(
                .wrongKind,
                "this looks like a JWS or a transaction receipt (base64 that starts "
                    + "with an opening brace), not like an app receipt")
        default:
            throw Refusal(
                .malformed, "this starts neither like DER nor like base64 of a receipt")
        }
    }

    private mutating func feed(_ bytes: Span<UInt8>) throws(Refusal) {
        guard try feeder.feed(bytes, to: &reader) == bytes.count else {
            throw Refusal(.malformed, "bytes follow the receipt")
        }
    }

    private mutating func complete() throws(Refusal) {
        if case .base64(var stream) = encoding {
            var octets: [UInt8] = []
            do throws(Base64Error) {
                try stream.finish(into: &octets)
            } catch {
                throw Self.malformed(error)
            }
            try feed(octets.span)
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
        let answer = try chain.map { request.answer(unverified, $0, effectiveDate: time) }
        if case .validated(let answer) = answer, answer.verdict == .valid,
            let layouts = reader.content.newLayouts
        {
            verifier.layouts.keep(layouts)
        }
        return answer
    }

    /// Verifies the payload of `{"Store": …, "TransactionID": …, "Payload": …}`; the other
    /// members do not affect the verdict.
    private func unwrapped(
        _ text: [UInt8], _ request: VerificationRequest
    ) throws(Refusal) -> ChainOutcome<Verification> {
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument.parse(text, limit: Limits.receiptWrapperBytes)
        } catch {
            throw Refusal(
                .wrongKind,
                "this starts with an opening brace and is not JSON: possibly a "
                    + "transaction receipt, but not an app receipt")
        }
        guard document.root.hasMember("Store"), let payload = document.root["Payload"]?.string
        else {
            throw Refusal(.wrongKind, "this is JSON, but not Unity's wrapper around a receipt")
        }
        guard payload.utf8.first != UInt8(ascii: "{") else {
            throw Refusal(.wrongKind, "the wrapper's payload is not an app receipt")
        }
        var stream = AppReceiptStream(
            verifier, policy: policy, expecting: expectations, inApp: inApp, log: log)
        stream.receive(Array(payload.utf8).span)
        return try stream.verification(request)
    }
}

extension VerificationRequest {
    /// Checks policy and expectations of an app receipt whose chain and signature are verified.
    fileprivate func answer(
        _ unverified: UnverifiedAppReceipt, _ chain: ValidatedRSAChain, effectiveDate: Timestamp
    ) -> Verification {
        var claims = EvidenceClaims(unverified.receipt)
        claims.productId = unverified.expectedProduct
        claims.transactionId = unverified.expectedTransaction
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
            receipt.warnings = [
                EvidenceWarning(
                    code: .receiptExpired,
                    message: "the volume purchase of this receipt has ended: "
                        + "it entitles to nothing",
                    member: "expirationDate")
            ]
        }
        return accepted(chain, claims, .appReceipt(receipt))
    }
}
