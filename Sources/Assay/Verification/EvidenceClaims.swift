import AssayBytes
import AssayModels

/// The claims that policy and expectations check, for all kinds of evidence.
struct EvidenceClaims: Equatable, Sendable {
    var kind: EvidenceKind
    /// Nil where the store's evidence names none.
    var environment: StoreEnvironment?
    /// False for renewal info and realtime requests, which have no bundle id.
    var carriesBundleId = false
    var bundleId: String?
    /// Another name of the app, of which one is enough.
    var otherBundleId: String?
    /// True for kinds with a member for the App Store id: notifications, app transactions,
    /// realtime requests, app receipts, and transaction receipts that have an id.
    var carriesAppAppleId = false
    var appAppleId: Int64?
    var productId: String?
    var appAccountToken: String?
    var transactionId: String?
    /// The products of a purchase of several, after the first.
    var otherProductIds: [String] = []
    /// Another name of the purchase: the token of other stores.
    var purchaseToken: String?
    /// When it was bought, in evidence that has no date of its signature.
    var purchaseDate: Timestamp?
    /// When the store signed the order inside, in evidence that has no date of its own.
    var orderDate: Timestamp?
    /// The binding to one device.
    var deviceBinding: DeviceBinding?
    /// The purchase that the evidence is about; nil for evidence of none or of several.
    var purchase: PurchaseIdentity?
    /// Nil if the evidence lacks what distinguishes its statement, until `nameStatement(by:)`.
    var statement: Statement?

    /// One statement of Apple among others of its kind.
    struct Statement: Equatable, Sendable {
        /// The transaction, event or request that it is about.
        var id: String
        /// When Apple signed it; nil where `id` alone identifies it.
        var date: Timestamp?
        /// When the purchase was cancelled, in evidence whose date is that of the purchase.
        var cancelled: Timestamp?

        /// Without a date, two statements could not be distinguished.
        init?(_ id: String?, signed date: Timestamp?) {
            guard let id, let date else { return nil }
            (self.id, self.date) = (id, date)
        }

        init?(_ id: String?) {
            guard let id else { return nil }
            self.id = id
        }
    }

    /// Names a statement that has no date or id by the digest of what was signed: one with another
    /// content is another statement.
    mutating func nameStatement(by digest: @autoclosure () -> String) {
        if statement == nil { statement = Statement(digest()) }
    }

    /// The digest of signed content that has no other, in hexadecimal.
    static func digest(of content: [UInt8]) -> String { SHA256.digest(content.span).text }

    /// Names the purchase, in the same way for every kind of evidence.
    var dedupKey: String? {
        guard let purchase else { return nil }
        // A token of another store names a purchase in all environments.
        let prefix = kind.knownStore == .apple ? keyPrefix : storePrefix
        return prefix.key(of: purchase)
    }

    /// Names the statement. Kinds include their name, so that keys do not collide.
    var evidenceKey: String? {
        guard let statement else { return nil }
        return keyPrefix.key { key in
            key.append(kind.name)
            key.append(UInt8(ascii: "/"))
            key.append(statement.id)
            if let date = statement.date {
                key.append(UInt8(ascii: "/"))
                key.append(date.milliseconds)
            }
            if let cancelled = statement.cancelled {
                key.append(UInt8(ascii: "/"))
                key.append(cancelled.milliseconds)
            }
        }
    }

    /// The beginning of all keys of the app.
    var keyPrefix: KeyPrefix {
        guard let environment else { return storePrefix }
        return KeyPrefix(environment.rawValue, bundleId ?? appAppleId.map { String($0) })
    }

    /// The beginning of the app's keys that name no environment.
    private var storePrefix: KeyPrefix {
        KeyPrefix(kind.store.rawValue.lowercased(), bundleId)
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
            purchase: PurchaseIdentity(payload),
            // The transaction and not the purchase: Apple can sign two transactions of one
            // purchase in one millisecond.
            statement: Statement(payload.transactionId, signed: payload.signedDate))
    }

    init(_ payload: borrowing JWSRenewalInfoDecodedPayload) {
        let id = payload.originalTransactionId
        self.init(
            kind: .renewalInfo, environment: payload.environment ?? .unspecified,
            productId: payload.productId, appAccountToken: payload.appAccountToken,
            transactionId: id,
            deviceBinding: DeviceBinding(
                payload.deviceVerification, nonce: payload.deviceVerificationNonce),
            statement: Statement(id, signed: payload.signedDate))
    }

    init(_ payload: borrowing AppTransaction) {
        self.init(
            kind: .appTransaction, environment: payload.receiptType ?? .unspecified,
            carriesBundleId: true, bundleId: payload.bundleId, carriesAppAppleId: true,
            appAppleId: payload.appAppleId, transactionId: payload.appTransactionId,
            deviceBinding: DeviceBinding(
                payload.deviceVerification, nonce: payload.deviceVerificationNonce),
            purchase: payload.appTransactionId.map { PurchaseIdentity(appTransactionId: $0) },
            // Devices of before iOS 18.4 name no app transaction, but each of their requests.
            statement: Statement(
                payload.appTransactionId ?? payload.deviceVerificationNonce,
                signed: payload.receiptCreationDate))
    }

    init(_ receipt: AppReceipt) {
        self.init(kind: .appReceipt, environment: receipt.environment)
        carriesBundleId = true
        bundleId = receipt.bundleId
        carriesAppAppleId = true
        appAppleId = receipt.adamId
        deviceBinding = DeviceBinding(receipt)
        // Apple issues a device's receipt anew with every purchase.
        statement = Statement(
            receipt.sha1Hash.isEmpty ? nil : hexadecimal(receipt.sha1Hash.span),
            signed: receipt.receiptCreationDate)
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
        purchase = PurchaseIdentity(receipt)
        statement = Statement(receipt.transactionId, signed: receipt.purchaseDate)
        statement?.cancelled = receipt.cancellationDate
    }

    init(_ payload: borrowing DecodedRealtimeRequestBody) {
        self.init(
            kind: .realtimeRequest, environment: payload.environment, carriesAppAppleId: true,
            appAppleId: payload.appAppleId, productId: payload.productId,
            transactionId: payload.originalTransactionId,
            statement: Statement(payload.requestIdentifier))
    }

    /// Reads bundle and app id from the first member present of data, summary,
    /// externalPurchaseToken, appData and unclaimInfo, as Apple's libraries do; else from those
    /// that this version does not know, which agree.
    init(_ payload: borrowing ResponseBodyV2DecodedPayload) {
        self.init(kind: .notification, environment: payload.environment)
        carriesBundleId = true
        carriesAppAppleId = true
        if let data = payload.data {
            (bundleId, appAppleId) = (data.bundleId, data.appAppleId)
        } else if let summary = payload.summary {
            (bundleId, appAppleId) = (summary.bundleId, summary.appAppleId)
            productId = summary.productId
        } else if let token = payload.externalPurchaseToken {
            (bundleId, appAppleId) = (token.bundleId, token.appAppleId)
        } else if let app = payload.appData {
            (bundleId, appAppleId) = (app.bundleId, app.appAppleId)
        } else if let unclaimed = payload.unclaimInfo {
            (bundleId, appAppleId) = (unclaimed.bundleId, unclaimed.appAppleId)
        } else {
            bundleId = payload.unknownContainers.lazy.compactMap(\.bundleId).first
            appAppleId = payload.unknownContainers.lazy.compactMap(\.appAppleId).first
        }
        // Apple's retries of a notification share it.
        statement = Statement(payload.notificationUUID)
    }
}
