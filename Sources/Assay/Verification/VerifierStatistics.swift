package import AssayModels

/// What a verifier keeps, for metrics and for people.
package struct VerifierStatistics: Sendable {
    /// Evidence whose chain was known, and that whose was not.
    package var hits: UInt64 = 0
    package var misses: UInt64 = 0
    /// Of the misses, those whose chain was known to be refused.
    package var refusedHits: UInt64 = 0
    package var refusedChains = 0
    /// Full validations of a chain.
    package var validations = 0
    /// Keys that have a table.
    package var keyTables = 0
    /// The chains that validated.
    package var chains: [KnownChain] = []

    package static let knownChainsMost = Limits.knownChains
    package static let refusedChainsMost = Limits.refusedChains
    package static let keyTablesMost = Limits.keyTables

    /// One chain of JWS evidence, as its certificates name it: a pinned root signed them.
    package struct KnownChain: Sendable {
        package let leaf: String
        package let serial: String
        package let root: String
        package let development: Bool
        /// The end of the certificate that ends first; of a root that was renewed, the last one's.
        package let notAfter: Timestamp
    }
}

extension Verifier {
    package var statistics: VerifierStatistics {
        let (hits, misses, refusedHits, chains) = chains.statistics
        return VerifierStatistics(
            hits: hits, misses: misses, refusedHits: refusedHits,
            refusedChains: self.chains.counts.refused, validations: self.chains.validations,
            keyTables: signatures.tables.tables, chains: chains.map(\.description))
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
