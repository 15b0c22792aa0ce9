import Assay
import AssayMint
import AssayModels
import Foundation
import TestSupport
import Testing

/// What a receipt on its way holds.
@Suite struct ReceiptMemoryTests {
    /// Resident memory in bytes.
    fileprivate static func resident() -> Int {
        let text = (try? String(contentsOfFile: "/proc/self/statm", encoding: .utf8)) ?? ""
        let fields = text.split(separator: " ").compactMap { Int($0) }
        return fields.count > 1 ? fields[1] * 4096 : 0
    }

    /// In a process of its own: the other tests' memory would count too.
    @Test(.disabled(if: resident() == 0))
    func sixtyFourMegabytesHoldKilobytes() async {
        await #expect(processExitsWith: .success) {
            let growth = try Self.growth(megabytes: 64)
            try #require(growth <= 256 << 10, "\(growth >> 10) KB")
        }
    }

    /// How much resident memory grows while a receipt passes in chunks of 64 KB, after its first
    /// megabyte: what the process keeps anyway is there by then.
    private static func growth(megabytes: Int) throws -> Int {
        let sample = MintedReceipts.sample(.bytes(1 << 20))
        var records = ReceiptPayload()
        sample.appendRecords(to: &records)
        var payload = ReceiptPayload()
        payload.reserve((megabytes + 1) << 20)
        for attribute in sample.attributes { payload.append(attribute) }
        for _ in 0...megabytes { payload.append(raw: records.attributes) }
        let receipt = try ReceiptMinter(MintedReceipts.ca.get().chain).sign(payload.bytes)
        try #require(receipt.count >= megabytes << 20)
        var stream = AppReceiptStream(
            try MintedReceipts.verifier(), policy: MintedReceipts.policy, inApp: .none)
        stream.receive(receipt.span.extracting(0..<1 << 20))
        let before = resident()
        var largest = 0
        for start in stride(from: 1 << 20, to: receipt.count, by: 64 << 10) {
            let end = min(start + (64 << 10), receipt.count)
            stream.receive(receipt.span.extracting(start..<end))
            largest = max(largest, resident() - before)
        }
        try #require(stream.finish(at: MintedReceipts.now).verdict == .valid)
        return largest
    }
}
