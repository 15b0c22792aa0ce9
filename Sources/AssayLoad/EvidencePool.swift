package import AssayMint
package import AssayModels
import AssayWire

/// Mints what a run sends, with the verdict that each piece has to bring.
package struct EvidencePool: Sendable {
    private let authority: DevelopmentCA
    private let minter: Minter
    /// Signs for an authority that the server does not know.
    private let stranger: Minter
    private let now: Timestamp
    package var bundleId: String
    package var appAppleId: Int64
    package var environment: StoreEnvironment
    package var returnsTypedPayload = true

    package init(
        _ authority: DevelopmentCA, bundleId: String, appAppleId: Int64,
        environment: StoreEnvironment, at now: Timestamp
    ) throws(MintError) {
        self.authority = authority
        minter = Minter(authority.chain)
        stranger = Minter(try DevelopmentCA.make(at: now).chain)
        self.bundleId = bundleId
        self.appAppleId = appAppleId
        self.environment = environment
        self.now = now
    }

    /// Genuine evidence under the authority's own chain.
    package func genuine(
        _ kind: EvidenceKind, count: Int = LoadLimits.mintedPieces
    ) throws(MintError) -> [LoadItem] {
        try items(count) { index throws(MintError) in
            LoadItem(call(kind), try mint(kind, index, minter), expecting: .valid)
        }
    }

    /// Every other one with a payload that was changed after it was signed, the others signed by a
    /// stranger.
    package func forged(
        _ kind: EvidenceKind, count: Int = LoadLimits.mintedPieces
    ) throws(MintError) -> [LoadItem] {
        try items(count) { index throws(MintError) in
            guard index % 2 == 0 else {
                return LoadItem(
                    call(kind), try mint(kind, index, stranger), expecting: .untrustedChain)
            }
            var token = try mint(kind, index, minter)
            // In the middle of the signature.
            let place = token.count - 60
            token[place] = token[place] == UInt8(ascii: "A") ? UInt8(ascii: "B") : UInt8(ascii: "A")
            return LoadItem(call(kind), token, expecting: .invalidSignature)
        }
    }

    /// Genuine evidence, each piece under an intermediate and a leaf of its own: two signatures of
    /// P-384 more for the server. Without the root's key the intermediate is the known one.
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
                call(kind), try mint(kind, index, Minter(chain)), expecting: .valid)
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
