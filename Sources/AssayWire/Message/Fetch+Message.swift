import AssayModels
import CAssayProto

extension FetchCall: WritableMessage, @unsafe ReadableMessage {
    func write(to output: inout MessageWriter) {
        if returnsTypedPayloads { output.set(5, true) }
        if policy != EntitlementPolicy() { output.set(4, policy) }
        output.set(3, at)
        output.setPacked(2, lists.map(\.number))
        output.set(1, transactionId)
    }

    init(_ m: Assay__V1__FetchCall) throws(MessageError) {
        let lists = unsafe UnsafeBufferPointer(start: m.lists, count: m.n_lists)
        self.init(
            of: try unsafe read(m.has_transaction_id, m.transaction_id) ?? "",
            lists: unsafe lists.map(FetchCall.List.init),
            at: unsafe read(m.has_at, m.at),
            policy: try unsafe read(m.policy) ?? EntitlementPolicy(),
            returnsTypedPayloads: unsafe read(
                m.has_return_typed_payloads, m.return_typed_payloads) ?? false)
    }
}

extension FetchCall.List {
    fileprivate var number: UInt32 {
        switch self {
        case .statuses: ASSAY__V1__STORE_LIST__STORE_LIST_STATUSES.rawValue
        case .history: ASSAY__V1__STORE_LIST__STORE_LIST_HISTORY.rawValue
        case .unknown(let number): number
        }
    }

    fileprivate init(_ list: Assay__V1__StoreList) {
        switch list {
        case ASSAY__V1__STORE_LIST__STORE_LIST_STATUSES: self = .statuses
        case ASSAY__V1__STORE_LIST__STORE_LIST_HISTORY: self = .history
        default: self = .unknown(list.rawValue)
        }
    }
}

extension Fetched: WritableMessage, @unsafe ReadableMessage {
    func write(to output: inout MessageWriter) {
        output.set(4, entitlements)
        output.setEach(3, items)
        output.set(2, revision)
        output.set(1, environment)
    }

    init(_ m: Assay__V1__Fetched) throws(MessageError) {
        let items: [ResolvedItem] = try unsafe models(m.items, count: m.n_items)
        let entitlements: Entitlements = try unsafe required(read(m.entitlements))
        self.init(
            environment: try unsafe required(read(m.has_environment, m.environment)),
            revision: try unsafe read(m.has_revision, m.revision),
            items: items,
            entitlements: entitlements.superseding(items))
    }
}
