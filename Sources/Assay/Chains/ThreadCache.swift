/// What one thread keeps of a verifier's caches, in front of those that all threads share: known
/// chains, and a batch verifier. A token under one of these chains takes no lock, and counts no
/// reference that another thread counts for its tokens. It never changes an answer. Not
/// thread-safe.
package final class ThreadCache {
    private var entries: [Entry] = []
    private var kept: KeptVerifier?

    private struct Entry {
        let table: KnownChains
        let shared: KnownChain
        /// The thread's own object for the same chain.
        let own: KnownChain
        /// Look-ups since the last `flush`.
        var hits = 0
    }

    private struct KeptVerifier {
        let pool: ES256Verifiers
        let verifier: ES256BatchVerifier
        var isUsed = true
    }

    package init() {}

    /// The known chain of this token's header.
    ///
    /// - Parameter table: the chains of the token's verifier.
    func find(_ token: Span<UInt8>, in table: KnownChains) -> KnownChain? {
        for index in entries.indices
        where entries[index].table === table && entries[index].own.isHeader(of: token) {
            entries[index].hits += 1
            return entries[index].own
        }
        return nil
    }

    /// Keeps a chain that all threads know, and that `find` has not found.
    ///
    /// - Returns: the thread's own object for it.
    func keep(_ shared: KnownChain, of table: KnownChains) -> KnownChain {
        if entries.count == Limits.recentChains {
            let least = entries.indices.min { entries[$0].hits < entries[$1].hits }!
            record(entries.remove(at: least))
        }
        let entry = Entry(table: table, shared: shared, own: KnownChain(copying: shared))
        entries.append(entry)
        return entry.own
    }

    /// Lends a batch verifier of the pool.
    func withVerifier<Result>(
        of pool: ES256Verifiers, _ body: (ES256BatchVerifier) -> Result
    ) -> Result {
        if kept?.pool !== pool {
            giveBackVerifier()
            kept = KeptVerifier(pool: pool, verifier: pool.take())
        }
        kept!.isUsed = true
        let verifier = kept!.verifier
        defer { verifier.clear() }
        return body(verifier)
    }

    /// Records the uses where all threads see them, and lets go of what was not used since the
    /// last time. Call it several times a second.
    package func flush() {
        for index in entries.indices.reversed() {
            let entry = entries[index]
            guard entry.hits > 0 else {
                entries.remove(at: index)
                continue
            }
            record(entry)
            entries[index].hits = 0
        }
        if kept?.isUsed == false { giveBackVerifier() }
        kept?.isUsed = false
    }

    private func record(_ entry: Entry) {
        entry.table.didUse(entry.shared, hits: entry.hits)
    }

    private func giveBackVerifier() {
        if let kept { kept.pool.giveBack(kept.verifier) }
        kept = nil
    }

    deinit { giveBackVerifier() }
}

/// The known chains of a verifier, as one thread looks them up.
struct ChainLookup {
    let table: KnownChains
    /// The caller's own cache.
    let cache: ThreadCache?

    /// The chain of this JWS's header if it is among the most recently used. Counts a hit.
    func recent(_ token: Span<UInt8>) -> KnownChain? {
        guard let cache else { return table.recent(token) }
        if let own = cache.find(token, in: table) { return own }
        return table.recent(token).map { cache.keep($0, of: table) }
    }

    /// `KnownChains.resolve`.
    func resolve(
        header: Span<UInt8>, effectiveDate: EffectiveDate, now: Timestamp,
        unknownChains: UnknownChainPolicy, log: CheckLog?
    ) throws(Refusal) -> ChainOutcome<KnownChain> {
        try table.resolve(
            header: header, effectiveDate: effectiveDate, now: now, unknownChains: unknownChains,
            log: log)
    }

    /// `KnownChains.enter`.
    func enter(_ chain: KnownChain) { table.enter(chain) }
}
