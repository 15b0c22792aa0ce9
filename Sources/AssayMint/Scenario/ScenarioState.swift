/// The state of a customer's purchases at one step of a scenario.
struct ScenarioState {
    private let products: [String: ScenarioProduct]
    private(set) var transactions: [String: Transaction] = [:]
    private(set) var renewals: [String: [PayloadChange]] = [:]
    /// Where the customer buys from now on.
    var storefront = Storefront.unitedStates
    /// The names of transactions, in the order of their purchases in the file.
    private(set) var order: [String] = []

    struct Transaction {
        var payload: PayloadMembers
        /// The name of the first transaction of the subscription.
        var original: String
    }

    static let bundleId = "com.example.game"
    static let appAppleId: Int64 = 1_234_567_890
    static let appAccountToken = "7e3fb204-2f45-4dfd-8b2b-1c3cf5ba2f41"
    static let appTransactionId = "704289572311000001"

    init(products: [String: ScenarioProduct]) { self.products = products }

    mutating func apply(_ step: ScenarioStep) throws(MintError) {
        for named in step.transactions {
            if transactions[named.name] == nil {
                transactions[named.name] = try purchase(named, at: step.at)
                order.append(named.name)
            } else {
                transactions[named.name]?.payload.apply(named.changes)
            }
        }
        for named in step.renewals { changeRenewal(of: named.name, named.changes) }
    }

    mutating func change(_ name: String, _ changes: [PayloadChange]) {
        transactions[name]?.payload.apply(changes)
    }

    mutating func changeRenewal(of original: String, _ changes: [PayloadChange]) {
        renewals[original, default: []] += changes
    }

    // MARK: Transactions

    /// A new transaction. A renewal begins as its original transaction's product.
    private func purchase(
        _ named: NamedChanges, at now: Int64
    ) throws(MintError) -> Transaction {
        let given = PayloadMembers().applying(named.changes)
        let original = given.string("originalTransactionId") ?? named.name
        let first = transactions[original]?.payload
        let id = given.string("transactionId") ?? named.name
        guard let productId = given.string("productId") ?? first?.string("productId") else {
            throw .invalidMember(at: named.path, reason: "is new and needs a productId")
        }
        guard let product = products[productId] else {
            throw .unknownMember(
                productId, at: named.path + ".productId", known: products.keys.sorted())
        }
        let purchased = given.time("purchaseDate") ?? now
        var payload = PayloadMembers()
        payload["transactionId"] = .string(id)
        payload["originalTransactionId"] = .string(first?.string("transactionId") ?? original)
        if first == nil, original == named.name { payload["originalTransactionId"] = .string(id) }
        payload["bundleId"] = first?["bundleId"] ?? .string(Self.bundleId)
        payload["productId"] = .string(productId)
        payload.apply(product.members)
        payload["purchaseDate"] = .time(purchased)
        payload["originalPurchaseDate"] = first?["originalPurchaseDate"] ?? .time(purchased)
        payload["expiresDate"] = product.period.map { .time(purchased + $0) }
        payload["quantity"] = .number(1)
        payload["inAppOwnershipType"] = first?["inAppOwnershipType"] ?? .string("PURCHASED")
        payload["environment"] = first?["environment"] ?? .string("Production")
        payload["transactionReason"] = .string(first == nil ? "PURCHASE" : "RENEWAL")
        payload["storefront"] = .string(storefront.code)
        payload["storefrontId"] = .string(storefront.id)
        payload["currency"] = .string(storefront.currency)
        payload["appAccountToken"] = first?["appAccountToken"] ?? .string(Self.appAccountToken)
        payload["appTransactionId"] = first?["appTransactionId"] ?? .string(Self.appTransactionId)
        payload.apply(named.changes.filter { $0.name != "originalTransactionId" })
        return Transaction(payload: payload, original: original)
    }

    func transaction(_ name: String, _ path: String) throws(MintError) -> Transaction {
        guard let transaction = transactions[name] else {
            throw .invalidMember(
                at: path, reason: "names the transaction \"\(name)\", which is not bought by then")
        }
        return transaction
    }

    // MARK: Renewal information

    /// The renewal information of a subscription, named by its original transaction.
    func renewal(_ original: String, _ path: String) throws(MintError) -> PayloadMembers {
        let latest = latestPeriod(of: original)
        guard latest != nil || renewals[original] != nil else {
            throw .invalidMember(
                at: path, reason: "names the subscription \"\(original)\", which is not bought")
        }
        var payload = PayloadMembers()
        payload["originalTransactionId"] =
            latest?["originalTransactionId"] ?? .string(original)
        payload["autoRenewProductId"] = latest?["productId"]
        payload["productId"] = latest?["productId"]
        payload["autoRenewStatus"] = .number(1)
        payload["environment"] = latest?["environment"] ?? .string("Production")
        payload["recentSubscriptionStartDate"] = latest?["originalPurchaseDate"]
        payload["renewalDate"] = latest?["expiresDate"]
        payload["appAccountToken"] = latest?["appAccountToken"]
        payload["appTransactionId"] = latest?["appTransactionId"]
        payload.apply(renewals[original] ?? [])
        return payload
    }

    /// The period of a subscription that was bought last.
    func latestPeriod(of original: String) -> PayloadMembers? {
        var latest: PayloadMembers?
        for name in order where transactions[name]?.original == original {
            guard let payload = transactions[name]?.payload else { continue }
            let purchased = payload.time("purchaseDate") ?? 0
            if purchased >= latest?.time("purchaseDate") ?? .min { latest = payload }
        }
        return latest
    }
}
