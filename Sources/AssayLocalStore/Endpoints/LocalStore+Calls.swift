import AssayBytes
import AssayMint
import AssayModels

/// The calls of the App Store Server API.
extension LocalStore {
    /// Answers a call: faults first, then the token, the rate limit and the endpoint.
    mutating func answer(_ call: EndpointCall, _ request: StoreRequest) -> StoreResponse {
        let fault = faults.take(call)
        var answer: StoreResponse
        var reason: String?
        if let replacement = fault?.answer {
            answer = replacement
            reason = "a fault"
        } else if call.endpoint == .verifyReceipt {
            (answer, reason) = verifyReceipt(call, request)
        } else {
            do throws(TokenRefusal) {
                let bundle = try bundleId(of: request)
                answer = self.answer(call, request, bundle, fault)
                if bundle != settings.bundleId {
                    reason = "the token's bid is another app's: nothing is found"
                }
            } catch {
                answer = .bare(401)
                reason = error.reason
            }
        }
        answer.delivery = fault?.delivery ?? answer.delivery
        requests.add(request, call.environment, answer.status, reason)
        return answer
    }

    /// The bundle identifier of the request's token.
    func bundleId(of request: StoreRequest) throws(TokenRefusal) -> String {
        if let accepted = request.acceptedBundleId { return accepted }
        return try settings.tokens.bundleId(of: request.authorization, now: request.time / 1000)
    }

    private mutating func answer(
        _ call: EndpointCall, _ request: StoreRequest, _ bundle: String, _ fault: StoreFault?
    ) -> StoreResponse {
        if settings.limitsRates,
            let next = limits.take(call.endpoint, call.environment, at: request.time)
        {
            var answer = StoreResponse.error(.rateLimitExceeded)
            answer.fields = [("Retry-After", String(next))]
            return answer
        }
        do throws(AppleError) {
            return try route(call, request, bundle, fault)
        } catch {
            return .error(error)
        }
    }

    private mutating func route(
        _ call: EndpointCall, _ request: StoreRequest, _ bundle: String, _ fault: StoreFault?
    ) throws(AppleError) -> StoreResponse {
        switch call.endpoint {
        case .statuses: return try statuses(call, request, bundle, fault)
        case .history: return try history(call, request, bundle, fault)
        case .refunds: return try refunds(call, request, bundle, fault)
        case .transaction: return try transaction(call, bundle, fault)
        case .appTransaction: return try appTransaction(call, bundle)
        case .finish: return try finish(call, bundle)
        case .order: return try order(call, bundle)
        case .consumption: return try consumption(call, request, bundle)
        case .setAccountToken: return try setAccountToken(call, request, bundle)
        case .extend: return try extend(call, request, bundle)
        case .massExtend: return try massExtend(call, request, bundle)
        case .massExtendStatus: return try massExtendStatus(call)
        case .notificationHistory:
            return try notificationHistory(call, request, bundle, fault)
        case .testNotification: return try testNotification(call, bundle)
        case .testNotificationStatus: return try testNotificationStatus(call, bundle)
        case .messaging:
            var state = messaging[call.environment] ?? RetentionMessaging()
            let hasPassed = messaging[.sandbox]?.hasPassed ?? false
            let isKnown = customers.contains {
                $0.has(request.originalTransactionId, in: call.environment)
            }
            defer { messaging[call.environment] = state }
            return try state.answer(
                call, request, at: now, hasPassed: hasPassed, isKnownTransaction: isKnown)
        case .advancedCommerce: return try advancedCommerce(call, bundle)
        case .groups: return try groups(call, request, bundle)
        case .seats: return try seats(call, request, bundle)
        case .externalPurchases: return try externalPurchases(call, request)
        case .verifyReceipt: return verifyReceipt(call, request).answer
        }
    }

    // MARK: Finding

    /// The index of the customer with this id, whichever app it is of.
    func customer(
        _ id: String, _ environment: APIEnvironment, invalid: AppleError = .invalidTransactionId,
        missing: AppleError = .transactionIdNotFound
    ) throws(AppleError) -> Int {
        let isNumber = id.utf8.allSatisfy { (0x30...0x39).contains($0) }
        guard isNumber, (1...24).contains(id.utf8.count) else { throw invalid }
        guard let index = customers.firstIndex(where: { $0.has(id, in: environment) }) else {
            throw missing
        }
        return index
    }

    /// One transaction of the token's app.
    func transaction(
        _ id: String, _ environment: APIEnvironment, _ bundle: String
    ) throws(AppleError) -> (customer: Int, transaction: StoredTransaction) {
        let index = try customer(id, environment)
        guard id != customers[index].life.identity.appTransactionId else {
            throw .appTransactionIdNotSupported
        }
        let all = customers[index].transactions(environment).filter { $0.bundleId == bundle }
        guard let found = all.first(where: { $0.transactionId == id }) else {
            throw .transactionIdNotFound
        }
        return (index, found)
    }

    func sign<Result>(_ body: () throws(MintError) -> Result) throws(AppleError) -> Result {
        do throws(MintError) { return try body() } catch { throw .generalInternalRetryable }
    }

    /// Signs a transaction. An injected fault makes its app or its signature wrong.
    func signed(
        _ transaction: StoredTransaction, of customer: Int, _ fault: StoreFault?
    ) throws(AppleError) -> String {
        let other = fault?.page == .otherApp ? "com.example.another-app" : nil
        let token = try sign { () throws(MintError) in
            try customers[customer].life.signedTransaction(
                transaction.name, at: now, bundleId: other)
        }
        return fault?.page == .badSignature ? token.withOtherSignature : token
    }

    // MARK: Single answers

    private func transaction(
        _ call: EndpointCall, _ bundle: String, _ fault: StoreFault?
    ) throws(AppleError) -> StoreResponse {
        let found = try transaction(call.parameters[0], call.environment, bundle)
        let token = try signed(found.transaction, of: found.customer, fault)
        return .json { $0.member("signedTransactionInfo", token) }
    }

    private func appTransaction(
        _ call: EndpointCall, _ bundle: String
    ) throws(AppleError) -> StoreResponse {
        let index = try customer(call.parameters[0], call.environment)
        guard bundle == settings.bundleId else { throw .transactionIdNotFound }
        let token = try sign { () throws(MintError) in
            try customers[index].life.signedAppTransaction(at: now)
        }
        return .json { $0.member("signedAppTransactionInfo", token) }
    }

    private mutating func finish(
        _ call: EndpointCall, _ bundle: String
    ) throws(AppleError) -> StoreResponse {
        let found = try transaction(call.parameters[0], call.environment, bundle)
        customers[found.customer].finished.insert(found.transaction.name)
        return .bare(200)
    }

    private func order(_ call: EndpointCall, _ bundle: String) throws(AppleError) -> StoreResponse {
        let order = call.parameters[0]
        var tokens: [String] = []
        for (index, customer) in customers.enumerated() {
            for transaction in customer.transactions(call.environment)
            where transaction.orderId == order && transaction.bundleId == bundle {
                tokens.append(try signed(transaction, of: index, nil))
            }
        }
        return .json { answer in
            answer.member("status", tokens.isEmpty ? 1 : 0 as Int64)
            answer.array("signedTransactions") { list in
                for token in tokens { list.value(token) }
            }
        }
    }

    // MARK: Statuses

    private func statuses(
        _ call: EndpointCall, _ request: StoreRequest, _ bundle: String, _ fault: StoreFault?
    ) throws(AppleError) -> StoreResponse {
        let index = try customer(call.parameters[0], call.environment)
        var wanted: Set<Int64> = []
        for (name, value) in request.query where name == "status" {
            guard let status = Int64(value), (1...5).contains(status) else { throw .invalidStatus }
            wanted.insert(status)
        }
        let life = customers[index].life
        var groups: [(id: String, last: [[UInt8]])] = []
        for subscription in life.subscriptions
        where subscription.environment == call.environment.rawValue
            && subscription.bundleId == bundle
        {
            let status = life.status(of: subscription, at: now)
            guard wanted.isEmpty || wanted.contains(status) else { continue }
            let token = try signed(subscription, of: index, fault)
            let renewal = try sign { () throws(MintError) in
                try life.signedRenewalInfo(subscription.original, at: now)
            }
            var writer = JSONWriter()
            writer.object { item in
                item.member("originalTransactionId", subscription.originalTransactionId)
                item.member("status", status)
                item.member("signedTransactionInfo", token)
                item.member("signedRenewalInfo", renewal)
            }
            let group = subscription.group ?? ""
            if let known = groups.firstIndex(where: { $0.id == group }) {
                groups[known].last.append(writer.text)
            } else {
                groups.append((group, [writer.text]))
            }
        }
        if fault?.page == .empty { groups = [] }
        return .json { answer in
            members(of: bundle, call.environment, &answer)
            answer.array("data") { list in
                for group in groups {
                    list.object { object in
                        object.member("subscriptionGroupIdentifier", group.id)
                        object.array("lastTransactions") { last in
                            for item in group.last { last.raw(item) }
                        }
                    }
                }
            }
        }
    }

    /// The unsigned members that name the app.
    func members(of bundle: String, _ environment: APIEnvironment, _ answer: inout JSONWriter) {
        answer.member("environment", environment.rawValue)
        answer.member("bundleId", bundle)
        if environment == .production { answer.member("appAppleId", settings.appAppleId) }
    }
}

extension StoreRequest {
    /// The member originalTransactionId of a JSON body; empty without one.
    fileprivate var originalTransactionId: String {
        guard let document = try? JSONDocument.parse(body) else { return "" }
        return document.root["originalTransactionId"]?.string ?? ""
    }

    /// The members of a JSON body.
    func object() throws(AppleError) -> JSONObject {
        guard let document = try? JSONDocument.parse(body, limit: LocalStoreLimits.jsonBytes),
            let object = document.root.members
        else { throw .generalBadRequest }
        return object
    }
}

extension StoredTransaction {
    /// The order of the purchase. Apple writes it in the customer's invoice; here it follows from
    /// the transaction id.
    var orderId: String { "M" + transactionId }
}

extension String {
    /// A token with a signature of the right form that does not hold.
    var withOtherSignature: String {
        guard let stop = lastIndex(of: ".") else { return self }
        let rest = self[index(after: stop)...]
        // The first character holds bits of r alone, so the length and r's range stay.
        let first: Character = rest.first == "A" ? "B" : "A"
        return self[...stop] + String(first) + rest.dropFirst()
    }
}
