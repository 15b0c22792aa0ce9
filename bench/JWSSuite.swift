import Assay
import AssayMint
import AssayModels

/// Whole in-process verifications of known-chain tokens, against bare EVP_PKEY_verify.
enum JWSSuite {
    private static let now = Timestamp(milliseconds: 1_795_219_200_000)

    static func run(only part: String?) throws {
        let ca = try DevelopmentCA.make(at: now)
        let signer = Signer()
        let signed = (0..<64).map(signer.sign)
        let trust = try TrustStore.apple.pinning(ca.rootCertificate, development: true)
        let minter = Minter(ca.chain)
        let tokens = try (0..<64).map { index in
            try minter.sign(
                Samples.transaction(
                    index: index, bundleId: "com.example.game", appAppleId: 1234,
                    environment: .sandbox, signedDate: now))
        }
        let policy = Policy(bundleId: "com.example.game", environments: [.sandbox])
        func whole(_ name: String, _ size: Int, _ building: KeyTableBuilding) -> Measurement {
            let verifier = Verifier(trust: trust, keyTables: building)
            let batches = stride(from: 0, to: 64, by: size).map { Array(tokens[$0..<$0 + size]) }
            for _ in 0..<40 { verify(verifier, tokens, policy) }
            return Measurement(name, units: 64) {
                for batch in batches { verify(verifier, batch, policy) }
            }
        }
        let stages = Verifier(trust: trust, keyTables: .inSettle)
        for _ in 0..<40 { verify(stages, tokens, policy) }
        let payloads = tokens.map { token in
            let parts = token.split(separator: UInt8(ascii: "."))
            return Array(parts[1])
        }
        let texts = try payloads.map { try Base64URL.decode($0.span) }
        var measurements = [
            Measurement("EVP_PKEY_verify, prepared", units: signed.count) {
                for (check, der) in signed {
                    precondition(signer.evpVerifies(der, check.digest))
                }
            },
            whole("transaction, batch of 1", 1, .inSettle),
            whole("transaction, batch of 8", 8, .inSettle),
            whole("transaction, batch of 64", 64, .inSettle),
            whole("transaction, batch of 64, no table", 64, .never),
            Measurement("  of it: preparing", units: 64) {
                for token in tokens {
                    _ = stages.prepare(token.span, as: .transaction, policy: policy, at: now)
                }
            },
            Measurement("  of it: base64 of the payload", units: 64) {
                for payload in payloads { _ = try! Base64URL.decode(payload.span) }
            },
            Measurement("  of it: reading the JSON", units: 64) {
                for text in texts { _ = try! JSONDocument.parse(text) }
            },
            Measurement("  of it: decoding the fields", units: 64) {
                for text in texts {
                    _ = try! JSONDocument.parse(text).decode(JWSTransactionDecodedPayload.self)
                }
            },
        ]
        if let part { measurements.removeAll { !$0.name.hasSuffix(part) } }
        guard !measurements.isEmpty else { return print("no name has that in it") }
        Measurement.rounds(part == nil ? 15 : 100, of: .milliseconds(20), &measurements)
        let evp = measurements[0].median
        for measurement in measurements {
            print(
                measurement.name.padded(to: 40) + measurement.median.short.aligned(to: 10)
                    + (evp / measurement.median).short.aligned(to: 10))
        }
    }

    private static func verify(_ verifier: Verifier, _ tokens: [[UInt8]], _ policy: Policy) {
        var batch = tokens.map {
            verifier.prepare($0.span, as: .transaction, policy: policy, at: now)
        }
        verifier.settle(&batch)
        precondition(batch.allSatisfy { $0.verification.verdict == .valid })
    }
}
