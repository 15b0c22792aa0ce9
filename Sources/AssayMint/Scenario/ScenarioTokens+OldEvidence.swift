import Assay
import AssayBytes
import AssayModels

/// What the App Store signed before StoreKit 2: receipts, and notifications around them.
extension ScenarioTokens {
    /// An app receipt with these transactions, in base64.
    ///
    /// - Parameter environment: that of the scenario.
    mutating func receipt(
        _ names: [String], environment: String = "Production"
    ) throws(MintError) -> [UInt8] {
        guard let receipts = signer.receipts else { throw .missingFile("receipt-leaf.pem") }
        let identity = signer.identity
        var sample = ReceiptSample(
            bundleId: identity.bundleId, appAppleId: identity.appAppleId,
            environment: StoreEnvironment(rawValue: identity.environment(environment)),
            creationDate: Timestamp(milliseconds: signer.start + now))
        sample.seed = identity.receiptSeed
        var payload = ReceiptPayload()
        for attribute in sample.attributes { payload.append(attribute) }
        var about = app(of: nil)
        about["environment"] = .string(environment)
        about["signedDate"] = .time(now)
        carried.append(.receipt(about))
        for name in names {
            let transaction = try state.recorded(name, evidence.path)
            carried.append(.record(name: name, transaction))
            let purchase = InAppPurchaseReceipt(
                try decoded(transaction, as: JWSTransactionDecodedPayload.self))
            payload.append(ReceiptPayload.inApp(purchase))
        }
        return ReceiptMinter.base64(try receipts.sign(payload.bytes))
    }

    /// What the App Store knows of a customer in an environment of the scenario.
    ///
    /// - Parameter finished: the transactions that the app has finished: consumables among them
    ///   are gone.
    mutating func latestReceipt(
        environment: String, finished: Set<String> = []
    ) throws(MintError) -> LatestReceipt {
        let names = state.receiptNames(environment: environment, finished: finished)
        var transactions: [LatestReceiptInfo] = []
        var renewals: [JWSRenewalInfoDecodedPayload] = []
        var originals: Set<String> = []
        for name in names {
            let payload = try state.recorded(name, evidence.path)
            transactions.append(
                LatestReceiptInfo(try decoded(payload, as: JWSTransactionDecodedPayload.self)))
            let original = try state.transaction(name, evidence.path).original
            if payload.renews, originals.insert(original).inserted {
                renewals.append(try decodedRenewal(original))
            }
        }
        return LatestReceipt(
            receipt: try receipt(names, environment: environment), transactions: transactions,
            renewals: renewals)
    }

    // MARK: Notifications of version 1

    /// The types that an event has in version 1, with the JSON of each.
    ///
    /// - Parameter words: the type and subtype of version 2.
    mutating func notificationsV1(
        _ words: String, of name: String, password: String?, finished: Set<String> = []
    ) throws(MintError) -> [(type: NotificationV1Type, body: [UInt8])] {
        let transaction = try state.transaction(name, evidence.path)
        let renewal = transaction.payload.renews ? try decodedRenewal(transaction.original) : nil
        let types = NotificationV1Type.types(
            ofEvent: words, renews: renewal != nil, isOff: renewal?.autoRenewStatus == .off)
        guard !types.isEmpty else { return [] }
        let environment = transaction.payload.string("environment") ?? "Production"
        let latest = try latestReceipt(environment: environment, finished: finished)
        let identity = signer.identity
        let payload = identity.applied(to: transaction.payload)
        return types.map { type in
            let content = NotificationV1Content(
                type: type,
                environment: StoreEnvironment(rawValue: identity.environment(environment)),
                bundleId: identity.bundleId, password: password,
                sent: Timestamp(milliseconds: signer.start + now),
                originalTransactionId: payload.string("originalTransactionId"),
                renewal: renewal, latest: latest)
            return (type, content.json)
        }
    }

    /// The file of a notification of version 1: the first type of its event.
    mutating func notificationV1(
        _ notification: ScenarioNotification
    ) throws(MintError) -> (type: NotificationV1Type, body: [UInt8]) {
        guard let name = notification.transaction else {
            throw .invalidMember(
                at: notification.path, reason: "is of version 1 and needs a transaction, of")
        }
        let found = try notificationsV1(
            notification.words, of: name, password: NotificationV1Content.samplePassword)
        guard let first = found.first else {
            throw .invalidMember(
                at: notification.path, reason: "is an event that version 1 does not notify")
        }
        return first
    }

    // MARK: Payloads

    private func decodedRenewal(
        _ original: String
    ) throws(MintError) -> JWSRenewalInfoDecodedPayload {
        try decoded(try state.renewal(original, evidence.path))
    }

    func decoded<Payload: PayloadObject>(
        _ members: PayloadMembers, as type: Payload.Type = Payload.self
    ) throws(MintError) -> Payload {
        let text = signer.identity.applied(to: members).json(start: signer.start)
        do throws(JSONError) {
            return try JSONDocument.parse(text, limit: text.count).decode(type)
        } catch {
            throw .invalidMember(
                at: evidence.path, reason: "has a payload that no receipt can have: \(error)")
        }
    }
}

extension ScenarioState {
    /// The transactions that a receipt of an environment has, in the order of their purchases.
    /// Consumables that the app has finished are gone.
    func receiptNames(environment: String, finished: Set<String>) -> [String] {
        order.filter { name in
            guard let payload = transactions[name]?.payload else { return false }
            return payload.string("bundleId") == Self.bundleId
                && payload.string("environment") == environment
                && !(payload.string("type") == "Consumable" && finished.contains(name))
        }
    }

    /// A transaction as a receipt shows it. One that an upgrade replaced is cancelled at the
    /// purchase that replaced it.
    func recorded(_ name: String, _ path: String) throws(MintError) -> PayloadMembers {
        let transaction = try transaction(name, path)
        var payload = transaction.payload
        guard payload.isUpgraded, payload["revocationDate"] == nil else { return payload }
        let bought = payload.time("purchaseDate") ?? .min
        let later = transactions.values.filter { $0.original == transaction.original }
            .compactMap { $0.payload.time("purchaseDate") }.filter { $0 > bought }
        payload["revocationDate"] = later.min().map { .time($0) }
        return payload
    }
}

extension ScenarioIdentity {
    /// Distinguishes the receipts of customers.
    var receiptSeed: UInt64 { UInt64(max(number, 1)) }
}
