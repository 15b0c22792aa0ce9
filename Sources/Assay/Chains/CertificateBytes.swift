import AssayBytes

/// The bytes of a certificate as a key: compared in full, hashed by their end.
///
/// Only certificates under a pinned root are inserted, so an attacker cannot fill a bucket of the
/// table. A look-up compares with at most one bucket.
struct CertificateBytes: Hashable {
    let octets: [UInt8]

    static func == (left: Self, right: Self) -> Bool { left.octets.span.equals(right.octets) }

    func hash(into hasher: inout Hasher) {
        octets.span.extracting(last: Limits.certificateHashBytes).hash(into: &hasher)
    }
}
