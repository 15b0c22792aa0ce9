import AssayBytes
import AssayHTTP
import AssayIO
import AssayModels
import AssayWire

/// Calls of the services over HTTP/1.1: Connect and gRPC-Web.
extension HTTPSession {
    /// Decides what happens to the message of a call.
    func plan(
        _ head: HTTPHead, _ bytes: Span<UInt8>, _ method: RPCMethod, _ id: UInt64,
        _ connection: Connection
    ) throws(HTTPProblem) -> HTTPPlan {
        guard case .rpc(let form) = responses[id].content else {
            throw head.method == .get ? RPCQuery.missingEncoding : .wrongType(RPCForm.typeNames)
        }
        var call = try RPCCall(form, head, bytes)
        if head.method == .get {
            let message = try RPCQuery.message(of: head, bytes)
            take(call, connection.stream.hold(message.span), id, connection)
            return .skip
        }
        var limit = ServerLimits.httpFetchBytes
        if method.hasEvidence { limit = connection.limits.httpJSONBytes }
        if method == .fetch {
            responses[id].isFetch = true
            call.app = try appOfFetchKey(head, bytes, connection)
            guard canFetch(for: call.app, connection) else {
                connection.answerAtOnce(.fetch, .fetchNotConfigured(id))
                return .skip
            }
        }
        var size: Int?
        if case .length(let length) = head.body { size = length }
        if RPCArrival.canStream(form), call.compression == .identity || form.framing.hasFrames {
            call.arrival = RPCArrival(
                form, bodyBytes: size, headLimit: RPCFrame.prefixBytes + connection.limits.headBytes
            )
        } else if let size, size > limit {
            throw .bodyTooLarge(limit: limit)
        }
        return .message(call, limit: limit)
    }

    // MARK: Arriving messages

    /// Takes data of a message. Returns false if it needs more bytes.
    func takeMessage(
        _ count: Int, _ unread: SlabBytes, _ call: RPCCall, _ limit: Int, _ front: HTTPFront,
        _ connection: Connection
    ) -> Bool {
        let isWhole = !front.isChunked && count == front.body.announced
        guard var arrival = call.arrival, !isWhole else {
            return takeWhole(count, unread, limit, connection)
        }
        if front.isChunked {
            guard collect(count, unread, limit, connection) else { return true }
        } else {
            guard admitsPart(unread, connection) else { return true }
        }
        guard let bytes = front.isChunked ? collected.bytes : unread.extracting(0..<count) else {
            return false
        }
        do throws(HTTPProblem) {
            var call = call
            switch try arrival.next(in: bytes.span) {
            case .needMore: call.arrival = arrival
            case .evidence(let head, let range):
                let head = try call.requestHead(front.id, head, by: connection.context.codec)
                if begin(head, range, bytes, connection) { return true }
                call.arrival = nil
            case .whole: call.arrival = nil
            }
            if call.arrival == nil, !front.isChunked, front.body.announced > limit {
                throw .bodyTooLarge(limit: limit)
            }
            self.front?.plan = .message(call, limit: limit)
            if !front.isChunked {
                return call.arrival == nil && takeWhole(count, unread, limit, connection)
            }
        } catch {
            dropBody()
            refuse(front.id, error, connection)
            return true
        }
        if self.front?.body.isEnded == true { complete(connection) }
        return true
    }

    /// Decides about a call whose evidence begins to arrive. Returns false if it is read whole.
    ///
    /// - Parameter range: the evidence, in the bytes of the body from the first one on.
    private func begin(
        _ head: RequestHead, _ range: Range<Int>, _ bytes: SlabBytes, _ connection: Connection
    ) -> Bool {
        let intake = connection.context.intake
        switch intake.begin(
            head, bodyBytes: range.count, size: range.count, from: connection)
        {
        case .refused:
            dropBody()
            return true
        case .whole, .resolve: return false
        case .receipt(let arriving):
            receipt = arriving
            bodyRate = nil
            front?.plan = .receipt
            front?.hasSizedReceipt = true
            guard front?.isChunked == true else {
                didTake(range.lowerBound, ofData: true, connection)
                return true
            }
            collected.removeAll()
            feed(arriving, bytes.extracting(range.lowerBound..<bytes.count), connection)
            return true
        }
    }

    /// Passes the start of a receipt, which was collected, to its verification.
    private func feed(_ receipt: ArrivingReceipt, _ start: SlabBytes, _ connection: Connection) {
        guard start.count <= receipt.remaining else {
            return refuseRest(of: receipt, receipt.id, connection)
        }
        if !connection.context.intake.feed(receipt, collected: start, from: connection) {
            self.receipt = nil
            connection.context.intake.refuse(receipt, from: connection)
            front?.plan = .skip
        } else if front?.body.isEnded == true {
            complete(connection)
        }
    }

    /// Refuses a receipt with bytes after it, in a message whose size was not known before.
    func refuseRest(of receipt: ArrivingReceipt, _ id: UInt64, _ connection: Connection) {
        self.receipt = nil
        front?.plan = .skip
        connection.context.intake.drop(receipt, from: connection)
        refuse(
            id,
            HTTPProblem(
                400, .invalidArgument, "the evidence is not the last field of its message"),
            connection)
    }

    // MARK: Complete messages

    /// Reads a message that has arrived, and has its call performed.
    ///
    /// - Parameter body: nil if it is empty.
    func take(_ call: RPCCall, _ body: SlabBytes?, _ id: UInt64, _ connection: Connection) {
        let none: [UInt8] = []
        take(call, body ?? connection.stream.hold(none.span), id, connection)
    }

    private func take(_ call: RPCCall, _ body: SlabBytes, _ id: UInt64, _ connection: Connection) {
        let began = connection.requestBegan
        let limits = RPCRequest.Limits(
            headBytes: connection.limits.headBytes, items: connection.limits.resolveItems,
            messageBytes: connection.limits.httpJSONBytes)
        let (form, compression) = (call.form, call.compression)
        // A few fields, whose content is not looked at.
        if RPCArrival.canStream(form), compression == .identity {
            do throws(HTTPProblem) {
                try take(
                    RPCRequest(body.span, form, .identity, limits), of: body, call, id, connection,
                    began)
            } catch {
                refuse(id, error, connection)
            }
            return
        }
        let work = RPCRequest.work(body.span, form, compression, limits)
        perform(id, body, connection, work: work) { body throws(HTTPProblem) in
            try RPCRequest(body.span, form, compression, limits)
        } then: { [self] result in
            do throws(HTTPProblem) {
                try take(result.get(), of: body, call, id, connection, began)
            } catch {
                refuse(id, error, connection)
            }
            connection.updateBudget()
        }
    }

    private func take(
        _ request: RPCRequest, of body: SlabBytes, _ call: RPCCall, _ id: UInt64,
        _ connection: Connection, _ began: UInt64?
    ) throws(HTTPProblem) {
        var head = try call.requestHead(id, request.head, by: connection.context.codec)
        connection.reading.use(ServerLimits.turnShare(ofHead: request.head.count) - 1)
        let intake = connection.context.intake
        switch head.call {
        case .verify:
            guard !request.evidence.isEmpty else { throw .emptyEvidence }
        case .resolve(let resolve): head.call = .resolve(try request.resolve(resolve))
        case .health:
            guard RPCMethod.services.contains(where: { $0.equalsByBytes(request.service) }) else {
                throw HTTPProblem(404, .notFound, "the server has no such service")
            }
            return intake.answer(head, from: connection)
        case .info: return intake.answer(head, from: connection)
        case .fetch, .ping, .unknown: break
        }
        let evidence =
            switch request.evidence {
            case .part(let range): body.extracting(range)
            case .decoded(let bytes): connection.stream.hold(bytes.span)
            }
        intake.take(head, evidence, from: connection, began: began)
    }
}

extension RPCRequest {
    /// The call with the lengths of its items.
    fileprivate func resolve(_ call: ResolveCall) throws(HTTPProblem) -> ResolveCall {
        var call = call
        if call.items.isEmpty {
            call.items = lengths.map { _ in ResolveCall.Item(length: 0) }
        }
        guard call.items.count == lengths.count else {
            throw HTTPProblem(
                400, .invalidArgument,
                "call.items describes \(call.items.count) items, and the evidence has "
                    + "\(lengths.count): give one for each, or none")
        }
        for (index, length) in lengths.enumerated() {
            call.items[index].length = UInt32(length)
        }
        return call
    }
}
