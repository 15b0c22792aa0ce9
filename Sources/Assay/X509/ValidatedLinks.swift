import Synchronization

/// Signatures between two certificates that have been verified, by the bytes of both. A name
/// alone identifies nothing: Apple's intermediates share theirs.
///
/// The builder asks for a leaf's link only once its intermediate's holds under a pinned root, and
/// what does not hold is not kept: so a stranger can't fill it.
final class ValidatedLinks: Sendable {
    private struct Link: Hashable {
        let certificate: [UInt8]
        let issuer: [UInt8]

        /// All at once; an array would be hashed byte by byte.
        func hash(into hasher: inout Hasher) {
            certificate.span.hash(into: &hasher)
            issuer.span.hash(into: &hasher)
        }
    }

    private let links = Mutex<Set<Link>>([])
    /// Chains whose signatures do not hold, and never will; so that repeating one costs none.
    private let refusals = Mutex<[UnseenChain: Refusal]>([:])

    init() {}

    func refusal(of chain: UnseenChain) -> Refusal? { refusals.withLock { $0[chain] } }

    func remember(_ refusal: Refusal, of chain: UnseenChain) {
        refusals.withLock { refusals in
            if refusals.count >= Limits.refusedChains { refusals.removeAll(keepingCapacity: true) }
            refusals[chain] = refusal
        }
    }

    func isKnown(_ certificate: Certificate, under issuer: Certificate) -> Bool {
        links.withLock { $0.contains(Link(certificate: certificate.der, issuer: issuer.der)) }
    }

    /// - Parameter key: the issuer's.
    func holds(_ certificate: Certificate, under issuer: Certificate, _ key: RSAPublicKey) -> Bool {
        let link = Link(certificate: certificate.der, issuer: issuer.der)
        if links.withLock({ $0.contains(link) }) { return true }
        guard certificate.verifiesRSA(by: key) else { return false }
        links.withLock { links in
            if links.count >= Limits.validatedLinks { links.removeAll() }
            links.insert(link)
        }
        return true
    }
}
