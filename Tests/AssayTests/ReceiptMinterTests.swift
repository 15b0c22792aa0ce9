import Assay
import AssayMint
import AssayModels
import TestSupport
import Testing

/// Minted receipts, for cases without Apple's: large receipts and invalid ones.
enum MintedReceipts {
    static let now = Timestamp(milliseconds: 1_795_219_200_000)
    static let bundleId = "com.example.game"
    static let ca = Result { () throws -> ReceiptCA in try ReceiptCA.make(at: now) }
    static let policy = Policy(bundleId: bundleId, environments: [.sandbox])

    static func sample(_ records: ReceiptSample.Records = .count(3)) -> ReceiptSample {
        var sample = ReceiptSample(bundleId: bundleId, creationDate: now)
        sample.records = records
        return sample
    }

    static func verifier() throws -> Verifier {
        Verifier(
            trust: try TrustStore.apple.pinning(ca.get().rootCertificate, development: true))
    }
}

@Suite struct ReceiptMinterTests {
    private typealias Minted = MintedReceipts

    private static let encodings: [ReceiptMinter.Encoding] = [
        .der, .ber(segment: 64), .ber(segment: 1024), .ber(segment: 100_000),
    ]

    @Test(arguments: ReceiptDigest.allCases, encodings)
    func everyFormIsValid(digest: ReceiptDigest, encoding: ReceiptMinter.Encoding) throws {
        let minter = ReceiptMinter(try Minted.ca.get().chain, digest: digest, encoding: encoding)
        let receipt = try minter.sign(Minted.sample(.count(20)).payload)
        let forms = [
            receipt, ReceiptMinter.base64(receipt), ReceiptMinter.base64(receipt, lineLength: 76),
        ]
        for form in forms {
            let answer = try Minted.verifier().verify(
                form.span, as: .appReceipt, policy: Minted.policy, at: Minted.now)
            #expect(answer.verdict == .valid, "\(answer.detail)")
            guard case .appReceipt(let decoded) = answer.evidence else { continue }
            #expect(decoded.inApp.count == 20)
            #expect(decoded.bundleId == Minted.bundleId)
        }
    }

    @Test func linksMayBeSHA1() throws {
        let ca = try ReceiptCA.make(at: Minted.now, digest: .sha1)
        let receipt = try ReceiptMinter(ca.chain).sign(Minted.sample().payload)
        let verifier = Verifier(
            trust: try TrustStore.empty.pinning(ca.rootCertificate, development: true))
        let answer = verifier.verify(
            receipt.span, as: .appReceipt, policy: Minted.policy, at: Minted.now)
        #expect(answer.verdict == .valid, "\(answer.detail)")
    }

    @Test func sameSeedSameBytes() {
        var sample = Minted.sample(.count(50))
        let first = sample.payload
        #expect(sample.payload == first)
        sample.seed = 2
        #expect(sample.payload != first)
    }

    @Test func sizesAreKept() throws {
        for size in [2_000, 100_000, 1 << 20] {
            let payload = Minted.sample(.bytes(size)).payload
            #expect(payload.count <= size && payload.count > size - 1000, "\(payload.count)")
        }
        let (few, many) = (Minted.sample(.count(0)).payload, Minted.sample(.count(1000)).payload)
        let each = (many.count - few.count) / 1000
        #expect((400...430).contains(each), "\(each) octets a record")
    }

    @Test func recordsAreAsMinted() throws {
        var purchases = SamplePurchases(bundleId: Minted.bundleId, until: Minted.now, seed: 1)
        let receipt = try ReceiptMinter(Minted.ca.get().chain).sign(
            Minted.sample(.count(200)).payload)
        let answer = try Minted.verifier().verify(
            receipt.span, as: .appReceipt, policy: Minted.policy, at: Minted.now)
        guard case .appReceipt(let decoded) = answer.evidence else {
            Issue.record("\(answer.detail)")
            return
        }
        var (renewals, single) = (0, 0)
        for record in decoded.inApp {
            let minted = purchases.next()
            #expect(record.productId == minted.productId)
            #expect(record.transactionId == minted.transactionId)
            #expect(record.originalTransactionId == minted.originalTransactionId)
            #expect(record.purchaseDate == minted.purchaseDate)
            #expect(record.productType?.rawValue == minted.productType)
            #expect(record.expiresDate == (minted.productType == 3 ? minted.expiresDate : nil))
            if minted.productType != 3 { single += 1 }
            if minted.transactionId != minted.originalTransactionId { renewals += 1 }
        }
        #expect(renewals > 100 && single > 0, "\(renewals) renewals, \(single) single")
    }

    @Test func filesRoundTrip() throws {
        let ca = try Minted.ca.get()
        let files = try ca.files()
        #expect(files.map(\.name) == ReceiptCA.fileNames)
        #expect(files.filter(\.secret).count == 3)
        let read = try ReceiptCA(files: files)
        #expect(read.chain.certificates == ca.chain.certificates)
        let receipt = try ReceiptMinter(read.chain).sign(Minted.sample().payload)
        let answer = try Minted.verifier().verify(
            receipt.span, as: .appReceipt, policy: Minted.policy, at: Minted.now)
        #expect(answer.verdict == .valid, "\(answer.detail)")
        #expect(throws: MintError.missingFile("receipt-leaf-key.pem")) {
            try ReceiptCA(files: Array(files.prefix(3)))
        }
    }
}
