import AssayModels

/// The evidence of one call, sorted: one snapshot for each purchase, one renewal state for each
/// subscription, apart by environment and app.
struct Ledger {
    struct AppKey: Hashable {
        var environment: StoreEnvironment
        var bundleId: String
    }

    /// One app in one environment.
    struct App {
        var snapshots: [Snapshot] = []
        private var places: [PurchaseIdentity: Int] = [:]
        /// The group of each subscription by original transaction identifier, from any snapshot:
        /// a newer receipt names no group, and takes none away.
        private(set) var groups: [String: (name: String, signedDate: Int64)] = [:]
        private(set) var appAccountTokens: Set<String> = []
        private(set) var appTransactionIds: Set<String> = []
        /// The customer of the last item: nearly all are of the same one.
        private var lastAccountToken: String?
        private var lastTransactionId: String?

        mutating func note(customer token: String?, _ transactionId: String?) {
            if let token, token != lastAccountToken {
                appAccountTokens.insert(token.lowercased())
                lastAccountToken = token
            }
            if let transactionId, transactionId != lastTransactionId {
                appTransactionIds.insert(transactionId)
                lastTransactionId = transactionId
            }
        }

        mutating func add(_ snapshot: Snapshot) {
            noteGroup(of: snapshot)
            guard let place = places[snapshot.purchase] else {
                places[snapshot.purchase] = snapshots.count
                snapshots.append(snapshot)
                return
            }
            if snapshot.wins(over: snapshots[place]) { snapshots[place] = snapshot }
        }

        private mutating func noteGroup(of snapshot: Snapshot) {
            noteGroup(snapshot.group, of: snapshot.originalTransactionId, snapshot.signedDate)
            guard let bundle = snapshot.bundleOriginal else { return }
            noteGroup(snapshot.bundleGroup, of: bundle, snapshot.signedDate)
        }

        private mutating func noteGroup(
            _ name: String?, of original: String, _ signedDate: Int64
        ) {
            guard let name else { return }
            Self.keepNewer(&groups[original, default: (name, signedDate)], name, signedDate)
        }

        private static func keepNewer(
            _ known: inout (name: String, signedDate: Int64), _ name: String, _ signedDate: Int64
        ) {
            let isNewer =
                known.signedDate == signedDate ? known.name < name : known.signedDate < signedDate
            if isNewer { known = (name, signedDate) }
        }

        /// The group of each moved subscription by the name of its lineage: an original that names
        /// no group joins that of its successor.
        func groups(of links: SubscriptionLinks) -> [String: String] {
            guard links.hasMoves else { return [:] }
            var newest: [String: (name: String, signedDate: Int64)] = [:]
            for (original, group) in groups {
                let root = links.lineageRoot(of: original)
                if let known = newest[root],
                    (known.signedDate, known.name) >= (group.signedDate, group.name)
                {
                    continue
                }
                newest[root] = group
            }
            return newest.mapValues(\.name)
        }
    }

    /// Renewal information names no app: it belongs to the subscription of its original
    /// transaction identifier in its environment.
    struct RenewalKey: Hashable {
        var environment: StoreEnvironment
        var originalTransactionId: String
    }

    private(set) var apps: [AppKey: App] = [:]
    private(set) var renewals: [RenewalKey: RenewalState] = [:]
    private(set) var newestSignedDate: Int64?
    private(set) var warnings: [EntitlementWarning] = []
    private var receiptItem: Int?

    init(_ items: [EvidenceItem]) {
        for (index, item) in items.enumerated() {
            guard item.verification.verdict == .valid, let evidence = item.verification.evidence
            else { continue }
            add(evidence, at: index)
        }
        if let receiptItem {
            warn(
                .receiptOmitsConsumables,
                "receipts omit finished consumables: their absence proves nothing",
                receiptItem)
        }
    }

    private mutating func add(_ evidence: VerifiedEvidence, at item: Int) {
        switch evidence {
        case .transaction(let transaction): add(transaction, item)
        case .renewalInfo(let renewal): add(renewal, item)
        case .appTransaction(let transaction): add(transaction, item)
        case .notification(let notification): add(notification, item)
        case .appReceipt(let receipt): add(receipt, item)
        case .transactionReceipt(let receipt): add(receipt, item)
        case .serverAnswer(let answer): add(answer, item)
        case .notificationV1(let notification):
            add(notification.receipt, item)
            add(notification.warnings, item)
        case .realtimeRequest: break
        }
    }

    private mutating func add(_ notification: VerifiedNotification, _ item: Int) {
        // Signed, so it applies to nested evidence that names none.
        let environment = notification.notification.withPayload { $0.environment }
        if let transaction = notification.transaction { add(transaction, in: environment, item) }
        if let renewal = notification.renewalInfo { add(renewal, in: environment, item) }
        if let transaction = notification.appTransaction {
            add(transaction, in: environment, item)
        }
    }

    /// Nobody signs an answer: each member counts as if it came alone. One that names no
    /// environment has none, whatever its neighbours name.
    private mutating func add(_ answer: ServerAnswer, _ item: Int) {
        for transaction in answer.transactions { add(transaction, item) }
        for renewal in answer.renewalInfos { add(renewal, item) }
        if let transaction = answer.appTransaction { add(transaction, item) }
        for notification in answer.notifications { add(notification, item) }
        add(answer.warnings, item)
    }

    private mutating func add(_ warnings: [EvidenceWarning], _ item: Int) {
        // The customers of all items are compared in the answer of the app.
        for warning in warnings where warning.code != .customersMixed {
            guard let code = EntitlementWarning.Code(rawValue: warning.code.rawValue) else {
                continue
            }
            warn(code, warning.message, item)
        }
    }

    private mutating func add(
        _ transaction: VerifiedPayload<JWSTransactionDecodedPayload>,
        in environment: StoreEnvironment = .unspecified, _ item: Int
    ) {
        // Member by member: a payload has hundreds of bytes, which are not copied.
        let key = AppKey(
            environment: transaction.payload.environment ?? environment,
            bundleId: transaction.payload.bundleId ?? "")
        noteSigned(transaction.payload.signedDate)
        let (token, transactionId) = (
            transaction.payload.appAccountToken, transaction.payload.appTransactionId
        )
        guard let snapshot = Snapshot.of(transaction, item: item) else {
            noteCustomer(token, transactionId, of: key)
            return warnOfMissingId(item)
        }
        add(snapshot, to: key, token, transactionId)
    }

    private mutating func add(
        _ renewal: VerifiedPayload<JWSRenewalInfoDecodedPayload>,
        in environment: StoreEnvironment = .unspecified, _ item: Int
    ) {
        noteSigned(renewal.payload.signedDate)
        guard let original = renewal.payload.originalTransactionId else { return }
        let key = RenewalKey(
            environment: renewal.payload.environment ?? environment,
            originalTransactionId: original)
        let state = RenewalState(renewal, item: item)
        if let known = renewals[key], !state.wins(over: known) { return }
        renewals[key] = state
    }

    private mutating func add(
        _ transaction: VerifiedPayload<AppTransaction>,
        in environment: StoreEnvironment = .unspecified, _ item: Int
    ) {
        let payload = transaction.payload
        let key = AppKey(
            environment: payload.receiptType ?? environment, bundleId: payload.bundleId ?? "")
        noteSigned(payload.receiptCreationDate)
        noteCustomer(nil, payload.appTransactionId, of: key)
    }

    private mutating func add(_ receipt: AppReceipt, _ item: Int) {
        let key = AppKey(environment: receipt.environment, bundleId: receipt.bundleId ?? "")
        receiptItem = receiptItem ?? item
        noteSigned(receipt.receiptCreationDate)
        noteCustomer(nil, nil, of: key)
        for record in receipt.inApp.withoutKeys {
            guard
                let snapshot = Snapshot(record, created: receipt.receiptCreationDate, item: item)
            else { continue }
            add(snapshot, to: key)
        }
    }

    private mutating func add(_ receipt: TransactionReceipt, _ item: Int) {
        let key = AppKey(environment: receipt.environment, bundleId: receipt.bundleId ?? "")
        noteSigned(receipt.purchaseDate)
        guard let snapshot = Snapshot(receipt, item: item) else { return warnOfMissingId(item) }
        add(snapshot, to: key)
    }

    /// Adds a snapshot and the customer that its item names, with one look-up of the app.
    private mutating func add(
        _ snapshot: Snapshot, to key: AppKey, _ token: String? = nil, _ transactionId: String? = nil
    ) {
        Self.add(snapshot, token, transactionId, to: &apps[key, default: App()])
    }

    private static func add(
        _ snapshot: Snapshot, _ token: String?, _ transactionId: String?, to app: inout App
    ) {
        app.note(customer: token, transactionId)
        app.add(snapshot)
    }

    private mutating func noteSigned(_ date: Timestamp?) {
        guard let date else { return }
        newestSignedDate = max(newestSignedDate ?? .min, date.milliseconds)
    }

    private mutating func noteCustomer(
        _ token: String?, _ transactionId: String?, of key: AppKey
    ) {
        apps[key, default: App()].note(customer: token, transactionId)
    }

    private mutating func warnOfMissingId(_ item: Int) {
        warn(
            .transactionWithoutId, "a transaction without an identifier contributes nothing", item)
    }

    private mutating func warn(_ code: EntitlementWarning.Code, _ message: String, _ item: Int) {
        warnings.append(EntitlementWarning(code: code, message: message, item: item))
    }
}
