import AssayBytes
import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// Performs calls of the services.
extension RequestSession {
    /// Decides what happens to the message of a call.
    func plan(
        _ head: HTTPHead, _ bytes: Span<UInt8>, _ method: RPCMethod, _ id: UInt64,
        _ connection: Connection
    ) throws(HTTPProblem) -> HTTPBodyPlan {
        guard case .rpc(let form) = self[style: id].content, form.method == method else {
            throw head.method == .get
                ? RPCQuery.encodingFault(of: head, bytes)
                : .wrongType(RPCForm.typeNames).grpc(.unimplemented)
        }
        var call = try RPCCall(form, head, bytes)
        if head.method == .get {
            let message = try RPCQuery.message(of: head, bytes)
            take(
                call, connection.inlet.hold(message.span), id, connection,
                began: self.began(of: id, connection))
            return .skip
        }
        if method.isStreaming { return .messages(call, limit: connection.limits.httpJSONBytes) }
        let limit = RPCCall.messageLimit(method, connection.limits)
        if method.signs { call.app = try appOfSigner(method, head, bytes, connection) }
        if method == .fetch {
            self[style: id].isFetch = true
            call.app = try appOfFetchKey(head, bytes, connection)
            guard canFetch(for: call.app, connection) else {
                connection.answerAtOnce(
                    .fetch, .fetchNotConfigured(id), of: self[style: id].trace)
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
            throw HTTPBodyPlan.message(call, limit: limit).problem(above: limit)
        }
        return .message(call, limit: limit)
    }

    /// Reads a message that has arrived, and has its call performed.
    ///
    /// - Parameter began: when its first byte arrived.
    func take(
        _ call: RPCCall, _ body: SlabBytes, _ id: UInt64, _ connection: Connection,
        began: UInt64
    ) {
        let (form, compression) = (call.form, call.compression)
        let limits = RPCRequest.Limits(
            headBytes: connection.limits.headBytes, items: connection.limits.resolveItems,
            messageBytes: RPCCall.messageLimit(form.method, connection.limits))
        // A few fields, whose content is not examined.
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
        _ connection: Connection, _ began: UInt64
    ) throws(HTTPProblem) {
        if let kind = call.form.method.signature {
            return try sign(request, kind, call, id, connection)
        }
        try didRead(request, of: id)
        let codec = connection.context.codec
        var head = try request.head.withBytes(of: body.span) { bytes throws(HTTPProblem) in
            try call.requestHead(id, bytes, by: codec, &recentHead)
        }
        connection.inlet.pay(for: .fields(ofMessage: request.head.count))
        let service = connection.context.service
        switch head.call {
        case .verify:
            guard !request.evidence.isEmpty else { throw .emptyEvidence }
            if call.form.method == .signRetentionAnswer {
                head = try retention(request, head, call, connection)
            }
        case .resolve(let resolve): head.call = .resolve(try request.resolve(resolve))
        case .health:
            guard RPCMethod.services.contains(where: { $0.equalsByBytes(request.service) }) else {
                throw HTTPProblem(404, .notFound, "the server has no such service")
            }
            return service.answer(
                Request(head, as: self[style: id], began: began), from: connection.flow)
        case .info:
            return service.answer(
                Request(head, as: self[style: id], began: began), from: connection.flow)
        case .fetch, .ping, .unknown: break
        }
        service.take(
            Request(head, as: self[style: id], began: began),
            request.evidence.bytes(of: body, by: connection.inlet), from: connection.flow)
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
