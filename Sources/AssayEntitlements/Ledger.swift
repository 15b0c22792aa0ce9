import AssayModels

/// The evidence of one call, sorted: one snapshot for each purchase, one renewal state and one
/// signed status for each subscription, apart by environment and app.
struct Ledger {
    struct AppKey: Hashable {
        var environment: StoreEnvironment
        var bundleId: String
        var store = EvidenceStore.apple
    }

    /// One app in one environment.
    struct App {
        private(set) var purchases: Purchases
        /// The newest app transaction of each download, and its item.
        private(set) var appTransactions: [String: Snapshot.Named] = [:]
        /// The newest receipt. One without records is evidence of the app.
        private(set) var newestReceipt: (created: Int64, item: Int)?
        /// The purchases of another store than Apple's.
        private(set) var storePurchases = StorePurchases()

        mutating func add(_ purchase: StoreSnapshot) { storePurchases.add(purchase) }

        /// - Parameter capacity: of how many purchases to have space.
        init(capacity: Int) {
            purchases = Purchases(capacity: capacity)
        }

        mutating func add(_ snapshot: Snapshot) { purchases.add(snapshot) }

        mutating func note(_ download: Snapshot.Named) {
            if download.isNewer(than: appTransactions[download.name]) {
                appTransactions[download.name] = download
            }
        }

        mutating func noteReceipt(created: Int64, item: Int) {
            if let known = newestReceipt, known.created >= created { return }
            newestReceipt = (created, item)
        }
    }

    /// Renewal information names no app: it belongs to the subscription of its original
    /// transaction identifier in its environment.
    struct RenewalKey: Hashable {
        var environment: StoreEnvironment
        var originalTransactionId: String
    }

    private(set) var apps: [(key: AppKey, app: App)] = []
    private var indices: [AppKey: Int] = [:]
    /// The index of the last item's app: most calls are about one app.
    private var lastIndex = 0
    private(set) var renewals: [RenewalKey: RenewalState] = [:]
    private(set) var statuses: [RenewalKey: SignedStatus] = [:]
    /// The newest date at which Apple signed any of the evidence, and its item.
    private(set) var newest: (signedDate: Int64, item: Int)?
    private(set) var warnings: [EntitlementWarning] = []
    /// When receipts of volume purchases that have not ended do.
    private(set) var receiptEnds: [Int64] = []
    /// Of each item, whether it has a statement that counts.
    private var hasStatement: [Bool]
    private let now: Int64
    private let knownAt: Int64

    /// - Parameter knownAt: leaves out what Apple signed later.
    init(_ items: [EvidenceItem], at now: Timestamp, knownAt: Timestamp?) {
        self.now = now.milliseconds
        self.knownAt = knownAt?.milliseconds ?? .max
        hasStatement = Array(repeating: false, count: items.count)
        for (index, item) in items.enumerated() { add(item.decision, at: index) }
        let receipts = apps.compactMap(\.app.newestReceipt)
        if let newest = receipts.max(by: { ($0.created, -$0.item) < ($1.created, -$1.item) }) {
            warn(
                .receiptOmitsConsumables,
                "receipts omit finished consumables: their absence proves nothing", newest.item)
        }
    }

    private mutating func add(_ decision: Decision, at item: Int) {
        guard decision.verification.verdict == .valid,
            let evidence = decision.verification.evidence
        else { return }
        add(evidence, at: item)
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
            if isKnown(notification.receipt.receiptCreationDate) {
                add(notification.warnings, item)
            }
        case .realtimeRequest: break
        case let other: addOtherStore(other, item)
        }
    }

    /// What is signed around nested evidence: it applies where that names none.
    private struct Around {
        var environment = StoreEnvironment.unspecified
        var bundleId: String?
    }

    private mutating func add(_ notification: VerifiedNotification, _ item: Int) {
        let around = Around(
            environment: notification.notification.payload.environment,
            bundleId: notification.notification.payload.data?.bundleId)
        if let transaction = notification.transaction { add(transaction, in: around, item) }
        if let renewal = notification.renewalInfo { add(renewal, in: around, item) }
        if let transaction = notification.appTransaction { add(transaction, in: around, item) }
        addStatus(of: notification, in: around, item)
        if isKnown(notification.notification.payload.signedDate) {
            add(notification.warnings, item)
        }
    }

    /// A status without a subscription says nothing, and an absent one never means expired.
    private mutating func addStatus(
        of notification: VerifiedNotification, in around: Around, _ item: Int
    ) {
        let payload = notification.notification.payload
        guard let status = payload.data?.status, isKnown(payload.signedDate),
            let original = notification.transaction?.payload.originalTransactionId
                ?? notification.renewalInfo?.payload.originalTransactionId
        else { return }
        noteSigned(payload.signedDate, item)
        let key = RenewalKey(
            environment: notification.transaction?.payload.environment
                ?? notification.renewalInfo?.payload.environment ?? around.environment,
            originalTransactionId: original)
        let signed = SignedStatus(
            status: status, signedDate: payload.signedDate?.milliseconds ?? .min, item: item)
        if let known = statuses[key], !signed.wins(over: known) { return }
        statuses[key] = signed
    }

    /// Nobody signs an answer: each member counts as if it came alone. One that names no
    /// environment has none, whatever its neighbours name.
    private mutating func add(_ answer: ServerAnswer, _ item: Int) {
        for transaction in answer.transactions { add(transaction, item) }
        for renewal in answer.renewalInfos { add(renewal, item) }
        if let transaction = answer.appTransaction { add(transaction, item) }
        for notification in answer.notifications { add(notification, item) }
        // They are about its members: with those alone that were signed later there are none.
        if answer.hasNoMembers || hasStatement[item] { add(answer.warnings, item) }
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
        in around: Around = Around(), _ item: Int
    ) {
        // Member by member: a payload has hundreds of bytes, which are not copied.
        guard isKnown(transaction.payload.signedDate) else { return }
        let key = AppKey(
            environment: transaction.payload.environment ?? around.environment,
            bundleId: transaction.payload.bundleId ?? "")
        noteSigned(transaction.payload.signedDate, item)
        guard let snapshot = Snapshot.of(transaction, item: item) else {
            return warnOfMissingId(item)
        }
        apps[index(of: key)].app.add(snapshot)
    }

    private mutating func add(
        _ renewal: VerifiedPayload<JWSRenewalInfoDecodedPayload>,
        in around: Around = Around(), _ item: Int
    ) {
        guard isKnown(renewal.payload.signedDate) else { return }
        noteSigned(renewal.payload.signedDate, item)
        guard let original = renewal.payload.originalTransactionId else { return }
        let key = RenewalKey(
            environment: renewal.payload.environment ?? around.environment,
            originalTransactionId: original)
        let state = RenewalState(renewal, of: around.bundleId, item: item)
        // It means something without a transaction where it names a period.
        if let bundleId = around.bundleId, state.renewalDate != nil {
            _ = index(of: AppKey(environment: key.environment, bundleId: bundleId))
        }
        if let known = renewals[key], !state.wins(over: known) { return }
        renewals[key] = state
    }

    private mutating func add(
        _ transaction: VerifiedPayload<AppTransaction>, in around: Around = Around(), _ item: Int
    ) {
        let payload = transaction.payload
        guard isKnown(payload.receiptCreationDate) else { return }
        let key = AppKey(
            environment: payload.receiptType ?? around.environment,
            bundleId: payload.bundleId ?? "")
        noteSigned(payload.receiptCreationDate, item)
        apps[index(of: key)].app.note(
            Snapshot.Named(
                name: payload.appTransactionId ?? "",
                signedDate: payload.receiptCreationDate?.milliseconds ?? .min, item: item))
    }

    private mutating func add(_ receipt: AppReceipt, _ item: Int) {
        guard isKnown(receipt.receiptCreationDate) else { return }
        let key = AppKey(environment: receipt.environment, bundleId: receipt.bundleId ?? "")
        noteSigned(receipt.receiptCreationDate, item)
        let index = index(of: key)
        apps[index].app.noteReceipt(
            created: receipt.receiptCreationDate?.milliseconds ?? .min, item: item)
        if let end = receipt.expirationDate?.milliseconds {
            guard end > now else { return add([.receiptExpired], item) }
            receiptEnds.append(end)
        }
        for record in receipt.inApp.withoutKeys {
            guard
                let snapshot = Snapshot(record, created: receipt.receiptCreationDate, item: item)
            else {
                warnOfMissingId(item)
                continue
            }
            apps[index].app.add(snapshot)
        }
    }

    private mutating func add(_ receipt: TransactionReceipt, _ item: Int) {
        guard isKnown(receipt.purchaseDate) else { return }
        let key = AppKey(environment: receipt.environment, bundleId: receipt.bundleId ?? "")
        noteSigned(receipt.purchaseDate, item)
        guard let snapshot = Snapshot(receipt, item: item) else { return warnOfMissingId(item) }
        apps[index(of: key)].app.add(snapshot)
    }

    private mutating func addOtherStore(_ evidence: VerifiedEvidence, _ item: Int) {
        guard let (payload, json) = evidence.otherStore, let purchase = payload.purchase,
            isKnown(purchase.purchaseTime)
        else { return }
        noteSigned(purchase.purchaseTime, item)
        let key = AppKey(
            environment: purchase.environment, bundleId: payload.app ?? "",
            store: type(of: payload).store)
        apps[index(of: key)].app.add(StoreSnapshot(purchase, json: json, item: item))
    }

    private mutating func index(of key: AppKey) -> Int {
        if lastIndex < apps.count, apps[lastIndex].key == key { return lastIndex }
        let next = apps.count
        lastIndex = indices.index(of: key, orNext: next)
        if lastIndex == next {
            // Most calls are about one app. Space for all items in each would be quadratic.
            apps.append((key, App(capacity: next == 0 ? hasStatement.count : 0)))
        }
        return lastIndex
    }

    private func isKnown(_ signedDate: Timestamp?) -> Bool {
        (signedDate?.milliseconds ?? .min) <= knownAt
    }

    private mutating func noteSigned(_ date: Timestamp?, _ item: Int) {
        hasStatement[item] = true
        guard let date = date?.milliseconds else { return }
        if let newest, newest.signedDate >= date { return }
        newest = (date, item)
    }

    private mutating func warnOfMissingId(_ item: Int) {
        warn(
            .transactionWithoutId, "a transaction without an identifier contributes nothing", item)
    }

    private mutating func warn(_ code: EntitlementWarning.Code, _ message: String, _ item: Int) {
        warnings.append(EntitlementWarning(code: code, message: message, item: item))
    }

    /// Items that newer ones replace whole: every statement of theirs has a newer one about the
    /// same thing in another item, and nothing of the answer comes from them.
    func superseded(_ warnings: [EntitlementWarning]) -> [Int] {
        var unused = hasStatement
        for app in apps.lazy.map(\.app) {
            for snapshot in app.purchases.all { snapshot.noteItems { unused[$0] = false } }
            for item in app.purchases.restatements().items { unused[item] = false }
            for download in app.appTransactions.values { unused[download.item] = false }
            if let receipt = app.newestReceipt { unused[receipt.item] = false }
            for purchase in app.storePurchases.all { unused[purchase.item] = false }
        }
        for renewal in renewals.values { unused[renewal.item] = false }
        for status in statuses.values { unused[status.item] = false }
        if let newest { unused[newest.item] = false }
        for item in warnings.compactMap(\.item) { unused[item] = false }
        return unused.indices.filter { unused[$0] }
    }
}

extension Dictionary where Value == Int {
    /// The index of a key; a new key gets the next one. One look-up.
    mutating func index(of key: Key, orNext next: Int) -> Int {
        { (index: inout Int) in index }(&self[key, default: next])
    }
}

extension ServerAnswer {
    fileprivate var hasNoMembers: Bool {
        transactions.isEmpty && renewalInfos.isEmpty && notifications.isEmpty
            && appTransaction == nil
    }
}
