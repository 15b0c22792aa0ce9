import AssayModels
import CAssayProto

extension FetchCall: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__FetchCall>) {
        unsafe assay__v1__fetch_call__init(message)
    }

    func fill(_ m: inout Assay__V1__FetchCall, in arena: MessageArena) {
        unsafe arena.set(&m.has_transaction_id, &m.transaction_id, transactionId)
        let numbers = unsafe arena.allocate(Assay__V1__StoreList.self, count: lists.count)
        for (index, list) in lists.enumerated() {
            unsafe (numbers + index).initialize(to: Assay__V1__StoreList(list))
        }
        unsafe m.n_lists = lists.count
        unsafe m.lists = numbers
        unsafe arena.set(&m.has_at, &m.at, at)
        if policy != EntitlementPolicy() { unsafe m.policy = arena.message(policy) }
        if returnsTypedPayloads {
            unsafe arena.set(&m.has_return_typed_payloads, &m.return_typed_payloads, true)
        }
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

extension Assay__V1__StoreList {
    fileprivate init(_ list: FetchCall.List) {
        switch list {
        case .statuses: self = ASSAY__V1__STORE_LIST__STORE_LIST_STATUSES
        case .history: self = ASSAY__V1__STORE_LIST__STORE_LIST_HISTORY
        case .unknown(let number): self.init(rawValue: number)
        }
    }
}

extension FetchCall.List {
    fileprivate init(_ list: Assay__V1__StoreList) {
        switch list {
        case ASSAY__V1__STORE_LIST__STORE_LIST_STATUSES: self = .statuses
        case ASSAY__V1__STORE_LIST__STORE_LIST_HISTORY: self = .history
        default: self = .unknown(list.rawValue)
        }
    }
}

extension Fetched: @unsafe MessageFields {
    static func clear(_ message: UnsafeMutablePointer<Assay__V1__Fetched>) {
        unsafe assay__v1__fetched__init(message)
    }

    func fill(_ m: inout Assay__V1__Fetched, in arena: MessageArena) {
        unsafe arena.set(&m.has_environment, &m.environment, environment)
        unsafe arena.set(&m.has_revision, &m.revision, revision)
        unsafe m.n_items = items.count
        unsafe m.items = arena.messages(items)
        unsafe m.entitlements = arena.message(entitlements)
    }

    init(_ m: Assay__V1__Fetched) throws(MessageError) {
        self.init(
            environment: try unsafe required(read(m.has_environment, m.environment)),
            revision: try unsafe read(m.has_revision, m.revision),
            items: try unsafe models(m.items, count: m.n_items),
            entitlements: try unsafe required(read(m.entitlements)))
    }
}
