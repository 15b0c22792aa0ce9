import Assay
import AssayBytes
import AssayMint
import AssayModels

/// Complete in-process verifications of tokens, compared with plain EVP_PKEY_verify.
enum JWSSuite {
    static let now = Timestamp(milliseconds: 1_795_219_200_000)
    static let policy = Policy(
        bundleId: "com.example.game", appAppleId: 1234, environments: [.sandbox])

    static func run(only part: String?, isQuick: Bool) throws -> [Row] {
        let ca = try DevelopmentCA.make(at: now)
        let trust = try TrustStore.apple.pinning(ca.rootCertificate, development: true)
        var measurements = [evp(Signer())]
        measurements += try known(ca, trust)
        measurements += try stages(ca, trust)
        if let part { measurements.removeAll { !$0.name.hasSuffix(part) } }
        let rounds = isQuick ? 5 : part == nil ? 25 : 100
        Measurement.rounds(rounds, of: .milliseconds(20), &measurements)
        // Parts of a verification have no base for a ratio.
        var rows = measurements.map {
            $0.row(against: $0.name.hasPrefix("part:") ? nil : measurements[0])
        }
        if part == nil {
            rows.append(signatures(of: notification, in: measurements))
            rows.append(try allocations(ca, trust))
            rows.append(Primitives.allocations())
        }
        if part == nil { rows += try unknownChains(ca, trust, rounds: isQuick ? 3 : 9) }
        if part == nil { rows += try revocation(ca, trust, rounds: rounds) }
        if part == nil { rows += try answers(ca, trust, rounds: isQuick ? 5 : 25) }
        return rows
    }

    private static let notification = "notification, batch of 64"

    /// A notification against the three bare signatures that it has.
    private static func signatures(of name: String, in measurements: [Measurement]) -> Row {
        var row = measurements.first { $0.name == name }!.row(against: measurements[0])
        row.name = name + ", against its three signatures"
        row.ratio = row.ratio.map { 3 * $0 }
        row.ratioSpread = row.ratioSpread.map { 3 * $0 }
        return row
    }

    static func evp(_ signer: Signer) -> Measurement {
        let signed = (0..<64).map(signer.sign)
        return Measurement("EVP_PKEY_verify, prepared", units: signed.count) {
            for (check, der) in signed { precondition(signer.evpVerifies(der, check.digest)) }
        }
    }

    // MARK: Known chain

    private static func known(_ ca: DevelopmentCA, _ trust: TrustStore) throws -> [Measurement] {
        let transactions = try tokens(.transaction, Minter(ca.chain))
        var measurements = [1, 8, 64].map {
            whole("transaction, batch of \($0)", transactions, .transaction, $0, trust)
        }
        measurements.append(
            whole(
                "transaction, batch of 64, no table", transactions, .transaction, 64, trust,
                .never))
        for engine in SignatureEngine.supportedOwn {
            measurements.append(
                whole(
                    "transaction, batch of 64, \(engine)", transactions, .transaction, 64, trust,
                    engine: engine))
        }
        for kind in [EvidenceKind.renewalInfo, .appTransaction, .realtimeRequest, .notification] {
            let tokens = try tokens(kind, Minter(ca.chain))
            measurements.append(whole("\(kind.name), batch of 64", tokens, kind, 64, trust))
        }
        return measurements
    }

    static func tokens(_ kind: EvidenceKind, _ minter: Minter) throws -> [[UInt8]] {
        try (0..<64).map { index in
            try minter.mint(
                kind, index: index, bundleId: "com.example.game", appAppleId: 1234,
                environment: .sandbox, signedDate: now)
        }
    }

    private static func whole(
        _ name: String, _ tokens: [[UInt8]], _ kind: EvidenceKind, _ size: Int,
        _ trust: TrustStore, _ building: KeyTableBuilding = .withSignatures,
        engine: SignatureEngine = .best
    ) -> Measurement {
        let verifier = Verifier(trust: trust, keyTables: building, engine: EngineInUse(engine))
        let batches = stride(from: 0, to: 64, by: size).map { Array(tokens[$0..<$0 + size]) }
        for _ in 0..<40 { verify(verifier, tokens, kind) }
        return Measurement(name, units: 64) {
            for batch in batches { verify(verifier, batch, kind) }
        }
    }

    static func verify(
        _ verifier: Verifier, _ tokens: [[UInt8]], _ kind: EvidenceKind, _ policy: Policy = policy
    ) {
        var batch: [PreparedVerification] = []
        batch.reserveCapacity(tokens.count)
        for token in tokens {
            batch.append(verifier.prepare(token.span, as: kind, policy: policy, at: now))
        }
        verifier.verifySignatures(&batch)
        for index in batch.indices {
            precondition(batch[index].verification.verdict == .valid)
        }
    }

    /// Includes the strings and JSON of the answers.
    private static func allocations(_ ca: DevelopmentCA, _ trust: TrustStore) throws -> Row {
        let tokens = try tokens(.transaction, Minter(ca.chain))
        return whole("", tokens, .transaction, 64, trust)
            .allocations(as: "allocations per transaction, batch of 64")
    }

    // MARK: Parts

    private static func stages(_ ca: DevelopmentCA, _ trust: TrustStore) throws -> [Measurement] {
        let tokens = try tokens(.transaction, Minter(ca.chain))
        let verifier = Verifier(trust: trust)
        for _ in 0..<40 { verify(verifier, tokens, .transaction) }
        let payloads = tokens.map { Array($0.split(separator: UInt8(ascii: "."))[1]) }
        let texts = try payloads.map { try Base64URL.decode($0.span) }
        return [
            Measurement("part: preparation", units: 64) {
                for token in tokens {
                    _ = verifier.prepare(token.span, as: .transaction, policy: policy, at: now)
                }
            },
            Measurement("part: base64 of the payload", units: 64) {
                for payload in payloads { _ = try? Base64URL.decode(payload.span) }
            },
            Measurement("part: parsing the JSON", units: 64) {
                for text in texts { _ = try? JSONDocument.parse(text) }
            },
            Measurement("part: parsing and decoding the fields", units: 64) {
                for text in texts {
                    let fields = try? JSONDocument.parse(text)
                        .decode(JWSTransactionDecodedPayload.self)
                    precondition(fields != nil)
                }
            },
        ]
    }
}
