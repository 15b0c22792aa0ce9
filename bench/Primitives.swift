import Assay
import AssayBytes
import AssayIO
import Foundation

/// Measures P-256 signatures in batches against EVP, and the digests.
enum Primitives {
    static func run(only part: String?, isQuick: Bool) -> [Row] {
        let hot = Signer()
        let cold = Signer()
        let tables = KeyTables(isEnabled: true)
        reportTables(hot, tables)

        var measurements = evp(cold)
        for size in [1, 8, 32, 64, 256] {
            measurements.append(batch("batch of \(size), table", hot, size, tables))
        }
        for engine in SignatureEngine.supportedOwn {
            let (own, signer) = (KeyTables(isEnabled: true, engine: engine), Signer())
            build(signer.publicKey, own)
            for size in [1, 8, 64] {
                measurements.append(batch("batch of \(size), \(engine)", signer, size, own))
            }
        }
        measurements.append(contentsOf: certificates())
        measurements.append(contentsOf: digests())
        let first = measurements[0].name
        if let part { measurements.removeAll { !$0.name.contains(part) && $0.name != first } }
        Measurement.rounds(isQuick ? 5 : 25, of: .milliseconds(20), &measurements)
        let base = measurements[0]
        return measurements.map { measurement in
            if measurement.name.hasPrefix("SHA") { return measurement.row(against: nil) }
            let isP384 = measurement.name.hasPrefix("P-384")
            return measurement.row(
                against: isP384 ? measurements.first { $0.name == evpP384 } : base)
        }
    }

    /// EVP alone, and batches with a key without a table.
    private static func evp(_ signer: Signer) -> [Measurement] {
        let signed = (0..<64).map(signer.sign)
        return [
            Measurement("EVP_PKEY_verify, prepared", units: signed.count) {
                for (check, der) in signed {
                    precondition(signer.evpVerifies(der, check.digest))
                }
            },
            batch("batch of 1, no table", signer, 1, KeyTables(isEnabled: false)),
            batch("batch of 64, no table", signer, 64, KeyTables(isEnabled: false)),
        ]
    }

    private static let evpP384 = "P-384, EVP_PKEY_verify"

    /// Signatures of certificates: by EVP, with a table of the issuer's key and without.
    private static func certificates() -> [Measurement] {
        let signer = Signer(.p384)
        let message = [UInt8](repeating: 0x5A, count: 600)
        let der = signer.sign(SHA384.digest(message.span).span.array)
        let tables = IssuerTables(.onRequest, engine: EngineInUse())
        tables.didPin(signer.publicKey)
        precondition(tables.buildPending() == 1)
        let point = signer.point
        let other = PublicKey.ec(.p384, point: point.span)!
        func own(_ name: String, _ key: PublicKey) -> Measurement {
            Measurement(name, units: 1) {
                precondition(
                    tables.verifies(der.span, over: message.span, digest: .sha384, by: key))
            }
        }
        let digest = SHA384.digest(message.span).span.array
        return [
            Measurement(evpP384, units: 1) {
                precondition(signer.evpVerifies((digest, der)))
            },
            own("P-384, table", signer.publicKey),
            own("P-384, no table", other),
        ]
    }

    private static func batch(
        _ name: String, _ signer: Signer, _ size: Int, _ tables: KeyTables
    ) -> Measurement {
        let checks = (0..<size).map { signer.sign($0).check }
        let verifiers = ES256Verifiers(tables: tables)
        return Measurement(name, units: size) {
            verifiers.withVerifier { verifier in
                for check in checks { verifier.checks.append(check) }
                verifier.verify()
                precondition(verifier.holds.allSatisfy { $0 })
            }
        }
    }

    /// The number of malloc calls of the signature alone.
    static func allocations() -> Row {
        knownKey().allocations(as: "part: allocations of the signature")
    }

    /// Batches of 64 signatures of a key with a table.
    static func knownKey(_ engine: SignatureEngine = .best) -> Measurement {
        let (signer, tables) = (Signer(), KeyTables(isEnabled: true, engine: engine))
        build(signer.publicKey, tables)
        return batch("", signer, 64, tables)
    }

    private static func digests() -> [Measurement] {
        [1_200, 5_500, 1 << 20].map { size in
            let bytes = [UInt8](repeating: 0x5A, count: size)
            return Measurement("SHA-256 of \(size) bytes") {
                precondition(SHA256.digest(bytes.span).octets[0] != 1)
            }
        }
    }

    private static func reportTables(_ hot: Signer, _ tables: KeyTables) {
        let clock = ContinuousClock()
        var others = (1..<Limits.keyTables).map { _ in Signer().publicKey }
        // The first build creates shared state, so it is not measured.
        build(hot.publicKey, tables)
        let before = residentKilobytes()
        let times = others.map { key in clock.measure { build(key, tables) }.microseconds }
        let after = residentKilobytes()
        let median = times.sorted()[times.count / 2]
        FileHandle.standardError.write(
            Data("table: \((median / 1000).short) ms, \((after - before) / others.count) KB\n".utf8)
        )
        others.removeAll()
    }

    private static func build(_ key: PublicKey, _ tables: KeyTables) {
        tables.note(key, held: Limits.keyTableUses)
        precondition(tables.buildPending() == 1)
    }

    private static func residentKilobytes() -> Int {
        (ProcessorTime.residentBytes(of: ProcessInfo.processInfo.processIdentifier) ?? 0) / 1024
    }
}

extension SignatureEngine {
    /// The engines with arithmetic of their own that this processor supports.
    static var supportedOwn: [SignatureEngine] {
        allCases.filter { $0 != .openssl && $0.isSupported }
    }
}
