import Assay
import AssayMint

/// The calls about one customer, below `/customers/NUMBER`.
extension LocalStore {
    mutating func customerCall(_ request: StoreRequest) throws(StoreProblem) -> StoreReply {
        let parts = request.path.split(separator: "/").map(String.init)
        guard parts.count > 1, let number = Int(parts[1]),
            let index = customers.firstIndex(where: { $0.number == number })
        else { throw StoreProblem("no customer has this number: \(request.path)") }
        switch (request.method, parts.dropFirst(2).first, parts.count) {
        case (.get, "receipt", 3): return .answer(try receipt(of: customers[index], request))
        default:
            throw StoreProblem("a customer has no such call; the call: GET /customers/1/receipt")
        }
    }

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
}
