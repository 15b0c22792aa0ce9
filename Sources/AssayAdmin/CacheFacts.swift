import Assay
import AssayModels
import AssayServer

/// The combined caches and trusted roots of all verifiers of a server.
struct CacheFacts {
    private(set) var hits: UInt64 = 0
    private(set) var misses: UInt64 = 0
    private(set) var refusedHits: UInt64 = 0
    private(set) var refusedChains = 0
    private(set) var validations = 0
    private(set) var keyTables = 0
    /// The engine that verifies signatures, and the audits of its answers.
    private(set) var engine = ""
    private(set) var audits = (agreed: 0, disagreed: 0)
    private(set) var issuerTables = 0
    /// The known chains, ordered by the end of their validity.
    private(set) var chains: [VerifierStatistics.KnownChain] = []
    /// The pinned roots without duplicates, in pinning order.
    private(set) var roots: [TrustAnchor] = []
    /// Fingerprints of roots that are not Apple's and can validate Production evidence.
    private(set) var foreignProductionRoots: Set<String> = []
    /// When the first pinned root ends that is not for development alone; nil without any.
    private(set) var firstRootEnd: Timestamp?
    private(set) var verifiers = 0

    init(_ apps: [String: AppEntry]) {
        var seen: Set<ObjectIdentifier> = []
        for (_, app) in apps.sorted(by: { $0.key < $1.key }) {
            foreignProductionRoots.formUnion(app.foreignProductionRoots.map(\.fingerprint))
            guard seen.insert(ObjectIdentifier(app.verifier)).inserted else { continue }
            add(app.verifier)
        }
        // All verifiers share one engine.
        if let engine = apps.values.first?.verifier.engine {
            self.engine = engine.current.rawValue
            audits = engine.audits
        }
        chains.sort { ($0.notAfter, $0.serial) < ($1.notAfter, $1.serial) }
        verifiers = seen.count
    }

    private mutating func add(_ verifier: Verifier) {
        let statistics = verifier.statistics
        hits += statistics.hits
        misses += statistics.misses
        refusedHits += statistics.refusedHits
        refusedChains += statistics.refusedChains
        validations += statistics.validations
        keyTables += statistics.keyTables
        issuerTables += statistics.issuerTables
        chains += statistics.chains
        let ends = verifier.trust.allAnchors.filter { !$0.development }.map(\.notAfter)
        firstRootEnd = (ends + (firstRootEnd.map { [$0] } ?? [])).min()
        for anchor in verifier.trust.anchors
        where !roots.contains(where: { $0.fingerprint == anchor.fingerprint }) {
            roots.append(anchor)
        }
    }
}

extension Timestamp {
    /// The number of days until `end`, rounded down to tenths; negative if `end` is in the past.
    func days(until end: Timestamp) -> Double {
        (Double(end.seconds - seconds) / 86_400 * 10).rounded(.down) / 10
    }
}
