import AssayLocks
import Synchronization

/// Verified signatures between two certificates, by the bytes of both. A name alone identifies
/// nothing: Apple's intermediates share theirs.
///
/// `RSAChainBuilder` checks a leaf's link only after its intermediate's link to a pinned root
/// holds, and failed links are not kept. So an attacker cannot fill this cache.
final class ValidatedLinks: Sendable {
    private struct Link: Hashable {
        let certificate: CertificateBytes
        let issuer: CertificateBytes

        init(_ certificate: Certificate, _ issuer: Certificate) {
            self.certificate = CertificateBytes(octets: certificate.der)
            self.issuer = CertificateBytes(octets: issuer.der)
        }
    }

    private struct State {
        var links: Set<Link> = []
        /// The parsed certificates of these links, with the keys that were built from them.
        var certificates: [CertificateBytes: Certificate] = [:]

        mutating func insert(_ certificate: Certificate, _ issuer: Certificate) {
            // Clears both at once: every link needs its parsed certificates.
            if links.count >= Limits.validatedLinks { self = State() }
            links.insert(Link(certificate, issuer))
            for certificate in [certificate, issuer] {
                let key = CertificateBytes(octets: certificate.der)
                if certificates[key] == nil { certificates[key] = certificate }
            }
        }
    }

    private let state = Locked(State())
    /// Chains whose signatures do not hold and never will. A repeated one costs no public-key
    /// operation.
    private let refusals = Locked<[ChainID: Refusal]>([:])
    private let verificationCount = Atomic<Int>(0)
    /// The certificates of receipts whose links have been verified.
    let bags = KnownCertificateSets()
    /// The statuses of the certificates of chains that have validated.
    let revocation: RevocationStatuses

    init(revocation: RevocationStatuses = RevocationStatuses()) { self.revocation = revocation }

    /// Public-key operations so far, for tests.
    var verifications: Int { verificationCount.load(ordering: .relaxed) }

    func refusal(of chain: ChainID) -> Refusal? { refusals.withLock { $0[chain] } }

    func remember(_ refusal: Refusal, of chain: ChainID) {
        refusals.withLock { refusals in
            if refusals.count >= Limits.refusedChains { refusals.removeAll(keepingCapacity: true) }
            refusals[chain] = refusal
        }
    }

    /// Parses a certificate, or returns the same result from the certificates of verified links.
    func certificate(_ der: [UInt8]) throws(CertificateError) -> Certificate {
        let key = CertificateBytes(octets: der)
        if let found = state.withLock({ $0.certificates[key] }) { return found }
        return try Certificate(der: der)
    }

    /// The number of kept certificates, for tests.
    var keptCertificates: Int { state.withLock { $0.certificates.count } }

    func isKnown(_ certificate: Certificate, under issuer: Certificate) -> Bool {
        state.withLock { $0.links.contains(Link(certificate, issuer)) }
    }

    /// Whether `issuer` signed the certificate, from the cache or by a public-key operation.
    ///
    /// - Parameter key: the issuer's public key.
    func holds(_ certificate: Certificate, under issuer: Certificate, _ key: RSAPublicKey) -> Bool {
        if isKnown(certificate, under: issuer) { return true }
        verificationCount.add(1, ordering: .relaxed)
        guard certificate.verifiesRSA(by: key) else { return false }
        state.withLock { $0.insert(certificate, issuer) }
        return true
    }
}
