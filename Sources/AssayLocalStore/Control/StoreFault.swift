import AssayBytes

/// What the next requests of an endpoint meet instead of the right answer.
struct StoreFault: Sendable {
    /// It is nil for any endpoint.
    var endpoint: StoreEndpoint?
    /// It is nil for both environments.
    var environment: APIEnvironment?
    /// Requests that it still changes.
    var count: Int64 = 1
    /// The answer, instead of the right one; nil: the right one.
    var answer: StoreResponse?
    var page: Page?
    var delivery = StoreResponse.Delivery()
    /// Its JSON, for GET /faults.
    var source: [UInt8]

    /// A wrong page of history, refunds or notifications.
    enum Page: String, CaseIterable, Sendable {
        /// hasMore is true, and the revision moves, for ever.
        case endless
        /// hasMore is true, and the revision is the one of the request.
        case still
        /// No items, and hasMore is true.
        case empty
        /// The page begins with the last item of the page before it, with newer data.
        case repeated
        /// The tokens are of another app.
        case otherApp = "other-app"
        /// The tokens have wrong signatures.
        case badSignature = "bad-signature"
    }

    /// Milliseconds that a delay can last.
    private static let delays: ClosedRange<Int64> = 0...600_000

    private static let members = [
        "endpoint", "environment", "count", "status", "code", "retryAfter", "body", "delay",
        "dribble", "cut", "page",
    ]

    init(_ object: JSONObject, source: [UInt8]) throws(StoreProblem) {
        self.source = source
        for (name, _) in object.pairs where !Self.members.contains(name) {
            throw StoreProblem(
                "unknown \"\(name)\": a fault has " + Self.members.joined(separator: ", "))
        }
        if let name = object["endpoint"], name.string != "any" {
            guard let found = name.string.flatMap(StoreEndpoint.init) else {
                let names = StoreEndpoint.allCases.map(\.rawValue).joined(separator: ", ")
                throw StoreProblem("endpoint must be any, or one of \(names)")
            }
            endpoint = found
        }
        if let name = object["environment"] {
            guard let found = name.string.flatMap(APIEnvironment.init) else {
                let names = APIEnvironment.allCases.map(\.rawValue).joined(separator: " or ")
                throw StoreProblem("environment must be \(names)")
            }
            environment = found
        }
        count = try Self.number(object, "count", 1...LocalStoreLimits.faultCount) ?? 1
        answer = try Self.answer(object, of: endpoint)
        if let name = object["page"] {
            guard let found = name.string.flatMap(Page.init) else {
                let names = Page.allCases.map(\.rawValue).joined(separator: ", ")
                throw StoreProblem("page must be one of \(names)")
            }
            page = found
        }
        delivery.delay = UInt64(try Self.number(object, "delay", Self.delays) ?? 0)
        delivery.dribble = UInt64(try Self.number(object, "dribble", Self.delays) ?? 0)
        delivery.cut = try Self.number(object, "cut", 0...Int64(LocalStoreLimits.faultBody)).map {
            Int($0)
        }
        guard answer != nil || page != nil || delivery != StoreResponse.Delivery() else {
            throw StoreProblem(
                "the fault changes nothing: it needs one of status, code, body, delay, dribble, "
                    + "cut, page")
        }
    }

    /// The answer that takes the place of the right one.
    private static func answer(
        _ object: JSONObject, of endpoint: StoreEndpoint?
    ) throws(StoreProblem) -> StoreResponse? {
        let status = try number(object, "status", 200...599)
        let isVerifyReceipt = endpoint == .verifyReceipt
        let code = try number(
            object, "code", isVerifyReceipt ? 21_000...21_199 : 4_000_000...5_999_999)
        let body = object["body"]?.string
        guard status != nil || code != nil || body != nil else {
            guard object["retryAfter"] == nil else {
                throw StoreProblem("retryAfter needs a status or a code")
            }
            return nil
        }
        if let body, body.utf8.count > LocalStoreLimits.faultBody {
            throw StoreProblem("body has more than \(LocalStoreLimits.faultBody) bytes")
        }
        var answer: StoreResponse
        if let body {
            answer = StoreResponse(body: Array(body.utf8))
        } else if let code, isVerifyReceipt {
            answer = .json { object in
                object.member("status", code)
                // Apple's internal errors.
                if code >= 21_100 { object.member("is-retryable", true) }
            }
        } else if let code {
            let message = AppleError(rawValue: Int(code))?.message ?? "An injected fault."
            answer = .json(Int(code / 10_000)) { object in
                object.member("errorCode", code)
                object.member("errorMessage", message)
            }
        } else {
            answer = .bare(200)
        }
        if let status { answer.status = Int(status) }
        if let value = object["retryAfter"] {
            let text = value.string ?? value.int64.map(String.init)
            guard let text, text.utf8.allSatisfy({ $0 >= 0x20 && $0 < 0x7F }) else {
                throw StoreProblem("retryAfter must be a number or a text")
            }
            answer.fields = [("Retry-After", text)]
        }
        return answer
    }

    private static func number(
        _ object: JSONObject, _ name: String, _ range: ClosedRange<Int64>
    ) throws(StoreProblem) -> Int64? {
        guard let value = object[name] else { return nil }
        guard let number = value.int64, range.contains(number) else {
            throw StoreProblem(
                "\(name) must be a number from \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }
}

/// The faults that wait for requests, in the order in which they were added.
struct FaultList: Sendable {
    private(set) var faults: [StoreFault] = []

    mutating func add(_ fault: StoreFault) throws(StoreProblem) {
        guard faults.count < LocalStoreLimits.faults else {
            throw StoreProblem(
                "\(LocalStoreLimits.faults) faults wait: remove them with DELETE /faults")
        }
        faults.append(fault)
    }

    mutating func removeAll() { faults = [] }

    /// The fault of a request; it counts.
    mutating func take(_ call: EndpointCall) -> StoreFault? {
        let index = faults.firstIndex { fault in
            fault.endpoint ?? call.endpoint == call.endpoint
                && fault.environment ?? call.environment == call.environment
        }
        guard let index else { return nil }
        faults[index].count -= 1
        let fault = faults[index]
        if fault.count == 0 { faults.remove(at: index) }
        return fault
    }
}
