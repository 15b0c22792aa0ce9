import Assay
import AssayKeys
import AssayMint
import AssayModels
import Testing

/// The parameters of each algorithm identifier: NULL is required, allowed or refused, depending
/// on the field.
@Suite struct AlgorithmIdentifierTests {
    private enum Parameters: CaseIterable {
        case absent, null, nullWithContent, integer, curve, sequence, nullTwice, cut

        var der: [UInt8] {
            switch self {
            case .absent: []
            case .null: [0x05, 0x00]
            case .nullWithContent: [0x05, 0x01, 0x00]
            case .integer: [0x02, 0x01, 0x01]
            case .curve: DERWriter.build { $0.oid("1.2.840.10045.3.1.7") }
            case .sequence: [0x30, 0x00]
            case .nullTwice: [0x05, 0x00, 0x05, 0x00]
            case .cut: [0x05]
            }
        }

        /// True if the octets do not have the form of an AlgorithmIdentifier.
        var isBroken: Bool { self == .nullTwice || self == .cut }

        func algorithm(_ oid: String) -> [UInt8] {
            DERWriter.build { writer in
                writer.sequence {
                    $0.oid(oid)
                    $0.raw(der)
                }
            }
        }
    }

    private func expect(
        _ field: String, accepts accepted: Set<Parameters>, refusesWith refusal: Verdict,
        _ verdict: (Parameters) throws -> Verdict
    ) rethrows {
        for parameters in Parameters.allCases {
            let expected =
                accepted.contains(parameters)
                ? .valid : parameters.isBroken ? Verdict.malformed : refusal
            let found = try verdict(parameters)
            #expect(found == expected, "\(field), \(parameters)")
        }
    }

    // MARK: Certificates

    @Test("line 27: parameters of ECDSA algorithms")
    func signaturesOfECDSA() {
        expect("leaf", accepts: [.absent], refusesWith: .unsupportedAlgorithm) { parameters in
            let algorithm = SigningAlgorithm(
                der: parameters.algorithm("1.2.840.10045.4.3.3"), digest: .sha384)
            let chain = Fixture.chain(leaf: { $0.setAlgorithm(algorithm) })
            return Fixture.verify(Fixture.token(Fixture.payload(), chain)).verdict
        }
    }

    @Test("line 27: parameters of keys on curves")
    func keysOnCurves() {
        expect("leaf", accepts: [.curve], refusesWith: .unsupportedAlgorithm) { parameters in
            let chain = Fixture.chain(leaf: {
                $0.subjectPublicKeyInfo = DERWriter.build { writer in
                    writer.sequence {
                        $0.raw(parameters.algorithm("1.2.840.10045.2.1"))
                        $0.bitString(Fixture.ca.leafKey.publicKey)
                    }
                }
            })
            let signed = SigningChain(certificates: chain.certificates, key: Fixture.ca.leafKey)
            return Fixture.verify(Fixture.token(Fixture.payload(), signed)).verdict
        }
    }

    private func verdict(
        rsaLeaf configure: (inout CertificateBuilder) -> Void
    ) throws -> Verdict {
        let receipt = MintedTransactionReceipt(
            leaf: try MintedRSA.leaf(configure), key: MintedRSA.leafKey)
        let trust = try MintedRSA.trust(intermediates: [MintedRSA.intermediate()])
        let text = try receipt.text
        return Verifier(trust: trust).verify(
            text.span, as: .transactionReceipt,
            policy: AppleTransactionReceiptTests.everything, at: RSAChainTests.now
        ).verdict
    }

    @Test("line 27: parameters of RSA algorithms")
    func signaturesOfRSA() throws {
        let algorithms: [(String, SigningKey.Digest)] = [
            ("1.2.840.113549.1.1.5", .sha1), ("1.2.840.113549.1.1.11", .sha256),
        ]
        for (oid, digest) in algorithms {
            try expect(oid, accepts: [.null], refusesWith: .unsupportedAlgorithm) { parameters in
                try verdict {
                    $0.setAlgorithm(.init(der: parameters.algorithm(oid), digest: digest))
                }
            }
        }
    }

    @Test("line 27: parameters of RSA keys")
    func keysOfRSA() throws {
        // The key follows the AlgorithmIdentifier, which has an OID of nine octets and NULL.
        let key = MintedRSA.leafKey.subjectPublicKeyInfo[19...]
        #expect(key.first == 0x03)
        try expect("leaf", accepts: [.null], refusesWith: .unsupportedAlgorithm) { parameters in
            try verdict {
                $0.subjectPublicKeyInfo = DERWriter.build { writer in
                    writer.sequence {
                        $0.raw(parameters.algorithm("1.2.840.113549.1.1.1"))
                        $0.raw(Array(key))
                    }
                }
            }
        }
    }

    // MARK: Receipts

    @Test("line 51: parameters of the announced digests")
    func announcedDigests() throws {
        try expect("set", accepts: [.absent, .null], refusesWith: .malformed) { parameters in
            try HostileReceipts.verdict {
                $0.digestAlgorithms = [parameters.algorithm("2.16.840.1.101.3.4.2.1")]
            }
        }
    }

    @Test("line 51: parameters of the signer's algorithms")
    func signers() throws {
        let fields: [(String, String, WritableKeyPath<SignerInfoBuilder, [UInt8]>)] = [
            ("digest", "2.16.840.1.101.3.4.2.1", \.digestAlgorithm),
            ("signature", "1.2.840.113549.1.1.1", \.signatureAlgorithm),
            ("signature", "1.2.840.113549.1.1.11", \.signatureAlgorithm),
        ]
        for (name, oid, path) in fields {
            try expect(
                name, accepts: [.absent, .null], refusesWith: .unsupportedAlgorithm
            ) { parameters in
                try HostileReceipts.verdict {
                    $0.signers[0][keyPath: path] = parameters.algorithm(oid)
                }
            }
        }
    }
}
