import AssayBytes
import AssayModels

/// A transaction receipt whose signature and chain are verified.
struct VerifiedTransactionReceipt: Sendable {
    let receipt: TransactionReceipt
    /// The octets of purchase-info as signed.
    let purchaseInfo: [UInt8]
    let chain: ValidatedRSAChain
    let effectiveDate: Timestamp
    /// The contradiction between an unsigned field and the signed data, as text for the answer;
    /// nil if there is none.
    let disagreement: String?

    private init(
        _ receipt: TransactionReceipt, _ purchaseInfo: [UInt8], _ chain: ValidatedRSAChain,
        effectiveDate: Timestamp
    ) {
        self.receipt = receipt
        self.purchaseInfo = purchaseInfo
        self.chain = chain
        self.effectiveDate = effectiveDate
        disagreement = Self.disagreement(receipt)
    }

    /// Checks everything except the policy. The first failed check determines the verdict; the
    /// order is shape, structure of the chain, markers, dates, then signatures.
    ///
    /// - Parameter allowsLegacyKey: whether the 1024-bit key of version 2 is accepted.
    static func verify(
        _ evidence: Span<UInt8>, trust: TrustStore, links: ValidatedLinks, now: Timestamp,
        allowsLegacyKey: Bool, unknownChains: UnknownChainPolicy, log: CheckLog? = nil
    ) throws(Refusal) -> ChainOutcome<VerifiedTransactionReceipt> {
        let text = try TransactionReceiptText(evidence)
        let blob = text.signature
        log?.begin(.purchaseInfo, found: "\(text.purchaseInfo.count) octets")
        var receipt = try TransactionReceipt(
            purchaseInfo: text.purchaseInfo, signatureVersion: Int(blob.version.rawValue))
        log?.begin(.certificates)
        let leaf = try Certificate.parse(blob.certificate, as: .leaf)
        log?.begin(.legacyKey, found: "version \(blob.version.rawValue)")
        guard blob.version != .v2 || allowsLegacyKey else {
            throw Refusal(
                .unsupportedAlgorithm,
                "it is signed with the old key of \(Limits.legacyRSAKeyBits) bits, which the "
                    + "policy refuses")
        }
        log?.begin(.purchaseDate, found: receipt.purchaseDate?.rfc3339)
        guard let purchaseDate = receipt.purchaseDate else {
            throw Refusal(.malformed, "purchase-info has no purchase-date")
        }
        let builder = RSAChainBuilder(
            purpose: blob.version.purpose, trust: trust, links: links,
            unknownChains: unknownChains, log: log)
        receipt.unsignedEnvironment = text.environment
        receipt.unsignedPod = text.pod
        receipt.unsignedSigningStatus = text.signingStatus
        let chain = try builder.validate(
            leaf: leaf, bag: [], effectiveDate: EffectiveDate(signed: purchaseDate, now: now))
        return try chain.map { (chain) throws(Refusal) in
            log?.begin(.signature, expected: chain.leaf.keyText)
            try checkSignature(text, chain)
            return VerifiedTransactionReceipt(
                receipt, text.purchaseInfo, chain, effectiveDate: purchaseDate)
        }
    }

    /// Checks the signature: SHA-1 over the version octet and purchase-info.
    private static func checkSignature(
        _ text: TransactionReceiptText, _ chain: ValidatedRSAChain
    ) throws(Refusal) {
        var hash = SHA1()
        hash.update([text.signature.version.rawValue].span)
        hash.update(text.purchaseInfo.span)
        let digest = hash.finish()
        guard
            chain.leafKey.verifies(
                signature: text.signature.signature.span, overDigest: digest.octets.span,
                algorithm: .sha1)
        else {
            throw Refusal(
                .invalidSignature, "the signature does not verify with the leaf certificate's key")
        }
    }

    /// Compares the unsigned environment key with the signed transaction id. Apple writes the key
    /// in the sandbox and omits it in production.
    private static func disagreement(_ receipt: TransactionReceipt) -> String? {
        let signed = receipt.environment.rawValue
        switch receipt.unsignedEnvironment {
        case nil where receipt.environment == .sandbox:
            return "its unsigned environment key is missing, as in Production; the signed "
                + "transaction id says \(signed)"
        case .some(let unsigned) where unsigned != signed:
            return "its unsigned environment key disagrees with the signed transaction id, "
                + "which says \(signed)"
        default: return nil
        }
    }
}

extension TransactionReceipt {
    /// Parses purchase-info; the result is unverified.
    init(purchaseInfo: [UInt8], signatureVersion: Int) throws(Refusal) {
        let list: TextPropertyList
        do throws(TextPropertyListError) {
            list = try TextPropertyList(purchaseInfo.span)
        } catch {
            throw Refusal(.malformed, "purchase-info is not a text property list: \(error)")
        }
        self.init(
            members: list.members.map { Member(name: $0.name, value: $0.value) },
            environment: Self.environment(ofTransaction: list["transaction-id"]),
            signatureVersion: signatureVersion)
        purchaseDate = try date("purchase-date")
        originalPurchaseDate = try date("original-purchase-date")
        expiresDate = try expiry()
        cancellationDate = try date("cancellation-date")
    }

    /// Derives the environment from a transaction id. Sandbox ids begin with 1000000. Since 2022,
    /// sandbox ids begin with 2000000 and have 16 digits; a production id of 15 digits can begin
    /// with 2000000 too.
    private static func environment(ofTransaction id: String?) -> StoreEnvironment {
        guard let id, !id.isEmpty else { return .unspecified }
        let isSandbox =
            id.utf8.starts(with: "1000000".utf8)
            || id.utf8.starts(with: "2000000".utf8) && id.utf8.count >= 16
        return isSandbox ? .sandbox : .production
    }

    /// Reads `NAME`, as `2012-04-30 15:05:55 Etc/GMT`; `NAME-ms` adds the milliseconds.
    private func date(_ name: String) throws(Refusal) -> Timestamp? {
        guard let text = self[name] else { return nil }
        guard let date = try Self.parseGMT(text, name) else { return nil }
        guard let milliseconds = try milliseconds(name + "-ms") else { return date }
        guard milliseconds.seconds == date.seconds else {
            throw Refusal(.malformed, "\(name) and \(name)-ms name different times")
        }
        return milliseconds
    }

    /// Reads `expires-date`: milliseconds since 1970, or, before 2012, a date like the others.
    private func expiry() throws(Refusal) -> Timestamp? {
        guard let text = self["expires-date"], !text.isEmpty else { return nil }
        guard text.utf8.count == 27 else { return try milliseconds("expires-date") }
        return try Self.parseGMT(text, "expires-date")
    }

    private func milliseconds(_ name: String) throws(Refusal) -> Timestamp? {
        guard let text = self[name], !text.isEmpty else { return nil }
        guard let value = Int64(text) else {
            throw Refusal(.malformed, "\(name) is not a number of milliseconds")
        }
        return Timestamp(milliseconds: value)
    }

    private static func parseGMT(_ text: String, _ name: String) throws(Refusal) -> Timestamp? {
        do throws(ReceiptDateError) {
            return try ReceiptDate.parseGMT(Array(text.utf8).span)
        } catch {
            throw Refusal(.malformed, "\(name) is not a date of the expected form")
        }
    }
}
