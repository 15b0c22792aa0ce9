package import AssayBytes
import AssayModels

/// The JSON body of an answer of the App Store Server API: parsed but unverified.
///
/// Four shapes cover all endpoints. A body has the members of exactly one of them, so that no
/// signed member is overlooked.
struct ServerAnswerBody: Sendable {
    /// One member that holds a JWS.
    struct SignedMember: Sendable {
        /// Its location, such as `signedTransactions[3]`.
        let path: String
        let kind: EvidenceKind
        /// A string.
        let token: JSONValue
    }

    /// The signed members of one entry of `lastTransactions`, by index in `signed`.
    struct Subscription: Sendable {
        let path: String
        var transaction: Int?
        var renewalInfo: Int?
    }

    /// In the order of the text.
    private(set) var signed: [SignedMember] = []
    private(set) var unsigned = UnsignedAnswerMembers()
    /// The entries of `lastTransactions`, in the order of `unsigned.subscriptions`.
    private(set) var subscriptions: [Subscription] = []
    /// The signed members of an answer about one purchase.
    private(set) var single: Subscription?
    /// Whether this is a list of transactions, which no index refers to.
    private(set) var isTransactionList = false

    /// Parses a body. Throws MALFORMED for text that is not an answer, and WRONG_KIND for a POST
    /// body of another kind.
    init(_ text: Span<UInt8>) throws(Refusal) {
        let document = try Self.document(text)
        let root: JSONObject
        do throws(JSONError) {
            unsigned = try document.decode()
            root = try document.members()
        } catch {
            throw Refusal(.malformed, "the answer does not decode: \(error)")
        }
        let shapes = Shape.allCases.filter { $0.matches(root) }
        guard shapes.count <= 1 else {
            let names = shapes.map(\.rawValue).joined(separator: " and ")
            throw Refusal(.malformed, "the answer has the members of several shapes: \(names)")
        }
        switch shapes.first {
        case .transactions:
            isTransactionList = true
            try readTransactions(root)
        case .statuses: try readStatuses(root)
        case .single: try readSingle(root)
        case .notifications: try readNotifications(root)
        case nil: try checkIsEmpty(root)
        }
    }

    private static func document(_ text: Span<UInt8>) throws(Refusal) -> JSONDocument {
        guard text.count <= Limits.serverAnswerBytes else {
            throw Refusal(
                .malformed,
                "the answer has \(text.count) bytes; the limit is \(Limits.serverAnswerBytes)")
        }
        let document: JSONDocument
        do throws(JSONError) {
            document = try JSONDocument.parse(text, limit: Limits.serverAnswerBytes)
        } catch {
            throw Refusal(.malformed, "the answer is not valid JSON: \(error)")
        }
        guard document.root.kind == .object else {
            throw Refusal(.malformed, "the answer is not a JSON object")
        }
        return document
    }

    // MARK: Shapes

    /// The shapes, named by a member that only they have.
    private enum Shape: String, CaseIterable {
        case transactions = "signedTransactions"
        case statuses = "data"
        case single = "signedTransactionInfo"
        case notifications = "notificationHistory"

        func matches(_ root: JSONObject) -> Bool {
            members.contains { name in root[name].map { !$0.isNull } ?? false }
        }

        private var members: [String] {
            switch self {
            case .transactions, .statuses: [rawValue]
            case .single: singleMembers.map(\.name)
            case .notifications: [rawValue, "signedPayload"]
            }
        }
    }

    /// The members of an answer about one purchase.
    private static let singleMembers: [(name: String, kind: EvidenceKind)] = [
        ("signedTransactionInfo", .transaction), ("signedRenewalInfo", .renewalInfo),
        ("signedAppTransactionInfo", .appTransaction),
    ]

    /// Whether evidence of an unnamed kind looks like an answer. The POST body of a notification
    /// has `signedPayload` too; the status of a test notification has the attempts beside it.
    static func isLikely(_ text: Span<UInt8>) -> Bool {
        guard text.count <= Limits.serverAnswerBytes,
            let document = try? JSONDocument.parse(text, limit: Limits.serverAnswerBytes),
            let root = document.root.members
        else { return false }
        guard root["signedPayload"] == nil else {
            return root["sendAttempts"] != nil || root["firstSendAttemptResult"] != nil
        }
        // A decoded notification has an object named data.
        return Shape.allCases.contains { shape in
            shape.matches(root) && (shape != .statuses || root[shape.rawValue]?.elements != nil)
        }
    }

    // MARK: Members

    private mutating func readTransactions(_ root: JSONObject) throws(Refusal) {
        let name = Shape.transactions.rawValue
        for (index, token) in try Self.elements(root, name).enumerated() {
            try add(token, .transaction, "\(name)[\(index)]")
        }
    }

    private mutating func readStatuses(_ root: JSONObject) throws(Refusal) {
        for (index, group) in try Self.objects(root, Shape.statuses.rawValue).enumerated() {
            let path = "data[\(index)].lastTransactions"
            let entries = try Self.objects(group, "lastTransactions", at: path)
            for (index, entry) in entries.enumerated() {
                try readSubscription(entry, "\(path)[\(index)]")
            }
        }
    }

    private mutating func readSubscription(
        _ entry: JSONObject, _ path: String
    ) throws(Refusal) {
        var subscription = Subscription(path: path)
        for (name, kind) in Self.singleMembers.prefix(2) {
            guard let token = entry[name], !token.isNull else { continue }
            try add(token, kind, "\(path).\(name)")
            if kind == .transaction {
                subscription.transaction = signed.count - 1
            } else {
                subscription.renewalInfo = signed.count - 1
            }
        }
        var status = UnsignedSubscriptionStatus()
        if let value = entry["status"], !value.isNull {
            guard let number = value.int64.flatMap(Int32.init(exactly:)) else {
                throw Refusal(.malformed, "\(path).status is not a whole number of 32 bits")
            }
            status.status = SubscriptionStatus(rawValue: number)
        }
        if let value = entry["originalTransactionId"], !value.isNull {
            guard let id = value.string else {
                throw Refusal(.malformed, "\(path).originalTransactionId is not a string")
            }
            status.originalTransactionId = id
        }
        subscriptions.append(subscription)
        unsigned.subscriptions.append(status)
        // An entry without a token has a record here too.
        guard subscriptions.count <= Limits.serverAnswerTokens else { throw Self.tooMany }
    }

    private mutating func readSingle(_ root: JSONObject) throws(Refusal) {
        var single = Subscription(path: "signedRenewalInfo")
        for (name, kind) in Self.singleMembers {
            guard let token = root[name], !token.isNull else { continue }
            try add(token, kind, name)
            if kind == .transaction { single.transaction = signed.count - 1 }
            if kind == .renewalInfo { single.renewalInfo = signed.count - 1 }
        }
        self.single = single
    }

    private mutating func readNotifications(_ root: JSONObject) throws(Refusal) {
        let name = Shape.notifications.rawValue
        if let token = root["signedPayload"], !token.isNull {
            guard root[name] == nil else {
                throw Refusal(.malformed, "the answer has both signedPayload and \(name)")
            }
            return try add(token, .notification, "signedPayload")
        }
        for (index, entry) in try Self.objects(root, name).enumerated() {
            let path = "\(name)[\(index)].signedPayload"
            guard let token = entry["signedPayload"] else {
                throw Refusal(.malformed, "\(path) is missing")
            }
            try add(token, .notification, path)
        }
    }

    /// The lookup of an invalid order has a status and no transactions. Anything else without a
    /// signed member is not an answer about purchases.
    private func checkIsEmpty(_ root: JSONObject) throws(Refusal) {
        if let code = root["errorCode"]?.int64 {
            throw Refusal(.malformed, "Apple's answer is error \(code); it carries no evidence")
        }
        guard unsigned.status != nil else {
            throw Refusal(
                .malformed,
                "the answer has none of signedTransactions, data, signedTransactionInfo, "
                    + "signedRenewalInfo, signedAppTransactionInfo, notificationHistory and "
                    + "signedPayload")
        }
    }

    private mutating func add(
        _ token: JSONValue, _ kind: EvidenceKind, _ path: String
    ) throws(Refusal) {
        guard token.kind == .string else {
            throw Refusal(.malformed, "\(path) is not a string")
        }
        guard signed.count < Limits.serverAnswerTokens else { throw Self.tooMany }
        signed.append(SignedMember(path: path, kind: kind, token: token))
    }

    private static let tooMany = Refusal(
        .malformed,
        "the answer has more than \(Limits.serverAnswerTokens) signed members; send page by page")

    // MARK: Lists

    private static func elements(
        _ object: JSONObject, _ name: String, at path: String? = nil
    ) throws(Refusal) -> JSONElements {
        guard let elements = object[name]?.elements else {
            throw Refusal(.malformed, "\(path ?? name) is not an array")
        }
        return elements
    }

    private static func objects(
        _ object: JSONObject, _ name: String, at path: String? = nil
    ) throws(Refusal) -> [JSONObject] {
        var objects: [JSONObject] = []
        for element in try elements(object, name, at: path) {
            guard let members = element.members else {
                throw Refusal(
                    .malformed, "\(path ?? name)[\(objects.count)] is not an object")
            }
            objects.append(members)
        }
        return objects
    }
}

extension UnsignedAnswerMembers: PayloadObject {
    /// Reads the root's members, all but the statuses.
    package init(from members: inout JSONMembers) throws(JSONError) {
        self.init()
        environment = try members.enumeration("environment")
        bundleId = try members.string("bundleId")
        appAppleId = try members.int64("appAppleId")
        revision = try members.string("revision")
        hasMore = try members.bool("hasMore")
        paginationToken = try members.string("paginationToken")
        status = try members.int32("status")
    }
}
