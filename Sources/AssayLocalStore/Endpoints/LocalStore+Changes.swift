import AssayBytes
import AssayMint
import AssayModels

/// A request to extend the subscriptions to a product, and what became of it.
struct MassExtension: Sendable {
    var environment: APIEnvironment
    var requestId: String
    var productId: String
    var completed: Timestamp
    var succeeded: Int64 = 0
    var failed: Int64 = 0
}

/// The endpoints by which a backend changes something.
extension LocalStore {
    // MARK: Consumption and account tokens

    mutating func consumption(
        _ call: EndpointCall, _ request: StoreRequest, _ bundle: String
    ) throws(AppleError) -> StoreResponse {
        let found = try transaction(call.parameters[0], call.environment, bundle)
        let body = try request.object()
        guard body["customerConsented"]?.bool == true else { throw .invalidCustomerConsented }
        if call.variant == "v2" {
            guard body["sampleContentProvided"]?.bool != nil else {
                throw .invalidSampleContentProvided
            }
            guard let status = body["deliveryStatus"]?.string, !status.isEmpty else {
                throw .invalidDeliveryStatus
            }
            if let share = body["consumptionPercentage"], !share.isNull {
                guard let value = share.int64, (0...100_000).contains(value) else {
                    throw .invalidConsumptionStatus
                }
            }
        } else {
            try Self.checkNumber(body, "consumptionStatus", 0...3, .invalidConsumptionStatus)
            try Self.checkNumber(body, "deliveryStatus", 0...5, .invalidDeliveryStatus)
        }
        guard found.transaction.ownership != "FAMILY_SHARED" else {
            throw .familyTransactionNotSupported
        }
        if customers[found.customer].consumption.count < LocalStoreLimits.records {
            customers[found.customer].consumption.append(
                (found.transaction.transactionId, request.body))
        }
        return .bare(202)
    }

    private static func checkNumber(
        _ body: JSONObject, _ name: String, _ range: ClosedRange<Int64>, _ error: AppleError
    ) throws(AppleError) {
        guard let value = body[name], !value.isNull else { return }
        guard let number = value.int64, range.contains(number) else { throw error }
    }

    mutating func setAccountToken(
        _ call: EndpointCall, _ request: StoreRequest, _ bundle: String
    ) throws(AppleError) -> StoreResponse {
        let id = call.parameters[0]
        let found = try transaction(id, call.environment, bundle)
        guard found.transaction.originalTransactionId == id else {
            throw .notOriginalTransactionId
        }
        guard let token = try request.object()["appAccountToken"]?.string else {
            throw .invalidAppAccountToken
        }
        guard UUIDText.isValid(token) else { throw .appAccountTokenNotUUID }
        guard found.transaction.ownership != "FAMILY_SHARED" else {
            throw .familyTransactionNotSupported
        }
        customers[found.customer].life.setAppAccountToken(
            token.lowercased(), of: found.transaction.original, at: now)
        return .bare(200)
    }

    // MARK: Extensions

    /// The days, the reason and the identifier of an extension.
    private struct ExtensionRequest {
        let days: Int64
        let id: String

        init(_ body: JSONObject) throws(AppleError) {
            guard let days = body["extendByDays"]?.int64, (1...90).contains(days) else {
                throw .invalidExtendByDays
            }
            guard let reason = body["extendReasonCode"]?.int64, (0...3).contains(reason) else {
                throw .invalidExtendReasonCode
            }
            guard let id = body["requestIdentifier"]?.string, (1...128).contains(id.utf8.count)
            else { throw .invalidRequestIdentifier }
            self.days = days
            self.id = id
        }
    }

    mutating func extend(
        _ call: EndpointCall, _ request: StoreRequest, _ bundle: String
    ) throws(AppleError) -> StoreResponse {
        let id = call.parameters[0]
        let index = try customer(
            id, call.environment, invalid: .invalidOriginalTransactionId,
            missing: .originalTransactionIdNotFound)
        let wanted = try ExtensionRequest(request.object())
        let subscription = customers[index].life.subscriptions.first { subscription in
            subscription.originalTransactionId == id && subscription.bundleId == bundle
                && subscription.environment == call.environment.rawValue
        }
        guard let subscription else { throw .originalTransactionIdNotFound }
        let end = try extend(subscription, of: index, byDays: wanted.days)
        try sendExtension("RENEWAL_EXTENDED", of: subscription, in: index)
        return .json { answer in
            answer.member("originalTransactionId", id)
            answer.member("webOrderLineItemId", subscription.transactionId)
            answer.member("success", true)
            answer.member("effectiveDate", end)
        }
    }

    /// Extends one subscription. Apple allows two extensions in 365 days.
    private mutating func extend(
        _ subscription: StoredTransaction, of index: Int, byDays days: Int64
    ) throws(AppleError) -> Int64 {
        guard subscription.ownership != "FAMILY_SHARED" else { throw .familyExtensionIneligible }
        guard customers[index].life.status(of: subscription, at: now) == 1 else {
            throw .extensionIneligible
        }
        let year = now.advanced(by: -365 * ScenarioTime.day)
        let recent = customers[index].extensions.count {
            $0.original == subscription.original && $0.at > year
        }
        guard recent < 2 else { throw .maximumExtensions }
        customers[index].extensions.append((subscription.original, now))
        return customers[index].life.extend(subscription, byDays: days, at: now)
    }

    mutating func massExtend(
        _ call: EndpointCall, _ request: StoreRequest, _ bundle: String
    ) throws(AppleError) -> StoreResponse {
        let body = try request.object()
        let wanted = try ExtensionRequest(body)
        guard let product = body["productId"]?.string, !product.isEmpty else {
            throw .invalidProductId
        }
        try Self.checkCountries(body["storefrontCountryCodes"])
        var result = MassExtension(
            environment: call.environment, requestId: wanted.id, productId: product, completed: now)
        for index in customers.indices {
            let subscriptions = customers[index].life.subscriptions.filter {
                $0.productId == product && $0.environment == call.environment.rawValue
                    && $0.bundleId == bundle
            }
            for subscription in subscriptions {
                if (try? extend(subscription, of: index, byDays: wanted.days)) != nil {
                    result.succeeded += 1
                    try sendExtension("RENEWAL_EXTENDED", of: subscription, in: index)
                } else if customers[index].life.status(of: subscription, at: now) == 1 {
                    result.failed += 1
                    try sendExtension("RENEWAL_EXTENSION", "FAILURE", of: subscription, in: index)
                }
            }
        }
        if massExtensions.count >= LocalStoreLimits.records { massExtensions.removeFirst() }
        massExtensions.append(result)
        try sendSummary(result, bundle)
        return .json { $0.member("requestIdentifier", wanted.id) }
    }

    private static func checkCountries(_ value: JSONValue?) throws(AppleError) {
        guard let value, !value.isNull else { return }
        guard let elements = value.elements else { throw .invalidStorefrontCountryCode }
        let codes = elements.map(\.string)
        guard !codes.isEmpty else { throw .emptyStorefrontCountryCodes }
        guard codes.allSatisfy({ $0?.utf8.count == 3 }) else {
            throw .invalidStorefrontCountryCode
        }
    }

    /// Sends what became of one subscription.
    private mutating func sendExtension(
        _ type: String, _ subtype: String? = nil, of subscription: StoredTransaction,
        in index: Int
    ) throws(AppleError) {
        let notification = try sign { () throws(MintError) in
            try customers[index].life.notification(
                type, subtype, of: subscription.name, at: now)
        }
        send(notification, customer: customers[index].number)
    }

    private mutating func sendSummary(
        _ result: MassExtension, _ bundle: String
    ) throws(AppleError) {
        let notification = try storeNotification("RENEWAL_EXTENSION", "SUMMARY", result.environment)
        {
            $0.object("summary") { summary in
                summary.member("requestIdentifier", result.requestId)
                members(of: bundle, result.environment, &summary)
                summary.member("productId", result.productId)
                summary.member("succeededCount", result.succeeded)
                summary.member("failedCount", result.failed)
            }
        }
        send(notification, customer: nil)
    }

    func massExtendStatus(_ call: EndpointCall) throws(AppleError) -> StoreResponse {
        let found = massExtensions.last {
            $0.environment == call.environment && $0.productId == call.parameters[0]
                && $0.requestId == call.parameters[1]
        }
        guard let found else { throw .statusRequestNotFound }
        return .json { answer in
            answer.member("requestIdentifier", found.requestId)
            answer.member("complete", true)
            answer.member("completeDate", found.completed.milliseconds)
            answer.member("succeededCount", found.succeeded)
            answer.member("failedCount", found.failed)
        }
    }

    // MARK: Advanced Commerce

    /// Cancel and revoke change the subscription, a refund the transaction. Metadata, prices and
    /// migrations change nothing that entitles: they are answered with the present state.
    mutating func advancedCommerce(
        _ call: EndpointCall, _ bundle: String
    ) throws(AppleError) -> StoreResponse {
        let found = try transaction(call.parameters[0], call.environment, bundle)
        let (index, name) = (found.customer, found.transaction.name)
        switch call.variant {
        case "cancel":
            customers[index].life.cancel(found.transaction.original)
            let notification = try sign { () throws(MintError) in
                try customers[index].life.notification(
                    "DID_CHANGE_RENEWAL_STATUS", "AUTO_RENEW_DISABLED", of: name, at: now)
            }
            send(notification, customer: customers[index].number)
        case "revoke", "requestRefund":
            customers[index].life.revoke(name, at: now)
            let notification = try sign { () throws(MintError) in
                try customers[index].life.notification("REFUND", of: name, at: now)
            }
            send(notification, customer: customers[index].number)
        default: break
        }
        let life = customers[index].life
        guard let changed = life.transaction(name) else { throw .generalInternal }
        let token = try signed(changed, of: index, nil)
        let renewal =
            found.transaction.group == nil
            ? nil
            : try sign { () throws(MintError) in
                try life.signedRenewalInfo(changed.original, at: now)
            }
        return .json { answer in
            answer.member("signedTransactionInfo", token)
            answer.member("signedRenewalInfo", renewal)
        }
    }
}
