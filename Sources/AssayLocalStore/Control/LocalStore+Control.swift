import AssayBytes
import AssayHTTP
import AssayMint
import AssayModels

/// What a request gets.
enum StoreReply: Sendable {
    /// The answer.
    case answer(StoreResponse)
    /// Time moves: the answer follows when it stands still, and all that was due was sent.
    case moving(Moved)

    enum Moved: Sendable {
        case advance
        case customer(Int)
        /// For a browser, which returns to the page.
        case page
    }
}

/// The store's own calls, by which a test moves time, adds customers and injects faults.
extension LocalStore {
    mutating func reply(to request: StoreRequest) -> StoreReply {
        if let call = EndpointCall(request.method, path: request.path) {
            return .answer(answer(call, request))
        }
        do throws(StoreProblem) {
            return try control(request)
        } catch {
            return .answer(.problem(400, error.reason))
        }
    }

    private static let paths =
        "/inApps/… and /sandbox/inApps/… as Apple's, /verifyReceipt and /sandbox/verifyReceipt; "
        + "/, /advance, /customers, /customers/NUMBER/…, /faults, /notifications, /requests, "
        + "/signatures, /retention-requests"

    private mutating func control(_ request: StoreRequest) throws(StoreProblem) -> StoreReply {
        switch (request.method, request.path) {
        case (.get, "/"):
            let page = StorePage(self).html
            return .answer(StoreResponse(type: "text/html; charset=utf-8", body: Array(page.utf8)))
        case (.post, "/advance"): return try advance(request)
        case (.post, "/customers"): return try addCustomer(request)
        case (.get, "/customers"): return .answer(customersAnswer)
        case (_, let path) where path.hasPrefix("/customers/"):
            return try customerCall(request)
        case (.post, "/signatures"): return .answer(try checkSignature(request))
        case (.post, "/retention-requests"): return .answer(try retentionRequest(request))
        case (.get, "/notifications"): return .answer(notificationsAnswer)
        case (.get, "/requests"): return .answer(requestsAnswer)
        case (.get, "/faults"): return .answer(faultsAnswer)
        case (.post, "/faults"):
            let body = try Self.body(request)
            try faults.add(StoreFault(body.object, source: request.body))
            return .answer(faultsAnswer)
        case (.delete, "/faults"):
            faults.removeAll()
            return .answer(faultsAnswer)
        case (_, "/advance"), (_, "/customers"), (_, "/faults"), (_, "/notifications"),
            (_, "/requests"), (_, "/signatures"), (_, "/retention-requests"), (_, "/"):
            return .answer(
                .problem(405, "\(request.path) has no method \(request.method.rawValue)"))
        default: return .answer(.problem(404, "no such path; the paths: \(Self.paths)"))
        }
    }

    /// The members of a JSON body, or of a form.
    static func body(
        _ request: StoreRequest
    ) throws(StoreProblem) -> (object: JSONObject, isForm: Bool) {
        // curl and urllib call any body a form; a form does not begin with a brace.
        let isObject = request.body.first { $0 > 0x20 } == UInt8(ascii: "{")
        if request.contentType == "application/x-www-form-urlencoded", !isObject {
            guard let form = HTTPQuery(request.body.span) else {
                throw StoreProblem("the form can't be read")
            }
            var writer = JSONWriter()
            var names: Set<String> = []
            writer.object { object in
                for (name, value) in form.parameters where names.insert(name).inserted {
                    object.member(name, value)
                }
            }
            guard let document = try? JSONDocument.parse(writer.text),
                let object = document.root.members
            else { throw StoreProblem("the form can't be read") }
            return (object, true)
        }
        do throws(JSONError) {
            let document = try JSONDocument.parse(request.body, limit: LocalStoreLimits.jsonBytes)
            return (try document.members(), false)
        } catch {
            throw StoreProblem("the body must be a JSON object: \(error)")
        }
    }

    // MARK: Time

    private static let advanceHelp =
        "write {\"duration\": \"30d\"}, {\"to\": \"next\"} or {\"to\": MILLISECONDS}"

    private mutating func advance(_ request: StoreRequest) throws(StoreProblem) -> StoreReply {
        let (object, isForm) = try Self.body(request)
        for (name, _) in object.pairs where name != "duration" && name != "to" {
            throw StoreProblem("unknown \"\(name)\": \(Self.advanceHelp)")
        }
        let moment: Timestamp
        switch (object["duration"], object["to"]) {
        case (let duration?, nil):
            guard let text = duration.string, let time = ScenarioTime.parse(text), time >= 0 else {
                throw StoreProblem("duration must be such as \"30d\" or \"1d12h\"")
            }
            moment = now.advanced(by: time)
        case (nil, let to?) where to.string == "next":
            moment = nextEvent ?? now
        case (nil, let to?):
            guard let time = to.int64, time >= now.milliseconds else {
                throw StoreProblem(
                    "to must be \"next\", or milliseconds since 1970 from \(now.milliseconds) on: "
                        + "time does not go back")
            }
            moment = Timestamp(milliseconds: time)
        case (nil, nil), (.some, .some): throw StoreProblem(Self.advanceHelp)
        }
        guard moment.milliseconds <= lastMoment else {
            let end = Timestamp(milliseconds: lastMoment).rfc3339
            throw StoreProblem(
                "the authority's certificate ends at \(end), and so does the store's time; an "
                    + "earlier --start leaves more")
        }
        beginMove(to: moment)
        return .moving(isForm ? .page : .advance)
    }

    mutating func beginMove(to moment: Timestamp) {
        if target == nil {
            stepsTaken = []
            sent = []
        }
        move(to: moment)
    }

    /// The answer to a move that has ended.
    func answer(_ moved: StoreReply.Moved) -> StoreResponse {
        switch moved {
        case .page:
            var answer = StoreResponse.bare(303)
            answer.fields = [("Location", "/")]
            return answer
        case .customer(let number):
            return .json(201) { customers[number - 1].write(to: &$0, at: now) }
        case .advance:
            return .json { answer in
                answer.member("now", now.milliseconds)
                answer.member("time", now.rfc3339Milliseconds)
                answer.array("steps") { list in
                    for step in stepsTaken {
                        list.object { item in
                            item.member("customer", Int64(step.customer))
                            item.member("at", step.at.milliseconds)
                            item.member("title", step.title)
                        }
                    }
                }
                answer.array("sent") { list in
                    for attempt in sent {
                        list.object { item in
                            item.member("notification", attempt.words)
                            item.member("notificationUUID", attempt.uuid)
                            if attempt.isVersion1 { item.member("version", Int64(1)) }
                            item.member("customer", attempt.customer.map { Int64($0) })
                            item.member("at", attempt.at.milliseconds)
                            item.member("result", attempt.result.rawValue)
                        }
                    }
                }
                answer.member("next", nextEvent?.milliseconds)
                answer.member("problem", problem)
            }
        }
    }

    // MARK: Customers

    private mutating func addCustomer(_ request: StoreRequest) throws(StoreProblem) -> StoreReply {
        let (object, isForm) = try Self.body(request)
        let names = ["scenario", "environment", "accelerated"]
        for (name, _) in object.pairs where !names.contains(name) {
            throw StoreProblem(
                "unknown \"\(name)\": a customer has scenario, environment and accelerated")
        }
        var environment = APIEnvironment.production
        if let name = object["environment"] {
            guard let found = name.string.flatMap(APIEnvironment.init) else {
                throw StoreProblem("environment must be Production or Sandbox")
            }
            environment = found
        }
        guard let value = object["scenario"] else {
            throw StoreProblem("scenario must be a name, or the object of a scenario file")
        }
        let scenario: Scenario
        do throws(MintError) {
            if let name = value.string {
                scenario = try Scenario.named(name)
            } else {
                scenario = try Scenario(json: value.raw)
            }
        } catch {
            throw StoreProblem("the scenario can't be used: \(error.message)")
        }
        var accelerated = false
        if let value = object["accelerated"] {
            // A form has texts.
            guard let flag = value.bool ?? value.string.flatMap({ Bool($0) }) else {
                throw StoreProblem("accelerated must be true or false")
            }
            accelerated = flag
        }
        guard !accelerated || environment == .sandbox else {
            throw StoreProblem("accelerated is for the environment Sandbox")
        }
        beginMove(to: now)
        let number = try add(accelerated ? scenario.accelerated : scenario, environment)
        return .moving(isForm ? .page : .customer(number))
    }

    var customersAnswer: StoreResponse {
        .json { answer in
            answer.member("now", now.milliseconds)
            answer.array("customers") { list in
                for customer in customers where !customer.isRemoved {
                    list.object { customer.write(to: &$0, at: now) }
                }
            }
        }
    }

    // MARK: Lists

    private var faultsAnswer: StoreResponse {
        .json { answer in
            answer.array("faults") { list in
                for fault in faults.faults {
                    list.object { item in
                        item.member("left", fault.count)
                        item.member("fault", raw: fault.source)
                    }
                }
            }
        }
    }

    private var notificationsAnswer: StoreResponse {
        .json { answer in
            answer.array("notifications") { list in
                for entry in notifications.entries {
                    list.object { item in
                        item.member("notification", entry.notification.words)
                        item.member("notificationUUID", entry.notification.uuid)
                        if entry.notification.isVersion1 { item.member("version", Int64(1)) }
                        item.member("customer", entry.customer.map { Int64($0) })
                        item.member("environment", entry.notification.environment)
                        item.member("made", entry.made.milliseconds)
                        item.member("next", entry.next?.milliseconds)
                        item.array("attempts") { attempts in
                            for attempt in entry.attempts {
                                attempts.object { object in
                                    object.member("at", attempt.at.milliseconds)
                                    object.member("result", attempt.result.rawValue)
                                }
                            }
                        }
                    }
                }
            }
        }
    }

    private var requestsAnswer: StoreResponse {
        .json { answer in
            answer.member("total", Int64(requests.total))
            answer.array("requests") { list in
                for entry in requests.entries {
                    list.object { item in
                        item.member("time", entry.time)
                        item.member("method", entry.method.rawValue)
                        item.member("path", entry.path)
                        item.member("environment", entry.environment.rawValue)
                        item.member("status", Int64(entry.status))
                        item.member("note", entry.note)
                    }
                }
            }
        }
    }
}

extension Scenario {
    /// The built-in scenario with this name.
    static func named(_ name: String) throws(MintError) -> Scenario {
        let all = try builtIn
        guard let found = all.first(where: { $0.name == name }) else {
            throw .malformedScenario(
                "no scenario is named \"\(name)\"; 'assay mint scenario --list' lists them")
        }
        return found
    }
}

extension StoreCustomer {
    func write(to object: inout JSONWriter, at now: Timestamp) {
        object.member("customer", Int64(number))
        object.member("scenario", life.scenario.name)
        object.member("environment", environment.rawValue)
        object.member("appTransactionId", life.identity.appTransactionId)
        object.member("appAccountToken", life.identity.appAccountToken)
        object.member("storefront", life.storefront.code)
        object.array("steps") { list in
            for (index, step) in life.scenario.steps.enumerated() {
                list.object { item in
                    item.member("at", life.start.advanced(by: step.at).milliseconds)
                    item.member("title", step.title)
                    item.member("taken", index < life.stepsTaken)
                }
            }
        }
        let subscriptions = life.subscriptions
        object.array("transactions") { list in
            for transaction in life.transactions {
                list.object { item in
                    item.member("transactionId", transaction.transactionId)
                    item.member("originalTransactionId", transaction.originalTransactionId)
                    item.member("orderId", transaction.orderId)
                    item.member("productId", transaction.productId)
                    item.member("environment", transaction.environment)
                    item.member("purchaseDate", transaction.purchaseDate)
                    item.member("expiresDate", transaction.expiresDate)
                    item.member("revocationDate", transaction.revocationDate)
                    if subscriptions.contains(where: { $0.name == transaction.name }) {
                        item.member("status", life.status(of: transaction, at: now))
                    }
                }
            }
        }
        object.array("waiting") { list in
            for purchase in waiting {
                list.object { item in
                    item.member("productId", purchase.productId)
                    item.member("waits", purchase.reason.rawValue)
                }
            }
        }
        object.array("consumption") { list in
            for report in consumption {
                list.object { item in
                    item.member("transactionId", report.transactionId)
                    item.member("request", raw: report.body)
                }
            }
        }
    }
}
