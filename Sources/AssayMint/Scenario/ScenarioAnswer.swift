import AssayBytes
import AssayModels

/// Writes the answer that is expected after one step, in the JSON form of `assay entitlements`.
struct ScenarioAnswer {
    private let ledger: ScenarioLedger
    private let expectation: ScenarioExpectation
    /// Milliseconds after the start.
    private let now: Int64
    private let start: Int64

    init(_ ledger: ScenarioLedger, _ expectation: ScenarioExpectation, at now: Int64, start: Int64)
    {
        self.ledger = ledger
        self.expectation = expectation
        self.now = now
        self.start = start
    }

    private typealias Snapshot = ScenarioLedger.Snapshot
    private typealias Group = ScenarioExpectation.Group

    /// A line of the expectation with the state of its deciding transaction.
    private struct Decided<Line> {
        var line: Line
        var snapshot: Snapshot
        /// The state of the transaction whose members the line has, where it is another one.
        var shown: Snapshot?
        var app: ScenarioLedger.App { .init(snapshot.payload) }
        /// The state whose customer the line names.
        var entry: Snapshot { shown ?? snapshot }
        var isNonConsumable: Bool { snapshot.payload.string("type") == "Non-Consumable" }
    }

    func json() throws(MintError) -> [UInt8] {
        var groups: [(deciding: Decided<Group>, members: [Decided<Group>])] = []
        for group in expectation.groups {
            var members: [Decided<Group>] = []
            for line in group.subscriptions.isEmpty ? [group] : group.subscriptions {
                members.append(try decided(line))
            }
            groups.append((try decided(group), members))
        }
        var products: [Decided<ScenarioExpectation.Product>] = []
        for line in expectation.products {
            products.append(try decided(line, line.by, line.item, line.path))
        }
        var consumables: [Decided<ScenarioExpectation.Consumable>] = []
        for line in expectation.consumables {
            consumables.append(try decided(line, line.by, nil, line.path))
        }
        var writer = JSONWriter(pretty: true)
        writer.object { answer in
            answer.member("at", start + now)
            items(&answer)
            answer.array("apps") { list in
                for app in ledger.apps.sorted() {
                    list.object { object in
                        object.member("environment", app.environment)
                        object.member("bundleId", app.bundleId)
                        object.member("store", EvidenceStore.apple.rawValue)
                        object.array("subscriptionGroups") { list in
                            for group in groups where group.deciding.app == app {
                                self.group(group.deciding, group.members, &list)
                            }
                        }
                        let products = products.filter { $0.app == app }
                        let (owned, passes) = (
                            products.filter { $0.isNonConsumable },
                            products.filter { !$0.isNonConsumable }
                        )
                        self.products("nonConsumables", owned, &object)
                        self.products("nonRenewing", passes, &object)
                        object.array("consumables") { list in
                            for line in consumables where line.app == app {
                                consumable(line.line, line.snapshot, &list)
                            }
                        }
                        let entries =
                            groups.flatMap(\.members).filter { $0.app == app }.map(\.entry)
                            + products.map(\.entry)
                            + consumables.filter { $0.app == app }.map(\.entry)
                        customers(of: entries, &object)
                    }
                }
            }
            end(&answer)
        }
        return writer.text + [UInt8(ascii: "\n")]
    }

    private func decided(_ line: Group) throws(MintError) -> Decided<Group> {
        var decided = try decided(line, line.by, line.item, line.path)
        if let of = line.of { decided.shown = try self.decided(line, of, nil, line.path).snapshot }
        return decided
    }

    private func decided<Line>(
        _ line: Line, _ name: String, _ item: Int?, _ path: String
    ) throws(MintError) -> Decided<Line> {
        guard let snapshot = ledger.newest(name, item: item) else {
            throw .invalidMember(
                at: path,
                reason: "names the transaction \"\(name)\", which no evidence up to this "
                    + "step carries")
        }
        return Decided(line: line, snapshot: snapshot)
    }

    // MARK: Around the apps

    private func items(_ answer: inout JSONWriter) {
        answer.array("items") { list in
            for (index, item) in ledger.files.enumerated() {
                list.object { object in
                    object.member("index", Int64(index))
                    object.member("label", item.label)
                    object.member("kind", item.file.kind)
                    object.member("verdict", "VALID")
                }
            }
        }
    }

    private func end(_ answer: inout JSONWriter) {
        answer.member("newestSignedDate", ledger.newestSignedDate.map { $0 + start })
        answer.member("stale", expectation.isStale)
        let change: Int64? =
            switch expectation.nextChange {
            case .never: nil
            case .at(let time): time
            case .earliestEnd: expectation.ends.min()
            }
        answer.member("nextChange", change.map { $0 + start })
        answer.array("warnings") { list in
            for code in expectation.warnings { list.object { $0.member("code", code) } }
        }
    }

    private func customers(of entries: [Snapshot], _ object: inout JSONWriter) {
        let tokens = entries.compactMap { account(of: $0) }
        let ids = entries.compactMap { ledger.customer("appTransactionId", of: $0) }
        object.object("customers") { object in
            object.array("appAccountTokens") { list in
                for token in Set(tokens).sorted() { list.value(token) }
            }
            object.array("appTransactionIds") { list in
                for id in Set(ids).sorted() { list.value(id) }
            }
            object.member("conflict", expectation.isConflicting)
        }
    }

    private func account(of snapshot: Snapshot) -> String? {
        ledger.customer("appAccountToken", of: snapshot)?.lowercased()
    }

    // MARK: Subscriptions

    private func group(
        _ deciding: Decided<Group>, _ members: [Decided<Group>], _ list: inout JSONWriter
    ) {
        list.object { object in
            let shown = deciding.shown ?? deciding.snapshot
            object.member("subscriptionGroupIdentifier", ledger.group(of: shown))
            subscription(deciding, &object)
            object.array("subscriptions") { list in
                for member in members { list.object { subscription(member, &$0) } }
            }
        }
    }

    private func subscription(_ decided: Decided<Group>, _ object: inout JSONWriter) {
        let (line, snapshot) = (decided.line, decided.shown ?? decided.snapshot)
        let payload = snapshot.payload
        // A record of a receipt has fewer members than a token.
        let token = snapshot.isRecord ? nil : payload
        let renewal = ledger.renewal(of: snapshot, until: line.until)
        object.member("originalTransactionId", payload.string("originalTransactionId"))
        object.member("status", line.status)
        object.member("entitled", line.until != nil)
        object.member("productId", payload.string("productId"))
        object.member("entitledUntil", line.until.map { $0 + start })
        object.member("expiresDate", payload.time("expiresDate").map { $0 + start })
        object.member("ownership", ledger.ownership(of: snapshot))
        object.member("isTrial", line.isTrial)
        object.member("offerType", token?.number("offerType"))
        object.member("offerIdentifier", token?.string("offerIdentifier"))
        object.member("billingPlanType", token?.string("billingPlanType"))
        object.member(
            "commitmentExpiresDate",
            token?.object("commitmentInfo")?.time("commitmentExpiresDate").map { $0 + start })
        object.member(
            "commitmentWillRenew",
            renewal?.object("commitmentInfo")?.number("commitmentAutoRenewStatus").map { $0 == 1 })
        object.member("willRenew", renewal?.number("autoRenewStatus").map { $0 == 1 })
        object.member("renewsAs", renewal?.string("autoRenewProductId"))
        object.member("expirationIntent", renewal?.number("expirationIntent"))
        if line.status == "REVOKED" { revocation(snapshot, &object) }
        object.member("revocationPercentage", token?.number("revocationPercentage"))
        customer(snapshot, &object)
        object.member("purchaseDate", payload.time("purchaseDate").map { $0 + start })
        if let next = renewal?.string("appAccountToken")?.lowercased(),
            next != account(of: snapshot)
        {
            object.member("renewsForAppAccountToken", next)
        }
        object.member("belongsToAnotherAccount", line.isOfAnother)
        decidedBy(decided.snapshot, &object)
    }

    private func customer(_ snapshot: Snapshot, _ object: inout JSONWriter) {
        object.member("appAccountToken", account(of: snapshot))
        object.member("appTransactionId", ledger.customer("appTransactionId", of: snapshot))
    }

    // MARK: Products

    private func products(
        _ name: String, _ lines: [Decided<ScenarioExpectation.Product>],
        _ object: inout JSONWriter
    ) {
        object.array(name) { list in
            for line in lines { list.object { product(line.line, line.snapshot, &$0) } }
        }
    }

    private func product(
        _ line: ScenarioExpectation.Product, _ snapshot: Snapshot, _ object: inout JSONWriter
    ) {
        let payload = snapshot.payload
        let token = snapshot.isRecord ? nil : payload
        object.member("productId", payload.string("productId"))
        object.member("entitled", line.isEntitled)
        object.member("entitledUntil", line.until.map { $0 + start })
        object.member("transactionId", payload.string("transactionId"))
        object.member("ownership", ledger.ownership(of: snapshot))
        revocation(snapshot, &object)
        object.member("revocationPercentage", token?.number("revocationPercentage"))
        customer(snapshot, &object)
        object.member("purchaseDate", payload.time("purchaseDate").map { $0 + start })
        if line.isOfAnother { object.member("belongsToAnotherAccount", true) }
        decidedBy(snapshot, &object)
    }

    private func consumable(
        _ line: ScenarioExpectation.Consumable, _ snapshot: Snapshot, _ list: inout JSONWriter
    ) {
        let payload = snapshot.payload
        let app = ScenarioLedger.App(payload)
        let id = payload.string("transactionId") ?? ""
        list.object { object in
            object.member("transactionId", id)
            object.member("productId", payload.string("productId"))
            object.member("quantity", payload.number("quantity") ?? 1)
            object.member("revokedPercentage", line.revokedPercentage)
            revocation(snapshot, &object)
            object.member("dedupKey", "\(app.environment)/\(app.bundleId)/\(id)")
            object.member("purchaseDate", payload.time("purchaseDate").map { $0 + start })
            customer(snapshot, &object)
            decidedBy(snapshot, &object)
        }
    }

    private func revocation(_ snapshot: Snapshot, _ object: inout JSONWriter) {
        let payload = snapshot.payload
        object.member("revocationDate", payload.time("revocationDate").map { $0 + start })
        guard !snapshot.isRecord else { return }
        object.member("revocationReason", payload.number("revocationReason"))
        object.member("revocationType", payload.string("revocationType"))
    }

    private func decidedBy(_ snapshot: Snapshot, _ object: inout JSONWriter) {
        object.object("decidedBy") { object in
            object.member("item", Int64(snapshot.item))
            object.member("transactionId", snapshot.payload.string("transactionId"))
            object.member("signedDate", snapshot.signedDate + start)
        }
    }
}
