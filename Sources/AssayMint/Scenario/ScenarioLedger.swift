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
    private(set) var apps: [App: Customers] = [:]

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

    struct Customers {
        var appAccountTokens: Set<String> = []
        var appTransactionIds: Set<String> = []
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
        var customers = apps[App(payload)] ?? Customers()
        if let token = payload.string("appAccountToken") {
            customers.appAccountTokens.insert(token.lowercased())
        }
        if let id = payload.string("appTransactionId") { customers.appTransactionIds.insert(id) }
        apps[App(payload)] = customers
    }

    /// The newest state of a transaction; of equal ones that of the first item.
    func newest(_ name: String, item: Int?) -> Snapshot? {
        let candidates = snapshots.filter { $0.name == name && $0.item == item ?? $0.item }
        return candidates.reduce(candidates.first) { best, next in
            best.map { next.signedDate > $0.signedDate ? next : $0 }
        }
    }

    /// The newest renewal information of a subscription.
    func renewal(of snapshot: Snapshot) -> PayloadMembers? {
        let environment = snapshot.payload.string("environment")
        let original = snapshot.payload.string("originalTransactionId")
        let candidates = renewals.filter {
            $0.string("originalTransactionId") == original
                && $0.string("environment") == environment
        }
        return candidates.reduce(candidates.first) { best, next in
            let signed = next.time("signedDate") ?? 0
            return best.map { signed > $0.time("signedDate") ?? 0 ? next : $0 }
        }
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
