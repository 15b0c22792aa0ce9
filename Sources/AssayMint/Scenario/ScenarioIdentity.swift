import AssayBytes

/// Whose life a scenario is: replaces the identifiers that all scenarios share, so that one store
/// can hold many customers of any app.
package struct ScenarioIdentity: Sendable {
    /// The customer's number, from 1; 0 keeps the identifiers of the scenario.
    package let number: Int
    package let bundleId: String
    package let appAppleId: Int64
    package let appAccountToken: String
    package let appTransactionId: String
    /// Whether purchases of Production are purchases of the Sandbox.
    package let isSandbox: Bool

    /// Keeps the identifiers of the scenario.
    package static let shared = ScenarioIdentity()

    private init() {
        number = 0
        bundleId = ScenarioState.bundleId
        appAppleId = ScenarioState.appAppleId
        appAccountToken = ScenarioState.appAccountToken
        appTransactionId = ScenarioState.appTransactionId
        isSandbox = false
    }

    /// Creates the identity of one customer.
    ///
    /// - Parameter number: from 1 to 9999.
    package init(number: Int, bundleId: String, appAppleId: Int64, isSandbox: Bool) {
        precondition((1...9999).contains(number))
        self.number = number
        self.bundleId = bundleId
        self.appAppleId = appAppleId
        self.isSandbox = isSandbox
        appAccountToken = Samples.uuid(6, number)
        appTransactionId = "70428957231" + String(number, width: 7)
    }

    /// The transaction id of a scenario's transaction: `470001000000100` for the transaction 100
    /// of the first customer, and `2000000000100100` in the Sandbox, whose ids begin with 2000000
    /// and have 16 digits. Ids that are no short number follow the customer's digits unchanged.
    package func transactionId(_ id: String) -> String {
        guard number > 0 else { return id }
        let width = isSandbox ? 5 : 9
        let isShort = id.utf8.count <= width && id.utf8.allSatisfy { (0x30...0x39).contains($0) }
        let zeros = isShort ? String(repeating: "0", count: width - id.utf8.count) : ""
        return (isSandbox ? "2000000" : "47") + String(number, width: 4) + zeros + id
    }

    /// The environment of a purchase that the scenario makes in this one.
    package func environment(_ name: String) -> String {
        isSandbox && name == "Production" ? "Sandbox" : name
    }

    private static let ids: Set<String> = [
        "transactionId", "originalTransactionId", "previousOriginalTransactionId",
        "bundleTransactionID", "bundleOriginalTransactionID",
    ]

    /// Replaces the identifiers in a payload and in the objects inside it. Other values than those
    /// that all scenarios share stay.
    func applied(to payload: PayloadMembers) -> PayloadMembers {
        guard number > 0 else { return payload }
        var result = PayloadMembers()
        for (name, value) in payload.members { result[name] = applied(to: value, name) }
        return result
    }

    private func applied(to value: PayloadValue, _ name: String) -> PayloadValue {
        switch value {
        case .string(let text): .string(applied(to: text, name))
        case .number(ScenarioState.appAppleId) where name == "appAppleId": .number(appAppleId)
        case .object(let changes):
            .object(applied(to: PayloadMembers().applying(changes)).changes)
        case .array(let values): .array(values.map { applied(to: $0, name) })
        case .number, .bool, .time, .raw: value
        }
    }

    private func applied(to text: String, _ name: String) -> String {
        if Self.ids.contains(name) { return transactionId(text) }
        return switch (name, text) {
        case ("bundleId", ScenarioState.bundleId): bundleId
        case ("appAccountToken", ScenarioState.appAccountToken): appAccountToken
        case ("appTransactionId", ScenarioState.appTransactionId): appTransactionId
        case ("environment", _), ("receiptType", _): environment(text)
        default: text
        }
    }
}
