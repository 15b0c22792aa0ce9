package import AssayMint
package import AssayModels
import AssayWire

/// Mints the evidence that a run sends, with the expected verdict of each item.
package struct EvidencePool: Sendable {
    private let authority: DevelopmentCA
    private let minter: Minter
    /// Signs with an authority that the server does not trust.
    private let foreignMinter: Minter
    /// Their leaves have the marker of HarmonyOS.
    private let harmony: Minter
    private let foreignHarmony: Minter
    private let receipts: ReceiptMinter?
    private let foreignReceipts: ReceiptMinter?
    /// The keys of other stores, and keys that the server does not have.
    private let stores: [EvidenceKind: StoreMinter]
    private let foreignStores: [EvidenceKind: StoreMinter]
    private let now: Timestamp
    package var bundleId: String
    package var appAppleId: Int64
    package var environment: StoreEnvironment
    package var returnsTypedPayload = true

    package init(
        _ authority: DevelopmentCA, receipts: ReceiptCA? = nil,
        stores: [EvidenceKind: StoreMinter] = [:], bundleId: String, appAppleId: Int64,
        environment: StoreEnvironment, at now: Timestamp
    ) throws(MintError) {
        self.authority = authority
        minter = Minter(authority.chain)
        let foreignAuthority = try DevelopmentCA.make(at: now)
        foreignMinter = Minter(foreignAuthority.chain)
        harmony = Minter(try authority.issueHarmonyChain(at: now))
        foreignHarmony = Minter(try foreignAuthority.issueHarmonyChain(at: now))
        self.receipts = receipts.map { ReceiptMinter($0.chain) }
        foreignReceipts =
            receipts == nil ? nil : ReceiptMinter(try ReceiptCA.make(at: now).chain)
        self.stores = stores
        var foreign: [EvidenceKind: StoreMinter] = [:]
        for kind in stores.keys { foreign[kind] = try StoreMinter() }
        foreignStores = foreign
        self.bundleId = bundleId
        self.appAppleId = appAppleId
        self.environment = environment
        self.now = now
    }

    /// Genuine evidence under the authority's own chain; app receipts have the given size.
    package func genuine(
        _ kind: EvidenceKind, size: Int? = nil, count: Int = LoadLimits.mintedItems
    ) throws(MintError) -> [LoadItem] {
        try items(Self.count(count, size)) { index throws(MintError) in
            let evidence = try mint(kind, index, size, isGenuine: true)
            return LoadItem(call(kind), evidence, expecting: .valid)
        }
    }

    /// Forged evidence. Every other item has a changed signature; the rest are signed by an
    /// untrusted authority.
    package func forged(
        _ kind: EvidenceKind, size: Int? = nil, count: Int = LoadLimits.mintedItems
    ) throws(MintError) -> [LoadItem] {
        try items(Self.count(count, size)) { index throws(MintError) in
            guard index % 2 == 0 else {
                let evidence = try mint(kind, index, size, isGenuine: false)
                // A signed text names no key. The token of a push does.
                let namesKey = kind.traits.hasChain || kind.format == .push
                return LoadItem(
                    call(kind), evidence,
                    expecting: namesKey ? .untrustedChain : .invalidSignature)
            }
            var evidence = try mint(kind, index, size, isGenuine: true)
            if kind.format == .push {
                Self.changeToken(&evidence)
            } else if size == nil {
                Self.changeSignature(&evidence)
            } else {
                // A receipt ends with its signature, of at least 256 bytes.
                evidence[evidence.count - 60] ^= 1
            }
            return LoadItem(call(kind), evidence, expecting: .invalidSignature)
        }
    }

    /// Periods of one subscription among the transactions of a Resolve.
    private static let periodsOfSubscription = 10

    /// Resolve requests, each of another customer: the last periods of some subscriptions.
    ///
    /// - Parameter isForged: whether the last item of each has a changed signature.
    package func resolves(
        ofItems size: Int, isForged: Bool = false, count: Int? = nil
    ) throws(MintError) -> [LoadItem] {
        var expectations = Expectations.none
        expectations.environments = [environment]
        // As many transactions as the other groups have, so that a cache does not keep them.
        return try items(count ?? max(LoadLimits.mintedItems / size, 2)) {
            index throws(MintError) in
            var transactions: [[UInt8]] = []
            for offset in 0..<size {
                let (subscription, period) = offset.quotientAndRemainder(
                    dividingBy: Self.periodsOfSubscription)
                let payload = Samples.transaction(
                    Samples.Period(
                        transaction: index * size + offset,
                        subscription: index * size + subscription, customer: index,
                        monthsAgo: period, age: Self.periodsOfSubscription),
                    bundleId: bundleId, environment: environment, signedDate: now)
                transactions.append(try minter.sign(payload))
            }
            if isForged { Self.changeSignature(&transactions[size - 1]) }
            return LoadItem(
                resolving: transactions, expectations: expectations,
                expecting: isForged ? .invalidSignature : .valid)
        }
    }

    /// Changes a letter of the signature: a token ends with its 86 letters, a purchase of another
    /// store with its 344 and two more characters, a notification of Huawei's with 40 more.
    private static func changeSignature(_ token: inout [UInt8]) {
        changeLetter(at: token.count - 60, &token)
    }

    /// Changes a letter of the signature in a push, which ends with the body that nobody signs.
    private static func changeToken(_ push: inout [UInt8]) {
        let dots = push.indices.filter { push[$0] == UInt8(ascii: ".") }
        // The token comes first.
        changeLetter(at: dots[1] + 60, &push)
    }

    private static func changeLetter(at offset: Int, _ text: inout [UInt8]) {
        let letter = UInt8(ascii: "A")
        text[offset] = text[offset] == letter ? letter + 1 : letter
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
    package func unknownChains(_ kind: EvidenceKind, count: Int) throws(MintError) -> [LoadItem] {
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
        if let store = isGenuine ? stores[kind] : foreignStores[kind] {
            return try store.mint(
                kind, index: index, bundleId: bundleId, environment: environment, signedDate: now)
        }
        guard let size else {
            let harmony = isGenuine ? harmony : foreignHarmony
            let apple = isGenuine ? minter : foreignMinter
            return try token(kind, index, kind.store == .harmony ? harmony : apple)
        }
        guard let minter = isGenuine ? receipts : foreignReceipts else { throw .notAToken(kind) }
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
