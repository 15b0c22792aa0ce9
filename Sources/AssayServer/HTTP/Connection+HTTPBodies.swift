import AssayHTTP
import AssayIO
import AssayModels
import AssayWire

/// Reads the bodies of a connection that speaks HTTP.
extension Connection {
    func takeBody(_ http: HTTPSession, _ unread: SlabBytes) -> Bool {
        if case .receipt = http.front?.plan, arriving?.receipt == nil { http.front?.plan = .skip }
        let step: HTTPBodyReader.Step
        do throws(HTTPFault) {
            // In place: a copy for each chunk takes longer than its data.
            guard let next = try http.front?.body.next(in: unread.span) else { return false }
            step = next
        } catch {
            refuse(error, http)
            return true
        }
        switch step {
        case .needMore: return false
        case .end: complete(http)
        case .framing(let count):
            didTake(count, ofData: false, http)
            framesThisTurn += http.didReadFraming()
            // Between the lines of a batch the client is idle, and not slow.
            if stream.received.unreadCount == 0, http.collected.isEmpty,
                http.front?.plan.isLines == true
            {
                pace = nil
            }
            if http.front?.plan.isSkip == true { didSkip(count, http) }
            if http.front?.body.isEnded == true { complete(http) }
        case .data(let count):
            guard let front = http.front else { return false }
            http.bodyHasBegun(of: front.id)
            return takeData(count, unread, front, http)
        }
        return true
    }

    /// Counts bytes of a body that were dropped, and ends the connection if it has too many: a body
    /// in chunks has no end of its own.
    private func didSkip(_ count: Int, _ http: HTTPSession) {
        http.front?.skipped += count
        guard let skipped = http.front?.skipped, skipped > ServerLimits.refusedBodyBytes else {
            return
        }
        telemetry.logFault("a refused body does not end")
        http.front = nil
        end(nil)
    }

    /// The bytes that have arrived of a body that is read whole.
    func arrivedBody(_ http: HTTPSession) -> Int {
        guard let front = http.front else { return 0 }
        return front.arrived + min(front.body.announced, stream.received.unreadCount)
    }

    /// Rejects the body that is arriving for lack of memory, and drops what has arrived.
    func refuseBody(_ http: HTTPSession) {
        guard let front = http.front else { return }
        if case .lines(let format, _) = front.plan {
            // The place of the next line is unknown.
            let id = http.begin(format)
            refuse(id, HTTPProblem(ResponseHead.memoryExhausted(id)), http)
            http.collected.removeAll()
            return end(nil)
        }
        http.dropBody()
        answerAtOnce(.verify, .memoryExhausted(front.id))
        let count = min(front.body.announced, stream.received.unreadCount)
        didTake(count, ofData: true, http)
        stream.compactReceived()
        didSkip(count, http)
        updateBudget()
    }

    /// Takes data of a body. Returns false if it needs more bytes.
    private func takeData(
        _ count: Int, _ unread: SlabBytes, _ front: HTTPFront, _ http: HTTPSession
    ) -> Bool {
        switch front.plan {
        case .skip:
            didTake(count, ofData: true, http)
            didSkip(count, http)
        case .receipt:
            guard let receipt = arriving?.receipt else { return true }
            if front.isChunked, front.arrived + count > limits.frameBytes {
                dropArriving()
                refuseAndEnd(front.id, .bodyTooLarge(limit: limits.frameBytes), http)
                return true
            }
            feed(receipt, unread.extracting(0..<count), http)
        case .lines(let format, let limit):
            // Like a request, a line waits while too many are in flight.
            guard !isFull else {
                awaitsAnswer = true
                return false
            }
            takeLine(count, unread, format, limit: limit, http)
        case .evidence(_, let limit), .json(_, let limit), .resolve(_, let limit),
            .fetch(_, let limit):
            guard !front.isChunked else {
                guard collect(count, unread, limit, http) else { return true }
                break
            }
            let length = front.body.announced
            guard count == length else {
                guard context.budget.admits(bodyOf: unread.count) else {
                    http.dropBody()
                    answerAtOnce(.verify, .memoryExhausted(front.id))
                    return true
                }
                beginRate(http)
                stream.received.expect(length)
                return false
            }
            let body = stream.received.take(length)
            http.front?.body.didTake(length)
            pace?.didTake(length)
            complete(http, body)
            return true
        }
        if http.front?.body.isEnded == true { complete(http) }
        return true
    }

    /// Begins to measure the rate of a body that is read whole.
    func beginRate(_ http: HTTPSession) {
        if http.bodyRate == nil { http.bodyRate = ArrivalRate(at: now) }
    }

    /// Appends data of a chunked body. Returns false if it refused the request.
    private func collect(
        _ count: Int, _ unread: SlabBytes, _ limit: Int, _ http: HTTPSession
    ) -> Bool {
        guard let front = http.front else { return false }
        let isTooLarge = front.arrived + count > limit
        if isTooLarge || !context.budget.admits(bodyOf: heldBody) {
            http.dropBody()
            if isTooLarge {
                refuseAndEnd(front.id, .bodyTooLarge(limit: limit), http)
            } else {
                answerAtOnce(.verify, .memoryExhausted(front.id))
            }
            return false
        }
        beginRate(http)
        http.collected.append(unread.span.extracting(0..<count), limit: limit)
        didTake(count, ofData: true, http)
        return true
    }

    /// Drops bytes at the front that were used.
    func didTake(_ count: Int, ofData isData: Bool, _ http: HTTPSession) {
        stream.received.skip(count)
        pace?.didTake(count)
        guard isData else { return }
        http.front?.body.didTake(count)
        http.front?.arrived += count
    }

    /// Passes a receipt's next bytes to its verification.
    private func feed(_ receipt: ArrivingReceipt, _ data: SlabBytes, _ http: HTTPSession) {
        if http.front?.isChunked == true {
            receipt.willReceive(min(data.count, context.turns.receiptSlice))
        }
        let before = receipt.remaining
        let fits = read(receipt, data)
        http.front?.body.didTake(before - receipt.remaining)
        http.front?.arrived += before - receipt.remaining
        guard !fits else { return }
        let canFit = context.budget.canFit(receipt: receipt.wanted)
        dropArriving()
        answerAtOnce(.verify, .memoryExhausted(receipt.id, canFit: canFit))
        http.front?.plan = .skip
    }

    // MARK: Complete requests

    /// Ends the request at the front, whose body has arrived.
    ///
    /// - Parameter body: the body, if it is in the receive buffer.
    func complete(_ http: HTTPSession, _ body: SlabBytes? = nil) {
        guard let front = http.front else { return }
        if case .lines(let format, _) = front.plan { endLines(format, http) }
        http.front = nil
        http.bodyRate = nil
        let body = body ?? http.collected.take()
        switch front.plan {
        case .skip, .lines: break
        case .receipt:
            if let receipt = arriving?.receipt {
                if let problem = open(receipt, http) {
                    dropArriving()
                    refuse(front.id, problem, http)
                    break
                }
                arriving = nil
                if !context.scheduler.verify(receipt, from: self) {
                    didAnswer(receipt.id)
                    answerAtOnce(.verify, .memoryExhausted(receipt.id))
                }
            }
        case .evidence(let question, _):
            complete(front.id, body, http) { body in
                verify(body, question, front.id)
            }
        case .json(let form, _):
            complete(front.id, body, http) { body in
                parse(body, as: form, front.id, http)
            }
        case .resolve(let app, _):
            complete(front.id, body, http) { body in
                resolve(body, app: app, front.id, http)
            }
        case .fetch(let app, _):
            complete(front.id, body, http) { body in
                fetch(body, app: app, front.id, http)
            }
        }
        arriving = nil
        didEndFrame()
        if front.closes { end(nil) }
    }

    /// Reads what is around a receipt that has arrived in JSON. Returns the reason to refuse it.
    private func open(_ receipt: ArrivingReceipt, _ http: HTTPSession) -> HTTPProblem? {
        guard let envelope = receipt.envelope else { return nil }
        var format = http.format(of: receipt.id)
        guard case .apple(let query) = format.content else { return nil }
        do throws(HTTPProblem) {
            let members = try envelope.finish()
            format.content = .apple(VerifyReceiptQuery(members, isSandbox: query.isSandbox))
            http.setFormat(of: receipt.id, format)
            let password = members["password"]?.string
            return receipt.admitted.app.secrets.admits(password: password) ? nil : .wrongPassword
        } catch {
            return error
        }
    }

    private func complete(
        _ id: UInt64, _ body: SlabBytes?, _ http: HTTPSession, _ action: (SlabBytes) -> Void
    ) {
        if let body, body.count > 0 { action(body) } else { refuse(id, .emptyBody, http) }
    }

    /// Has the evidence verified, unless the admission rejects it.
    private func verify(
        _ evidence: SlabBytes, _ question: HTTPQuestion, _ id: UInt64, began: UInt64? = nil
    ) {
        var question = question
        let isLine = http?.format(of: id).isLine ?? false
        // A batch prefers to wait, and its sender is not slow: the server reads at its own pace.
        if isLine, question.timeout == 0 { question.timeout = limits.longestTimeoutMilliseconds }
        let head = question.head(id, as: question.estimate(evidence.span), mayWait: isLine)
        take(head, evidence, began: isLine ? now : began)
    }

    /// Reads a JSON body, and has its evidence verified.
    func parse(
        _ body: SlabBytes, as form: HTTPJSONBody.Form, _ id: UInt64, _ http: HTTPSession
    ) {
        let began = frameBegan
        perform(id, body) { body throws(HTTPProblem) in
            try HTTPJSONBody(body.span, as: form)
        } then: { connection, result in
            connection.didParse(result, body, id, http, began: began)
        }
    }

    /// Parses a body: a short one here, as a part of the connection's share of the turn, and others
    /// on a worker's thread.
    private func perform<Value: Sendable>(
        _ id: UInt64, _ body: SlabBytes,
        _ parse: @escaping @Sendable (SlabBytes) throws(HTTPProblem) -> Value,
        then done: @escaping (Connection, Result<Value, HTTPProblem>) -> Void
    ) {
        guard body.count > ServerLimits.bytesParsedInPlace else {
            framesThisTurn += ServerLimits.turnShare(ofJSON: body.span)
            return done(self, result(of: parse, body))
        }
        let mine = LoopBound((self, done), to: stream.loop)
        let job = ParseJob(connection: self, id: id, bytes: body.count) {
            let parsed = result(of: parse, body)
            return {
                let (connection, done) = mine.value
                done(connection, parsed)
            }
        }
        context.scheduler.parses.add(job)
    }

    /// Reads the items of a Resolve, and has them verified and decided.
    private func resolve(_ body: SlabBytes, app: String, _ id: UInt64, _ http: HTTPSession) {
        let (began, limit) = (frameBegan, limits.resolveItems)
        perform(id, body) { body throws(HTTPProblem) in
            try HTTPResolveBody(body.span, app: app, limit: limit)
        } then: { connection, result in
            switch result {
            case .failure(let problem): connection.refuse(id, problem, http)
            case .success(let parsed):
                let head = RequestHead(
                    id: id, call: .resolve(parsed.call), app: parsed.app,
                    timeoutMilliseconds: parsed.timeout)
                let evidence = connection.stream.hold(parsed.evidence.span)
                connection.take(head, evidence, began: began)
            }
            connection.updateBudget()
        }
    }

    /// Reads what to fetch, and has it fetched.
    private func fetch(_ body: SlabBytes, app: String?, _ id: UInt64, _ http: HTTPSession) {
        let began = frameBegan
        perform(id, body) { body throws(HTTPProblem) in
            try HTTPFetchBody(body.span, app: app)
        } then: { connection, result in
            switch result {
            case .failure(let problem): connection.refuse(id, problem, http)
            case .success(let parsed):
                let head = RequestHead(
                    id: id, call: .fetch(parsed.call), app: parsed.app,
                    timeoutMilliseconds: parsed.timeout)
                connection.take(head, body.extracting(0..<0), began: began)
            }
        }
    }

    private func didParse(
        _ result: Result<HTTPJSONBody, HTTPProblem>, _ body: SlabBytes, _ id: UInt64,
        _ http: HTTPSession, began: UInt64?
    ) {
        switch result {
        case .failure(let problem): refuse(id, problem, http)
        case .success(let parsed):
            http.setFormat(of: id, http.format(of: id).answering(parsed.question))
            let app = context.admission.app(named: parsed.question.app)
            if parsed.question.content.isApple,
                app?.secrets.admits(password: parsed.password) == false
            {
                return refuse(id, .wrongPassword, http)
            }
            let evidence =
                switch parsed.evidence {
                case .part(let range): body.extracting(range)
                case .decoded(let bytes): stream.hold(bytes.span)
                }
            verify(evidence, parsed.question, id, began: began)
        }
        updateBudget()
    }
}

/// The result of parsing a body, on any thread.
private func result<Value>(
    of parse: (SlabBytes) throws(HTTPProblem) -> Value, _ body: SlabBytes
) -> Result<Value, HTTPProblem> {
    do throws(HTTPProblem) {
        return .success(try parse(body))
    } catch {
        return .failure(error)
    }
}
