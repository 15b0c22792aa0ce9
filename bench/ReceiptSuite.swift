import Assay
import AssayMint
import AssayModels

/// App receipts of up to several megabytes, verified and decoded, compared with the SHA-256 of
/// their bytes.
enum ReceiptSuite {
    private static let now = Timestamp(milliseconds: 1_795_219_200_000)
    private static let sizes = [
        ("64 KB", 64 << 10), ("256 KB", 256 << 10), ("1 MB", 1 << 20), ("4 MB", 4 << 20),
        ("16 MB", 16 << 20),
    ]

    /// - Parameter part: Selects the sizes and rows with this name; their base is always
    ///   measured.
    static func run(only part: String?, isQuick: Bool) throws -> [Row] {
        let ca = try ReceiptCA.make(at: now)
        let verifier = Verifier(
            trust: try TrustStore.apple.pinning(ca.rootCertificate, development: true))
        let sizes = sizes.filter { name, _ in
            part.map { $0.hasPrefix(name + ",") || $0 == name } ?? (!isQuick || name == "1 MB")
        }
        return try sizes.flatMap { name, size in
            var sample = ReceiptSample(bundleId: "com.example.game", creationDate: now)
            sample.records = .bytes(size)
            let payload = sample.payload
            let rounds = isQuick ? 3 : 9
            return rows(
                of: try sha256(name, max(1, size >> 20), payload, ca, verifier), rounds, part)
                + rows(of: try sha1(name, max(1, size >> 20), payload, ca, verifier), rounds, part)
        }
    }

    /// The rows, per megabyte or per receipt if smaller. The first measurement is hashing alone.
    /// The ratio is the row ÷ hashing; less is better.
    private static func rows(
        of measurements: [Measurement], _ rounds: Int, _ part: String?
    ) -> [Row] {
        var measurements = measurements
        if let part {
            let base = measurements[0].name
            measurements.removeAll { !$0.name.hasPrefix(part) && $0.name != base }
            guard measurements.count > 1 else { return [] }
        }
        Measurement.rounds(rounds, of: .milliseconds(20), &measurements)
        return measurements.map { $0.row(over: measurements[0]) }
    }

    private static func sha256(
        _ name: String, _ units: Int, _ payload: [UInt8], _ ca: ReceiptCA, _ verifier: Verifier
    ) throws -> [Measurement] {
        let der = try ReceiptMinter(ca.chain).sign(payload)
        let ber = try ReceiptMinter(ca.chain, encoding: .ber(segment: 1024)).sign(payload)
        return [
            Measurement("\(name), SHA-256 alone", units: units) {
                _ = SHA256.digest(der.span)
            },
            whole("\(name), all records", units, verifier, der, .all),
            whole("\(name), latest records", units, verifier, der, .latest),
            whole("\(name), no records", units, verifier, der, .none),
            whole("\(name), BER, all records", units, verifier, ber, .all),
            explained("\(name), explained", units, verifier, der),
            whole(
                "\(name), base64, all records", units, verifier, ReceiptMinter.base64(der),
                .all),
        ]
    }

    /// The explanation of `assay explain`, as JSON.
    private static func explained(
        _ name: String, _ units: Int, _ verifier: Verifier, _ receipt: [UInt8]
    ) -> Measurement {
        let policy = Policy(bundleId: "com.example.game", environments: [.sandbox])
        return Measurement(name, units: units) {
            let explanation = Explanation(
                receipt.span, as: nil, trust: verifier.trust, policy: policy, at: now)
            precondition(explanation.isVerified && !explanation.json(next: []).isEmpty)
        }
    }

    private static func sha1(
        _ name: String, _ units: Int, _ payload: [UInt8], _ ca: ReceiptCA, _ verifier: Verifier
    ) throws -> [Measurement] {
        let der = try ReceiptMinter(ca.chain, digest: .sha1).sign(payload)
        return [
            Measurement("\(name), SHA-1 alone", units: units) { _ = SHA1.digest(der.span) },
            whole("\(name), SHA-1, all records", units, verifier, der, .all),
        ]
    }

    private static func whole(
        _ name: String, _ size: Int, _ verifier: Verifier, _ receipt: [UInt8],
        _ inApp: InAppSelection
    ) -> Measurement {
        let policy = Policy(bundleId: "com.example.game", environments: [.sandbox])
        return Measurement(name, units: size) {
            let answer = verifier.verify(
                receipt.span, as: .appReceipt, policy: policy, inApp: inApp, at: now)
            precondition(answer.verdict == .valid)
        }
    }
}
