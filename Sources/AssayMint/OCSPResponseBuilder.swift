package import AssayKeys
package import AssayModels

/// Builds an OCSP response (RFC 6960, section 4.2.1). Tests can make every part wrong.
package struct OCSPResponseBuilder: Sendable {
    /// A status to state.
    package enum State: Sendable {
        case good
        /// The reason's number; nil leaves it out.
        case revoked(at: Timestamp, reason: UInt8?)
        case unknown
    }

    /// The status of one certificate.
    package struct Single: Sendable {
        /// The DER CertID.
        package var id: [UInt8]
        package var state: State
        package var thisUpdate: Timestamp
        package var nextUpdate: Timestamp?
        package var extensions: [CertificateExtension] = []

        package init(
            id: [UInt8], state: State, thisUpdate: Timestamp, nextUpdate: Timestamp?
        ) {
            self.id = id
            self.state = state
            self.thisUpdate = thisUpdate
            self.nextUpdate = nextUpdate
        }
    }

    /// The ENUMERATED responseStatus; another than 0 leaves the response out.
    package var status: UInt8 = 0
    package var type = "1.3.6.1.5.5.7.48.1.1"
    /// The Name of the signer; nil identifies it by its key.
    package var responderName: DistinguishedName?
    package var producedAt: Timestamp
    package var singles: [Single]
    package var extensions: [CertificateExtension] = []
    /// DER of the certificates that are sent along.
    package var certificates: [[UInt8]] = []
    package var signatureAlgorithm: SigningAlgorithm
    /// Written after the last field of the signed data.
    package var trailingInside: [UInt8] = []

    package init(
        _ singles: [Single], producedAt: Timestamp,
        signatureAlgorithm: SigningAlgorithm = .ecdsaWithSHA384
    ) {
        self.singles = singles
        self.producedAt = producedAt
        self.signatureAlgorithm = signatureAlgorithm
    }

    /// The DER CertID of a certificate (RFC 6960, section 4.1.1).
    ///
    /// - Parameters:
    ///   - hash: SHA-1 or SHA-256.
    ///   - serial: the content octets of the serial number.
    package static func certificateID(
        issuerName: DistinguishedName, issuerKey: SigningKey, serial: [UInt8],
        hash: SigningKey.Digest = .sha1
    ) -> [UInt8] {
        DERWriter.build { writer in
            writer.sequence { id in
                id.sequence {
                    $0.oid(hash == .sha1 ? "1.3.14.3.2.26" : "2.16.840.1.101.3.4.2.1")
                    $0.null()
                }
                id.octetString(SigningKey.hash(issuerName.der, hash))
                id.octetString(SigningKey.hash(issuerKey.publicKey, hash))
                id.element(tag: 0x02, content: serial)
            }
        }
    }

    /// The DER ResponseData.
    private func data(responderKey key: SigningKey) -> [UInt8] {
        DERWriter.build { writer in
            writer.sequence { data in
                if let responderName {
                    data.context(1) { $0.raw(responderName.der) }
                } else {
                    data.context(2) { $0.octetString(key.keyIdentifier) }
                }
                data.generalizedTime(producedAt)
                data.sequence { list in
                    for single in singles { list.raw(single.der) }
                }
                data.extensions(extensions, tag: 1)
                data.raw(trailingInside)
            }
        }
    }

    /// Returns the DER OCSPResponse.
    ///
    /// - Parameter responder: the key that ResponderID names, if another than the signer's.
    package func signed(
        by key: SigningKey, responder: SigningKey? = nil
    ) throws(SigningKeyError) -> [UInt8] {
        let data = data(responderKey: responder ?? key)
        let signature = try key.sign(data, digest: signatureAlgorithm.digest)
        let basic = DERWriter.build { writer in
            writer.sequence { basic in
                basic.raw(data)
                basic.raw(signatureAlgorithm.der)
                basic.bitString(signature)
                if !certificates.isEmpty {
                    basic.context(0) {
                        $0.sequence { list in certificates.forEach { list.raw($0) } }
                    }
                }
            }
        }
        return DERWriter.build { writer in
            writer.sequence { response in
                response.element(tag: 0x0A, content: [status])
                guard status == 0 else { return }
                response.context(0) { explicit in
                    explicit.sequence {
                        $0.oid(type); $0.octetString(basic)
                    }
                }
            }
        }
    }
}

extension OCSPResponseBuilder.Single {
    fileprivate var der: [UInt8] {
        DERWriter.build { writer in
            writer.sequence { single in
                single.raw(id)
                switch state {
                case .good: single.contextPrimitive(0, [])
                case .unknown: single.contextPrimitive(2, [])
                case .revoked(let date, let reason):
                    single.context(1) { revoked in
                        revoked.generalizedTime(date)
                        guard let reason else { return }
                        revoked.context(0) { $0.element(tag: 0x0A, content: [reason]) }
                    }
                }
                single.generalizedTime(thisUpdate)
                if let nextUpdate { single.context(0) { $0.generalizedTime(nextUpdate) } }
                single.extensions(extensions, tag: 1)
            }
        }
    }
}

/// Builds a CRL (RFC 5280, section 5.1). Tests can make every part wrong.
package struct RevocationListBuilder: Sendable {
    /// One revoked certificate.
    package struct Entry: Sendable {
        /// The content octets of the serial number.
        package var serial: [UInt8]
        package var date: Timestamp
        package var extensions: [CertificateExtension]

        /// - Parameter reason: the reason's number; nil leaves it out.
        package init(serial: [UInt8], date: Timestamp, reason: UInt8? = nil) {
            self.serial = serial
            self.date = date
            extensions =
                reason.map { reason in
                    [
                        CertificateExtension(
                            oid: "2.5.29.21",
                            value: DERWriter.build { $0.element(tag: 0x0A, content: [reason]) })
                    ]
                } ?? []
        }
    }

    /// The INTEGER of `version`: 1 is v2. Nil omits the field, which means v1.
    package var version: Int64? = 1
    package var issuer: DistinguishedName
    package var thisUpdate: Timestamp
    package var nextUpdate: Timestamp?
    package var entries: [Entry] = []
    package var extensions: [CertificateExtension] = []
    package var signatureAlgorithm: SigningAlgorithm
    /// The algorithm inside the signed part; nil for the same.
    package var innerAlgorithm: SigningAlgorithm?

    package init(
        issuer: DistinguishedName, thisUpdate: Timestamp, nextUpdate: Timestamp?,
        signatureAlgorithm: SigningAlgorithm = .ecdsaWithSHA384
    ) {
        self.issuer = issuer
        self.thisUpdate = thisUpdate
        self.nextUpdate = nextUpdate
        self.signatureAlgorithm = signatureAlgorithm
    }

    /// Returns the DER CertificateList.
    package func signed(by key: SigningKey) throws(SigningKeyError) -> [UInt8] {
        let list = DERWriter.build { writer in
            writer.sequence { list in
                if let version { list.integer(version) }
                list.raw((innerAlgorithm ?? signatureAlgorithm).der)
                list.raw(issuer.der)
                list.time(thisUpdate)
                if let nextUpdate { list.time(nextUpdate) }
                if !entries.isEmpty {
                    list.sequence { revoked in
                        for entry in entries {
                            revoked.sequence { item in
                                item.element(tag: 0x02, content: entry.serial)
                                item.time(entry.date)
                                if !entry.extensions.isEmpty {
                                    item.sequence { all in
                                        entry.extensions.forEach { all.raw($0.der) }
                                    }
                                }
                            }
                        }
                    }
                }
                list.extensions(extensions, tag: 0)
            }
        }
        let signature = try key.sign(list, digest: signatureAlgorithm.digest)
        return DERWriter.build { writer in
            writer.sequence {
                $0.raw(list)
                $0.raw(signatureAlgorithm.der)
                $0.bitString(signature)
            }
        }
    }
}

extension DERWriter {
    /// Writes `[tag] EXPLICIT Extensions`, or nothing if there are none.
    fileprivate mutating func extensions(_ extensions: [CertificateExtension], tag: UInt8) {
        guard !extensions.isEmpty else { return }
        context(tag) { $0.sequence { list in extensions.forEach { list.raw($0.der) } } }
    }
}

extension CertificateExtension {
    /// Extended key usage with these purposes.
    package static func extendedKeyUsage(_ purposes: [String], critical: Bool = false) -> Self {
        Self(
            oid: "2.5.29.37", critical: critical,
            value: DERWriter.build { writer in
                writer.sequence { list in purposes.forEach { list.oid($0) } }
            })
    }

    /// The purpose of a certificate that signs OCSP responses for its issuer.
    package static let ocspSigning = extendedKeyUsage(["1.3.6.1.5.5.7.3.9"])
}
