import Assay
import AssayMint
import AssayModels
import Foundation
import TestSupport
import Testing

/// Tests third-party data: CMS that broke other parsers.
@Suite struct ReceiptCorpusTests {
    @Test(
        .enabled(if: Vectors.has("fuzz-corpora")),
        arguments: ["openssl-cms", "openssl-smime", "openssl-asn1parse", "openssl-x509"])
    func corpus(name: String) throws {
        let folder = try #require(Vectors.folder("fuzz-corpora"))
        let target = FileManager.default.temporaryDirectory.appendingPathComponent(
            "assay-corpus-\(name)-\(UUID().uuidString)")
        try FileManager.default.createDirectory(at: target, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: target) }
        let process = try ChildProcess(
            "/bin/tar", ["xzf", "\(folder)/\(name).tar.gz", "-C", target.path])
        #expect(process.wait() == 0)
        let verifier = Verifier(trust: .apple)
        let policy = Policy(bundleId: nil, environments: Set(StoreEnvironment.known))
        var verdicts: [Verdict: Int] = [:]
        let files = FileManager.default.enumerator(atPath: target.path)
        while let file = files?.nextObject() as? String {
            guard let data = try? Data(contentsOf: target.appendingPathComponent(file)) else {
                continue
            }
            let bytes = [UInt8](data)
            let whole = verifier.verify(
                bytes.span, as: .appReceipt, policy: policy, at: MintedReceipts.now)
            #expect(whole.verdict != .valid, "\(file)")
            ExplanationAgreement.expect(
                bytes, as: .appReceipt, trust: .apple, policy: policy, at: MintedReceipts.now,
                explains: whole)
            var stream = AppReceiptStream(verifier, policy: policy)
            for start in stride(from: 0, to: bytes.count, by: 3) {
                stream.receive(bytes.span.extracting(start..<min(start + 3, bytes.count)))
            }
            #expect(stream.finish(at: MintedReceipts.now) == whole, "\(file)")
            verdicts[whole.verdict, default: 0] += 1
        }
        try Vectors.report("\(name): \(verdicts)", verdicts.values.reduce(0, +))
    }
}

/// Tests how much memory a receipt in progress holds.
@Suite struct ReceiptMemoryTests {
    private static func resident() -> Int { AddressSpace.residentBytes(of: getpid()) ?? 0 }

    /// Runs in its own process, because here the other tests' memory would count too.
    @Test(
        .disabled(if: resident() == 0),
        .disabled(if: Sanitizer.isOn, "a sanitizer has memory of its own for each allocation"))
    func sixtyFourMegabytesNeedKilobytes() async {
        await #expect(processExitsWith: .success) {
            let grown = try ReceiptMemoryTests.growth()
            guard grown <= 256 << 10 else { exit(EXIT_FAILURE) }
        }
    }

    /// Returns the largest growth of resident memory, in bytes, while a 64 MB receipt is
    /// verified.
    private static func growth() throws -> Int {
        let block = MintedReceipts.sample(.bytes(1 << 20))
        var records = ReceiptPayload()
        block.appendRecords(to: &records)
        let repeated = records.attributes
        var payload = ReceiptPayload()
        for attribute in block.attributes { payload.append(attribute) }
        payload.reserve(65 << 20)
        for _ in 0..<Self.megabytes { payload.append(raw: repeated) }
        let receipt = try ReceiptMinter(MintedReceipts.ca.get().chain).sign(payload.bytes)
        let verifier = try MintedReceipts.verifier()
        var stream = AppReceiptStream(verifier, policy: MintedReceipts.policy, inApp: .none)
        // Warms up, so that `before` includes memory that the process keeps anyway.
        stream.receive(receipt.span.extracting(0..<1 << 20))
        let before = Self.resident()
        var largest = 0
        for start in stride(from: 1 << 20, to: receipt.count, by: 64 << 10) {
            stream.receive(
                receipt.span.extracting(start..<min(start + (64 << 10), receipt.count)))
            largest = max(largest, Self.resident() - before)
        }
        let answer = stream.finish(at: MintedReceipts.now)
        print("a receipt of \(receipt.count >> 20) MB grew resident memory by \(largest >> 10) KB")
        return answer.verdict == .valid ? largest : .max
    }

    private static let megabytes = 64
}
