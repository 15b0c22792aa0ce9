import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// Takes the data of requests, and opens the windows as it is used.
extension HTTP2Session {
    /// Takes data of a request. Returns false if it waits.
    func take(_ range: Range<Int>, _ number: Int32, _ connection: Connection) -> Bool {
        guard let stream = streams[number], let bytes = received else {
            next += 1
            engine.didUse(range.count, of: number)
            return true
        }
        let data = bytes.extracting(range)
        stream.pace.didReceive(at: connection.now)
        var used = range.count
        switch stream.plan {
        case .skip: break
        case .receipt(let receipt): used = feed(receipt, data, stream, connection)
        case .lines(let style, let limit):
            guard !connection.isFull else {
                connection.reading.awaitsAnswer = true
                return false
            }
            used = takeLine(data, stream, style, limit: limit, connection)
        case .messages(let call, let limit):
            guard canTakeMessage(call, connection) else { return false }
            used = takeMessages(data, call, stream, limit: limit, connection)
        case .message(let call, let limit):
            used = take(data, of: call, stream, limit: limit, connection)
        case .evidence(let question, let limit) where stream.dataCount + data.count > limit:
            used = outgrow(question, data, stream, connection)
        case .evidence(_, let limit), .json(_, let limit), .resolve(_, let limit),
            .fetch(_, let limit), .sign(_, _, let limit):
            hold(data, stream, limit: limit, connection)
        }
        stream.arrived += used
        engine.didUse(used, of: number)
        // The window opens.
        touch(connection, answers: 0)
        if used < range.count {
            events[next] = .data(stream: number, range.lowerBound + used..<range.upperBound)
        } else {
            next += 1
        }
        return true
    }

    /// Whether a message can be taken now. As in HTTP/1.1, a request waits while too many are in
    /// flight.
    private func canTakeMessage(_ call: RPCCall, _ connection: Connection) -> Bool {
        guard !connection.isFull else {
            connection.reading.awaitsAnswer = true
            return false
        }
        guard call.form.method == .verifyStream || connection.context.turns.canAnswerAtLength
        else {
            connection.reading.awaitsLongAnswer = true
            return false
        }
        return true
    }

    /// Changes what a stream holds.
    func update(_ stream: HTTP2Stream, _ change: (HTTP2Stream) -> Void) {
        let before = stream.heldBytes
        change(stream)
        collectedBytes += stream.heldBytes - before
    }

    /// Keeps data of a request that is read whole. Returns false if it refused the request.
    @discardableResult
    func hold(
        _ data: SlabBytes, _ stream: HTTP2Stream, limit: Int, _ connection: Connection
    ) -> Bool {
        guard stream.dataCount + data.count <= limit else {
            refuse(stream.id, stream.plan.problem(above: limit), connection)
            return false
        }
        guard connection.peer.admits(bodyOf: connection.heldBody + data.count) else {
            refuseForMemory(stream, connection)
            return false
        }
        let isFirst = stream.dataCount == 0
        update(stream) { $0.append(data, limit: limit) }
        if isFirst {
            if let other = streamInPlace { update(other) { $0.collect(limit: .max) } }
            streamInPlace = stream
        }
        return true
    }

    /// Has evidence that is too large to be read whole named, or verified as it arrives. Returns
    /// the bytes used.
    private func outgrow(
        _ question: HTTPParameters, _ data: SlabBytes, _ stream: HTTP2Stream,
        _ connection: Connection
    ) -> Int {
        let bytes = stream.announced ?? stream.dataCount + data.count
        guard
            let receipt = outgrown(
                question, stream.id, bytes: bytes, size: stream.announced ?? 0, connection)
        else {
            drop(stream)
            return data.count
        }
        var start: SlabBytes?
        update(stream) { start = $0.takeData() }
        stream.plan = .receipt(receipt)
        guard let start else { return feed(receipt, data, stream, connection) }
        if stream.announced == nil { receipt.willReceive(start.count) }
        guard connection.feed(receipt, collected: start) else {
            drop(stream)
            connection.context.service.refuse(receipt, from: connection.flow)
            return data.count
        }
        return feed(receipt, data, stream, connection)
    }

    func refuseForMemory(_ stream: HTTP2Stream, _ connection: Connection) {
        drop(stream)
        connection.answerAtOnce(.verify, .memoryExhausted(stream.id))
    }

    /// Passes this turn's quota of a receipt's data to its verification. Returns the bytes used.
    private func feed(
        _ receipt: ArrivingReceipt, _ data: SlabBytes, _ stream: HTTP2Stream,
        _ connection: Connection
    ) -> Int {
        let service = connection.context.service
        let slice = connection.context.turns.receiptSlice
        if stream.hasSizedReceipt || stream.announced != nil {
            guard receipt.remaining > 0 else {
                service.drop(receipt, from: connection.flow)
                drop(stream)
                refuse(stream.id, .evidenceNotLast, connection)
                return data.count
            }
        } else {
            let limit = connection.limits.frameBytes
            guard stream.arrived + data.count <= limit else {
                service.drop(receipt, from: connection.flow)
                drop(stream)
                refuse(stream.id, .evidenceTooLarge(limit: limit), connection)
                return data.count
            }
            receipt.willReceive(min(data.count, slice))
        }
        let count = min(data.count, receipt.remaining, slice)
        if !connection.feed(receipt, collected: data.extracting(0..<count)) {
            drop(stream)
            service.refuse(receipt, from: connection.flow)
        } else if receipt.remaining == 0, stream.messages != nil {
            endReceipt(stream, skipped: 0)
            connection.reading.use(1)
            service.complete(receipt, from: connection.flow)
        }
        return count
    }

    /// Takes data of a message. Returns the bytes used.
    private func take(
        _ data: SlabBytes, of call: RPCCall, _ stream: HTTP2Stream, limit: Int,
        _ connection: Connection
    ) -> Int {
        let before = stream.dataCount
        // A message that arrives whole is examined once.
        guard var arrival = call.arrival, before > 0 || !isWholeAfterData(stream.number) else {
            hold(data, stream, limit: limit, connection)
            return data.count
        }
        guard hold(data, stream, limit: limit, connection), let bytes = stream.data else {
            return data.count
        }
        do throws(HTTPProblem) {
            var call = call
            switch try arrival.next(in: bytes.span) {
            case .needMore: call.arrival = arrival
            case .whole: call.arrival = nil
            case .evidence(let head, let range):
                let head = try call.requestHead(stream.id, head, by: connection.context.codec)
                switch connection.context.service.begin(
                    Request(head, as: stream.style, began: stream.began),
                    bodyBytes: range.count, size: range.count, from: connection.flow)
                {
                case .refused:
                    drop(stream)
                    return data.count
                case .whole, .resolve: call.arrival = nil
                case .receipt(let receipt):
                    stream.plan = .receipt(receipt)
                    stream.hasSizedReceipt = true
                    update(stream) { $0.removeData() }
                    // The evidence begins in this part: the byte before it was missing.
                    return range.lowerBound - before
                }
            }
            stream.plan = .message(call, limit: limit)
        } catch {
            refuse(stream.id, error, connection)
        }
        return data.count
    }

    private func isWholeAfterData(_ number: Int32) -> Bool {
        guard next + 1 < events.count, case .end(number) = events[next + 1] else { return false }
        return true
    }
}
