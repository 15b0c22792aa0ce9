package import AssayModels

/// The state of a verifier's caches, for metrics and operators.
package struct VerifierStatistics: Sendable {
    /// Look-ups of evidence with a known chain, and with an unknown one.
    package var hits: UInt64 = 0
    package var misses: UInt64 = 0
    /// The misses whose chain was a refused one.
    package var refusedHits: UInt64 = 0
    package var refusedChains = 0
    /// Full validations of a chain.
    package var validations = 0
    /// Keys with a table.
    package var keyTables = 0
    /// Keys of roots and intermediates with a table, or about to get one.
    package var issuerTables = 0
    /// The known chains.
    package var chains: [KnownChain] = []

    package static let knownChainLimit = Limits.knownChains
    package static let refusedChainLimit = Limits.refusedChains
    package static let keyTableLimit = Limits.keyTables
    package static let issuerTableLimit = Limits.issuerTables

    /// One chain of JWS evidence, with the names in its certificates. A pinned root signed them.
    package struct KnownChain: Sendable {
        package let leaf: String
        package let serial: String
        package let root: String
        package let development: Bool
        /// The earliest end of its certificates' validity. With a renewed root, the end under the
        /// root that lasts longest.
        package let notAfter: Timestamp
    }
}

extension Verifier {
    package var statistics: VerifierStatistics {
        let (hits, misses, refusedHits, chains) = chains.statistics
        return VerifierStatistics(
            hits: hits, misses: misses, refusedHits: refusedHits,
            refusedChains: self.chains.counts.refused, validations: self.chains.validations,
            keyTables: signatures.tables.tables, issuerTables: issuerTables.tables,
            chains: chains.map(\.description))
    }
}

extension ValidatedChain {
    fileprivate var description: VerifierStatistics.KnownChain {
        VerifierStatistics.KnownChain(
            leaf: leaf.subjectCommonName, serial: serial, root: anchor.name,
            development: anchor.development,
            notAfter: Timestamp(milliseconds: lastValid * 1000))
    }
}
