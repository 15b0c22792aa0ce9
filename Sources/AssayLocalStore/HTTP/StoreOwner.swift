import AssayHTTP
import AssayIO
import AssayMint
import AssayModels

/// Connects the store to the network: requests in, answers and notifications out. Used on its
/// loop's thread.
final class StoreOwner: HTTPSite {
    private var store: LocalStore
    /// Keeps the store; nil for one in memory, or after a failure to write.
    private var journal: StoreJournal?
    /// The time that the journal has, where time goes by on its own.
    private var notedTime: Timestamp?
    private let loop: EventLoop
    /// Requests that are answered when time stands still.
    private var waiting: [(StoreReply.Moved, HTTPReply)] = []
    private var isSending = false
    private var ticker: AssayIO.Timer?

    init(_ store: LocalStore, _ journal: StoreJournal?, on loop: EventLoop) {
        self.store = store
        self.journal = journal
        self.loop = loop
    }

    /// Lets time go by, `speed` times as fast as the machine's clock.
    func run(speed: Double) throws(LoopError) {
        let period: UInt64 = 100
        let step = Int64((Double(period) * speed).rounded())
        let ticker = try AssayIO.Timer(on: loop)
        var ticks = 0
        notedTime = store.now
        ticker.start(afterMilliseconds: period, everyMilliseconds: period) { [self] in
            store.move(to: store.now.advanced(by: step))
            work()
            ticks += 1
            if ticks.isMultiple(of: Self.ticksOfAnEntry) { noteTime() }
        }
        self.ticker = ticker
    }

    /// Ticks between two entries of the time: a killed process loses a second.
    private static let ticksOfAnEntry = 10

    func begin() {
        let targets = store.settings.targets
        note(.began(notifying: NotificationRoute.allCases.filter { targets[$0] != nil }))
        work()
    }

    // MARK: Journal

    /// Writes an input before the store takes it.
    private func note(_ input: StoreInput) {
        noteTime()
        write(input)
    }

    func noteTime() {
        guard let noted = notedTime, case let time = store.target ?? store.now, time != noted
        else { return }
        write(.moved(to: time))
        notedTime = time
    }

    private func write(_ input: StoreInput) {
        do throws(LoopError) { try journal?.append(input) } catch {
            journal = nil
            store.problem = "the store is no longer kept: \(error)"
        }
    }

    /// Whether a request can change the store: one that only reads takes faults.
    private func canChange(_ request: StoreRequest) -> Bool {
        request.method != .get && !request.isVerifyReceipt || !store.faults.faults.isEmpty
    }

    // MARK: Requests

    func intake(of request: HTTPRequest) -> HTTPIntake {
        guard StoreMethod(request.method) != nil else {
            return .answer(problem(405, "the methods are GET, HEAD, POST, PUT and DELETE"))
        }
        guard request.parameters != nil else {
            return .answer(problem(400, "the query can't be read"))
        }
        return .body(limit: LocalStoreLimits.bodyBytes)
    }

    func answer(_ request: HTTPRequest, _ reply: HTTPReply) {
        // `intake` has refused the others.
        guard let request = StoreRequest(request, time: SystemClock.wallMilliseconds) else {
            return reply.close()
        }
        if journal != nil, canChange(request) {
            note(.request(request.kept, bundleId: try? store.bundleId(of: request)))
        }
        switch store.reply(to: request) {
        case .answer(let answer): send(answer, reply)
        case .moving(let moved):
            waiting.removeAll { !$0.1.isOpen }
            guard waiting.count < LocalStoreLimits.waiting else {
                reply.send(problem(503, "too many calls wait for time to move"))
                break
            }
            waiting.append((moved, reply))
        }
        // Calls of the API can make notifications too.
        work()
    }

    func problem(_ status: Int, _ reason: String) -> HTTPResponse {
        HTTPResponse(.problem(status, reason))
    }

    private func send(_ answer: StoreResponse, _ reply: HTTPReply) {
        guard answer.delivery != StoreResponse.Delivery() else {
            return reply.send(HTTPResponse(answer))
        }
        SlowAnswer.send(HTTPResponse(answer), answer.delivery, reply, on: loop)
    }

    // MARK: Notifications

    /// Moves time and sends what falls due, one notification after the other.
    private func work() {
        guard !isSending else { return }
        switch store.nextWork() {
        case .send(let id, let body, let target):
            isSending = true
            NotificationPost.start(body, to: target, on: loop) { [self] result, status in
                let isLast = status == 400 && !store.settings.sendsAgainAfter400
                note(.sent(id, result, isLast: isLast))
                store.didSend(id, result, isLast: isLast)
                isSending = false
                work()
            }
        case .none:
            let answered = waiting
            waiting = []
            for (moved, reply) in answered { send(store.answer(moved), reply) }
        }
    }
}

extension HTTPRequest {
    /// The parameters of the query; nil if they can't be read.
    fileprivate var parameters: [(name: String, value: String)]? {
        guard let query else { return [] }
        return HTTPQuery(query.span)?.parameters
    }
}

extension StoreMethod {
    fileprivate init?(_ method: HTTPHead.Method) {
        switch method {
        case .get, .head: self = .get
        case .post: self = .post
        case .put: self = .put
        case .delete: self = .delete
        case .options, .connect, .other: return nil
        }
    }
}

extension StoreRequest {
    fileprivate init?(_ request: HTTPRequest, time: Int64) {
        guard let method = StoreMethod(request.method), let query = request.parameters else {
            return nil
        }
        let type = request.contentType?.split(separator: ";").first.map(String.init) ?? ""
        self.init(
            method: method, path: request.path, query: query, contentType: type.lowercased(),
            authorization: request.authorization.map { Array($0.utf8) },
            body: request.body ?? [], time: time)
    }
}

extension HTTPResponse {
    fileprivate init(_ answer: StoreResponse) {
        self.init(
            answer.status, contentType: answer.body.isEmpty ? nil : answer.type,
            fields: answer.fields, body: answer.body)
        if contentType?.hasPrefix("text/html") == true {
            let policy =
                "default-src 'none'; style-src \(StoreStyle.source); form-action 'self'; "
                + "frame-ancestors 'none'"
            fields.append(("Content-Security-Policy", policy))
        }
    }
}
