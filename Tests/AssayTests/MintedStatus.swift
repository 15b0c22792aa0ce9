import AssayKeys
import AssayMint
import AssayModels

@testable import Assay

/// OCSP responses and CRLs about the certificates of `Fixture.ca`.
enum MintedStatus {
    static let ca = Fixture.ca
    static let hour: Int64 = 3600

    enum Subject: CaseIterable {
        case leaf, intermediate

        var certificate: Certificate {
            Fixture.made {
                try Certificate(
                    der: self == .leaf ? ca.leafCertificate : ca.intermediateCertificate)
            }
        }
        var issuer: Certificate {
            Fixture.made {
                try Certificate(
                    der: self == .leaf ? ca.intermediateCertificate : ca.rootCertificate)
            }
        }
        var issuerName: DistinguishedName {
            self == .leaf ? DevelopmentCA.intermediateName : DevelopmentCA.rootName
        }
        var issuerKey: SigningKey { self == .leaf ? ca.intermediateKey! : ca.rootKey! }
        var serial: [UInt8] { Array(certificate.der[certificate.serialNumber]) }

        func id(_ hash: SigningKey.Digest = .sha1) -> [UInt8] {
            OCSPResponseBuilder.certificateID(
                issuerName: issuerName, issuerKey: issuerKey, serial: serial, hash: hash)
        }
    }

    /// A response about one certificate, an hour old and valid for eleven more.
    static func response(
        _ subject: Subject = .leaf, _ state: OCSPResponseBuilder.State = .good,
        hash: SigningKey.Digest = .sha1, from: Int64 = -hour, to: Int64? = 11 * hour,
        by key: SigningKey? = nil, changing change: (inout OCSPResponseBuilder) -> Void = { _ in }
    ) -> [UInt8] {
        let single = OCSPResponseBuilder.Single(
            id: subject.id(hash), state: state, thisUpdate: Fixture.time(from),
            nextUpdate: to.map(Fixture.time))
        var builder = OCSPResponseBuilder([single], producedAt: Fixture.time(from))
        change(&builder)
        return Fixture.made { try builder.signed(by: key ?? subject.issuerKey) }
    }

    /// A CRL of the issuer of one certificate.
    static func list(
        of subject: Subject = .leaf, revoking entries: [RevocationListBuilder.Entry] = [],
        from: Int64 = -hour, to: Int64? = 11 * hour, by key: SigningKey? = nil,
        changing change: (inout RevocationListBuilder) -> Void = { _ in }
    ) -> [UInt8] {
        var builder = RevocationListBuilder(
            issuer: subject.issuerName, thisUpdate: Fixture.time(from),
            nextUpdate: to.map(Fixture.time))
        builder.entries = entries
        change(&builder)
        return Fixture.made { try builder.signed(by: key ?? subject.issuerKey) }
    }

    static func revoked(
        _ seconds: Int64, _ reason: CertificateRevocationReason? = nil
    ) -> OCSPResponseBuilder.State {
        .revoked(at: Fixture.time(seconds), reason: reason?.rawValue)
    }

    static let delegateKey = Fixture.made { try SigningKey(generating: .p256) }
    static let delegateName = DistinguishedName(commonName: "Responder")

    /// A certificate of a responder, issued by the issuer of the leaf.
    static func delegate(
        by issuer: SigningKey? = nil, changing change: (inout CertificateBuilder) -> Void = { _ in }
    ) -> [UInt8] {
        Fixture.made {
            var builder = try CertificateBuilder(
                subject: delegateName, issuer: DevelopmentCA.intermediateName,
                publicKeyOf: delegateKey, notBefore: Fixture.time(-24 * hour),
                notAfter: Fixture.time(24 * hour),
                extensions: [.keyUsage(.digitalSignature), .ocspSigning])
            change(&builder)
            return try builder.signed(by: issuer ?? ca.intermediateKey!)
        }
    }

    /// A response that the delegate signed, with its certificate.
    static func delegated(
        _ certificate: [UInt8] = delegate(), from: Int64 = -hour,
        changing change: (inout OCSPResponseBuilder) -> Void = { _ in }
    ) -> [UInt8] {
        response(from: from, by: delegateKey) {
            $0.signatureAlgorithm = .ecdsaWithSHA256
            $0.certificates = [certificate]
            change(&$0)
        }
    }

    /// The cell of a certificate, in a store with one document.
    static func cell(
        _ subject: Subject = .leaf, _ document: [UInt8]
    ) throws(RevocationError) -> StatusCell {
        let store = RevocationStatuses()
        try store.add(document, named: "document", at: Fixture.now)
        return store.cell(
            of: subject.certificate, under: subject.issuer,
            as: subject == .leaf ? .leaf : .intermediate)
    }

    /// A store with these documents.
    static func store(_ documents: [UInt8]...) -> RevocationStatuses {
        let store = RevocationStatuses()
        for (index, document) in documents.enumerated() {
            Fixture.made { try store.add(document, named: "\(index)", at: Fixture.now) }
        }
        return store
    }

    static func verifier(_ store: RevocationStatuses) -> Verifier {
        Verifier(
            trust: Fixture.trust(ca.rootCertificate), keyTables: .never, revocation: store)
    }
}
