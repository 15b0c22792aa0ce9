import Assay
import AssayMint
import AssayModels
import Foundation
import TestSupport
import Testing

/// App receipts that are split into chunks, truncated or changed.
@Suite struct AppReceiptStreamTests {
    private struct Evidence {
        let name: String
        let bytes: [UInt8]
        let verifier: Verifier
        let policy: Policy

        func answer(_ bytes: [UInt8]) -> Verification {
            verifier.verify(bytes.span, as: .appReceipt, policy: policy, at: MintedReceipts.now)
        }

        /// Verifies the bytes in chunks. `next` returns the size of each chunk.
        func answer(_ bytes: [UInt8], chunks next: () -> Int) -> Verification {
            var stream = AppReceiptStream(verifier, policy: policy)
            var start = 0
            while start < bytes.count {
                let end = min(start + next(), bytes.count)
                stream.receive(Array(bytes[start..<end]).span)
                start = end
            }
            return stream.finish(at: MintedReceipts.now)
        }
    }

    /// Minted receipts of every form, and all receipts from Apple and Xcode.
    private static func evidence() throws -> [Evidence] {
        var list = try minted()
        for name in AppReceiptFieldTests.names {
            let bytes = try #require(Vectors.bytes("sk1/unified/" + name + ".der"))
            list.append(
                Evidence(
                    name: name, bytes: bytes,
                    verifier: try AppReceiptFieldTests.verifier(for: name, bytes),
                    policy: AppReceiptFieldTests.everything))
        }
        return list
    }

    private static func minted() throws -> [Evidence] {
        let chain = try MintedReceipts.ca.get().chain
        let payload = MintedReceipts.sample(.count(4)).payload
        let der = try ReceiptMinter(chain).sign(payload)
        let forms: [(String, [UInt8])] = [
            ("DER", der), ("base64", ReceiptMinter.base64(der)),
            ("base64 in lines", ReceiptMinter.base64(der, lineLength: 64)),
            ("BER", try ReceiptMinter(chain, encoding: .ber(segment: 100)).sign(payload)),
            (
                "BER, SHA-1",
                try ReceiptMinter(chain, digest: .sha1, encoding: .ber(segment: 1))
                    .sign(payload)
            ),
        ]
        let verifier = try MintedReceipts.verifier()
        return forms.map {
            Evidence(
                name: $0.0, bytes: $0.1, verifier: verifier, policy: MintedReceipts.policy)
        }
    }

    @Test("line 57: all ways to split a receipt give the same answer")
    func chunksDoNotMatter() throws {
        var random = SplitMix64(state: 57)
        for evidence in try Self.evidence() {
            let whole = evidence.answer(evidence.bytes)
            #expect(whole.verdict == .valid, "\(evidence.name): \(whole.detail)")
            #expect(evidence.answer(evidence.bytes) { 1 } == whole, "\(evidence.name)")
            for largest in [7, 300, 5000] {
                let split = evidence.answer(evidence.bytes) {
                    Int(random.next() % UInt64(largest)) + 1
                }
                #expect(split == whole, "\(evidence.name)")
            }
            // A broken receipt is refused with the same message.
            var broken = evidence.bytes
            broken[150] ^= 0x40
            let refused = evidence.answer(broken)
            #expect(refused.verdict != .valid)
            #expect(evidence.answer(broken) { 1 } == refused, "\(evidence.name)")
            #expect(evidence.answer(broken) { 64 } == refused, "\(evidence.name)")
        }
    }

    @Test("line 57: a chunk border at every byte")
    func everyBorder() throws {
        for evidence in try Self.minted() {
            let whole = evidence.answer(evidence.bytes)
            for border in stride(from: 1, to: evidence.bytes.count, by: 3) {
                var sizes = [evidence.bytes.count, border]
                let split = evidence.answer(evidence.bytes) { sizes.popLast() ?? 1 }
                #expect(split == whole, "\(evidence.name) at \(border)")
            }
        }
    }

    @Test("line 57: a receipt that ends too early is refused, wherever it ends")
    func truncation() throws {
        for evidence in try Self.evidence() {
            // The final line break or padding of a base64 text is optional.
            let isText = evidence.bytes[0] == UInt8(ascii: "M")
            let end =
                isText
                ? evidence.bytes.lastIndex { $0 > 0x2A && $0 != UInt8(ascii: "=") } ?? 0
                : evidence.bytes.count
            var stream = AppReceiptStream(evidence.verifier, policy: evidence.policy)
            for count in 0..<end {
                // A copy of the stream represents a connection that ends here.
                let answer = stream.finish(at: MintedReceipts.now)
                #expect(answer.verdict == .malformed, "\(evidence.name) at \(count)")
                #expect(answer.evidence == nil)
                stream.receive([evidence.bytes[count]].span)
            }
        }
    }

    /// The signature does not cover the version numbers of SignedData and SignerInfo, the
    /// certificates that the chain does not need (the root, which comes from the trust store, and
    /// Apple's intermediates, which the trust store has too), the unused parameters of algorithm
    /// identifiers (NULL or absent), and, in BER, the encoding of lengths.
    @Test func changedReceiptsAreRefusedOrEqual() throws {
        var random = SplitMix64(state: 2000)
        var outside: [String: Int] = [:]
        for evidence in try Self.evidence() {
            let whole = evidence.answer(evidence.bytes)
            let changes = Self.changes
            for _ in 0..<changes {
                var changed = evidence.bytes
                let index = Int(random.next() % UInt64(changed.count))
                changed[index] ^= UInt8(random.next() % 255 + 1)
                let answer = evidence.answer(changed)
                guard answer.verdict == .valid else {
                    #expect(answer.evidence == nil)
                    continue
                }
                #expect(answer.evidence == whole.evidence, "\(evidence.name) at \(index)")
                #expect(answer.evidenceKey == whole.evidenceKey, "\(evidence.name) at \(index)")
                let location =
                    evidence.bytes[0] == 0x30 ? Self.location(evidence.bytes, index) : "base64"
                outside[location, default: 0] += 1
            }
        }
        print("changes outside of what is signed: \(outside)")
        let known: Set = [
            "the version", "the root", "an intermediate", "an algorithm's parameters", "base64",
            "a length", "the signer's version",
        ]
        #expect(Set(outside.keys).isSubset(of: known), "\(outside)")
    }

    /// The number of changes for each receipt: 60 finish in reasonable time in a debug build.
    /// ASSAY_CHANGES sets another number; 2000 for the full run.
    private static let changes =
        ProcessInfo.processInfo.environment["ASSAY_CHANGES"].flatMap { Int($0) } ?? 60

    /// Names the part of a receipt at that offset.
    private static func location(_ bytes: [UInt8], _ index: Int) -> String {
        let certificates = AppReceiptFieldTests.certificates(in: bytes)
        func range(of part: [UInt8]) -> Range<Int>? {
            guard let first = part.first else { return nil }
            return bytes.indices.lazy.filter {
                bytes[$0] == first && $0 + part.count <= bytes.count
            }
            .first { bytes[$0..<$0 + part.count].elementsEqual(part) }
            .map { $0..<$0 + part.count }
        }
        for certificate in certificates {
            guard let location = range(of: certificate), location.contains(index) else { continue }
            let parsed = try? Certificate(der: certificate)
            guard let parsed, parsed.extensions.basicConstraints?.isCA == true else {
                return "the leaf"
            }
            let isRoot = parsed.der[parsed.issuer] == parsed.der[parsed.subject]
            return isRoot ? "the root" : "an intermediate"
        }
        let lastCertificate = certificates.compactMap { range(of: $0)?.upperBound }.max() ?? 0
        if index < 40 {
            if bytes[max(index - 2, 0)] == 2, bytes[max(index - 1, 0)] == 1 { return "the version" }
            return bytes[index] == 5 || bytes[index] == 0 ? "an algorithm's parameters" : "a length"
        }
        if index >= lastCertificate {
            if bytes[index - 2] == 2, bytes[index - 1] == 1 { return "the signer's version" }
            return "the signer at \(index - lastCertificate) of \(bytes.count - lastCertificate)"
        }
        return "\(index) of \(bytes.count)"
    }
}
