import AssayBytes
public import AssayModels

/// The calls that read. A transaction identifier can be any of the customer's: an original
/// transaction identifier and an app transaction identifier will do, too.
extension StoreCall {
    /// All subscription statuses (GET /inApps/v1/subscriptions/{id}), or those that are named.
    public static func statuses(
        of id: String, in statuses: [SubscriptionStatus] = []
    ) throws(StoreError) -> StoreCall {
        let id = try segment(id, "transaction identifier")
        var call = StoreCall("statuses", "GET", "/inApps/v1/subscriptions/" + id)
        call.query = statuses.map { Parameter(name: "status", value: String($0.rawValue)) }
        call.answer = .signed
        return call
    }

    /// The transaction history (GET /inApps/v2/history/{id}), in pages of 20.
    public static func history(
        of id: String, _ query: HistoryQuery = HistoryQuery()
    ) throws(StoreError) -> StoreCall {
        let id = try segment(id, "transaction identifier")
        try query.check()
        var call = StoreCall("history", "GET", "/inApps/v2/history/" + id)
        call.query = query.parameters
        call.answer = .pages(parameter: "revision")
        return call
    }

    /// One transaction (GET /inApps/v1/transactions/{id}).
    public static func transaction(_ id: String) throws(StoreError) -> StoreCall {
        let id = try segment(id, "transaction identifier")
        var call = StoreCall("transaction", "GET", "/inApps/v1/transactions/" + id)
        call.answer = .signed
        return call
    }

    /// The app transaction of a customer (GET /inApps/v1/transactions/appTransactions/{id}).
    public static func appTransaction(of id: String) throws(StoreError) -> StoreCall {
        let id = try segment(id, "transaction identifier")
        var call = StoreCall(
            "app-transaction", "GET", "/inApps/v1/transactions/appTransactions/" + id)
        call.answer = .signed
        return call
    }

    /// The transactions of an order, by the number on the customer's receipt from the App Store
    /// (GET /inApps/v1/lookup/{orderId}). Production alone has orders.
    public static func order(_ id: String) throws(StoreError) -> StoreCall {
        let id = try segment(id, "order id")
        var call = StoreCall("order", "GET", "/inApps/v1/lookup/" + id)
        call.answer = .signed
        call.callClass = .lookup
        call.findsEnvironment = false
        call.noSandbox =
            "the sandbox has no orders: it sends no receipts with order numbers. Ask production, "
            + "or look the transaction up by its id"
        return call
    }

    /// The refunded transactions (GET /inApps/v2/refund/lookup/{id}), in pages of 20.
    public static func refunds(of id: String) throws(StoreError) -> StoreCall {
        let id = try segment(id, "transaction identifier")
        var call = StoreCall("refunds", "GET", "/inApps/v2/refund/lookup/" + id)
        call.answer = .pages(parameter: "revision")
        call.callClass = .lookup
        return call
    }

    /// The notifications that the App Store sent, or tried to (POST
    /// /inApps/v1/notifications/history), in pages of 20. Of 180 days, in the sandbox of 30.
    public static func notifications(
        _ query: NotificationQuery
    ) throws(StoreError) -> StoreCall {
        try query.check()
        var call = StoreCall("notifications", "POST", "/inApps/v1/notifications/history")
        call.body = query.json
        call.answer = .pages(parameter: "paginationToken")
        call.findsEnvironment = query.transactionId != nil
        return call
    }

    /// The status of a test notification (GET /inApps/v1/notifications/test/{token}).
    public static func testNotificationStatus(_ token: String) throws(StoreError) -> StoreCall {
        let token = try segment(token, "test notification token")
        var call = StoreCall(
            "test-notification-status", "GET", "/inApps/v1/notifications/test/" + token)
        call.answer = .signed
        call.callClass = .rare
        call.findsEnvironment = false
        return call
    }

    /// The progress of an extension for all subscribers (GET
    /// /inApps/v1/subscriptions/extend/mass/{product}/{request}).
    public static func massExtensionStatus(
        product: String, request: String
    ) throws(StoreError) -> StoreCall {
        let path = try segment(product, "product id") + "/" + segment(request, "request id")
        var call = StoreCall(
            "mass-extension-status", "GET", "/inApps/v1/subscriptions/extend/mass/" + path)
        call.callClass = .rare
        call.findsEnvironment = false
        return call
    }
}

/// What a history is about. The same on each page.
public struct HistoryQuery: Sendable, Equatable {
    /// The first moment of purchase.
    public var startDate: Timestamp?
    /// The first moment of purchase that is no longer part.
    public var endDate: Timestamp?
    /// Product identifiers; none: all.
    public var productIds: [String] = []
    /// Apple's product types, such as `AUTO_RENEWABLE`; none: all.
    public var productTypes: [String] = []
    /// Subscription groups; none: all.
    public var subscriptionGroups: [String] = []
    /// `PURCHASED` or `FAMILY_SHARED`; nil: both.
    public var ownership: String?
    /// Whether revoked transactions alone are part (true), or left out (false); nil: all.
    public var revoked: Bool?
    /// Whether the transactions that were modified last come first.
    public var isDescending = false

    /// Creates a query for everything.
    public init() {}

    func check() throws(StoreError) {
        for id in productIds { try StoreCall.checkFilled(id, "product id") }
        for type in productTypes { try StoreCall.checkFilled(type, "product type") }
        for group in subscriptionGroups { try StoreCall.checkFilled(group, "subscription group") }
        try StoreCall.checkFilled(ownership, "ownership type")
    }

    var parameters: [StoreCall.Parameter] {
        var all: [StoreCall.Parameter] = []
        func add(_ name: String, _ value: String?) {
            if let value { all.append(StoreCall.Parameter(name: name, value: value)) }
        }
        add("startDate", startDate.map { String($0.milliseconds) })
        add("endDate", endDate.map { String($0.milliseconds) })
        for id in productIds { add("productId", id) }
        for type in productTypes { add("productType", type) }
        if isDescending { add("sort", "DESCENDING") }
        for group in subscriptionGroups { add("subscriptionGroupIdentifier", group) }
        add("inAppOwnershipType", ownership)
        add("revoked", revoked.map { $0 ? "true" : "false" })
        return all
    }
}

/// Which notifications a history has. The same on each page.
public struct NotificationQuery: Sendable, Equatable {
    /// The first moment.
    public var startDate: Timestamp
    /// The last moment.
    public var endDate: Timestamp
    /// Apple's type, such as `DID_RENEW`; nil: all. Not beside a transaction.
    public var type: String?
    /// Apple's subtype of that type.
    public var subtype: String?
    /// A transaction of the customer; nil: those of all customers.
    public var transactionId: String?
    /// Those alone that your server did not accept.
    public var onlyFailures = false

    /// Creates a query for a span of time.
    public init(from startDate: Timestamp, to endDate: Timestamp) {
        self.startDate = startDate
        self.endDate = endDate
    }

    func check() throws(StoreError) {
        try StoreCall.checkFilled(type, "notification type")
        try StoreCall.checkFilled(subtype, "notification subtype")
        try StoreCall.checkFilled(transactionId, "transaction identifier")
    }

    var json: [UInt8] {
        var writer = JSONWriter()
        writer.object { object in
            object.member("startDate", startDate.milliseconds)
            object.member("endDate", endDate.milliseconds)
            object.member("notificationType", type)
            object.member("notificationSubtype", subtype)
            object.member("transactionId", transactionId)
            if onlyFailures { object.member("onlyFailures", true) }
        }
        return writer.text
    }
}
