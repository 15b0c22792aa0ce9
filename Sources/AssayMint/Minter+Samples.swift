public import AssayModels

extension Minter {
    /// A signed sample of one kind; those of different `index` are different purchases.
    ///
    /// The StoreKit 1 kinds are no JWS, so no minter signs them.
    public func mint(
        _ kind: EvidenceKind, index: Int, bundleId: String, appAppleId: Int64,
        environment: StoreEnvironment, signedDate: Timestamp
    ) throws(MintError) -> [UInt8] {
        let payload: (Int, String, Int64, StoreEnvironment, Timestamp) -> [UInt8]
        switch kind {
        case .transaction: payload = Samples.transaction
        case .renewalInfo: payload = Samples.renewalInfo
        case .appTransaction: payload = Samples.appTransaction
        case .realtimeRequest: payload = Samples.realtimeRequest
        case .notification:
            return try mintNotification(
                index: index, bundleId: bundleId, appAppleId: appAppleId,
                environment: environment, signedDate: signedDate)
        case .appReceipt, .transactionReceipt: throw .notAToken(kind)
        }
        return try sign(payload(index, bundleId, appAppleId, environment, signedDate))
    }

    /// A signed notification around a signed transaction and a signed renewal info.
    ///
    /// A test gives `inner` to have those two signed by somebody else than the notification.
    public func mintNotification(
        index: Int, bundleId: String, appAppleId: Int64, environment: StoreEnvironment,
        signedDate: Timestamp, inner: Minter? = nil
    ) throws(MintError) -> [UInt8] {
        func part(_ kind: EvidenceKind) throws(MintError) -> String {
            let token = try (inner ?? self).mint(
                kind, index: index, bundleId: bundleId, appAppleId: appAppleId,
                environment: environment, signedDate: signedDate)
            return String(decoding: token, as: UTF8.self)
        }
        return try sign(
            Samples.notification(
                index: index, bundleId: bundleId, appAppleId: appAppleId,
                environment: environment, signedDate: signedDate,
                signedTransactionInfo: part(.transaction), signedRenewalInfo: part(.renewalInfo)))
    }
}
