public import AssayModels

extension Minter {
    /// Returns a signed sample of one kind. Each `index` is a different purchase. The sample of an
    /// answer is a history of one transaction.
    ///
    /// Throws `notAToken` for the kinds that are not signed as JWS.
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
        case .serverAnswer:
            return try mintHistory(
                indices: index..<index + 1, bundleId: bundleId, appAppleId: appAppleId,
                environment: environment, signedDate: signedDate)
        case .harmonyPurchase:
            payload = { index, application, _, environment, date in
                Samples.harmonyPurchase(
                    index: index, applicationId: application, productId: "premium",
                    environment: environment, signedDate: date)
            }
        case .harmonySubscription:
            payload = { index, application, _, environment, date in
                Samples.harmonySubscription(
                    index: index, applicationId: application, productId: "premium.monthly",
                    environment: environment, signedDate: date)
            }
        case .harmonyNotification:
            payload = { index, application, _, environment, date in
                Samples.harmonyNotification(
                    index: index, applicationId: application, productId: "premium",
                    environment: environment, signedDate: date)
            }
        default: throw .notAToken(kind)
        }
        return try sign(payload(index, bundleId, appAppleId, environment, signedDate))
    }

    /// Returns the answer of the App Store Server API with a history of signed transactions, one
    /// for each index.
    public func mintHistory(
        indices: Range<Int>, bundleId: String, appAppleId: Int64, environment: StoreEnvironment,
        signedDate: Timestamp
    ) throws(MintError) -> [UInt8] {
        var tokens: [String] = []
        for index in indices {
            let token = try mint(
                .transaction, index: index, bundleId: bundleId, appAppleId: appAppleId,
                environment: environment, signedDate: signedDate)
            tokens.append(String(decoding: token, as: UTF8.self))
        }
        return Samples.history(
            signedTransactions: tokens, bundleId: bundleId, appAppleId: appAppleId,
            environment: environment)
    }

    /// Returns a signed notification with a nested signed transaction and signed renewal info.
    ///
    /// `inner` is the minter of the nested JWS; nil is this one. Tests use it for a second signer.
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
