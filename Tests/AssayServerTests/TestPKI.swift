import Assay
import AssayIO
import AssayKeys
import AssayMint
import AssayModels
import TestSupport

/// A test's own authority for TLS, and the files of its certificates.
final class TestPKI {
    private let key: SigningKey
    private let name: DistinguishedName
    /// The authority's certificate.
    let authority: String

    private static let day: Int64 = 86_400_000
    private static var now: Int64 { SystemClock.wallMilliseconds }

    init(_ commonName: String = "Test Authority") throws {
        key = try SigningKey(generating: .p256)
        name = Self.name(commonName)
        let builder = try CertificateBuilder(
            subject: name, issuer: name, publicKeyOf: key, notBefore: Self.time(-1),
            notAfter: Self.time(30),
            extensions: [
                .basicConstraints(ca: true), .keyUsage([.keyCertSign, .cRLSign]),
                .subjectKeyIdentifier(key.keyIdentifier),
            ], signatureAlgorithm: .ecdsaWithSHA256)
        authority = try Self.file("CERTIFICATE", builder.signed(by: key))
    }

    private static func name(_ commonName: String) -> DistinguishedName {
        DistinguishedName(
            commonName: commonName, organizationalUnit: "Tests", organization: "Assay Project",
            country: "US")
    }

    private static func time(_ days: Int64) -> Timestamp {
        Timestamp(milliseconds: now + days * day)
    }

    private static func file(_ label: String, _ der: [UInt8]) throws -> String {
        let path = temporaryPath("\(label.split(separator: " ").last ?? "").pem")
        try SystemFile.create(path, PEM.encode(der, label: label), mode: 0o600)
        return path
    }

    /// Subject alternative names of a certificate (RFC 5280, 4.2.1.6).
    enum Name {
        case dns(String)
        case uri(String)
        case loopback

        fileprivate var tagged: (tag: UInt8, octets: [UInt8]) {
            switch self {
            case .dns(let name): (2, Array(name.utf8))
            case .uri(let name): (6, Array(name.utf8))
            case .loopback: (7, [127, 0, 0, 1])
            }
        }
    }

    /// Issues a certificate. `days` counts from now: a range in the past makes it expired.
    ///
    /// - Parameter subject: replaces the subject that has the common name.
    func issue(
        _ commonName: String, _ names: [Name] = [], days: ClosedRange<Int64> = -1...30,
        subject: DistinguishedName? = nil
    ) throws -> (certificate: String, key: String) {
        let new = try SigningKey(generating: .p256)
        var extensions: [CertificateExtension] = [
            .basicConstraints(ca: false), .keyUsage(.digitalSignature),
            .authorityKeyIdentifier(key.keyIdentifier),
        ]
        if !names.isEmpty {
            let value = DERWriter.build { writer in
                writer.sequence { list in
                    for name in names {
                        list.contextPrimitive(name.tagged.tag, name.tagged.octets)
                    }
                }
            }
            extensions.append(
                CertificateExtension(oid: CertificateExtension.subjectAltNameOID, value: value))
        }
        let builder = try CertificateBuilder(
            subject: subject ?? Self.name(commonName), issuer: name, publicKeyOf: new,
            notBefore: Self.time(days.lowerBound), notAfter: Self.time(days.upperBound),
            extensions: extensions, signatureAlgorithm: .ecdsaWithSHA256)
        return (
            try Self.file("CERTIFICATE", builder.signed(by: key)),
            try Self.file("PRIVATE KEY", new.pkcs8())
        )
    }

    /// The context of a server on the loopback address, which accepts clients of this authority.
    func server(
        names: [String] = [], ofClients: Bool = true, _ files: (String, String)? = nil
    ) throws -> TLSContext {
        let (certificate, key) = try files ?? issue("localhost", [.loopback, .dns("localhost")])
        return try TLSContext(
            server: TLSServerSettings(
                certificate: certificate, key: key, clientAuthority: ofClients ? authority : nil,
                clientNames: names))
    }

    /// The context of a client that trusts this authority, or another one.
    func client(
        _ identity: (certificate: String, key: String)? = nil, trusting other: TestPKI? = nil,
        serverName: String? = nil
    ) throws -> TLSContext {
        try TLSContext(
            client: TLSClientSettings(
                authority: (other ?? self).authority, certificate: identity?.certificate,
                key: identity?.key, serverName: serverName))
    }
}
