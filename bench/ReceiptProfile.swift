import Assay
import AssayMint
import AssayModels

/// One 1 MB receipt, verified a few times: for a profiler.
enum ReceiptProfile {
    static func run(_ form: String?) throws {
        let now = Timestamp(milliseconds: 1_795_219_200_000)
        let ca = try ReceiptCA.make(at: now)
        let verifier = Verifier(
            trust: try TrustStore.apple.pinning(ca.rootCertificate, development: true))
        var sample = ReceiptSample(bundleId: "com.example.game", creationDate: now)
        sample.records = .bytes(1 << 20)
        var bytes = try ReceiptMinter(ca.chain).sign(sample.payload)
        if form == "base64" { bytes = ReceiptMinter.base64(bytes) }
        let policy = Policy(bundleId: "com.example.game", environments: [.sandbox])
        for _ in 0..<400 {
            let answer = verifier.verify(
                bytes.span, as: .appReceipt, policy: policy, inApp: .all, at: now)
            precondition(answer.verdict == .valid)
        }
    }
}
