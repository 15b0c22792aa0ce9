import AssayBytes

/// The calls that change something at Apple.
extension StoreCall {
    /// Marks a transaction as finished (POST /inApps/v1/transactions/{id}/finish).
    public static func finish(_ id: String) throws(StoreError) -> StoreCall {
        let id = try segment(id, "transaction identifier")
        return StoreCall("finish", "POST", "/inApps/v1/transactions/\(id)/finish")
    }

    /// Answers a CONSUMPTION_REQUEST (PUT /inApps/v2/transactions/consumption/{id}).
    public static func consumption(
        of id: String, _ report: ConsumptionReport
    ) throws(StoreError) -> StoreCall {
        let id = try segment(id, "transaction identifier")
        var call = StoreCall("consumption", "PUT", "/inApps/v2/transactions/consumption/" + id)
        call.body = try report.json()
        return call
    }

    /// Answers a CONSUMPTION_REQUEST in the older form, which Advanced Commerce still has
    /// (PUT /inApps/v1/transactions/consumption/{id}). The JSON is Apple's ConsumptionRequestV1.
    public static func consumptionV1(
        of id: String, json: [UInt8]
    ) throws(StoreError) -> StoreCall {
        let id = try segment(id, "transaction identifier")
        var call = StoreCall("consumption-v1", "PUT", "/inApps/v1/transactions/consumption/" + id)
        call.body = try object(json)
        return call
    }

    /// Sets the account token of a purchase made outside the app
    /// (PUT /inApps/v1/transactions/{originalId}/appAccountToken). The token is a UUID.
    public static func setAccountToken(
        _ token: String, of originalId: String
    ) throws(StoreError) -> StoreCall {
        guard UUIDText.isValid(token) else {
            throw .invalidArgument(
                "the account token is not a UUID, such as 7e3fb204-2a9c-4b1f-9c57-0c3c5f1e2a10")
        }
        let id = try segment(originalId, "original transaction identifier")
        var call = StoreCall(
            "set-account-token", "PUT", "/inApps/v1/transactions/\(id)/appAccountToken")
        var writer = JSONWriter()
        writer.object { $0.member("appAccountToken", token) }
        call.body = writer.text
        call.callClass = .change
        return call
    }

    /// Extends the renewal date of one subscription
    /// (PUT /inApps/v1/subscriptions/extend/{originalId}), at most twice a year.
    /// The request names the extension, in at most 128 bytes: a UUID.
    public static func extend(
        _ originalId: String, byDays days: Int, reason: ExtensionReason, request: String
    ) throws(StoreError) -> StoreCall {
        let id = try segment(originalId, "original transaction identifier")
        var call = StoreCall("extend", "PUT", "/inApps/v1/subscriptions/extend/" + id)
        call.body = try extensionBody(days, reason, request) { _ in }
        call.callClass = .change
        // A second one would count as the second extension of the year.
        call.isRepeatable = false
        return call
    }

    /// Extends the renewal date of all subscribers of a product
    /// (POST /inApps/v1/subscriptions/extend/mass). Storefronts are three-letter country codes;
    /// none means all.
    public static func massExtend(
        product: String, byDays days: Int, reason: ExtensionReason, request: String,
        storefronts: [String] = []
    ) throws(StoreError) -> StoreCall {
        try checkFilled(product, "product id")
        for storefront in storefronts { try checkFilled(storefront, "storefront") }
        var call = StoreCall("mass-extend", "POST", "/inApps/v1/subscriptions/extend/mass")
        call.body = try extensionBody(days, reason, request) { object in
            object.member("productId", product)
            guard !storefronts.isEmpty else { return }
            object.array("storefrontCountryCodes") { list in
                for storefront in storefronts { list.value(storefront) }
            }
        }
        call.callClass = .rare
        call.findsEnvironment = false
        call.isRepeatable = false
        return call
    }

    /// Has the App Store send a TEST notification (POST /inApps/v1/notifications/test). The answer
    /// names a token for its status.
    public static func testNotification() -> StoreCall {
        var call = StoreCall("test-notification", "POST", "/inApps/v1/notifications/test")
        call.callClass = .rare
        call.findsEnvironment = false
        return call
    }

    private static func extensionBody(
        _ days: Int, _ reason: ExtensionReason, _ request: String,
        _ more: (inout JSONWriter) -> Void
    ) throws(StoreError) -> [UInt8] {
        guard (1...90).contains(days) else {
            throw .invalidArgument("Apple extends by 1 to 90 days, not by \(days)")
        }
        guard (1...128).contains(request.utf8.count) else {
            throw .invalidArgument("the request id has 1 to 128 bytes")
        }
        var writer = JSONWriter()
        writer.object { object in
            object.member("extendByDays", Int64(days))
            object.member("extendReasonCode", Int64(reason.rawValue))
            object.member("requestIdentifier", request)
            more(&object)
        }
        return writer.text
    }

    /// Checks that a body is one JSON object.
    static func object(_ json: [UInt8]) throws(StoreError) -> [UInt8] {
        do throws(JSONError) {
            _ = try JSONDocument.parse(json, limit: StoreLimits.answerBytes).members()
        } catch {
            throw .invalidArgument("the body of the request is not a JSON object: \(error)")
        }
        return json
    }
}

/// Why a renewal date is extended.
public enum ExtensionReason: Int, Sendable, CaseIterable {
    /// No reason.
    case undeclared = 0
    /// Customer satisfaction.
    case satisfaction = 1
    /// Another reason.
    case other = 2
    /// A fault or outage of the service.
    case outage = 3
}

/// What Apple wants to know about a purchase whose refund a customer asks for, and for which the
/// customer consented.
public struct ConsumptionReport: Sendable, Equatable {
    /// Whether the app delivered the purchase.
    public enum Delivery: String, Sendable, CaseIterable {
        /// It works.
        case delivered = "DELIVERED"
        /// It was delivered and has faults.
        case qualityIssue = "UNDELIVERED_QUALITY_ISSUE"
        /// Something else was delivered.
        case wrongItem = "UNDELIVERED_WRONG_ITEM"
        /// A server was down.
        case serverOutage = "UNDELIVERED_SERVER_OUTAGE"
        /// It was not delivered.
        case other = "UNDELIVERED_OTHER"
    }

    /// What the developer prefers.
    public enum Preference: String, Sendable, CaseIterable {
        /// No refund.
        case decline = "DECLINE"
        /// A refund.
        case grantFull = "GRANT_FULL"
        /// A refund of the part that was not consumed.
        case grantProrated = "GRANT_PRORATED"
    }

    /// Whether the customer consented to this report. Apple refuses one without consent.
    public var customerConsented: Bool
    /// Whether the app delivered the purchase.
    public var delivery: Delivery
    /// Whether the customer could try it before.
    public var sampleProvided: Bool
    /// How much was consumed, in thousandths of a percent: 0 to 100000.
    public var consumptionPercentage: Int?
    /// What the developer prefers.
    public var refundPreference: Preference?

    /// Creates a report.
    public init(customerConsented: Bool, delivery: Delivery, sampleProvided: Bool) {
        self.customerConsented = customerConsented
        self.delivery = delivery
        self.sampleProvided = sampleProvided
    }

    func json() throws(StoreError) -> [UInt8] {
        if let consumptionPercentage, !(0...100_000).contains(consumptionPercentage) {
            throw .invalidArgument("the consumed part is 0 to 100000 thousandths of a percent")
        }
        var writer = JSONWriter()
        writer.object { object in
            object.member("customerConsented", customerConsented)
            object.member("sampleContentProvided", sampleProvided)
            object.member("deliveryStatus", delivery.rawValue)
            object.member("consumptionPercentage", consumptionPercentage.map(Int64.init))
            object.member("refundPreference", refundPreference?.rawValue)
        }
        return writer.text
    }
}
