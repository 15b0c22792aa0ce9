package import AssayMint
package import AssayModels
import AssayWire

/// Mints the evidence that a run sends, with the expected verdict of each item.
package struct EvidencePool: Sendable {
    private let authority: DevelopmentCA
    private let minter: Minter
    /// Signs with an authority that the server does not trust.
    private let stranger: Minter
    private let receipts: ReceiptMinter?
    private let receiptStranger: ReceiptMinter?
    private let now: Timestamp
    package var bundleId: String
    package var appAppleId: Int64
    package var environment: StoreEnvironment
    package var returnsTypedPayload = true

    package init(
        _ authority: DevelopmentCA, receipts: ReceiptCA? = nil, bundleId: String, appAppleId: Int64,
        environment: StoreEnvironment, at now: Timestamp
    ) throws(MintError) {
        self.authority = authority
        minter = Minter(authority.chain)
        stranger = Minter(try DevelopmentCA.make(at: now).chain)
        self.receipts = receipts.map { ReceiptMinter($0.chain) }
        receiptStranger =
            receipts == nil ? nil : ReceiptMinter(try ReceiptCA.make(at: now).chain)
        self.bundleId = bundleId
        self.appAppleId = appAppleId
        self.environment = environment
        self.now = now
    }

    /// Genuine evidence under the authority's own chain; app receipts have the given size.
    package func genuine(
        _ kind: EvidenceKind, size: Int? = nil, count: Int = LoadLimits.mintedPieces
    ) throws(MintError) -> [LoadItem] {
        try items(Self.count(count, size)) { index throws(MintError) in
            let evidence = try mint(kind, index, size, isGenuine: true)
            return LoadItem(call(kind), evidence, expecting: .valid)
        }
    }

    /// Forged evidence. Every other item has a changed signature; the rest are signed by an
    /// untrusted authority.
    package func forged(
        _ kind: EvidenceKind, size: Int? = nil, count: Int = LoadLimits.mintedPieces
    ) throws(MintError) -> [LoadItem] {
        try items(Self.count(count, size)) { index throws(MintError) in
            guard index % 2 == 0 else {
                let evidence = try mint(kind, index, size, isGenuine: false)
                return LoadItem(call(kind), evidence, expecting: .untrustedChain)
            }
            var evidence = try mint(kind, index, size, isGenuine: true)
            // Tokens and receipts end with their signature, of 86 and at least 256 bytes.
            let place = evidence.count - 60
            if size == nil {
                let letter = UInt8(ascii: "A")
                evidence[place] = evidence[place] == letter ? letter + 1 : letter
            } else {
                evidence[place] ^= 1
            }
            return LoadItem(call(kind), evidence, expecting: .invalidSignature)
        }
    }

    /// Limits the number of large receipts. There are still enough that a processor's cache does
    /// not keep any until its next use.
    private static func count(_ count: Int, _ size: Int?) -> Int {
        guard let size else { return count }
        let fitting = max(LoadLimits.mintedReceiptBytes / size, 2)
        return min(count, fitting, LoadLimits.mintedReceipts)
    }

    /// Genuine evidence, each item under its own intermediate and leaf: two more P-384 signatures
    /// for the server. Without the root's key, all items use the known intermediate.
    package func unseen(_ kind: EvidenceKind, count: Int) throws(MintError) -> [LoadItem] {
        let day: Int64 = 86_400_000
        let validity = Validity(
            notBefore: Timestamp(milliseconds: now.milliseconds - day),
            notAfter: Timestamp(milliseconds: now.milliseconds + 365 * day))
        return try items(count) { index throws(MintError) in
            let intermediate =
                authority.rootKey == nil
                ? nil : try authority.issueIntermediate(validity: validity)
            let chain = try authority.issueChain(under: intermediate, validity: validity)
            return LoadItem(
                call(kind), try token(kind, index, Minter(chain)), expecting: .valid)
        }
    }

    private func items(
        _ count: Int, _ make: (Int) throws(MintError) -> LoadItem
    ) throws(MintError) -> [LoadItem] {
        var items: [LoadItem] = []
        items.reserveCapacity(count)
        for index in 0..<count { items.append(try make(index)) }
        return items
    }

    private func mint(
        _ kind: EvidenceKind, _ index: Int, _ size: Int?, isGenuine: Bool
    ) throws(MintError) -> [UInt8] {
        guard let size else { return try token(kind, index, isGenuine ? minter : stranger) }
        guard let minter = isGenuine ? receipts : receiptStranger else { throw .notAToken(kind) }
        var sample = ReceiptSample(
            bundleId: bundleId, appAppleId: appAppleId, environment: environment,
            creationDate: now)
        sample.seed = UInt64(index) + 1
        return try minter.sign(sample, size: size)
    }

    private func token(
        _ kind: EvidenceKind, _ index: Int, _ minter: Minter
    ) throws(MintError) -> [UInt8] {
        try minter.mint(
            kind, index: index, bundleId: bundleId, appAppleId: appAppleId,
            environment: environment, signedDate: now)
    }

    private func call(_ kind: EvidenceKind) -> VerifyCall {
        var expectations = Expectations.none
        expectations.environments = [environment]
        return VerifyCall(
            kind: kind, expectations: expectations, returnsTypedPayload: returnsTypedPayload)
    }
}
