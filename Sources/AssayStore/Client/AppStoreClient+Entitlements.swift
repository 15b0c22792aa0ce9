public import AssayEntitlements
public import AssayModels

/// The lists of a customer that the entitlements are decided from.
public struct StoreFetch: OptionSet, Hashable, Sendable {
    public let rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// The statuses of the subscriptions, with their renewal information: without it, grace periods
    /// and billing retries are unknown.
    public static let statuses = Self(rawValue: 1 << 0)
    /// The transaction history: every purchase, also those that are no subscription.
    public static let history = Self(rawValue: 1 << 1)

    /// Both.
    public static let everything: Self = [.statuses, .history]
}

/// What a customer owns by the App Store's own account, and how it was found.
public struct StoreResolution: Sendable {
    /// The environment that knows the customer.
    public let environment: StoreEnvironment
    /// The answers as evidence, each verified, in the order in which they came.
    public let items: [EvidenceItem]
    /// The revision at the end of the history: with it, a later history has only what changed.
    public let revision: String?
    /// What the customer owns.
    public let entitlements: Entitlements
}

extension AppStoreClient {
    /// Asks the App Store for a customer's purchases, and decides what the customer owns.
    ///
    /// - Parameters:
    ///   - id: any transaction identifier of the customer.
    ///   - fetch: the lists to ask for.
    ///   - moment: the moment of the decision; nil for that of the configuration, or the
    ///     machine's clock.
    ///   - policy: what the caller decides, because the evidence does not say it.
    ///   - timeout: the time of all requests; nil for that of the configuration.
    ///   - hold: called with the bytes of all answers so far; where it returns false, the call ends
    ///     with `cancelled`.
    public func entitlements(
        of id: String, fetching fetch: StoreFetch = .everything, at moment: Timestamp? = nil,
        policy: EntitlementPolicy = EntitlementPolicy(), timeout: Duration? = nil,
        holding hold: (@Sendable (_ bytes: Int) async -> Bool)? = nil
    ) async throws(StoreError) -> StoreResolution {
        guard !fetch.isDisjoint(with: .everything) else {
            throw .invalidArgument("nothing to fetch: name statuses, history or both")
        }
        let deadline = deadline(after: timeout ?? configuration.timeout)
        var environments: [StoreEnvironment]?
        var items: [EvidenceItem] = []
        var revision: String?
        var bytes = 0
        var calls: [StoreCall] = []
        if fetch.contains(.history) { calls.append(try .history(of: id)) }
        if fetch.contains(.statuses) { calls.append(try .statuses(of: id)) }
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
        return StoreResolution(
            environment: environments![0], items: items, revision: revision,
            entitlements: Entitlements(
                of: items, at: moment ?? configuration.moment ?? now, policy: policy))
    }
}

extension StorePages.Iterator {
    fileprivate var isList: Bool {
        if case .pages = call.answer { true } else { false }
    }
}
