import AssayModels

/// The claims that policy and expectations check, for all kinds of evidence.
struct EvidenceClaims: Equatable, Sendable {
    var kind: EvidenceKind
    var environment: StoreEnvironment
    /// False for renewal info and realtime requests, which have no bundle id.
    var carriesBundleId = false
    var bundleId: String?
    /// True for kinds with a member for the App Store id: notifications, app transactions,
    /// realtime requests, app receipts, and transaction receipts that have an id.
    var carriesAppAppleId = false
    var appAppleId: Int64?
    var productId: String?
    var appAccountToken: String?
    var transactionId: String?
    /// The binding to one device.
    var deviceBinding: DeviceBinding?
    /// Identifies this purchase or event among others of its kind.
    var identity: String?

    /// A key that is the same for the same purchase in every encoding. A transaction's key is
    /// `environment/bundle/transactionId`. Other kinds include their name, so that keys do not
    /// collide.
    var dedupKey: String? {
        guard let identity else { return nil }
        var key = environment.rawValue
        key.reserveCapacity(96)
        key += "/"
        key += bundleId ?? appAppleId.map { String($0) } ?? "-"
        if kind != .transaction {
            key += "/"
            key += kind.name
        }
        key += "/"
        key += identity
        return key
    }
}

extension EvidenceClaims {
    init(_ payload: borrowing JWSTransactionDecodedPayload) {
        self.init(
            kind: .transaction, environment: payload.environment ?? .unspecified,
            carriesBundleId: true, bundleId: payload.bundleId, productId: payload.productId,
            appAccountToken: payload.appAccountToken, transactionId: payload.transactionId,
            deviceBinding: DeviceBinding(
                payload.deviceVerification, nonce: payload.deviceVerificationNonce),
            identity: payload.transactionId)
    }

    init(_ payload: borrowing JWSRenewalInfoDecodedPayload) {
        let id = payload.originalTransactionId
        let date = payload.signedDate?.milliseconds
        self.init(
            kind: .renewalInfo, environment: payload.environment ?? .unspecified,
            productId: payload.productId, appAccountToken: payload.appAccountToken,
            transactionId: id,
            deviceBinding: DeviceBinding(
                payload.deviceVerification, nonce: payload.deviceVerificationNonce),
            identity: id.flatMap { id in date.map { "\(id)/\($0)" } })
    }

    init(_ payload: borrowing AppTransaction) {
        self.init(
            kind: .appTransaction, environment: payload.receiptType ?? .unspecified,
            carriesBundleId: true, bundleId: payload.bundleId, carriesAppAppleId: true,
            appAppleId: payload.appAppleId, transactionId: payload.appTransactionId,
            deviceBinding: DeviceBinding(
                payload.deviceVerification, nonce: payload.deviceVerificationNonce),
            identity: payload.appTransactionId)
    }

    init(_ receipt: AppReceipt) {
        self.init(kind: .appReceipt, environment: receipt.environment)
        carriesBundleId = true
        bundleId = receipt.bundleId
        carriesAppAppleId = true
        appAppleId = receipt.adamId
        deviceBinding = DeviceBinding(receipt)
        // Apple issues a device's receipt anew with every purchase.
        if let date = receipt.receiptCreationDate {
            identity = "\(hexadecimal(receipt.sha1Hash.span))/\(date.milliseconds)"
        }
    }

    init(_ receipt: borrowing TransactionReceipt) {
        self.init(kind: .transactionReceipt, environment: receipt.environment)
        carriesBundleId = true
        bundleId = receipt.bundleId
        // Only Production receipts have the app's id, and older ones lack it.
        carriesAppAppleId = receipt.appItemId != nil
        appAppleId = receipt.appItemId
        productId = receipt.productId
        transactionId = receipt.transactionId
        identity = receipt.transactionId
    }

    init(_ payload: borrowing DecodedRealtimeRequestBody) {
        self.init(
            kind: .realtimeRequest, environment: payload.environment, carriesAppAppleId: true,
            appAppleId: payload.appAppleId, productId: payload.productId,
            transactionId: payload.originalTransactionId, identity: payload.requestIdentifier)
    }

    /// Reads bundle, app id and environment from the first member present of data, summary,
    /// externalPurchaseToken and appData, as Apple's libraries do.
    init(_ payload: borrowing ResponseBodyV2DecodedPayload) {
        self.init(kind: .notification, environment: .unspecified)
        carriesBundleId = true
        carriesAppAppleId = true
        if let data = payload.data {
            (bundleId, appAppleId) = (data.bundleId, data.appAppleId)
            environment = data.environment ?? .unspecified
        } else if let summary = payload.summary {
            (bundleId, appAppleId) = (summary.bundleId, summary.appAppleId)
            environment = summary.environment ?? .unspecified
            productId = summary.productId
        } else if let token = payload.externalPurchaseToken {
            (bundleId, appAppleId) = (token.bundleId, token.appAppleId)
            let isSandbox = token.externalPurchaseId?.hasPrefix("SANDBOX") == true
            environment = isSandbox ? .sandbox : .production
        } else if let app = payload.appData {
            (bundleId, appAppleId) = (app.bundleId, app.appAppleId)
            environment = app.environment ?? .unspecified
        }
        identity = payload.notificationUUID
    }
}
