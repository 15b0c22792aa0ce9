import Assay
import AssayBytes
import AssayMint

/// The calls about one customer, below `/customers/NUMBER`.
extension LocalStore {
    private static let customerCalls =
        "GET /customers/1/receipt, DELETE /customers/1, POST /customers/1/reset, "
        + "/customers/1/storefront, /customers/1/purchases and /customers/1/purchases/1"

    mutating func customerCall(_ request: StoreRequest) throws(StoreProblem) -> StoreReply {
        let parts = request.path.split(separator: "/").map(String.init)
        guard parts.count > 1, let number = Int(parts[1]),
            let index = customers.firstIndex(where: { $0.number == number && !$0.isRemoved })
        else { throw StoreProblem("no customer has this number: \(request.path)") }
        switch (request.method, parts.dropFirst(2).first, parts.count) {
        case (.get, "receipt", 3): return .answer(try receipt(of: customers[index], request))
        case (.delete, nil, 2):
            remove(index)
            return .answer(customersAnswer)
        case (.post, "reset", 3):
            beginMove(to: now)
            try reset(index)
        case (.post, "storefront", 3): try changeStorefront(index, request)
        case (.post, "purchases", 3): try buy(index, request)
        case (.post, "purchases", 4): try complete(parts[3], index, request)
        default:
            throw StoreProblem("a customer has no such call; the calls: \(Self.customerCalls)")
        }
        return .moving(.customer(number))
    }

    // MARK: Receipts

    /// What the app on the customer's device sends: its receipt now, or the transaction receipt of
    /// one purchase.
    private func receipt(
        of customer: StoreCustomer, _ request: StoreRequest
    ) throws(StoreProblem) -> StoreResponse {
        for (name, _) in request.query where name != "transactionId" {
            throw StoreProblem("unknown \"\(name)\": a receipt has transactionId")
        }
        let receipt: [UInt8]
        do throws(MintError) {
            if let id = request.query.first?.value {
                let found = customer.transactions(customer.environment)
                    .first { $0.transactionId == id }
                guard let found else {
                    return .problem(404, "the customer has no transaction \"\(id)\"")
                }
                receipt = try customer.life.transactionReceipt(found.name)
            } else {
                receipt = try customer.life.latestReceipt(at: now, finished: customer.finished)
                    .receipt
            }
        } catch {
            throw StoreProblem("the receipt can't be made: \(error.message)")
        }
        return StoreResponse(type: "text/plain; charset=utf-8", body: receipt)
    }

    // MARK: Purchases

    private mutating func changeStorefront(
        _ index: Int, _ request: StoreRequest
    ) throws(StoreProblem) {
        let body = try Self.members(request, ["storefront"])
        let code = body["storefront"]?.string
        guard let storefront = Storefront.all.first(where: { $0.code == code }) else {
            let codes = Storefront.all.map(\.code).joined(separator: ", ")
            throw StoreProblem("storefront must be one of \(codes)")
        }
        customers[index].life.storefront = storefront
    }

    private mutating func buy(_ index: Int, _ request: StoreRequest) throws(StoreProblem) {
        let body = try Self.members(request, ["productId", "waits"])
        guard let product = body["productId"]?.string, customers[index].life.canBuy(product) else {
            throw StoreProblem("productId must be a product of the customer's scenario")
        }
        guard let waits = body["waits"] else {
            return try completePurchase(of: product, index)
        }
        guard let reason = waits.string.flatMap(WaitingPurchase.Reason.init) else {
            let names = WaitingPurchase.Reason.allCases.map(\.rawValue).joined(separator: " or ")
            throw StoreProblem("waits must be \(names)")
        }
        guard customers[index].waiting.count < LocalStoreLimits.waitingPurchases else {
            throw StoreProblem("\(LocalStoreLimits.waitingPurchases) purchases wait")
        }
        customers[index].waiting.append(WaitingPurchase(productId: product, reason: reason))
    }

    /// Ends the wait of a purchase: it is completed, or it never happens.
    private mutating func complete(
        _ position: String, _ index: Int, _ request: StoreRequest
    ) throws(StoreProblem) {
        let body = try Self.members(request, ["completed"])
        let waiting = customers[index].waiting
        guard let number = Int(position), waiting.indices.contains(number - 1) else {
            throw StoreProblem("the customer has \(waiting.count) purchases that wait")
        }
        guard let isCompleted = body["completed"]?.bool else {
            throw StoreProblem("completed must be true or false")
        }
        let purchase = waiting[number - 1]
        if isCompleted { try completePurchase(of: purchase.productId, index) }
        customers[index].waiting.remove(at: number - 1)
    }

    private mutating func completePurchase(
        of product: String, _ index: Int
    ) throws(StoreProblem) {
        guard customers[index].purchases < LocalStoreLimits.purchases else {
            throw StoreProblem("the customer has bought enough: add another")
        }
        beginMove(to: now)
        do throws(MintError) {
            let notifications = try customers[index].life.buy(product, at: now)
            customers[index].purchases += 1
            for notification in notifications {
                send(notification, customer: customers[index].number)
            }
        } catch {
            throw StoreProblem("the purchase can't be made: \(error.message)")
        }
    }

    /// The members of a body that has no others.
    private static func members(
        _ request: StoreRequest, _ names: [String]
    ) throws(StoreProblem) -> JSONObject {
        let object = try body(request).object
        for (name, _) in object.pairs where !names.contains(name) {
            throw StoreProblem(
                "unknown \"\(name)\": the members: \(names.joined(separator: ", "))")
        }
        return object
    }
}
