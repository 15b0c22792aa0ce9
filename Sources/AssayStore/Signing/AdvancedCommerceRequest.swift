import AssayBytes

/// A request that an app gives to StoreKit to buy or change a product of Advanced Commerce.
///
/// Creating one checks Apple's rules: required members, milliunits, periods and lengths.
public struct AdvancedCommerceRequest: Sendable, Hashable {
    /// The types of in-app requests.
    public enum Kind: String, Sendable, CaseIterable {
        /// OneTimeChargeCreateRequest.
        case oneTimeChargeCreate = "CREATE_ONE_TIME_CHARGE"
        /// SubscriptionCreateRequest.
        case subscriptionCreate = "CREATE_SUBSCRIPTION"
        /// SubscriptionModifyInAppRequest.
        case subscriptionModifyInApp = "MODIFY_SUBSCRIPTION"
        /// SubscriptionReactivateInAppRequest.
        case subscriptionReactivateInApp = "REACTIVATE_SUBSCRIPTION"
    }

    /// The type of the request, which is its member `operation`.
    public let kind: Kind
    /// The request in JSON, with `operation` and `version`.
    public let json: [UInt8]

    /// Reads Apple's JSON of a request. The kind is its type, where the JSON has no `operation`.
    ///
    /// - Throws: `invalidArgument`, which names the member.
    public init(json: [UInt8], kind: Kind? = nil) throws(StoreError) {
        try self.init(JSONRules(text: json), kind: kind)
    }

    init(_ members: JSONRules, kind: Kind?) throws(StoreError) {
        let names = Kind.allCases.map(\.rawValue)
        let operation = try members.optionalChoice("operation", names).flatMap(Kind.init(rawValue:))
        guard let found = operation ?? kind else {
            throw .invalidArgument("operation is missing: one of " + names.joined(separator: ", "))
        }
        if let kind, kind != found {
            throw .invalidArgument("operation is \(found.rawValue), not \(kind.rawValue)")
        }
        try members.optionalChoice("version", ["1"])
        try AdvancedCommerceRules.check(members, found)
        self.kind = found
        json = members.json(after: [("operation", found.rawValue), ("version", "1")])
    }

    /// The request as StoreKit and retention messages take it: the token in JSON, in Base64
    /// (`advancedCommerceData`).
    static func data(of token: String) -> String {
        var writer = JSONWriter()
        writer.object { data in
            data.object("signatureInfo") { $0.member("token", token) }
        }
        return String(decoding: Base64.encode(writer.text.span), as: UTF8.self)
    }
}

/// Apple's rules for the members of requests (Advanced Commerce API, in-app requests).
private enum AdvancedCommerceRules {
    static func check(
        _ request: JSONRules, _ kind: AdvancedCommerceRequest.Kind
    ) throws(StoreError) {
        try request.allow(common + members(of: kind))
        try checkInfo(request.object("requestInfo"))
        try request.optionalCode("storefront", storefront)
        switch kind {
        case .oneTimeChargeCreate:
            try request.code("currency", currency)
            _ = try request.text("taxCode")
            let item = try request.object("item")
            try item.allow(itemNames)
            try checkItem(item)
        case .subscriptionCreate: try checkCreate(request)
        case .subscriptionModifyInApp: try checkModify(request)
        case .subscriptionReactivateInApp:
            try SigningText.check(transactionId: request.text("transactionId"))
            for item in try request.optionalObjects("items") ?? [] { try checkSKU(item) }
        }
    }

    private static let common = ["operation", "version", "requestInfo", "storefront"]
    private static let itemNames = ["SKU", "description", "displayName", "price"]
    private static let currency = "a currency, three upper-case letters such as USD"
    private static let storefront = "a storefront, three upper-case letters such as USA"

    private static func members(of kind: AdvancedCommerceRequest.Kind) -> [String] {
        switch kind {
        case .oneTimeChargeCreate: ["currency", "item", "taxCode"]
        case .subscriptionCreate:
            ["currency", "descriptors", "items", "period", "previousTransactionId", "taxCode"]
        case .subscriptionModifyInApp:
            [
                "transactionId", "retainBillingCycle", "addItems", "changeItems", "removeItems",
                "currency", "descriptors", "periodChange", "taxCode",
            ]
        case .subscriptionReactivateInApp: ["transactionId", "items"]
        }
    }

    private static let periods = ["P1W", "P1M", "P2M", "P3M", "P6M", "P1Y"]
    private static let offerPeriods = [
        "P3D", "P1W", "P2W", "P1M", "P2M", "P3M", "P6M", "P9M", "P1Y",
    ]
    private static let offerReasons = ["ACQUISITION", "WIN_BACK", "RETENTION"]
    private static let changeReasons = ["UPGRADE", "DOWNGRADE", "APPLY_OFFER"]
    private static let moments = ["IMMEDIATELY", "NEXT_BILL_CYCLE"]

    private static let skuLength = 128
    private static let descriptionLength = 45
    private static let displayNameLength = 30
    private static let offerCounts: ClosedRange<Int64> = 1...12

    private static func checkInfo(_ info: JSONRules) throws(StoreError) {
        try info.allow(["requestReferenceId", "appAccountToken", "consistencyToken"])
        _ = try info.uuid("requestReferenceId")
        _ = try info.optionalUUID("appAccountToken")
        _ = try info.optionalText("consistencyToken", atMost: 4096)
    }

    private static func checkSKU(_ item: JSONRules) throws(StoreError) {
        try item.allow(["SKU"])
        _ = try item.text("SKU", atMost: skuLength)
    }

    private static func checkItem(_ item: JSONRules) throws(StoreError) {
        _ = try item.text("SKU", atMost: skuLength)
        _ = try item.text("description", atMost: descriptionLength)
        _ = try item.text("displayName", atMost: displayNameLength)
        try item.amount("price")
    }

    private static func checkOffer(_ item: JSONRules) throws(StoreError) {
        guard let offer = try item.optionalObject("offer") else { return }
        try offer.allow(["period", "periodCount", "price", "reason"])
        try offer.choice("period", offerPeriods)
        try offer.integer("periodCount", offerCounts)
        try offer.amount("price")
        try offer.choice("reason", offerReasons)
    }

    private static func checkCreate(_ request: JSONRules) throws(StoreError) {
        try request.code("currency", currency)
        _ = try request.text("taxCode")
        try request.choice("period", periods)
        _ = try request.optionalText("previousTransactionId")
        let descriptors = try request.object("descriptors")
        try descriptors.allow(["description", "displayName"])
        _ = try descriptors.text("description", atMost: descriptionLength)
        _ = try descriptors.text("displayName", atMost: displayNameLength)
        for item in try request.objects("items") {
            try item.allow(itemNames + ["offer"])
            try checkItem(item)
            try checkOffer(item)
        }
    }

    private static func checkModify(_ request: JSONRules) throws(StoreError) {
        try SigningText.check(transactionId: request.text("transactionId"))
        try request.bool("retainBillingCycle")
        try request.optionalCode("currency", currency)
        _ = try request.optionalText("taxCode")
        if let descriptors = try request.optionalObject("descriptors") {
            try descriptors.allow(["effective", "description", "displayName"])
            try descriptors.choice("effective", moments)
            _ = try descriptors.optionalText("description", atMost: descriptionLength)
            _ = try descriptors.optionalText("displayName", atMost: displayNameLength)
        }
        if let change = try request.optionalObject("periodChange") {
            try change.allow(["effective", "period"])
            try change.choice("effective", moments)
            try change.choice("period", periods)
        }
        for item in try request.optionalObjects("addItems") ?? [] {
            try item.allow(itemNames + ["offer", "proratedPrice"])
            try checkItem(item)
            try checkOffer(item)
            try item.optionalAmount("proratedPrice")
        }
        for item in try request.optionalObjects("changeItems") ?? [] {
            try item.allow(
                itemNames + ["currentSKU", "reason", "effective", "offer", "proratedPrice"])
            try checkItem(item)
            _ = try item.text("currentSKU", atMost: skuLength)
            try item.choice("reason", changeReasons)
            try item.choice("effective", moments)
            try checkOffer(item)
            try item.optionalAmount("proratedPrice")
        }
        for item in try request.optionalObjects("removeItems") ?? [] { try checkSKU(item) }
    }
}
