import AssayLocks

/// The certificates of a receipt, which all belong to one validated chain, in the receipt's order.
///
/// Most receipts of one leaf have the same three certificates. With their bytes, the chain is
/// found without a search. Only its dates are compared again.
final class KnownCertificateSet: Sendable {
    let certificates: [Certificate]
    private let chain: ValidatedRSAChain
    private let leaf: Int
    private let purpose: RSAChainPurpose

    /// Nil if a certificate occurs twice or is not of the chain: an unsigned certificate of
    /// anybody's choice is not kept.
    init?(_ certificates: [Certificate], _ chain: ValidatedRSAChain, _ purpose: RSAChainPurpose) {
        guard let intermediate = chain.intermediate else { return nil }
        let own = [chain.leaf, intermediate, chain.anchor.certificate]
        let indices = own.compactMap { member in
            certificates.firstIndex { $0.hasBytes(of: member) }
        }
        guard Set(indices).count == certificates.count, let leaf = indices.first,
            certificates[leaf].hasBytes(of: chain.leaf)
        else { return nil }
        self.certificates = certificates
        self.chain = chain
        self.leaf = leaf
        self.purpose = purpose
    }

    /// Returns the chain of the leaf at an index of `certificates`, or nil; the full search then
    /// gives the reason.
    func chain(
        ofLeafAt index: Int, _ purpose: RSAChainPurpose, effectiveDate: EffectiveDate
    ) -> ValidatedRSAChain? {
        guard index == leaf, purpose == self.purpose, let seconds = try? effectiveDate.seconds(),
            chain.isValid(at: seconds)
        else { return nil }
        return chain
    }
}

/// The known bags, by the bytes of their certificates.
final class KnownCertificateSets: Sendable {
    private struct Key: Hashable {
        let certificates: [CertificateBytes]

        init(_ certificates: [[UInt8]]) {
            self.certificates = certificates.map { CertificateBytes(octets: $0) }
        }
    }

    private let bags = Locked<[Key: KnownCertificateSet]>([:])

    /// - Parameter certificates: each in DER.
    func find(_ certificates: [[UInt8]]) -> KnownCertificateSet? {
        let key = Key(certificates)
        return bags.withLock { $0[key] }
    }

    func keep(_ bag: KnownCertificateSet) {
        let key = Key(bag.certificates.map(\.der))
        bags.withLock { bags in
            guard bags[key] == nil else { return }
            if bags.count >= Limits.knownCertificateSets { bags.removeAll() }
            bags[key] = bag
        }
    }

    /// The number of kept bags, for tests.
    var count: Int { bags.withLock { $0.count } }
}
