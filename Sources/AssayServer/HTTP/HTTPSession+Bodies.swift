import AssayBytes
import AssayHTTP
import AssayIO
import AssayModels
import AssayWire

/// Reads the bodies of requests.
extension HTTPSession {
    func takeBody(_ connection: Connection, _ unread: SlabBytes) -> Bool {
        if case .receipt = front?.plan, receipt == nil { front?.plan = .skip }
        let step: HTTPBodyReader.Step
        do throws(HTTPFault) {
            // In place: a copy for each chunk takes longer than its data.
            guard let next = try front?.body.next(in: unread.span) else { return false }
            step = next
        } catch {
            refuse(error, connection)
            return true
        }
        switch step {
        case .needMore: return false
        case .end: complete(connection)
        case .framing(let count):
            didTake(count, ofData: false, connection)
            connection.reading.use(didReadFraming())
            // Between the lines of a batch the client is idle, and not slow.
            if connection.stream.received.unreadCount == 0, collected.isEmpty,
                front?.plan.isLines == true
            {
                connection.times.pace = nil
            }
            if front?.plan.isSkip == true { didSkip(count, connection) }
            if front?.body.isEnded == true { complete(connection) }
        case .data(let count):
            guard let front else { return false }
            responses.bodyHasBegun(of: front.id)
            return takeData(count, unread, front, connection)
        }
        return true
    }

    /// Counts bytes of a body that were dropped, and ends the connection if it has too many: a body
    /// in chunks has no end of its own.
    private func didSkip(_ count: Int, _ connection: Connection) {
        front?.skipped += count
        guard let skipped = front?.skipped, skipped > ServerLimits.refusedBodyBytes else {
            return
        }
        connection.telemetry.logFault("a refused body does not end")
        front = nil
        connection.end(nil)
    }

    /// Rejects the body that is arriving for lack of memory, and drops what has arrived.
    func refuseBody(_ connection: Connection) {
        guard let front else { return }
        if case .lines(let format, _) = front.plan {
            // The place of the next line is unknown.
            let id = responses.begin(format)
            refuse(id, HTTPProblem(ResponseHead.memoryExhausted(id)), connection)
            collected.removeAll()
            return connection.end(nil)
        }
        dropBody()
        connection.answerAtOnce(.verify, .memoryExhausted(front.id))
        let count = min(front.body.announced, connection.stream.received.unreadCount)
        didTake(count, ofData: true, connection)
        connection.stream.compactReceived()
        didSkip(count, connection)
        connection.updateBudget()
    }

    /// Takes data of a body. Returns false if it needs more bytes.
    private func takeData(
        _ count: Int, _ unread: SlabBytes, _ front: HTTPFront, _ connection: Connection
    ) -> Bool {
        switch front.plan {
        case .skip:
            didTake(count, ofData: true, connection)
            didSkip(count, connection)
        case .receipt:
            guard let receipt else { return true }
            if front.hasSizedReceipt, receipt.remaining == 0 {
                refuseRest(of: receipt, front.id, connection)
                return true
            }
            if front.isChunked, front.arrived + count > connection.limits.frameBytes {
                dropArriving(connection, nil)
                let limit = connection.limits.frameBytes
                refuseAndEnd(front.id, .bodyTooLarge(limit: limit), connection)
                return true
            }
            feed(receipt, unread.extracting(0..<count), connection)
        case .lines(let format, let limit):
            // Like a request, a line waits while too many are in flight.
            guard !connection.isFull else {
                connection.reading.awaitsAnswer = true
                return false
            }
            takeLine(count, unread, format, limit: limit, connection)
        case .evidence(_, let limit), .json(_, let limit), .resolve(_, let limit),
            .fetch(_, let limit), .sign(_, _, let limit):
            return takeWhole(count, unread, limit, connection)
        case .message(let call, let limit):
            return takeMessage(count, unread, call, limit, front, connection)
        }
        if self.front?.body.isEnded == true { complete(connection) }
        return true
    }

    /// Takes data of a body that is read whole. Returns false if it needs more bytes.
    func takeWhole(
        _ count: Int, _ unread: SlabBytes, _ limit: Int, _ connection: Connection
    ) -> Bool {
        guard let front else { return false }
        guard !front.isChunked else {
            if collect(count, unread, limit, connection), self.front?.body.isEnded == true {
                complete(connection)
            }
            return true
        }
        let length = front.body.announced
        guard count == length else {
            guard admitsPart(unread, connection) else { return true }
            connection.stream.received.expect(length)
            return false
        }
        let body = connection.stream.received.take(length)
        self.front?.body.didTake(length)
        connection.times.pace?.didTake(length)
        complete(connection, body)
        return true
    }

    /// Whether the budget admits a part of a body. If not, the request is refused.
    func admitsPart(_ unread: SlabBytes, _ connection: Connection) -> Bool {
        guard let front else { return false }
        guard connection.context.budget.admits(bodyOf: unread.count) else {
            dropBody()
            connection.answerAtOnce(.verify, .memoryExhausted(front.id))
            return false
        }
        beginRate(connection)
        return true
    }

    /// Begins to measure the rate of a body that is read whole.
    func beginRate(_ connection: Connection) {
        if bodyRate == nil { bodyRate = ArrivalRate(at: connection.now) }
    }

    /// Appends data of a chunked body. Returns false if it refused the request.
    func collect(
        _ count: Int, _ unread: SlabBytes, _ limit: Int, _ connection: Connection
    ) -> Bool {
        guard let front else { return false }
        let isTooLarge = front.arrived + count > limit
        if isTooLarge || !connection.context.budget.admits(bodyOf: connection.heldBody) {
            dropBody()
            if isTooLarge {
                refuseAndEnd(front.id, .bodyTooLarge(limit: limit), connection)
            } else {
                connection.answerAtOnce(.verify, .memoryExhausted(front.id))
            }
            return false
        }
        beginRate(connection)
        collected.append(unread.span.extracting(0..<count), limit: limit)
        didTake(count, ofData: true, connection)
        return true
    }

    /// Drops bytes at the front that were used.
    func didTake(_ count: Int, ofData isData: Bool, _ connection: Connection) {
        connection.skip(count)
        guard isData else { return }
        front?.body.didTake(count)
        front?.arrived += count
    }

    /// Passes a receipt's next bytes to its verification.
    private func feed(_ receipt: ArrivingReceipt, _ data: SlabBytes, _ connection: Connection) {
        if front?.isChunked == true, front?.hasSizedReceipt != true {
            receipt.willReceive(min(data.count, connection.context.turns.receiptSlice))
        }
        let before = receipt.remaining
        let fits = connection.context.intake.feed(receipt, data, from: connection)
        front?.body.didTake(before - receipt.remaining)
        front?.arrived += before - receipt.remaining
        guard !fits else { return }
        self.receipt = nil
        connection.context.intake.refuse(receipt, from: connection)
        front?.plan = .skip
    }

    // MARK: Complete requests

    /// Ends the request at the front, whose body has arrived.
    ///
    /// - Parameter body: the body, if it is in the receive buffer.
    func complete(_ connection: Connection, _ body: SlabBytes? = nil) {
        guard let front else { return }
        if case .lines(let format, _) = front.plan { endLines(format, connection) }
        self.front = nil
        bodyRate = nil
        let body = body ?? collected.take()
        switch front.plan {
        case .skip, .lines: break
        case .receipt:
            guard let receipt else { break }
            self.receipt = nil
            if receipt.remaining > 0 {
                connection.context.intake.drop(receipt, from: connection)
                refuse(front.id, .undecodable(.malformed), connection)
            } else if let problem = open(receipt, connection) {
                connection.context.intake.drop(receipt, from: connection)
                refuse(front.id, problem, connection)
            } else {
                connection.context.intake.complete(receipt, from: connection)
            }
        case .evidence(let question, _):
            complete(front.id, body, connection) { body in
                verify(body, question, front.id, connection)
            }
        case .json(let form, _):
            complete(front.id, body, connection) { body in
                parse(body, as: form, front.id, connection)
            }
        case .resolve(let app, _):
            complete(front.id, body, connection) { body in
                resolve(body, app: app, front.id, connection)
            }
        case .fetch(let app, _):
            complete(front.id, body, connection) { body in
                fetch(body, app: app, front.id, connection)
            }
        case .message(let call, _):
            take(call, body, front.id, connection)
        case .sign(let kind, let app, _):
            complete(front.id, body, connection) { body in
                sign(body, kind, app: app, front.id, connection)
            }
        }
        connection.telemetry.metrics.requestsReceived += 1
        connection.beginPace(began: connection.lastArrival)
        if front.closes { connection.end(nil) }
    }

    /// Reads what is around a receipt that has arrived in JSON. Returns the reason to refuse it.
    private func open(_ receipt: ArrivingReceipt, _ connection: Connection) -> HTTPProblem? {
        guard let envelope = receipt.envelope else { return nil }
        var format = responses[receipt.id]
        guard case .apple(let query) = format.content else { return nil }
        do throws(HTTPProblem) {
            let members = try envelope.finish()
            format.content = .apple(VerifyReceiptQuery(members, isSandbox: query.isSandbox))
            responses[receipt.id] = format
            let password = members["password"]?.string
            return receipt.admitted.app.secrets.admits(password: password) ? nil : .wrongPassword
        } catch {
            return error
        }
    }

    private func complete(
        _ id: UInt64, _ body: SlabBytes?, _ connection: Connection, _ action: (SlabBytes) -> Void
    ) {
        if let body, body.count > 0 { action(body) } else { refuse(id, .emptyBody, connection) }
    }

    /// Has the evidence verified, unless the admission rejects it.
    private func verify(
        _ evidence: SlabBytes, _ question: HTTPQuestion, _ id: UInt64, _ connection: Connection,
        began: UInt64? = nil
    ) {
        var question = question
        let isLine = responses[id].isLine
        // A batch prefers to wait, and its sender is not slow: the server reads at its own pace.
        if isLine, question.timeout == 0 {
            question.timeout = connection.limits.longestTimeoutMilliseconds
        }
        let head = question.head(id, as: question.estimate(evidence.span), mayWait: isLine)
        connection.context.intake.take(
            head, evidence, from: connection, began: isLine ? connection.now : began)
    }

    /// Reads a JSON body, and has its evidence verified.
    func parse(
        _ body: SlabBytes, as form: HTTPJSONBody.Form, _ id: UInt64, _ connection: Connection
    ) {
        let began = connection.requestBegan
        perform(id, body, connection) { body throws(HTTPProblem) in
            try HTTPJSONBody(body.span, as: form)
        } then: { [self] result in
            didParse(result, body, id, connection, began: began)
        }
    }

    /// Parses a body: a short one here, as a part of the connection's share of the turn, and others
    /// on a background thread.
    ///
    /// - Parameter work: the bytes to parse; nil for those of the body.
    func perform<Value: Sendable>(
        _ id: UInt64, _ body: SlabBytes, _ connection: Connection,
        work: Int? = nil,
        _ parse: @escaping @Sendable (SlabBytes) throws(HTTPProblem) -> Value,
        then done: @escaping (Result<Value, HTTPProblem>) -> Void
    ) {
        let bytes = work ?? body.count
        guard bytes > ServerLimits.bytesParsedInPlace else {
            connection.reading.use(ServerLimits.turnShare(ofJSON: body.span))
            return done(result(of: parse, body))
        }
        let mine = LoopBound(done, to: connection.stream.loop)
        let job = ParseJob(connection: connection, id: id, bytes: bytes) {
            let parsed = result(of: parse, body)
            return { mine.value(parsed) }
        }
        connection.context.intake.parse(job)
    }

    /// Reads the items of a Resolve, and has them verified and decided.
    private func resolve(_ body: SlabBytes, app: String, _ id: UInt64, _ connection: Connection) {
        let (began, limit) = (connection.requestBegan, connection.limits.resolveItems)
        perform(id, body, connection) { body throws(HTTPProblem) in
            try HTTPResolveBody(body.span, app: app, limit: limit)
        } then: { [self] result in
            switch result {
            case .failure(let problem): refuse(id, problem, connection)
            case .success(let parsed):
                let head = RequestHead(
                    id: id, call: .resolve(parsed.call), app: parsed.app,
                    timeoutMilliseconds: parsed.timeout)
                let evidence = connection.stream.hold(parsed.evidence.span)
                connection.context.intake.take(head, evidence, from: connection, began: began)
            }
            connection.updateBudget()
        }
    }

    /// Reads what to fetch, and has it fetched.
    private func fetch(_ body: SlabBytes, app: String?, _ id: UInt64, _ connection: Connection) {
        let began = connection.requestBegan
        perform(id, body, connection) { body throws(HTTPProblem) in
            try HTTPFetchBody(body.span, app: app)
        } then: { [self] result in
            switch result {
            case .failure(let problem): refuse(id, problem, connection)
            case .success(let parsed):
                let head = RequestHead(
                    id: id, call: .fetch(parsed.call), app: parsed.app,
                    timeoutMilliseconds: parsed.timeout)
                connection.context.intake.take(
                    head, body.extracting(0..<0), from: connection, began: began)
            }
        }
    }

    private func didParse(
        _ result: Result<HTTPJSONBody, HTTPProblem>, _ body: SlabBytes, _ id: UInt64,
        _ connection: Connection, began: UInt64?
    ) {
        switch result {
        case .failure(let problem): refuse(id, problem, connection)
        case .success(let parsed):
            responses[id] = responses[id].answering(parsed.question)
            let app = connection.context.admission.app(named: parsed.question.app)
            if parsed.question.content.isApple,
                app?.secrets.admits(password: parsed.password) == false
            {
                return refuse(id, .wrongPassword, connection)
            }
            let evidence =
                switch parsed.evidence {
                case .part(let range): body.extracting(range)
                case .decoded(let bytes): connection.stream.hold(bytes.span)
                }
            verify(evidence, parsed.question, id, connection, began: began)
        }
        connection.updateBudget()
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
