@testable import Assay
import AssayModels
import Testing

/// Receipts for which a fuzzer found another answer when they arrived in chunks.
@Suite struct ReceiptChunkTests {
    private static let verifier = Verifier(trust: .apple)
    private static let policy = Policy(bundleId: nil, environments: Set(StoreEnvironment.known))

    private func answer(_ receipt: [UInt8], cuts: [Int]) -> Verification {
        var stream = AppReceiptStream(Self.verifier, policy: Self.policy)
        var (position, index) = (0, 0)
        while position < receipt.count {
            let end = min(position + cuts[index % cuts.count], receipt.count)
            stream.receive(receipt.span.extracting(position..<end))
            (position, index) = (end, index + 1)
        }
        return stream.finish(at: Fixture.now)
    }

    private static let found: [[UInt8]] = [
        // Foreign characters before and after padding.
        Array("MI".utf8) + [0] + Array("GG".utf8) + [0xF7, 0xF7, 0x3D, 0xF7, 0xF7],
        Array("MIAG=CSqG".utf8), Array("MIAGCSqG===".utf8), Array("MIAGCSqG=*".utf8),
        // A DER fault before a base64 fault.
        Array("MIAGCSqGSIb3DQEHAqCAMIACAQExDzADBgBlhggkZQMEAgEFADCABgk4".utf8) + [
            0, 0, 0x20, 0x7B,
        ],
        Array("MAAAAAAA".utf8) + Array("****".utf8), Array("MQAAAAAA\u{0}".utf8),
    ]

    @Test("any chunks give the same answer as the whole", arguments: found)
    func anyChunks(receipt: [UInt8]) {
        let whole = answer(receipt, cuts: [receipt.count])
        #expect(whole.verdict != .valid)
        for cuts in [[1], [2], [3], [4], [5], [7], [16, 2, 1, 8], [17, 6, 1, 8], [1, 4096]] {
            #expect(answer(receipt, cuts: cuts) == whole, "\(cuts)")
        }
    }
}
