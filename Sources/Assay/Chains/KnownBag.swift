import AssayLocks

/// The certificates of a receipt, which all belong to one validated chain, in the receipt's order.
///
/// Most receipts of one leaf have the same three certificates. With their bytes, the chain is
/// found without a search. Only its dates are compared again.
final class KnownBag: Sendable {
    let certificates: [Certificate]
    private let chain: ValidatedRSAChain
    private let leaf: Int
    private let purpose: RSAChainPurpose

    /// Nil if a certificate occurs twice or is not of the chain: an unsigned certificate of
    /// anybody's choice is not kept.
    init?(_ certificates: [Certificate], _ chain: ValidatedRSAChain, _ purpose: RSAChainPurpose) {
        guard let intermediate = chain.intermediate else { return nil }
        let own = [chain.leaf, intermediate, chain.anchor.certificate]
        let places = own.compactMap { member in
            certificates.firstIndex { $0.hasBytes(of: member) }
        }
        guard Set(places).count == certificates.count, let leaf = places.first,
            certificates[leaf].hasBytes(of: chain.leaf)
        else { return nil }
        self.certificates = certificates
        self.chain = chain
        self.leaf = leaf
        self.purpose = purpose
    }

    /// The chain of the leaf at an index of `certificates`. Nil where the full search has to say
    /// why not.
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
final class KnownBags: Sendable {
    private struct Key: Hashable {
        let certificates: [CertificateBytes]

        init(_ certificates: [[UInt8]]) {
            self.certificates = certificates.map { CertificateBytes(octets: $0) }
        }
    }

    private let bags = Locked<[Key: KnownBag]>([:])

    /// - Parameter certificates: each in DER.
    func find(_ certificates: [[UInt8]]) -> KnownBag? {
        let key = Key(certificates)
        return bags.withLock { $0[key] }
    }

    func keep(_ bag: KnownBag) {
        let key = Key(bag.certificates.map(\.der))
        bags.withLock { bags in
            guard bags[key] == nil else { return }
            if bags.count >= Limits.knownBags { bags.removeAll() }
            bags[key] = bag
        }
    }

    /// The number of kept bags, for tests.
    var count: Int { bags.withLock { $0.count } }
}
