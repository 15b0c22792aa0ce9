import AssayLocks
import Synchronization

/// Signatures between two certificates that have been verified, by the bytes of both. A name
/// alone identifies nothing: Apple's intermediates share theirs.
///
/// The builder asks for a leaf's link only once its intermediate's holds under a pinned root, and
/// what does not hold is not kept: so a stranger can't fill it.
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
        /// The certificates of these links, parsed, with the keys that were built from them.
        var certificates: [CertificateBytes: Certificate] = [:]

        mutating func insert(_ certificate: Certificate, _ issuer: Certificate) {
            // Both at once: what has a link is parsed.
            if links.count >= Limits.validatedLinks { self = State() }
            links.insert(Link(certificate, issuer))
            for certificate in [certificate, issuer] {
                let key = CertificateBytes(octets: certificate.der)
                if certificates[key] == nil { certificates[key] = certificate }
            }
        }
    }

    private let state = Locked(State())
    /// Chains whose signatures do not hold, and never will; so that repeating one costs none.
    private let refusals = Locked<[ChainID: Refusal]>([:])
    private let verificationCount = Atomic<Int>(0)

    init() {}

    /// Public-key operations so far, for tests.
    var verifications: Int { verificationCount.load(ordering: .relaxed) }

    func refusal(of chain: ChainID) -> Refusal? { refusals.withLock { $0[chain] } }

    func remember(_ refusal: Refusal, of chain: ChainID) {
        refusals.withLock { refusals in
            if refusals.count >= Limits.refusedChains { refusals.removeAll(keepingCapacity: true) }
            refusals[chain] = refusal
        }
    }

    /// Parses a certificate, or finds it among those of validated links: the result is the same.
    func certificate(_ der: [UInt8]) throws(CertificateError) -> Certificate {
        let key = CertificateBytes(octets: der)
        if let found = state.withLock({ $0.certificates[key] }) { return found }
        return try Certificate(der: der)
    }

    /// How many are kept, for tests.
    var keptCertificates: Int { state.withLock { $0.certificates.count } }

    func isKnown(_ certificate: Certificate, under issuer: Certificate) -> Bool {
        state.withLock { $0.links.contains(Link(certificate, issuer)) }
    }

    /// - Parameter key: the issuer's.
    func holds(_ certificate: Certificate, under issuer: Certificate, _ key: RSAPublicKey) -> Bool {
        if isKnown(certificate, under: issuer) { return true }
        verificationCount.add(1, ordering: .relaxed)
        guard certificate.verifiesRSA(by: key) else { return false }
        state.withLock { $0.insert(certificate, issuer) }
        return true
    }
}

/// The bytes of a certificate as a key: compared whole, hashed by their end.
///
/// Only what a pinned root vouches for is inserted, so nobody else can fill a bucket of the table;
/// a lookup compares with the whole of a bucket at the most.
private struct CertificateBytes: Hashable {
    let octets: [UInt8]

    static func == (left: Self, right: Self) -> Bool { left.octets.span.equals(right.octets) }

    func hash(into hasher: inout Hasher) {
        octets.span.extracting(last: Limits.certificateHashBytes).hash(into: &hasher)
    }
}
