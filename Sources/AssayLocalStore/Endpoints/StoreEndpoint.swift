import AssayModels

/// The endpoints of the App Store Server API and verifyReceipt, by the names that faults use.
enum StoreEndpoint: String, CaseIterable, Sendable {
    case statuses
    case history
    case transaction
    case appTransaction = "app-transaction"
    case finish
    case refunds
    case order
    case consumption
    case setAccountToken = "set-account-token"
    case extend
    case massExtend = "mass-extend"
    case massExtendStatus = "mass-extend-status"
    case notificationHistory = "notification-history"
    case testNotification = "test-notification"
    case testNotificationStatus = "test-notification-status"
    case messaging
    case advancedCommerce = "advanced-commerce"
    case groups
    case seats
    case externalPurchases = "external-purchases"
    case verifyReceipt = "verify-receipt"

    /// Requests a second in production. Apple publishes no limit for the last ones.
    var rate: Int? {
        switch self {
        case .statuses, .history, .transaction, .appTransaction, .finish, .consumption,
            .notificationHistory:
            50
        case .setAccountToken, .extend: 20
        case .refunds, .order, .messaging: 10
        case .massExtend, .massExtendStatus, .testNotification, .testNotificationStatus: 1
        case .advancedCommerce, .groups, .seats, .externalPurchases, .verifyReceipt: nil
        }
    }
}

/// The two environments that the App Store Server API has.
enum APIEnvironment: String, CaseIterable, Sendable {
    case production = "Production"
    case sandbox = "Sandbox"
}

/// A call of an endpoint: what the method and the path say.
struct EndpointCall: Sendable {
    var endpoint: StoreEndpoint
    var environment: APIEnvironment
    var method: StoreMethod
    /// The components of the path that vary, such as a transaction id.
    var parameters: [String] = []
    /// What distinguishes calls of one endpoint: a version, or the words of the path.
    var variant = ""
}

/// A method that an endpoint has.
enum StoreMethod: String, Sendable {
    case get = "GET"
    case post = "POST"
    case put = "PUT"
    case delete = "DELETE"
}

extension EndpointCall {
    /// Finds the call. Returns nil for a path that no endpoint has.
    init?(_ method: StoreMethod, path: String) {
        var parts = path.split(separator: "/", omittingEmptySubsequences: false).map(String.init)
        guard parts.count > 1, parts.removeFirst().isEmpty, !parts.contains("") else { return nil }
        var environment = APIEnvironment.production
        if parts[0] == StoreEnvironment.localSandboxPath {
            environment = .sandbox
            parts.removeFirst()
        }
        if parts == ["verifyReceipt"] {
            endpoint = .verifyReceipt
            self.environment = environment
            self.method = method
            return
        }
        guard let found = Self.find(method, parts) else { return nil }
        endpoint = found.0
        parameters = found.1
        variant = found.2
        self.environment = environment
        self.method = method
    }

    private typealias Found = (StoreEndpoint, [String], String)

    private static func find(_ method: StoreMethod, _ parts: [String]) -> Found? {
        guard parts.count > 2 else { return nil }
        let rest = Array(parts[2...])
        switch (method, parts[0], parts[1], rest[0], rest.count) {
        case (.get, "inApps", "v1", "subscriptions", 2): return (.statuses, [rest[1]], "")
        case (.get, "inApps", "v1", "history", 2), (.get, "inApps", "v2", "history", 2):
            return (.history, [rest[1]], parts[1])
        case (.get, "inApps", "v1", "lookup", 2): return (.order, [rest[1]], "")
        case (.get, "inApps", "v2", "refund", 3) where rest[1] == "lookup":
            return (.refunds, [rest[2]], "")
        case (_, "inApps", _, "transactions", _): return transactions(method, parts[1], rest)
        case (_, "inApps", "v1", "subscriptions", _): return extensions(method, rest)
        case (_, "inApps", "v1", "notifications", _): return notifications(method, rest)
        case (_, "inApps", "v1", "messaging", 2...):
            return (.messaging, Array(rest[2...]), rest[1])
        case (.post, "advancedCommerce", "v1", "subscription", 3):
            let words = ["cancel", "changeMetadata", "changePrice", "migrate", "revoke"]
            return words.contains(rest[1]) ? (.advancedCommerce, [rest[2]], rest[1]) : nil
        case (.post, "advancedCommerce", "v1", "transaction", 3) where rest[1] == "requestRefund":
            return (.advancedCommerce, [rest[2]], rest[1])
        case (.get, "groups", "v1", "currentGroups", 2): return (.groups, [rest[1]], "current")
        case (.get, "groups", "v1", "group", 2): return (.groups, [rest[1]], "members")
        case (_, "groups", "v1", "transactions", 3...): return seats(method, rest)
        case (.put, "externalPurchase", "v1", "reports", 1): return (.externalPurchases, [], "")
        case (.get, "externalPurchase", "v1", "reports", 2):
            return (.externalPurchases, [rest[1]], "")
        default: return nil
        }
    }

    private static func seats(_ method: StoreMethod, _ rest: [String]) -> Found? {
        guard rest[2] == "seats" else { return nil }
        switch (method, rest.count) {
        case (.get, 3): return (.seats, [rest[1]], "info")
        case (.post, 3): return (.seats, [rest[1]], "claim")
        case (.delete, 4): return (.seats, [rest[1], rest[3]], "unclaim")
        case (.post, 5) where rest[4] == "associate":
            return (.seats, [rest[1], rest[3]], "associate")
        default: return nil
        }
    }

    private static func transactions(
        _ method: StoreMethod, _ version: String, _ rest: [String]
    ) -> Found? {
        switch (method, version, rest.count) {
        case (.put, "v1", 3) where rest[1] == "consumption",
            (.put, "v2", 3) where rest[1] == "consumption":
            return (.consumption, [rest[2]], version)
        case (.get, "v1", 2): return (.transaction, [rest[1]], "")
        case (.get, "v1", 3) where rest[1] == "appTransactions":
            return (.appTransaction, [rest[2]], "")
        case (.post, "v1", 3) where rest[2] == "finish": return (.finish, [rest[1]], "")
        case (.put, "v1", 3) where rest[2] == "appAccountToken":
            return (.setAccountToken, [rest[1]], "")
        default: return nil
        }
    }

    private static func extensions(_ method: StoreMethod, _ rest: [String]) -> Found? {
        guard rest.count > 2, rest[1] == "extend" else { return nil }
        switch (method, rest[2], rest.count) {
        case (.post, "mass", 3): return (.massExtend, [], "")
        case (.get, "mass", 5): return (.massExtendStatus, [rest[3], rest[4]], "")
        case (.put, _, 3): return (.extend, [rest[2]], "")
        default: return nil
        }
    }

    private static func notifications(_ method: StoreMethod, _ rest: [String]) -> Found? {
        switch (method, rest.count > 1 ? rest[1] : "", rest.count) {
        case (.post, "history", 2): return (.notificationHistory, [], "")
        case (.post, "test", 2): return (.testNotification, [], "")
        case (.get, "test", 3): return (.testNotificationStatus, [rest[2]], "")
        default: return nil
        }
    }
}
