import AssayBytes
import AssayModels

/// The ranges of the three segments of a compact JWS (RFC 7515, section 3.1).
struct JWSSegments: Equatable, Sendable {
    let header: Range<Int>
    let payload: Range<Int>
    let signature: Range<Int>

    /// Finds exactly three segments, the first two not empty, without decoding them.
    ///
    /// - Parameter headerEnd: The offset of the first full stop, if known.
    init(_ token: Span<UInt8>, headerEnd: Int? = nil) throws(Refusal) {
        guard token.count <= Limits.jwsBytes else {
            throw Refusal(
                .malformed, "the JWS has \(token.count) bytes; the limit is \(Limits.jwsBytes)")
        }
        let stop = UInt8(ascii: ".")
        guard let first = headerEnd ?? token.firstIndex(of: stop, from: 0),
            let second = token.firstIndex(of: stop, from: first + 1)
        else { throw Refusal(.malformed, "the JWS has fewer than three segments") }
        guard token.firstIndex(of: stop, from: second + 1) == nil else {
            throw Refusal(.malformed, "the JWS has more than three segments")
        }
        header = 0..<first
        payload = first + 1..<second
        signature = second + 1..<token.count
        guard !header.isEmpty, !payload.isEmpty else {
            throw Refusal(.malformed, "the JWS has an empty segment")
        }
    }
}

/// A JWS with a chain that reaches a pinned root and is valid at its date, but with an unverified
/// signature. The payload must not leave the library before the signature is verified. A class,
/// so that a batch moves references.
final class UnverifiedJWS: Sendable {
    let payload: JSONDocument
    let effectiveDate: Timestamp
    /// The signature to verify.
    let signature: ES256Check
    /// The chain under a root that is valid at the effective date.
    let chain: ValidatedChain
    fileprivate let known: KnownChain

    private init(
        payload: JSONDocument, effectiveDate: Timestamp, signature: ES256Check,
        chain: ValidatedChain, known: KnownChain
    ) {
        self.payload = payload
        self.effectiveDate = effectiveDate
        self.signature = signature
        self.chain = chain
        self.known = known
    }

    /// Checks everything except the signature, cheap checks first.
    static func read(
        _ token: Span<UInt8>, ofHarmony: Bool = false, chains: ChainLookup, now: Timestamp,
        unknownChains: UnknownChainPolicy, log: CheckLog? = nil
    ) throws(Refusal) -> ChainOutcome<UnverifiedJWS> {
        let recent = log == nil ? chains.recent(token) : nil
        log?.begin(.segments, found: "\(token.count) characters")
        let segments = try JWSSegments(token, headerEnd: recent?.header.count)
        let text = try Base64URL.segment(
            token.extracting(segments.payload), named: "payload")
        let signature = try Base64URL.signature(token.extracting(segments.signature))
        log?.begin(.payloadText, found: "\(text.count) octets")
        let payload = try JSONDocument.payload(text, named: "payload")
        let date = effectiveDate(of: payload, ofHarmony: ofHarmony, now: now)
        let known: KnownChain
        if let recent {
            known = recent
        } else {
            let resolved = try chains.resolve(
                header: token.extracting(segments.header), effectiveDate: date, now: now,
                unknownChains: unknownChains, log: log)
            switch resolved {
            case .validated(let chain): known = chain
            case .deferred(let chain): return .deferred(chain)
            }
        }
        let time = try date.timestamp()
        let chain = try known.chain.valid(at: time.seconds)
        log?.begin(.signatureForm)
        guard let signature else {
            throw Refusal(
                .invalidSignature, "the signature is not 64 octets of r and s, each from 1 to n-1")
        }
        // The signing input (RFC 7515, section 5.2). `headerDigest` already covers the header and
        // the full stop, which are most of it.
        var digest = known.headerDigest
        digest.update(token.extracting(segments.payload))
        let check = ES256Check(
            key: known.chain.leafKey, digest: digest.finish(), signature: signature)
        return .validated(
            UnverifiedJWS(
                payload: payload, effectiveDate: time, signature: check, chain: chain,
                known: known))
    }

    /// Returns the date of `signedDate`, or of an app transaction's `receiptCreationDate` if
    /// there is no `signedDate`. On HarmonyOS the member is `signedTime`.
    private static func effectiveDate(
        of payload: JSONDocument, ofHarmony: Bool, now: Timestamp
    ) -> EffectiveDate {
        let first = payload.withRootMembers { members in
            ofHarmony
                ? members.firstNumber("signedTime", "signTime")
                : members.firstNumber("signedDate", "receiptCreationDate")
        }
        switch first {
        case .none: return EffectiveDate(signed: nil, now: now)
        case .number(let number):
            return EffectiveDate(signed: Timestamp(milliseconds: number.floor), now: now)
        case .other(let name): return .invalid("\(name.text) is not a number of milliseconds")
        }
    }
}

/// A JWS with a verified signature. Only `Verifier.verifySignatures` creates one.
struct VerifiedJWS: Sendable {
    private let jws: UnverifiedJWS

    var payload: JSONDocument { jws.payload }
    var effectiveDate: Timestamp { jws.effectiveDate }
    var chain: ValidatedChain { jws.chain }

    /// Throws INVALID_SIGNATURE unless the signature verifies.
    /// - Parameter signatureHolds: The result for `unverified.signature`.
    init(
        _ unverified: UnverifiedJWS, signatureHolds: Bool, chains: ChainLookup,
        log: CheckLog? = nil
    ) throws(Refusal) {
        log?.begin(.signature, expected: unverified.chain.leaf.keyText)
        guard signatureHolds else {
            throw Refusal(
                .invalidSignature, "the signature does not verify with the leaf certificate's key")
        }
        chains.enter(unverified.known)
        jws = unverified
    }
}
