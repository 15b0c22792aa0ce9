public import AssayEntitlements
public import AssayModels

extension AppStoreClient {
    /// Asks the App Store for a customer's purchases, and decides what the customer owns.
    ///
    /// - Parameters:
    ///   - query: the customer, the lists to ask for, and the moment of the decision; nil for that
    ///     of the configuration, or the machine's clock.
    ///   - timeout: the time of all requests; nil for that of the configuration.
    ///   - hold: called with the bytes of all answers so far; where it returns false, the call ends
    ///     with `cancelled`.
    public func state(
        of query: CustomerQuery, timeout: Duration? = nil,
        holding hold: (@Sendable (_ bytes: Int) async -> Bool)? = nil
    ) async throws(StoreError) -> CustomerState {
        let id = query.transactionId
        guard !query.lists.isDisjoint(with: .all) else {
            throw .invalidArgument("nothing to fetch: name statuses, history or both")
        }
        let deadline = deadline(after: timeout ?? configuration.timeout)
        var environments: [StoreEnvironment]?
        var items: [EvidenceItem] = []
        var revision: String?
        var bytes = 0
        var calls: [StoreCall] = []
        if query.lists.contains(.history) { calls.append(try .history(of: id)) }
        if query.lists.contains(.statuses) { calls.append(try .statuses(of: id)) }
        for call in calls {
            let all = environments ?? configuration.environment.environments(for: call)
            var pages = StorePages.Iterator(
                client: self, call: call, deadline: deadline, environments: all,
                walk: PageWalk(limit: configuration.pageLimit), next: .page(nil))
            while let page = try await pages.next() {
                environments = [page.environment]
                bytes += page.body.count
                if let limit = configuration.byteLimit, bytes > limit {
                    throw .tooManyBytes(limit: limit)
                }
                if let hold, await !hold(bytes) { throw .cancelled }
                let label = "\(call.name) \(pages.walk.count)"
                if let item = page.evidence(label: pages.isList ? label : call.name) {
                    items.append(item)
                }
                if call.name == "history" { revision = page.signed?.unsigned.revision }
            }
        }
        return CustomerState(
            environment: environments![0], revision: revision, items: items,
            entitlements: Entitlements(
                of: items, at: query.at ?? configuration.moment ?? now, policy: query.policy))
    }

    /// Asks for both lists of a customer, by any transaction identifier of the customer, and
    /// decides what the customer owns.
    public func entitlements(
        of id: String, at moment: Timestamp? = nil,
        policy: EntitlementPolicy = EntitlementPolicy()
    ) async throws(StoreError) -> CustomerState {
        try await state(of: CustomerQuery(of: id, at: moment, policy: policy))
    }
}

extension StorePages.Iterator {
    fileprivate var isList: Bool {
        if case .pages = call.answer { true } else { false }
    }
}
