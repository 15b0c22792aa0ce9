import Assay
import AssayModels
import TestSupport
import Testing

/// App receipts that Apple signed between 2015 and 2025, and Xcode receipts.
@Suite struct AppReceiptTests {
    static let now = Timestamp(milliseconds: 1_795_219_200_000)
    static let everything = Policy(
        bundleId: nil, environments: [.production, .sandbox, .xcode])

    static func receipts() -> [(name: String, bytes: [UInt8])] {
        Vectors.files(in: "sk1/unified", suffix: ".der").compactMap { name in
            Vectors.bytes("sk1/unified/" + name).map { (name, $0) }
        }
    }

    @Test(.enabled(if: Vectors.has("sk1/unified")))
    func appleSignedReceiptsAreValid() throws {
        let verifier = Verifier(trust: .apple)
        var count = 0
        for (name, bytes) in Self.receipts() {
            let answer = verifier.verify(
                bytes.span, as: .appReceipt, policy: Self.everything, at: Self.now)
            if name.hasPrefix("xcode") {
                #expect(answer.verdict != .valid, "\(name)")
            } else {
                #expect(answer.verdict == .valid, "\(name): \(answer.detail)")
            }
            count += 1
        }
        try Vectors.report("app receipts", count)
    }
}
