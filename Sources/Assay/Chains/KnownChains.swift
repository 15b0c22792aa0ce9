import AssayBytes
import AssayLocks
import AssayModels
import Synchronization

/// Caches the chains of one trust store, by the exact bytes of the JWS header that contains them.
///
/// A valid chain is entered once a signature under it has held, and never as "valid now": each
/// verification compares the validity windows with its own effective date. An attacker can vary
/// the header around a genuine chain but cannot sign under it, so a flood of such headers evicts
/// no entry and costs no public-key operation per header. Refused chains are kept in a separate
/// table. Simultaneous requests for one unknown chain share one validation: the first holds the
/// slot's lock, the others wait for its result.
final class KnownChains: Sendable {
    private let trust: TrustStore
    private let markers: UnvalidatedChain.Markers
    private let intermediates: ValidatedIntermediates
    private let pairs = ValidatedPairs()
    private let tables = Locked(Tables())
    private let validationCount = Atomic<Int>(0)
    /// A fast hash that need not resist collisions: only validated chains are looked up by it,
    /// and the header is then compared byte for byte.
    private let keyedHash: HeaderHash

    typealias HeaderHash = @Sendable (Span<UInt8>) -> UInt64

    /// - Parameters:
    ///   - issuerTables: the tables of the keys of roots and intermediates.
    ///   - revocation: the statuses of the chains' certificates.
    ///   - keyedHash: the hash of a header. The default uses a secret random seed.
    init(
        trust: TrustStore, markers: UnvalidatedChain.Markers = .appStore,
        issuerTables: IssuerTables = .none,
        revocation: RevocationStatuses = RevocationStatuses(), keyedHash: HeaderHash? = nil
    ) {
        self.trust = trust
        self.markers = markers
        intermediates = ValidatedIntermediates(tables: issuerTables, revocation: revocation)
        for anchor in trust.anchors { anchor.ecKey.map(issuerTables.didPin) }
        let seed = UInt64.random(in: 1...UInt64.max)
        self.keyedHash = keyedHash ?? { $0.quickHash(seed: seed) }
    }

    /// Full validations so far, for tests and metrics.
    var validations: Int { validationCount.load(ordering: .relaxed) }
    /// The numbers of known and refused entries.
    var counts: (known: Int, refused: Int) {
        tables.withLock { ($0.known.count, $0.refused.count) }
    }

    /// The known chains, and the counts of look-ups that found one and that did not.
    var statistics: (hits: UInt64, misses: UInt64, refusedHits: UInt64, chains: [ValidatedChain]) {
        tables.withLock {
            ($0.hits, $0.misses, $0.refusedHits, $0.known.values.map(\.chain.chain))
        }
    }

    /// The chain of this JWS's header if it is among the most recently used. Takes one comparison
    /// per entry, instead of a search for the header's end and a hash.
    /// Counts a hit.
    func recent(_ token: Span<UInt8>) -> KnownChain? {
        tables.withLock { $0.recent(token) }
    }

    /// Records the use of a known chain by a thread that keeps it in a cache of its own.
    func didUse(_ chain: KnownChain, hits: Int) {
        let header = chain.header
        let key = keyedHash(header.span)
        tables.withLock { $0.didUse(chain, key, hits: hits) }
    }

    /// Whether the chain of this header has validated.
    func isKnown(header: Span<UInt8>) -> Bool {
        let key = keyedHash(header)
        return tables.withLock { $0.lookUp(key, header) != nil }
    }

    /// The validated chain of a JWS header (base64url, as in the token) at the effective date.
    /// Throws the refusal of the first check that fails.
    ///
    /// Deferring a chain takes no public-key operation and does not wait for a validation in
    /// progress.
    func resolve(
        header: Span<UInt8>, effectiveDate: EffectiveDate, now: Timestamp,
        unknownChains: UnknownChainPolicy = .validate, log: CheckLog? = nil
    ) throws(Refusal) -> ChainOutcome<KnownChain> {
        if let log {
            var state = ChainSlot.State.new
            return try resolve(
                &state, header: header, effectiveDate: effectiveDate, deferring: nil, log: log
            ).get().map { KnownChain(header: header, chain: $0) }
        }
        let key = keyedHash(header)
        if let known = tables.withLock({ $0.find(key, header) }) {
            _ = try known.chain.valid(at: try effectiveDate.seconds())
            return .validated(known)
        }
        // Unknown header: identified by its SHA-256 below.
        let digest = HeaderDigest(header)
        let slot: ChainSlot
        switch tables.withLock({ $0.entry(digest, key, header, now: now) }) {
        case .known(let known):
            _ = try known.chain.valid(at: try effectiveDate.seconds())
            return .validated(known)
        case .unknown(_, isInFlight: true) where unknownChains == .deferred:
            return .deferred(digest.chain)
        case .unknown(let found, _): slot = found
        }
        let (result, state) = slot.withLock { state in
            let result = resolve(
                &state, header: header, effectiveDate: effectiveDate,
                deferring: unknownChains == .deferred ? digest.chain : nil)
            return (result, state)
        }
        tables.withLock { $0.commit(slot, state, digest, now: now) }
        return try result.get().map { KnownChain(header: header, chain: $0) }
    }

    /// Enters a chain as known, after a signature under its header has held.
    func enter(_ chain: KnownChain) {
        guard !chain.isEntered.load(ordering: .relaxed) else { return }
        chain.isEntered.store(true, ordering: .relaxed)
        let header = chain.header
        let key = keyedHash(header.span)
        tables.withLock { $0.enter(chain, key) }
    }

    /// Advances the slot by one step; the caller holds its lock. Checks run in a fixed order:
    /// shape, algorithm, structure, markers, then dates, then signatures.
    private func resolve(
        _ state: inout ChainSlot.State, header: Span<UInt8>, effectiveDate: EffectiveDate,
        deferring unknownChains: ChainID?, log: CheckLog? = nil
    ) -> Result<ChainOutcome<ValidatedChain>, Refusal> {
        do throws(Refusal) {
            if case .new = state { state = .unvalidated(try unvalidated(header, log)) }
            switch state {
            case .new: preconditionFailure("set above")
            case .unvalidated(let chain):
                try chain.checkValidity(at: effectiveDate, log: log)
                if log == nil, let valid = pairs[chain] {
                    state = .valid(valid)
                    _ = try valid.valid(at: try effectiveDate.seconds())
                    return .success(.validated(valid))
                }
                // A pinned leaf has no certificate signature to check.
                if let unknownChains, let intermediate = chain.intermediate {
                    let isValidated = intermediates.contains(intermediate)
                    return .success(.deferred(unknownChains.issued(byValidated: isValidated)))
                }
                validationCount.add(1, ordering: .relaxed)
                do throws(Refusal) {
                    let valid = try chain.validate(intermediates: intermediates, log: log)
                    state = .valid(valid)
                    pairs.remember(valid)
                    log?.begin(.rootValidity, found: valid.anchor.certificate.windowText)
                    _ = try valid.valid(at: try effectiveDate.seconds())
                    return .success(.validated(valid))
                } catch {
                    if case .unvalidated = state { state = .refused(error, after: chain.windows) }
                    throw error
                }
            case .valid(let chain):
                _ = try chain.valid(at: try effectiveDate.seconds())
                return .success(.validated(chain))
            case .refused(let refusal, let windows):
                try windows?.check(at: try effectiveDate.seconds())
                throw refusal
            }
        } catch {
            if case .new = state { state = .refused(error, after: nil) }
            return .failure(error)
        }
    }

    private func unvalidated(
        _ header: Span<UInt8>, _ log: CheckLog?
    ) throws(Refusal) -> UnvalidatedChain {
        let (x5c, isOfXcode) = try JWSHeader.certificates(of: header, log: log)
        return try UnvalidatedChain(
            x5c: x5c, trust: trust, markers: markers, isOfXcode: isOfXcode, log: log)
    }
}

/// A validated chain with the JWS header that contains it. A class, so that a look-up copies
/// nothing.
final class KnownChain: Sendable {
    let chain: ValidatedChain
    /// SHA-256 state after the header and the full stop that follows it.
    let headerDigest: SHA256
    let header: [UInt8]
    fileprivate let isEntered: Atomic<Bool>

    init(header: Span<UInt8>, chain: ValidatedChain) {
        var digest = SHA256()
        digest.update(header)
        digest.update([UInt8(ascii: ".")].span)
        headerDigest = digest
        self.header = header.array
        self.chain = chain
        isEntered = Atomic(false)
    }

    /// The same, for one thread: an object whose references other threads do not count.
    init(copying known: KnownChain) {
        chain = known.chain.copy
        headerDigest = known.headerDigest
        let shared = known.header
        header = shared.span.array
        isEntered = Atomic(true)
    }

    func isHeader(of token: Span<UInt8>) -> Bool {
        let count = header.count
        return token.count > count && token[count] == UInt8(ascii: ".")
            && token.extracting(0..<count).equals(header)
    }
}

/// SHA-256 of a header that is not a known chain's.
private struct HeaderDigest: Hashable {
    private let digest: SHA256Digest

    init(_ header: Span<UInt8>) { digest = SHA256.digest(header) }

    var chain: ChainID { ChainID(digest: digest) }
}

/// One unknown or refused chain. Its lock is held during validation.
private final class ChainSlot: Sendable {
    enum State: Sendable {
        case new
        /// Well-formed. A failed date check has prevented validation so far, or it was deferred.
        case unvalidated(UnvalidatedChain)
        case valid(ValidatedChain)
        /// Refused. `after` holds the windows to check first if the signatures were checked; nil
        /// if the chain failed before its dates mattered.
        case refused(Refusal, after: ChainWindows?)
    }

    private let state = Locked(State.new)

    func withLock<R: Sendable>(_ body: (inout State) -> R) -> R {
        state.withLock { body(&$0) }
    }
}

/// The state behind the lock.
private struct Tables {
    /// A class, so that a use is recorded without a look-up. The lock of the tables guards
    /// `lastUse`.
    final class Known: @unchecked Sendable {
        let chain: KnownChain
        var lastUse: UInt64

        init(chain: KnownChain, lastUse: UInt64) {
            self.chain = chain
            self.lastUse = lastUse
        }
    }

    struct Refused {
        let slot: ChainSlot
        let expires: Timestamp
    }

    var known: [UInt64: Known] = [:]
    var refused: [HeaderDigest: Refused] = [:]
    private var inFlight: [HeaderDigest: ChainSlot] = [:]
    private var uses: UInt64 = 0
    /// The most recently used entries of `known`.
    private var recent: [Known] = []
    private(set) var hits: UInt64 = 0
    private(set) var misses: UInt64 = 0
    private(set) var refusedHits: UInt64 = 0

    /// The first look-up of a verification; counts a hit or a miss.
    mutating func find(_ key: UInt64, _ header: Span<UInt8>) -> KnownChain? {
        guard let chain = lookUp(key, header) else {
            misses &+= 1
            return nil
        }
        hits &+= 1
        return chain
    }

    mutating func lookUp(_ key: UInt64, _ header: Span<UInt8>) -> KnownChain? {
        guard let entry = known[key], header.equals(entry.chain.header) else { return nil }
        didUse(entry)
        if !recent.contains(where: { $0 === entry }) {
            if recent.count == Limits.recentChains { recent.removeLast() }
            recent.insert(entry, at: 0)
        }
        return entry.chain
    }

    mutating func recent(_ token: Span<UInt8>) -> KnownChain? {
        for entry in recent where entry.chain.isHeader(of: token) {
            didUse(entry)
            hits &+= 1
            return entry.chain
        }
        return nil
    }

    /// Records uses that a thread has counted itself. The chain can be forgotten by now.
    mutating func didUse(_ chain: KnownChain, _ key: UInt64, hits: Int) {
        self.hits &+= UInt64(hits)
        if let entry = known[key], entry.chain === chain { didUse(entry) }
    }

    private mutating func didUse(_ entry: Known) {
        uses += 1
        entry.lastUse = uses
    }

    enum Entry {
        case known(KnownChain)
        /// In flight: another request has this slot and is possibly validating it.
        case unknown(ChainSlot, isInFlight: Bool)
    }

    /// Repeats the look-up among the known chains: another request can have entered this chain
    /// since.
    mutating func entry(
        _ digest: HeaderDigest, _ key: UInt64, _ header: Span<UInt8>, now: Timestamp
    ) -> Entry {
        if let chain = lookUp(key, header) { return .known(chain) }
        if let entry = refused[digest] {
            if now < entry.expires {
                refusedHits &+= 1
                return .unknown(entry.slot, isInFlight: false)
            }
            refused[digest] = nil
        }
        if let slot = inFlight[digest] { return .unknown(slot, isInFlight: true) }
        let slot = ChainSlot()
        inFlight[digest] = slot
        return .unknown(slot, isInFlight: false)
    }

    mutating func commit(
        _ slot: ChainSlot, _ state: ChainSlot.State, _ digest: HeaderDigest, now: Timestamp
    ) {
        let isFirst = inFlight[digest] === slot
        if isFirst { inFlight[digest] = nil }
        switch state {
        case .new, .unvalidated, .valid: break
        case .refused where isFirst || refused[digest] == nil:
            if refused.count >= Limits.refusedChains { dropExpired(now) }
            refused[digest] = Refused(
                slot: slot, expires: now.advanced(by: Limits.refusedChainMilliseconds))
        case .refused: break
        }
    }

    mutating func enter(_ chain: KnownChain, _ key: UInt64) {
        let header = chain.header
        guard lookUp(key, header.span) == nil else { return }
        if known[key] == nil, known.count >= Limits.knownChains,
            let oldest = known.min(by: { $0.value.lastUse < $1.value.lastUse })
        {
            forget(oldest.key)
        }
        forget(key)
        uses += 1
        known[key] = Known(chain: chain, lastUse: uses)
    }

    private mutating func forget(_ key: UInt64) {
        guard let entry = known.removeValue(forKey: key) else { return }
        recent.removeAll { $0 === entry }
    }

    private mutating func dropExpired(_ now: Timestamp) {
        refused = refused.filter { now < $0.value.expires }
        // Still full of fresh entries, so this is a flood of distinct chains. None is worth
        // keeping.
        if refused.count >= Limits.refusedChains { refused.removeAll(keepingCapacity: true) }
    }
}
