import Assay
import AssayBytes
import AssayMint
import AssayModels
import TestSupport

@testable import AssayLocalStore

/// A store without a network, and the requests of a backend.
struct TestStore {
    var store: LocalStore
    /// What the backend answers to notifications.
    var backend: SendResult = .success
    /// The bodies that were posted.
    private(set) var posted: [[UInt8]] = []
    var bundleId = "com.example.game"

    /// 1 January 2025.
    static let start = Timestamp(milliseconds: 1_735_689_600_000)
    static let authority = Result { try DevelopmentCA.make(at: start) }
    /// Made at the first use: keys of RSA take a while.
    static let receiptAuthority = Result { try ReceiptCA.make(at: start) }
    /// The machine's clock of the requests.
    static let clock: Int64 = 1_800_000_000_000

    init(
        _ scenarios: String..., pageSize: Int? = nil, limitsRates: Bool = false,
        notifies: Bool = true, tokens: TokenCheck = TokenCheck(keys: [], issuer: nil),
        hasReceipts: Bool = false, sharedSecret: String? = nil, notifiesV1: Bool = false
    ) throws {
        let url = try NotificationTarget("http://127.0.0.1:1/n")
        let target = notifies ? url : nil
        let targetV1 = notifiesV1 ? url : nil
        store = try LocalStore(
            StoreSettings(
                authority: Self.authority.get(),
                receipts: hasReceipts ? Self.receiptAuthority.get() : nil,
                sharedSecret: sharedSecret, start: Self.start, tokens: tokens,
                production: target, sandbox: target, productionV1: targetV1,
                sandboxV1: targetV1, pageSize: pageSize, limitsRates: limitsRates))
        for name in scenarios { try add(name) }
    }

    mutating func add(_ name: String, _ environment: APIEnvironment = .production) throws {
        try store.add(Scenario.named(name), environment)
        deliver()
    }

    /// Moves time to its target, and sends what falls due.
    mutating func deliver() {
        while case .send(let id, let body, _) = store.nextWork() {
            posted.append(body)
            store.didSend(id, backend)
        }
    }

    mutating func advance(_ duration: String) throws {
        _ = try send(.post, "/advance", "{\"duration\":\"\(duration)\"}").json
    }

    // MARK: Requests

    struct Answer {
        let status: Int
        let body: [UInt8]
        let fields: [String: String]
        let delivery: StoreResponse.Delivery

        var json: JSONValue {
            get throws { try JSONDocument.parse(body, limit: .max).root }
        }

        /// Apple's code of an error.
        var code: Int? { (try? json["errorCode"]?.int64).flatMap { $0 }.map { Int($0) } }

        var tokens: [String] {
            get throws { try json["signedTransactions"]?.elements?.compactMap(\.string) ?? [] }
        }
    }

    mutating func send(
        _ method: StoreMethod, _ target: String, _ body: String = "", form: Bool = false,
        at time: Int64 = clock
    ) -> Answer {
        let parts = target.split(separator: "?", maxSplits: 1).map(String.init)
        let query = (parts.count > 1 ? parts[1] : "").split(separator: "&").map { pair in
            let sides = pair.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (name: String(sides[0]), value: sides.count > 1 ? String(sides[1]) : "")
        }
        let request = StoreRequest(
            method: method, path: parts[0], query: query,
            contentType: form ? "application/x-www-form-urlencoded" : "application/json",
            authorization: StoreToken.bearer(bundleId, at: time / 1000),
            body: Array(body.utf8), time: time)
        let answer: StoreResponse
        switch store.reply(to: request) {
        case .answer(let given):
            answer = given
            deliver()
        case .moving(let moved):
            deliver()
            answer = store.answer(moved)
        }
        let fields = Dictionary(answer.fields.map { ($0.name, $0.value) }) { $1 }
        return Answer(
            status: answer.status, body: answer.body, fields: fields, delivery: answer.delivery)
    }

    mutating func get(_ target: String) -> Answer { send(.get, target) }
}

/// The payload of a token, which the test trusts: other tests verify what the minter signs.
func payload(_ token: String) throws -> JSONValue {
    let segments = token.split(separator: ".").map { Array($0.utf8) }
    let segment = segments[1]
    let text = try Base64URL.decode(segment.span)
    return try JSONDocument.parse(text).root
}

/// The payload of a posted notification.
func notification(_ body: [UInt8]) throws -> JSONValue {
    try payload(try JSONDocument.parse(body).root["signedPayload"]?.string ?? "")
}
