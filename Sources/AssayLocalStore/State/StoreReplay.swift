import AssayMint
import AssayModels

/// Makes a store again from its inputs.
struct StoreReplay {
    private(set) var store: LocalStore
    /// Whether the result of a notification is awaited: until then, time stands still.
    private var isSending = false

    /// - Parameter store: a new one, as the first process had.
    init(_ store: LocalStore) { self.store = store }

    mutating func take(_ input: StoreInput) throws(StoreProblem) {
        switch input {
        case .initialCustomer(let source, let environment):
            try store.add(try Self.scenario(source), environment)
            // Its life begins with the process, when all of them are there.
            return
        case .began(let routes):
            isSending = false
            store.notify(Dictionary(routes.map { ($0, .earlier) }) { first, _ in first })
        case .request(var request, let bundleId):
            request.acceptedBundleId = bundleId
            _ = store.reply(to: request)
        case .moved(let moment): store.move(to: moment)
        case .sent(let id, let result, let isLast):
            store.didSend(id, result, isLast: isLast)
            isSending = false
        }
        if !isSending, case .send = store.nextWork() { isSending = true }
    }

    private static func scenario(_ source: [UInt8]) throws(StoreProblem) -> Scenario {
        do throws(MintError) { return try Scenario(json: source) } catch {
            throw StoreProblem("a scenario can't be read: \(error.message)")
        }
    }
}
