import Assay
import AssayBytes
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Transaction receipts that Apple signed between 2011 and 2017.
@Suite struct AppleTransactionReceiptTests {
    static let now = Timestamp(milliseconds: 1_795_219_200_000)
    static let everything = Policy(bundleId: nil, environments: [.production, .sandbox])

    struct Vector {
        let name: String
        let text: [UInt8]
        let base64: [UInt8]
        let json: JSONDocument

        var isSigned: Bool { !name.hasPrefix("UNSIGNED") }
        var isVersion2: Bool { name.hasPrefix("v2") }
    }

    static func vectors() throws -> [Vector] {
        try Vectors.files(in: "sk1/legacy", suffix: ".txt").map { file in
            let name = String(file.dropLast(4))
            return Vector(
                name: name, text: try #require(Vectors.bytes("sk1/legacy/\(name).txt")),
                base64: try #require(Vectors.bytes("sk1/legacy/\(name).b64")),
                json: try JSONDocument.parse(
                    try #require(Vectors.bytes("sk1/legacy/\(name).json"))))
        }
    }

    static func verify(
        _ bytes: [UInt8], _ verifier: Verifier = Verifier(trust: .apple),
        _ policy: Policy = everything, expecting expectations: Expectations = .none
    ) -> Verification {
        let answer = verifier.verify(
            bytes.span, as: .transactionReceipt, policy: policy, expecting: expectations, at: now)
        ExplanationAgreement.expect(
            bytes, as: .transactionReceipt, trust: verifier.trust, policy: policy,
            expecting: expectations, at: now, explains: answer)
        return answer
    }

    static func receipt(_ answer: Verification) -> TransactionReceipt? {
        guard case .transactionReceipt(let receipt) = answer.evidence else { return nil }
        return receipt
    }

    @Test(.enabled(if: Vectors.has("sk1/legacy")))
    func verdictAndEveryMember() throws {
        let verifier = Verifier(trust: .apple)
        var count = 0
        for vector in try Self.vectors() {
            let answer = Self.verify(vector.text, verifier)
            #expect(answer == Self.verify(vector.base64, verifier), "\(vector.name)")
            count += 1
            guard vector.isSigned else {
                #expect(answer.verdict == .malformed, "\(answer.detail)")
                continue
            }
            #expect(answer.verdict == .valid, "\(vector.name): \(answer.detail)")
            guard let receipt = Self.receipt(answer) else {
                Issue.record("\(vector.name): no receipt")
                continue
            }
            Self.compare(receipt, vector)
            let isSandbox = !vector.name.hasPrefix("v3-noenv")
            #expect(answer.environment == (isSandbox ? .sandbox : .production))
            #expect(!answer.detail.contains("disagrees") && !answer.detail.contains("missing"))
            #expect(receipt.signatureVersion == (vector.isVersion2 ? 2 : 3))
            #expect(receipt.legacyKey == vector.isVersion2)
            #expect(
                answer.certificate?.serial == vector.json.root["verify"]?["cert"]?["serial"]?.string
            )
            #expect(answer.certificate?.expired == true)
        }
        try Vectors.report("transaction receipts", count)
    }

    private static func compare(_ receipt: TransactionReceipt, _ vector: Vector) {
        let info = vector.json.root["purchase_info"]
        let expected = (info?.members?.pairs ?? []).map {
            TransactionReceipt.Member(name: $0.0, value: $0.1.string ?? "not a string")
        }
        #expect(receipt.members == expected, "\(vector.name)")
        #expect(receipt.bundleId == info?["bid"]?.string)
        #expect(receipt.productId == info?["product-id"]?.string)
        #expect(receipt.transactionId == info?["transaction-id"]?.string)
        #expect(receipt.quantity == 1)
        #expect(receipt.unsignedPod == vector.json.root["outer"]?["pod"]?.string)
        #expect(receipt.unsignedEnvironment == vector.json.root["outer"]?["environment"]?.string)
        for (name, date) in [
            ("purchase-date", receipt.purchaseDate),
            ("original-purchase-date", receipt.originalPurchaseDate),
        ] {
            if let milliseconds = info?[name + "-ms"]?.string {
                #expect(date.map { String($0.milliseconds) } == milliseconds, "\(vector.name)")
            }
            #expect(date.map { VerifyReceiptDate.gmt($0) } == info?[name]?.string)
            if let pacific = info?[name + "-pst"]?.string {
                #expect(date.map { VerifyReceiptDate.pacific($0) } == pacific)
            }
        }
        let expires = info?["expires-date"]?.string
        #expect(receipt.expiresDate.map { String($0.milliseconds) } == expires)
        if let expires = receipt.expiresDate {
            #expect(VerifyReceiptDate.gmt(expires) == info?["expires-date-formatted"]?.string)
        }
    }

    /// Makes one change in every part, and random ones. Each change rejects the receipt or leaves
    /// everything signed unchanged.
    @Test(.enabled(if: Vectors.has("sk1/legacy")))
    func changes() throws {
        let verifier = Verifier(trust: .apple)
        var random = SplitMix(seed: 3)
        var count = 0
        for vector in try Self.vectors() where vector.isSigned {
            let genuine = Self.receipt(Self.verify(vector.text, verifier))
            for _ in 0..<200 {
                var bytes = vector.text
                let index = Int(random.next() % UInt64(bytes.count))
                bytes[index] ^= UInt8(truncatingIfNeeded: random.next() % 255 + 1)
                let answer = Self.verify(bytes, verifier)
                if answer.verdict == .valid {
                    // The change hit white space, or one of the members beside the signature.
                    #expect(Self.receipt(answer)?.members == genuine?.members, "\(vector.name)")
                }
                count += 1
            }
        }
        try Vectors.report("changed transaction receipts", count)
    }

    @Test(.enabled(if: Vectors.has("sk1/legacy")))
    func truncations() throws {
        let vector = try #require(try Self.vectors().first(where: \.isVersion2))
        let verifier = Verifier(trust: .apple)
        var end = vector.text.count
        while vector.text[end - 1] != UInt8(ascii: "}") { end -= 1 }
        for length in stride(from: 0, to: end, by: 3) {
            let answer = Self.verify(Array(vector.text.prefix(length)), verifier)
            #expect(answer.verdict == .malformed, "at \(length): \(answer.detail)")
        }
    }

    @Test(.enabled(if: Vectors.has("sk1/legacy")))
    func policyAndExpectations() throws {
        let vectors = try Self.vectors()
        let old = try #require(vectors.first { $0.name == "v2-sbx-demo-20151118" })
        let new = try #require(vectors.first { $0.name == "v3-noenv-trending-20171223" })
        let verifier = Verifier(trust: .apple)
        func verdict(
            _ vector: Vector, _ policy: Policy, _ expectations: Expectations = .none
        ) -> Verdict {
            Self.verify(vector.text, verifier, policy, expecting: expectations).verdict
        }
        let production = Policy(bundleId: nil)
        #expect(verdict(old, production) == .wrongEnvironment)
        #expect(verdict(new, production) == .valid)
        #expect(verdict(new, Policy(bundleId: "com.blendle.trending")) == .valid)
        #expect(verdict(new, Policy(bundleId: "com.blendle")) == .wrongBundle)
        #expect(verdict(new, Policy(bundleId: nil, appAppleId: 947_936_149)) == .valid)
        #expect(verdict(new, Policy(bundleId: nil, appAppleId: 947_936_148)) == .wrongApp)
        let strict = Policy(
            bundleId: nil, environments: [.production, .sandbox], allowsLegacyKey: false)
        #expect(verdict(old, strict) == .unsupportedAlgorithm)
        #expect(verdict(new, strict) == .valid)
        let all = Self.everything
        #expect(verdict(old, all, Expectations(productIds: ["monthly", "yearly"])) == .valid)
        #expect(verdict(old, all, Expectations(productIds: ["year"])) == .mismatch)
        #expect(verdict(old, all, Expectations(transactionId: "1000000181298734")) == .valid)
        #expect(verdict(old, all, Expectations(transactionId: "1000000181298735")) == .mismatch)
        let device = [UInt8](repeating: 7, count: 16)
        #expect(verdict(old, all, Expectations(deviceIdentifier: device)) == .mismatch)
    }

    /// Verifies with the right intermediate in the trust store, with a wrong one and without one.
    @Test(.enabled(if: Vectors.has("sk1/legacy", "apple-ca")))
    func intermediates() throws {
        let vectors = try Self.vectors().filter(\.isSigned)
        let root = try #require(Vectors.bytes("apple-ca/Apple-Root-CA-b0b1730e.pem"))
        let store = try #require(
            Vectors.bytes("apple-ca/Apple-iTunes-Store-Certification-Authority-447ad654.pem"))
        let wwdr2008 = try #require(Vectors.bytes("apple-ca/WWDR-G1-64b30291.pem"))
        let wwdr2013 = try #require(Vectors.bytes("apple-ca/WWDR-G1-ce057691.pem"))
        let bare = try TrustStore.empty.pinning(root, development: false)
        for vector in vectors {
            func verdict(_ trust: TrustStore) -> Verdict {
                Self.verify(vector.text, Verifier(trust: trust)).verdict
            }
            #expect(verdict(bare) == .untrustedChain)
            let wrong = vector.isVersion2 ? wwdr2013 : store
            let right = vector.isVersion2 ? store : wwdr2013
            #expect(try verdict(bare.adding(intermediate: wrong)) == .untrustedChain)
            #expect(try verdict(bare.adding(intermediate: right)) == .valid)
            guard !vector.isVersion2 else { continue }
            // Same name and key, but no longer valid in 2017. The order does not matter.
            let old = try bare.adding(intermediate: wwdr2008)
            #expect(verdict(old) == .certificateExpired)
            #expect(try verdict(old.adding(intermediate: wwdr2013)) == .valid)
        }
    }

    @Test(.enabled(if: Vectors.has("sk1/legacy")))
    func environmentKeyRemoved() throws {
        let vector = try #require(
            try Self.vectors().first { $0.name == "v2-sbx-demo-20151118" })
        let text = String(decoding: vector.text, as: UTF8.self)
        let without = text.split(separator: "\n").filter { !$0.contains("environment") }
        let production = text.split(separator: "\n").map {
            $0.contains("environment") ? "\"environment\" = \"Production\";" : $0
        }
        for lines in [without, production] {
            let answer = Self.verify(Array(lines.joined(separator: "\n").utf8))
            #expect(answer.verdict == .valid)
            #expect(answer.environment == .sandbox)
            #expect(answer.detail.contains("unsigned environment key"), "\(answer.detail)")
        }
    }
}

/// A small generator with the same numbers in every run.
struct SplitMix: RandomNumberGenerator {
    private var state: UInt64

    init(seed: UInt64) { state = seed }

    mutating func next() -> UInt64 {
        state &+= 0x9E37_79B9_7F4A_7C15
        var value = state
        value = (value ^ (value >> 30)) &* 0xBF58_476D_1CE4_E5B9
        value = (value ^ (value >> 27)) &* 0x94D0_49BB_1331_11EB
        return value ^ (value >> 31)
    }
}
