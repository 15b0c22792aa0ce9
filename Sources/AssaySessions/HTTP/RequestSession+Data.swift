import AssayBytes
import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// Takes the data of requests.
extension RequestSession {
    /// Takes data of a request's body. Returns the bytes used; nil if it waits.
    ///
    /// - Parameter isLast: whether the body ends with it.
    func take(
        _ data: SlabBytes, of exchange: Arriving, isLast: Bool, _ connection: Connection
    ) -> Int? {
        var used = data.count
        switch exchange.plan {
        case .skip: break
        case .receipt(let receipt): used = feed(receipt, data, exchange, connection)
        case .lines(let style, let limit):
            // Like a request, a line waits while too many are in flight.
            guard !connection.waitsForAnswer() else { return nil }
            used = takeLine(data, style, exchange, limit: limit, connection)
        case .messages(let call, let limit):
            guard let count = takeMessages(data, call, exchange, limit: limit, connection) else {
                return nil
            }
            used = count
        case .message(let call, let limit):
            used = take(data, of: call, exchange, limit: limit, isLast: isLast, connection)
        case .evidence(let question, let limit) where exchange.dataCount + data.count > limit:
            used = outgrow(question, data, exchange, connection)
        case .evidence(_, let limit), .json(_, let limit), .resolve(_, let limit),
            .fetch(_, let limit), .sign(_, _, let limit):
            hold(data, exchange, limit: limit, connection)
        }
        exchange.arrived += used
        return used
    }

    /// Whether data is a whole body that is admitted, so that its request is performed without
    /// keeping it.
    ///
    /// - Parameter count: the bytes of the data, which ends the body.
    func takesAtOnce(_ count: Int, of exchange: Arriving, _ connection: Connection) -> Bool {
        exchange.dataCount == 0 && exchange.fits(count) && admits(count, connection)
    }

    /// Ends a request whose body has arrived.
    ///
    /// - Parameter body: the body, if nothing of it was used before.
    func didEndBody(
        of exchange: Arriving, whole body: SlabBytes? = nil, _ connection: Connection
    ) {
        let plan = exchange.takePlan()
        if case .lines(let style, _) = plan {
            answerLine(style, exchange, connection)
            return endLines(exchange, connection)
        }
        perform(plan, body ?? exchange.takeData(), exchange.id, connection)
    }

    // MARK: Bodies that are read whole

    /// Keeps data of a request that is read whole. Returns false if it refused the request.
    @discardableResult
    private func hold(
        _ data: SlabBytes, _ exchange: Arriving, limit: Int, _ connection: Connection
    ) -> Bool {
        guard exchange.dataCount + data.count <= limit else {
            drop(exchange, tooLarge: exchange.plan.problem(above: limit), connection)
            return false
        }
        guard admits(data.count, connection) else {
            refuseForMemory(exchange, connection)
            return false
        }
        exchange.hold(data, limit: limit, at: connection.now)
        return true
    }

    /// Whether the budget admits further bytes of a body that is read whole.
    func admits(_ count: Int, _ connection: Connection) -> Bool {
        connection.peer.admits(
            bodyOf: max(connection.heldBody, bodies.heldBytes + count))
    }

    func refuseForMemory(_ exchange: Arriving, _ connection: Connection) {
        drop(exchange)
        connection.answerAtOnce(
            .verify, .memoryExhausted(exchange.id), of: self[style: exchange.id].trace)
    }

    /// Has evidence that is too large to be read whole named, or verified as it arrives. Returns
    /// the bytes used.
    private func outgrow(
        _ question: HTTPParameters, _ data: SlabBytes, _ exchange: Arriving,
        _ connection: Connection
    ) -> Int {
        let bytes = exchange.announced ?? exchange.dataCount + data.count
        guard
            let receipt = outgrown(
                question, exchange.id, bytes: bytes, size: exchange.announced ?? 0, connection)
        else {
            drop(exchange)
            return data.count
        }
        let start = exchange.takeData()
        exchange.plan = .receipt(receipt)
        guard let start else { return feed(receipt, data, exchange, connection) }
        if exchange.announced == nil { receipt.willReceive(start.count) }
        guard connection.feed(receipt, start) else {
            drop(exchange)
            connection.context.service.refuse(receipt, from: connection.flow)
            return data.count
        }
        return feed(receipt, data, exchange, connection)
    }

    // MARK: Receipts

    /// Passes this turn's quota of a receipt's data to its verification. Returns the bytes used.
    private func feed(
        _ receipt: ArrivingReceipt, _ data: SlabBytes, _ exchange: Arriving,
        _ connection: Connection
    ) -> Int {
        let service = connection.context.service
        let slice = connection.context.turns.receiptSlice
        if exchange.hasSizedReceipt || exchange.announced != nil {
            guard receipt.remaining > 0 else {
                dropReceipt(of: exchange, connection)
                refuse(exchange.id, .evidenceNotLast, connection)
                return data.count
            }
        } else {
            let limit = connection.limits.frameBytes
            guard exchange.arrived + data.count <= limit else {
                dropReceipt(of: exchange, connection)
                drop(exchange, tooLarge: .evidenceTooLarge(limit: limit), connection)
                return data.count
            }
            receipt.willReceive(min(data.count, slice))
        }
        let count = min(data.count, receipt.remaining, slice)
        if !connection.feed(receipt, data.extracting(0..<count)) {
            drop(exchange)
            service.refuse(receipt, from: connection.flow)
        } else if receipt.remaining == 0 {
            didEndReceipt(receipt, of: exchange, connection)
        }
        return count
    }

    /// Drops the receipt that is arriving, and with it the request.
    func dropReceipt(of exchange: Arriving, _ connection: Connection) {
        guard let receipt = exchange.receipt else { return }
        drop(exchange)
        connection.context.service.drop(receipt, from: connection.flow)
    }

    // MARK: Messages

    /// Takes data of a message. Returns the bytes used.
    private func take(
        _ data: SlabBytes, of call: RPCCall, _ exchange: Arriving, limit: Int, isLast: Bool,
        _ connection: Connection
    ) -> Int {
        let before = exchange.dataCount
        // A message that arrives whole is examined once.
        let isWhole = isLast && before == 0 && data.count <= limit
        guard var arrival = call.arrival, !isWhole else {
            hold(data, exchange, limit: limit, connection)
            return data.count
        }
        let data = data.extracting(0..<min(data.count, ServerLimits.seekBytes))
        guard hold(data, exchange, limit: limit, connection), let bytes = exchange.data else {
            return data.count
        }
        do throws(HTTPProblem) {
            var call = call
            switch try arrival.next(in: bytes.span) {
            case .needMore: call.arrival = arrival
            case .whole: call.arrival = nil
            case .evidence(let head, let range):
                if let plan = try begin(head, range, call, exchange, connection) {
                    if plan.isSkip {
                        drop(exchange)
                        return data.count
                    }
                    exchange.removeData()
                    exchange.plan = plan
                    // The evidence begins in this part: the byte before it was missing.
                    return range.lowerBound - before
                }
                call.arrival = nil
            }
            if call.arrival == nil, let size = exchange.announced, size > limit {
                throw exchange.plan.problem(above: limit)
            }
            exchange.plan = .message(call, limit: limit)
        } catch {
            drop(exchange)
            refuse(exchange.id, error, connection)
        }
        return data.count
    }

    /// Decides about a call whose evidence begins to arrive. Returns nil if it is read whole.
    ///
    /// - Parameter range: the evidence, in the bytes of the body from the first one on.
    private func begin(
        _ head: [UInt8], _ range: Range<Int>, _ call: RPCCall, _ exchange: Arriving,
        _ connection: Connection
    ) throws(HTTPProblem) -> HTTPBodyPlan? {
        let head = try call.requestHead(
            exchange.id, head.span, by: connection.context.codec, &recentHead)
        switch connection.context.service.begin(
            Request(head, as: self[style: exchange.id], began: exchange.began),
            bodyBytes: range.count, size: range.count, from: connection.flow)
        {
        case .refused: return .skip
        case .whole, .resolve: return nil
        case .receipt(let receipt):
            exchange.hasSizedReceipt = true
            return .receipt(receipt)
        }
    }

    // MARK: Time

    /// Refuses a request that is arriving.
    func refuseArriving(
        _ exchange: Arriving, _ refusal: ResponseHead, _ connection: Connection
    ) {
        if exchange.receipt != nil {
            dropReceipt(of: exchange, connection)
        } else if case .lines(let style, _) = exchange.plan {
            return refuseLine(HTTPProblem(refusal), style, exchange, connection)
        } else {
            drop(exchange)
        }
        connection.answerAtOnce(.verify, refusal, of: self[style: exchange.id].trace)
    }
}

extension HTTPProblem {
    static let evidenceNotLast = HTTPProblem(
        400, .invalidArgument, "the evidence is not the last field of its message")
}
