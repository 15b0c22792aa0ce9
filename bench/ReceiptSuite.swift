import Assay
import AssayMint
import AssayModels

/// App receipts of several megabytes, verified and decoded, against the SHA-256 of their bytes.
enum ReceiptSuite {
    private static let now = Timestamp(milliseconds: 1_795_219_200_000)
    private static let megabytes = [1, 4, 16]

    static func run(isQuick: Bool) throws -> [Row] {
        var rows: [Row] = []
        let ca = try ReceiptCA.make(at: now)
        let verifier = Verifier(
            trust: try TrustStore.apple.pinning(ca.rootCertificate, development: true))
        for size in isQuick ? [1] : megabytes {
            var sample = ReceiptSample(bundleId: "com.example.game", creationDate: now)
            sample.records = .bytes(size << 20)
            let payload = sample.payload
            let der = try ReceiptMinter(ca.chain).sign(payload)
            let ber = try ReceiptMinter(ca.chain, encoding: .ber(segment: 1024)).sign(payload)
            var measurements = [
                Measurement("\(size) MB, SHA-256 alone", units: size) {
                    _ = SHA256.digest(der.span)
                },
                whole("\(size) MB, all records", size, verifier, der, .all),
                whole("\(size) MB, latest records", size, verifier, der, .latest),
                whole("\(size) MB, no records", size, verifier, der, .none),
                whole("\(size) MB, BER, all records", size, verifier, ber, .all),
                whole(
                    "\(size) MB, base64, all records", size, verifier,
                    ReceiptMinter.base64(der), .all),
            ]
            Measurement.rounds(isQuick ? 3 : 9, of: .milliseconds(20), &measurements)
            let hash = measurements[0].median
            for measurement in measurements {
                // A megabyte's; more is worse, so it ÷ hashing alone.
                var row = measurement.row()
                row.ratio = measurement.median / hash
                rows.append(row)
            }
        }
        return rows
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
