import AssayBytes
import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// Reads the bodies of requests.
extension HTTPSession {
    func takeBody(_ connection: Connection, _ unread: SlabBytes) -> Bool {
        let step: HTTPBodyReader.Step
        do throws(HTTPFault) {
            // In place: a copy for each chunk takes longer than its data.
            guard let next = try current?.body.next(in: unread.span) else { return false }
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
                current?.plan.isLines == true
            {
                connection.times.pace = nil
            }
            if current?.plan.isSkip == true { didSkip(count, connection) }
            if current?.body.isEnded == true { complete(connection) }
        case .data(let count):
            guard let current else { return false }
            responses.bodyHasBegun(of: current.id)
            return takeData(count, unread, current, connection)
        }
        return true
    }

    /// Counts bytes of a body that were dropped, and ends the connection if it has too many: a body
    /// in chunks has no end of its own.
    private func didSkip(_ count: Int, _ connection: Connection) {
        current?.skipped += count
        guard let skipped = current?.skipped, skipped > ServerLimits.refusedBodyBytes else {
            return
        }
        connection.telemetry.logFault("a refused body does not end")
        current = nil
        connection.end(nil)
    }

    /// Rejects the body that is arriving for lack of memory, and drops what has arrived.
    func refuseBody(_ connection: Connection) {
        guard let current else { return }
        if case .lines(let style, _) = current.plan {
            // Where the next line begins is unknown.
            let id = responses.begin(style)
            refuse(id, HTTPProblem(ResponseHead.memoryExhausted(id)), connection)
            collected.removeAll()
            return connection.end(nil)
        }
        dropBody()
        connection.answerAtOnce(.verify, .memoryExhausted(current.id))
        let count = min(current.body.announced, connection.stream.received.unreadCount)
        didTake(count, ofData: true, connection)
        connection.stream.compactReceived()
        didSkip(count, connection)
        connection.updateBudget()
    }

    /// Takes data of a body. Returns false if it needs more bytes.
    private func takeData(
        _ count: Int, _ unread: SlabBytes, _ current: HTTPArrivingRequest, _ connection: Connection
    ) -> Bool {
        switch current.plan {
        // Streams of messages are HTTP/2's.
        case .skip, .messages:
            didTake(count, ofData: true, connection)
            didSkip(count, connection)
        case .receipt(let receipt):
            if current.hasSizedReceipt, receipt.remaining == 0 {
                refuseRest(of: receipt, current.id, connection)
                return true
            }
            if current.isChunked, current.arrived + count > connection.limits.frameBytes {
                dropArriving(connection, nil)
                let limit = connection.limits.frameBytes
                refuseAndEnd(current.id, .evidenceTooLarge(limit: limit), connection)
                return true
            }
            feed(receipt, unread.extracting(0..<count), connection)
        case .lines(let style, let limit):
            // Like a request, a line waits while too many are in flight.
            guard !connection.isFull else {
                connection.reading.awaitsAnswer = true
                return false
            }
            takeLine(count, unread, style, limit: limit, connection)
        case .evidence(_, let limit), .json(_, let limit), .resolve(_, let limit),
            .fetch(_, let limit), .sign(_, _, let limit):
            return takeWhole(count, unread, limit, connection)
        case .message(let call, let limit):
            return takeMessage(count, unread, call, limit, current, connection)
        }
        if self.current?.body.isEnded == true { complete(connection) }
        return true
    }

    /// Takes data of a body that is read whole. Returns false if it needs more bytes.
    func takeWhole(
        _ count: Int, _ unread: SlabBytes, _ limit: Int, _ connection: Connection
    ) -> Bool {
        guard let current else { return false }
        guard !current.isChunked else {
            if collect(count, unread, limit, connection), self.current?.body.isEnded == true {
                complete(connection)
            }
            return true
        }
        let length = current.body.announced
        guard count == length else {
            guard admitsPart(unread, connection) else { return true }
            connection.stream.received.expect(length)
            return false
        }
        let body = connection.stream.received.take(length)
        self.current?.body.didTake(length)
        connection.times.pace?.didTake(length)
        complete(connection, body)
        return true
    }

    /// Whether the budget admits a part of a body. If not, the request is refused.
    func admitsPart(_ unread: SlabBytes, _ connection: Connection) -> Bool {
        guard let current else { return false }
        guard connection.peer.admits(bodyOf: unread.count) else {
            dropBody()
            connection.answerAtOnce(.verify, .memoryExhausted(current.id))
            return false
        }
        beginRate(connection)
        return true
    }

    /// Begins to measure the rate of a body that is read whole.
    func beginRate(_ connection: Connection) {
        if bodyRate == nil { bodyRate = ArrivalRate(at: connection.now) }
    }

    /// Has evidence in chunks, which is too large to be read whole, named or verified as it
    /// arrives.
    ///
    /// - Parameter count: the next bytes, which are not taken yet.
    private func outgrow(
        _ question: HTTPParameters, _ current: HTTPArrivingRequest, _ count: Int,
        _ connection: Connection
    ) {
        let bytes = current.arrived + count
        guard let receipt = outgrown(question, current.id, bytes: bytes, size: 0, connection) else {
            return dropBody()
        }
        let start = collected.take()
        bodyRate = nil
        self.current?.plan = .receipt(receipt)
        guard let start else { return }
        receipt.willReceive(start.count)
        guard !connection.feed(receipt, collected: start) else {
            return
        }
        self.current?.plan = .skip
        connection.context.service.refuse(receipt, from: connection.flow)
    }

    /// Appends data of a chunked body. Returns false if it took none: the request is refused, or
    /// has another plan.
    func collect(
        _ count: Int, _ unread: SlabBytes, _ limit: Int, _ connection: Connection
    ) -> Bool {
        guard let current else { return false }
        let isTooLarge = current.arrived + count > limit
        if isTooLarge, case .evidence(let question, _) = current.plan {
            outgrow(question, current, count, connection)
            return false
        }
        if isTooLarge || !connection.peer.admits(bodyOf: connection.heldBody) {
            dropBody()
            if isTooLarge {
                refuseAndEnd(current.id, current.plan.problem(above: limit), connection)
            } else {
                connection.answerAtOnce(.verify, .memoryExhausted(current.id))
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
        current?.body.didTake(count)
        current?.arrived += count
    }

    /// Passes a receipt's next bytes to its verification.
    private func feed(_ receipt: ArrivingReceipt, _ data: SlabBytes, _ connection: Connection) {
        if current?.isChunked == true, current?.hasSizedReceipt != true {
            receipt.willReceive(min(data.count, connection.context.turns.receiptSlice))
        }
        let before = receipt.remaining
        let fits = connection.feed(receipt, data)
        current?.body.didTake(before - receipt.remaining)
        current?.arrived += before - receipt.remaining
        guard !fits else { return }
        current?.plan = .skip
        connection.context.service.refuse(receipt, from: connection.flow)
    }

    // MARK: Complete requests

    /// Ends the request at the front, whose body has arrived.
    ///
    /// - Parameter body: the body, if it is in the receive buffer.
    func complete(_ connection: Connection, _ body: SlabBytes? = nil) {
        guard let current else { return }
        if case .lines(let style, _) = current.plan { endLines(style, connection) }
        self.current = nil
        bodyRate = nil
        perform(current.plan, body ?? collected.take(), current.id, connection)
        connection.telemetry.didReceive()
        connection.beginPace(began: connection.lastArrival)
        if current.closes { connection.end(nil) }
    }
}
