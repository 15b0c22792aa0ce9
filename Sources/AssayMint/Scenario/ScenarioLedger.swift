/// What the evidence up to one step carries, for the members of the expected answer that a
/// scenario does not write: those of the newest state.
struct ScenarioLedger {
    private(set) var files: [DeliveredFile] = []

    /// One state of a transaction in one file.
    struct Snapshot {
        var name: String
        var payload: PayloadMembers
        /// Milliseconds after the start.
        var signedDate: Int64
        var item: Int
        var isRecord: Bool
    }

    private(set) var snapshots: [Snapshot] = []
    private(set) var renewals: [PayloadMembers] = []
    private(set) var newestSignedDate: Int64?
    private(set) var apps: Set<App> = []

    struct App: Hashable, Comparable {
        var environment: String
        var bundleId: String

        init(_ payload: PayloadMembers) {
            environment = payload.string("environment") ?? payload.string("receiptType") ?? ""
            bundleId = payload.string("bundleId") ?? ""
        }

        static func < (left: App, right: App) -> Bool {
            (left.environment, left.bundleId) < (right.environment, right.bundleId)
        }
    }

    mutating func add(_ file: DeliveredFile) {
        let item = files.count
        files.append(file)
        var created: Int64 = 0
        for carried in file.file.carried {
            switch carried {
            case .transaction(let name, let payload):
                let signed = payload.time("signedDate") ?? 0
                add(payload, signed)
                snapshots.append(
                    Snapshot(
                        name: name, payload: payload, signedDate: signed, item: item,
                        isRecord: false))
            case .renewal(let payload):
                newestSignedDate = max(newestSignedDate ?? .min, payload.time("signedDate") ?? 0)
                renewals.append(payload)
            case .appTransaction(let payload):
                add(payload, payload.time("receiptCreationDate") ?? 0)
            case .receipt(let payload):
                created = payload.time("signedDate") ?? 0
                add(payload, created)
            case .record(let name, let payload):
                snapshots.append(
                    Snapshot(
                        name: name, payload: payload, signedDate: created, item: item,
                        isRecord: true))
            }
        }
    }

    private mutating func add(_ payload: PayloadMembers, _ signed: Int64) {
        newestSignedDate = max(newestSignedDate ?? .min, signed)
        apps.insert(App(payload))
    }

    /// The newest state of a transaction; of equal ones that of the first item.
    func newest(_ name: String, item: Int?) -> Snapshot? {
        let candidates = snapshots.filter { $0.name == name && $0.item == item ?? $0.item }
        return candidates.reduce(candidates.first) { best, next in
            best.map { next.signedDate > $0.signedDate ? next : $0 }
        }
    }

    /// Of the newest token of the transaction: a record of a receipt cannot say it.
    func ownership(of snapshot: Snapshot) -> String? {
        let tokens = snapshots.filter { $0.name == snapshot.name && !$0.isRecord }
        let newest = snapshot.isRecord ? tokens.max { $0.signedDate < $1.signedDate } : snapshot
        return newest?.payload.string("inAppOwnershipType")
    }

    /// A member that names the customer of an entry: of the newest state of its transaction that
    /// has it, else of the newest of its subscription.
    func customer(_ member: String, of snapshot: Snapshot) -> String? {
        let named = snapshots.filter {
            !$0.isRecord && App($0.payload) == App(snapshot.payload)
                && $0.payload.string(member) != nil
        }
        let own = named.filter { $0.name == snapshot.name }
        let original = snapshot.payload.string("originalTransactionId")
        let family = named.filter { $0.payload.string("originalTransactionId") == original }
        let newest = (own.isEmpty ? family : own).max { $0.signedDate < $1.signedDate }
        return newest?.payload.string(member)
    }

    /// The newest renewal information of a subscription.
    ///
    /// - Parameter until: the end of access. Information about another period says nothing.
    func renewal(of snapshot: Snapshot, until: Int64?) -> PayloadMembers? {
        let environment = snapshot.payload.string("environment")
        let original = snapshot.payload.string("originalTransactionId")
        let candidates = renewals.filter {
            $0.string("originalTransactionId") == original
                && $0.string("environment") == environment
        }
        let newest = candidates.reduce(candidates.first) { best, next in
            let signed = next.time("signedDate") ?? 0
            return best.map { signed > $0.time("signedDate") ?? 0 ? next : $0 }
        }
        guard let newest else { return nil }
        guard let date = newest.time("renewalDate") else {
            let bought = snapshot.payload.time("purchaseDate") ?? 0
            return newest.time("signedDate") ?? 0 < bought ? nil : newest
        }
        return date == snapshot.payload.time("expiresDate") || date == until ? newest : nil
    }

    /// The group that a token names for a subscription.
    func group(of snapshot: Snapshot) -> String? {
        let original = snapshot.payload.string("originalTransactionId")
        let app = App(snapshot.payload)
        return snapshots.last {
            !$0.isRecord && App($0.payload) == app
                && $0.payload.string("originalTransactionId") == original
        }?.payload.string("subscriptionGroupIdentifier")
    }
}
