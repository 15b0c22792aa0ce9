import AssayModels

/// The evidence of one call, sorted: one snapshot for each transaction, one renewal state for each
/// subscription, apart by environment and app.
struct Ledger {
    struct AppKey: Hashable {
        var environment: StoreEnvironment
        var bundleId: String
    }

    /// One app in one environment.
    struct App {
        var snapshots: [Snapshot] = []
        private var places: [String: Int] = [:]
        /// The group of each subscription by original transaction identifier, from any snapshot:
        /// a newer receipt names no group, and takes none away.
        private(set) var groups: [String: (name: String, signedDate: Int64)] = [:]
        var appAccountTokens: Set<String> = []
        var appTransactionIds: Set<String> = []

        mutating func add(_ snapshot: Snapshot) {
            noteGroup(of: snapshot)
            guard let place = places[snapshot.transactionId] else {
                places[snapshot.transactionId] = snapshots.count
                snapshots.append(snapshot)
                return
            }
            if snapshot.wins(over: snapshots[place]) { snapshots[place] = snapshot }
        }

        private mutating func noteGroup(of snapshot: Snapshot) {
            guard let name = snapshot.group else { return }
            if let known = groups[snapshot.originalTransactionId] {
                let isNewer = (known.signedDate, known.name) < (snapshot.signedDate, name)
                guard isNewer else { return }
            }
            groups[snapshot.originalTransactionId] = (name, snapshot.signedDate)
        }

        func group(of originalTransactionId: String) -> String? {
            groups[originalTransactionId]?.name
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
            add(evidence, of: item.verification, at: index)
        }
        if let receiptItem {
            warn(
                .receiptOmitsConsumables,
                "a receipt leaves finished consumables out: their absence proves nothing",
                receiptItem)
        }
    }

    private mutating func add(
        _ evidence: VerifiedEvidence, of verification: Verification, at item: Int
    ) {
        switch evidence {
        case .transaction(let transaction): add(transaction, verification, item)
        case .renewalInfo(let renewal): add(renewal, verification, item)
        case .appTransaction(let transaction): add(transaction, verification, item)
        case .notification(let notification):
            if let transaction = notification.transaction { add(transaction, verification, item) }
            if let renewal = notification.renewalInfo { add(renewal, verification, item) }
            if let transaction = notification.appTransaction {
                add(transaction, verification, item)
            }
        case .appReceipt(let receipt): add(receipt, item)
        case .transactionReceipt(let receipt): add(receipt, item)
        case .realtimeRequest: break
        }
    }

    private mutating func add(
        _ transaction: VerifiedPayload<JWSTransactionDecodedPayload>,
        _ verification: Verification, _ item: Int
    ) {
        let payload = transaction.payload
        let key = AppKey(
            environment: payload.environment ?? verification.environment ?? .unspecified,
            bundleId: payload.bundleId ?? "")
        noteSigned(payload.signedDate)
        noteCustomer(payload.appAccountToken, payload.appTransactionId, of: key)
        guard let snapshot = Snapshot(transaction, item: item) else {
            return warnOfMissingId(item)
        }
        add(snapshot, to: key)
    }

    private mutating func add(
        _ renewal: VerifiedPayload<JWSRenewalInfoDecodedPayload>,
        _ verification: Verification, _ item: Int
    ) {
        noteSigned(renewal.payload.signedDate)
        guard let original = renewal.payload.originalTransactionId else { return }
        let environment = renewal.payload.environment ?? verification.environment
        let key = RenewalKey(
            environment: environment ?? .unspecified, originalTransactionId: original)
        let state = RenewalState(renewal, item: item)
        if let known = renewals[key], !state.wins(over: known) { return }
        renewals[key] = state
    }

    private mutating func add(
        _ transaction: VerifiedPayload<AppTransaction>, _ verification: Verification, _ item: Int
    ) {
        let payload = transaction.payload
        let key = AppKey(
            environment: payload.receiptType ?? verification.environment ?? .unspecified,
            bundleId: payload.bundleId ?? "")
        noteSigned(payload.receiptCreationDate)
        noteCustomer(nil, payload.appTransactionId, of: key)
    }

    private mutating func add(_ receipt: AppReceipt, _ item: Int) {
        let key = AppKey(environment: receipt.environment, bundleId: receipt.bundleId ?? "")
        receiptItem = receiptItem ?? item
        noteSigned(receipt.receiptCreationDate)
        noteCustomer(nil, nil, of: key)
        for record in receipt.inApp {
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

    private mutating func add(_ snapshot: Snapshot, to key: AppKey) {
        apps[key, default: App()].add(snapshot)
    }

    private mutating func noteSigned(_ date: Timestamp?) {
        guard let date else { return }
        newestSignedDate = max(newestSignedDate ?? .min, date.milliseconds)
    }

    private mutating func noteCustomer(_ token: String?, _ app: String?, of key: AppKey) {
        if let token { apps[key, default: App()].appAccountTokens.insert(token.lowercased()) }
        if let app { apps[key, default: App()].appTransactionIds.insert(app) }
        if apps[key] == nil { apps[key] = App() }
    }

    private mutating func warnOfMissingId(_ item: Int) {
        warn(
            .transactionWithoutId, "a transaction without an identifier contributes nothing", item)
    }

    private mutating func warn(_ code: EntitlementWarning.Code, _ message: String, _ item: Int) {
        warnings.append(EntitlementWarning(code: code, message: message, item: item))
    }
}
