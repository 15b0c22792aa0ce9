import Assay
import AssayBytes
public import AssayMint
import AssayModels

/// The authority that signs the seeds, and the genuine evidence under it.
///
/// Read from stored files instead of made anew, so that genuine tokens in a stored corpus stay
/// genuine in the next run.
public struct FuzzAuthority: Sendable {
    /// Within the validity of the stored certificates.
    static let now = Timestamp(milliseconds: 1_798_761_600_000)  // 2027-01-01T00:00:00Z
    static let bundle = "com.example.app"
    static let policy = Policy(bundleId: nil, environments: Set(StoreEnvironment.known))
    /// The device that the minted receipts are bound to.
    static let device = Expectations(deviceIdentifier: [UInt8](repeating: 0xA5, count: 16))
    static let tokenKinds: [EvidenceKind] = [
        .transaction, .renewalInfo, .appTransaction, .notification, .realtimeRequest,
    ]

    let tokens: DevelopmentCA
    let receipts: ReceiptCA
    let trust: TrustStore
    let verifier: Verifier
    /// One item of each kind and form.
    let genuine: [(kind: EvidenceKind, bytes: [UInt8])]
    /// The serial numbers of the certificates that sign the evidence.
    private let serials: Set<String>
    /// The claims of all genuine evidence. No other claims can be valid.
    private let believed: [VerifiedEvidence]

    /// Whether inputs can be Apple's own evidence, which is valid too.
    private let meetsApple: Bool

    /// - Parameters:
    ///   - meetsApple: whether inputs can be evidence that Apple signed.
    ///   - file: returns the contents of the authority's file of this name.
    public init(
        meetsApple: Bool, _ file: (String) -> [UInt8]?
    ) throws(MintError) {
        self.meetsApple = meetsApple
        let names = DevelopmentCA.fileNames + ReceiptCA.fileNames
        let files = names.compactMap { name in
            file(name).map { DevelopmentCA.File(name: name, contents: $0, secret: false) }
        }
        tokens = try DevelopmentCA(files: files)
        receipts = try ReceiptCA(files: files)
        guard
            let trust = try? TrustStore.apple.pinning(tokens.rootCertificate, development: false)
                .pinning(receipts.rootCertificate, development: false)
                .adding(intermediate: receipts.intermediateCertificate)
        else { throw .malformedFile("root.pem") }
        self.trust = trust
        let verifier = Verifier(trust: trust)
        self.verifier = verifier
        guard let notification = file("notification.jws") else {
            throw .missingFile("notification.jws")
        }
        let genuine = try Self.genuine(tokens, receipts, notification)
        self.genuine = genuine
        serials = Set(
            [tokens.leafCertificate, receipts.leafCertificate].compactMap {
                (try? Certificate(der: $0))?.serialText
            })
        believed = genuine.map { kind, bytes in
            let answer = verifier.verify(bytes.span, as: kind, policy: Self.policy, at: Self.now)
            guard let evidence = answer.evidence else {
                preconditionFailure("minted, and refused: \(answer.detail)")
            }
            return Self.signed(evidence)
        }
    }

    private static func genuine(
        _ tokens: DevelopmentCA, _ receipts: ReceiptCA, _ notification: [UInt8]
    ) throws(MintError) -> [(kind: EvidenceKind, bytes: [UInt8])] {
        let minter = Minter(tokens.chain)
        var all: [(kind: EvidenceKind, bytes: [UInt8])] = []
        for kind in tokenKinds where kind != .notification {
            let token = try minter.mint(
                kind, index: 1, bundleId: bundle, appAppleId: 1, environment: .production,
                signedDate: now)
            all.append((kind, token))
        }
        all.append((.notification, notification))
        all.append(
            (.notification, Array(#"{"signedPayload":""#.utf8) + notification + Array(#""}"#.utf8)))
        let payload = receiptPayload(records: 3)
        let der = try ReceiptMinter(receipts.chain).sign(payload)
        all.append((.appReceipt, der))
        all.append((.appReceipt, ReceiptMinter.base64(der)))
        all.append((.appReceipt, ReceiptMinter.base64(der, lineLength: 76)))
        all.append((.appReceipt, wrapped(der)))
        let ber = ReceiptMinter(receipts.chain, encoding: .ber(segment: 100))
        all.append((.appReceipt, try ber.sign(payload)))
        all.append((.transactionReceipt, FuzzTransactionReceipt(receipts).text))
        return all
    }

    static func receiptPayload(records: Int) -> [UInt8] {
        var sample = ReceiptSample(
            bundleId: bundle, appAppleId: 1, environment: .production, creationDate: now)
        sample.records = .count(records)
        return sample.payload
    }

    /// Wraps a receipt like Unity's purchasing package.
    private static func wrapped(_ der: [UInt8]) -> [UInt8] {
        let text = String(decoding: Base64.encode(der.span), as: UTF8.self)
        return Array(#"{"Store":"AppleAppStore","TransactionID":"1","Payload":"\#(text)"}"#.utf8)
    }

    /// Traps when an answer is incomplete, or VALID for evidence that the authority did not
    /// sign.
    func check(_ answer: Verification) {
        Self.checkShape(answer)
        guard let evidence = answer.evidence else { return }
        if meetsApple, let serial = answer.certificate?.serial, !serials.contains(serial) { return }
        precondition(believed.contains(Self.signed(evidence)), "valid, and never signed")
    }

    /// Traps when a member of an answer is evidence that the authority did not sign.
    func checkBelieved(_ evidence: VerifiedEvidence) {
        precondition(meetsApple || believed.contains(evidence), "valid, and never signed")
    }

    /// Removes the unsigned fields of a transaction receipt.
    private static func signed(_ evidence: VerifiedEvidence) -> VerifiedEvidence {
        guard case .transactionReceipt(var receipt) = evidence else { return evidence }
        receipt.unsignedEnvironment = nil
        receipt.unsignedPod = nil
        receipt.unsignedSigningStatus = nil
        return .transactionReceipt(receipt)
    }

    static func checkShape(_ answer: Verification) {
        precondition((answer.evidence != nil) == (answer.verdict == .valid))
        precondition(!answer.detail.isEmpty && answer.detail.utf8.count < 1000)
        if answer.verdict == .valid { precondition(answer.certificate != nil) }
    }

    func genuine(_ kind: EvidenceKind) -> [UInt8] { genuine.first { $0.kind == kind }!.bytes }
}
