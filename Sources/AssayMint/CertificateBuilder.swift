package import AssayKeys
package import AssayModels

/// Builds an X.509 v3 certificate (RFC 5280, 4.1). Tests can make every part invalid.
package struct CertificateBuilder: Sendable {
    /// The INTEGER of `version`: 2 is v3. Nil omits the field, which means v1.
    package var version: Int64? = 2
    /// The serial number's content octets as written. Tests can start them with 0x00 or 0xFF.
    package var serial: [UInt8]
    /// The algorithm inside the signed part; `signatureAlgorithm` is the one beside the
    /// signature.
    package var tbsSignatureAlgorithm: SigningAlgorithm
    package var signatureAlgorithm: SigningAlgorithm
    package var issuer: DistinguishedName
    package var subject: DistinguishedName
    package var notBefore: Timestamp
    package var notAfter: Timestamp
    /// Replaces the whole Validity.
    package var rawValidity: [UInt8]?
    /// The DER SubjectPublicKeyInfo.
    package var subjectPublicKeyInfo: [UInt8]
    package var extensions: [CertificateExtension]
    /// Replaces everything after the subject's key, including `[3]` and its tag.
    package var rawExtensions: [UInt8]?
    /// Written after the last field inside the TBSCertificate.
    package var trailingInTBS: [UInt8] = []
    /// Written after the signature, inside the Certificate.
    package var trailingInside: [UInt8] = []
    /// Written after the Certificate.
    package var trailing: [UInt8] = []
    /// Replaces the signature.
    package var signature: [UInt8]?

    package init(
        subject: DistinguishedName, issuer: DistinguishedName, publicKeyOf key: SigningKey,
        notBefore: Timestamp, notAfter: Timestamp, extensions: [CertificateExtension] = [],
        signatureAlgorithm: SigningAlgorithm = .ecdsaWithSHA384
    ) throws(MintError) {
        self.subject = subject
        self.issuer = issuer
        subjectPublicKeyInfo = key.subjectPublicKeyInfo
        self.notBefore = notBefore
        self.notAfter = notAfter
        self.extensions = extensions
        self.signatureAlgorithm = signatureAlgorithm
        tbsSignatureAlgorithm = signatureAlgorithm
        serial = try CertificateBuilder.randomSerial()
    }

    /// Returns 62 random bits as eight octets, as in Apple's certificates: positive, without a
    /// leading zero.
    private static func randomSerial() throws(MintError) -> [UInt8] {
        var octets = randomBytes(8)
        guard !octets.isEmpty else { throw .noRandomness }
        octets[0] = octets[0] & 0x3F | 0x40
        return octets
    }

    /// Sets both signature algorithms.
    package mutating func setAlgorithm(_ algorithm: SigningAlgorithm) {
        signatureAlgorithm = algorithm
        tbsSignatureAlgorithm = algorithm
    }

    /// The extension with the given OID. Setting nil removes it.
    package subscript(oid: String) -> CertificateExtension? {
        get { extensions.first { $0.oid == oid } }
        set {
            let position = extensions.firstIndex { $0.oid == oid } ?? extensions.count
            extensions.removeAll { $0.oid == oid }
            if let newValue { extensions.insert(newValue, at: min(position, extensions.count)) }
        }
    }

    /// The DER TBSCertificate.
    package var tbsCertificate: [UInt8] {
        DERWriter.build { writer in
            writer.sequence { tbs in
                if let version { tbs.context(0) { $0.integer(version) } }
                tbs.element(tag: 0x02, content: serial)
                tbs.raw(tbsSignatureAlgorithm.der)
                tbs.raw(issuer.der)
                if let rawValidity {
                    tbs.raw(rawValidity)
                } else {
                    tbs.sequence {
                        $0.time(notBefore); $0.time(notAfter)
                    }
                }
                tbs.raw(subject.der)
                tbs.raw(subjectPublicKeyInfo)
                if let rawExtensions {
                    tbs.raw(rawExtensions)
                } else if !extensions.isEmpty {
                    tbs.context(3) {
                        $0.sequence { list in extensions.forEach { list.raw($0.der) } }
                    }
                }
                tbs.raw(trailingInTBS)
            }
        }
    }

    /// Returns the DER certificate, signed with the digest of the outer algorithm.
    package func signed(by key: SigningKey) throws(SigningKeyError) -> [UInt8] {
        let tbs = tbsCertificate
        let signed =
            if let signature { signature } else {
                try key.sign(tbs, digest: signatureAlgorithm.digest)
            }
        return DERWriter.build { writer in
            writer.sequence {
                $0.raw(tbs)
                $0.raw(signatureAlgorithm.der)
                $0.bitString(signed)
                $0.raw(trailingInside)
            }
            writer.raw(trailing)
        }
    }
}

/// The AlgorithmIdentifier of a signature and its digest.
package struct SigningAlgorithm: Sendable, Hashable {
    package var der: [UInt8]
    package var digest: SigningKey.Digest

    package init(der: [UInt8], digest: SigningKey.Digest) {
        self.der = der
        self.digest = digest
    }

    /// Creates an algorithm. RSA has NULL parameters (RFC 4055), ECDSA has none (RFC 5758).
    package init(oid: String, null: Bool, digest: SigningKey.Digest) {
        self.digest = digest
        der = DERWriter.build { writer in
            writer.sequence {
                $0.oid(oid); if null { $0.null() }
            }
        }
    }

    package static let ecdsaWithSHA1 = Self(
        oid: "1.2.840.10045.4.1", null: false, digest: .sha1)
    package static let ecdsaWithSHA256 = Self(
        oid: "1.2.840.10045.4.3.2", null: false, digest: .sha256)
    package static let ecdsaWithSHA384 = Self(
        oid: "1.2.840.10045.4.3.3", null: false, digest: .sha384)
    package static let ecdsaWithSHA512 = Self(
        oid: "1.2.840.10045.4.3.4", null: false, digest: .sha512)
    package static let sha1WithRSA = Self(
        oid: "1.2.840.113549.1.1.5", null: true, digest: .sha1)
    package static let sha256WithRSA = Self(
        oid: "1.2.840.113549.1.1.11", null: true, digest: .sha256)
    package static let sha384WithRSA = Self(
        oid: "1.2.840.113549.1.1.12", null: true, digest: .sha384)
    package static let sha512WithRSA = Self(
        oid: "1.2.840.113549.1.1.13", null: true, digest: .sha512)
}

/// A Name: relative distinguished names of one attribute each, in the order written.
package struct DistinguishedName: Sendable, Hashable {
    package var der: [UInt8]

    package init(der: [UInt8]) { self.der = der }

    /// Creates a name in Apple's form: CN, OU and O in UTF-8, C as PrintableString.
    package init(
        commonName: String, organizationalUnit: String? = nil, organization: String? = nil,
        country: String? = nil, printable: Bool = false
    ) {
        let attributes = [
            ("2.5.4.3", commonName), ("2.5.4.11", organizationalUnit),
            ("2.5.4.10", organization), ("2.5.4.6", country),
        ]
        der = DERWriter.build { writer in
            writer.sequence { name in
                for (oid, value) in attributes {
                    guard let value else { continue }
                    let asPrintable = printable || oid == "2.5.4.6"
                    name.set { relative in
                        relative.sequence { attribute in
                            attribute.oid(oid)
                            if asPrintable {
                                attribute.printableString(value)
                            } else {
                                attribute.utf8String(value)
                            }
                        }
                    }
                }
            }
        }
    }
}
