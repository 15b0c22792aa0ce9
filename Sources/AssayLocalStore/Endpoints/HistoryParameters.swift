import AssayMint

/// The parameters of a transaction history.
struct HistoryParameters: Sendable {
    var revision: Revision?
    private(set) var isDescending = false
    private var startDate = Int64.min
    private var endDate = Int64.max
    private var products: Set<String> = []
    private var types: Set<String> = []
    private var groups: Set<String> = []
    private var ownership: String?
    private var revoked: Bool?
    /// FNV-1a of the parameters without the revision.
    private(set) var hash: UInt32 = 0x811C_9DC5

    private static let typeNames = [
        "AUTO_RENEWABLE": "Auto-Renewable Subscription",
        "NON_RENEWABLE": "Non-Renewing Subscription", "CONSUMABLE": "Consumable",
        "NON_CONSUMABLE": "Non-Consumable",
    ]

    init(_ parameters: [(name: String, value: String)]) throws(AppleError) {
        var hasStart = false
        var hasEnd = false
        for (name, value) in parameters {
            if name == "revision" {
                guard revision == nil, let given = Revision(value) else {
                    throw .invalidRequestRevision
                }
                revision = given
                continue
            }
            for byte in (name + "=" + value + "&").utf8 {
                hash = (hash ^ UInt32(byte)) &* 0x0100_0193
            }
            try set(name, value)
            hasStart = hasStart || name == "startDate"
            hasEnd = hasEnd || name == "endDate"
        }
        if hasStart, hasEnd, startDate >= endDate { throw .startDateAfterEndDate }
        if let revision, revision.query != hash { throw .invalidRequestRevision }
    }

    private mutating func set(_ name: String, _ value: String) throws(AppleError) {
        switch name {
        case "startDate":
            guard let date = Int64(value) else { throw .invalidStartDate }
            startDate = date
        case "endDate":
            guard let date = Int64(value) else { throw .invalidEndDate }
            endDate = date
        case "productId":
            guard !value.isEmpty else { throw .invalidProductId }
            products.insert(value)
        case "productType":
            guard let type = Self.typeNames[value] else { throw .invalidProductType }
            types.insert(type)
        case "subscriptionGroupIdentifier": groups.insert(value)
        case "sort":
            guard value == "ASCENDING" || value == "DESCENDING" else { throw .invalidSort }
            isDescending = value == "DESCENDING"
        case "inAppOwnershipType":
            guard value == "PURCHASED" || value == "FAMILY_SHARED" else {
                throw .invalidInAppOwnershipType
            }
            ownership = value
        case "revoked":
            // Apple's library for Python writes True and False.
            guard let flag = ["true": true, "false": false][value.lowercased()] else {
                throw .invalidRevoked
            }
            revoked = flag
        default: break
        }
    }

    /// Whether the filters admit a transaction.
    func admits(_ transaction: StoredTransaction) -> Bool {
        (startDate...max(endDate, startDate)).contains(transaction.purchaseDate)
            && (products.isEmpty || products.contains(transaction.productId))
            && (types.isEmpty || types.contains(transaction.type))
            && (groups.isEmpty || transaction.group.map(groups.contains) ?? false)
            && (ownership == nil || ownership == transaction.ownership)
            && (revoked == nil || revoked == (transaction.revocationDate != nil))
    }
}

/// One page of a list that is sorted by modification.
struct HistoryPage: Sendable {
    var items: [StoredTransaction]
    var revision: Revision
    var hasMore: Bool

    /// - Parameter all: the items that the filters admit, in any order.
    init(
        _ all: [StoredTransaction], after revision: Revision?, isDescending: Bool = false,
        size: Int, now: Int64, query: UInt32
    ) {
        let after = revision?.after ?? 0
        let before = revision?.before ?? 0
        var left = all.filter { $0.serial > after && (before == 0 || $0.serial < before) }
        left.sort { isDescending ? $0.serial > $1.serial : $0.serial < $1.serial }
        items = Array(left.prefix(size))
        hasMore = left.count > size
        let last = items.last
        var next = Revision(
            time: last?.modified ?? revision?.time ?? now, after: last?.serial ?? after,
            query: query)
        if isDescending {
            let highest = max(revision?.highest ?? 0, items.first?.serial ?? 0, after)
            next.after = hasMore ? after : highest
            next.before = hasMore ? last?.serial ?? 0 : 0
            next.highest = hasMore ? highest : 0
        }
        self.revision = next
    }
}
