import Assay
import AssayBytes
import AssayKeys
import AssayMint
import AssayModels

/// OCSP responses and CRLs. No mutation of a genuine one is believed, unless it says the same.
extension FuzzTarget {
    /// What an attacker of the connection can send for the leaf's status.
    static func ocspResponse(_ authority: FuzzAuthority) -> FuzzTarget {
        revocation("OCSPResponse", authority, authority.ocspResponses) { bytes in
            guard let response = try? OCSPResponse(bytes) else { return }
            precondition(response.der == bytes.array)
            precondition(response.singles.count <= Limits.ocspSingleResponses)
        }
    }

    static func revocationList(_ authority: FuzzAuthority) -> FuzzTarget {
        revocation("RevocationList", authority, authority.revocationLists) { bytes in
            guard let list = try? RevocationList(bytes) else { return }
            precondition(list.der == bytes.array)
            precondition(list.entryCount <= bytes.count / 4)
        }
    }

    private static func revocation(
        _ name: String, _ authority: FuzzAuthority, _ seeds: [[UInt8]],
        _ parse: @escaping @Sendable (Span<UInt8>) -> Void
    ) -> FuzzTarget {
        let now = FuzzAuthority.now
        let genuine = Set(seeds.compactMap { authority.leafStatus($0, at: now) }.map(\.text))
        precondition(!genuine.isEmpty, "the seeds are genuine")
        return FuzzTarget(name, seeds: seeds, mutate: { DERMutation.mutate($0, &$1) }) { bytes in
            parse(bytes)
            guard let status = authority.leafStatus(bytes.array, at: now) else { return }
            precondition(genuine.contains(status.text), "signed by nobody, and believed")
        }
    }
}

extension RevocationStatus {
    /// Everything that it says.
    fileprivate var text: String { "\(self)" }
}

extension FuzzAuthority {
    /// What a document says of the leaf, with its signature checked.
    fileprivate func leafStatus(_ document: [UInt8], at now: Timestamp) -> RevocationStatus? {
        guard let leaf = try? Certificate(der: tokens.leafCertificate),
            let issuer = try? Certificate(der: tokens.intermediateCertificate)
        else { preconditionFailure("the authority's own certificates") }
        return RevocationStatuses.status(in: document, of: leaf, under: issuer, at: now)
    }

    private var leafSerial: [UInt8] {
        guard let leaf = try? Certificate(der: tokens.leafCertificate) else { return [] }
        return Array(leaf.der[leaf.serialNumber])
    }

    private var dates: (from: Timestamp, to: Timestamp) {
        (Self.now.advanced(by: -3_600_000), Self.now.advanced(by: 3_600_000))
    }

    fileprivate var ocspResponses: [[UInt8]] {
        guard let key = tokens.intermediateKey else { return [] }
        let id = OCSPResponseBuilder.certificateID(
            issuerName: DevelopmentCA.intermediateName, issuerKey: key, serial: leafSerial)
        let states: [OCSPResponseBuilder.State] = [
            .good, .unknown, .revoked(at: dates.from, reason: nil),
            .revoked(at: dates.from, reason: 1),
        ]
        return states.compactMap { state in
            let single = OCSPResponseBuilder.Single(
                id: id, state: state, thisUpdate: dates.from, nextUpdate: dates.to)
            var builder = OCSPResponseBuilder([single], producedAt: dates.from)
            builder.certificates = [tokens.leafCertificate]
            return try? builder.signed(by: key)
        }
    }

    fileprivate var revocationLists: [[UInt8]] {
        guard let key = tokens.intermediateKey else { return [] }
        return [[], [leafSerial], [[7], leafSerial, [9, 9]]].compactMap { serials in
            var builder = RevocationListBuilder(
                issuer: DevelopmentCA.intermediateName, thisUpdate: dates.from,
                nextUpdate: dates.to)
            builder.entries = serials.map { .init(serial: $0, date: dates.from, reason: 1) }
            builder.extensions = [.authorityKeyIdentifier(key.keyIdentifier)]
            return try? builder.signed(by: key)
        }
    }
}
