import AssayBytes
import AssayHTTP
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// Calls with streams of messages: VerifyStream, Watch of gRPC's health protocol, and reflection.
/// Each message of VerifyStream is a request of its own.
extension HTTP2Session {
    /// Begins the answer, before the first message arrives.
    func beginMessages(_ call: RPCCall, limit: Int, _ stream: HTTP2Stream, _ connection: Connection)
    {
        stream.messages = HTTP2Messages(call, limit: limit)
        stream.isAnswered = true
        engine.answer(stream.number, head(of: call.form, stream), body: [], isOpen: true)
        touch(connection, answers: 0)
    }

    private func head(of form: RPCForm, _ stream: HTTP2Stream) -> HTTP2Fields {
        guard form.framing == .connectStream else { return .grpc(form) }
        var fields: [(name: String, value: String)] = [
            (":status", "200"), ("content-type", form.type), RPCStatus.acceptedConnectEncodings,
        ]
        if let origin = stream.style.origin {
            fields += [("access-control-allow-origin", origin), ("vary", "Origin")]
        }
        return HTTP2Fields(fields)
    }

    func didRead(_ request: RPCRequest, of id: UInt64) throws(HTTPProblem) {
        guard let (stream, part) = stream(of: id), part > 0 else { return }
        stream.messages?.name(part, request.id)
        // Only now the refusal has the client's number.
        if case .final = end { throw HTTPProblem(ResponseHead.unavailable(id)) }
    }

    // MARK: Data

    /// Takes data of messages. Returns the bytes used; nil if they wait, as a request does.
    func takeMessages(
        _ data: SlabBytes, _ call: RPCCall, _ stream: HTTP2Stream, limit: Int,
        _ connection: Connection
    ) -> Int? {
        guard !connection.waitsForAnswer() else { return nil }
        if call.form.method != .verifyStream, connection.waitsForLongAnswer() { return nil }
        if let skipped = stream.messages?.skipped, skipped > 0 {
            let count = min(skipped, data.count)
            stream.messages?.skipped -= count
            return count
        }
        let before = stream.dataCount
        if before == 0 {
            // Each message has its own time to arrive.
            stream.pace.didPause(stream.arrived, at: connection.now)
            stream.messages?.arrival = nil
        }
        do throws(HTTPProblem) {
            if before == 0, let frame = try RPCFrame(data.span, call.compression) {
                let end = RPCFrame.prefixBytes + frame.length
                if end <= data.count {
                    guard frame.length <= limit else {
                        throw HTTPBodyPlan.message(call, limit: limit).problem(above: limit)
                    }
                    take(data.extracting(0..<end), call, stream, connection)
                    return end
                }
            }
            return try collect(data, call, stream, limit: limit, connection)
        } catch {
            end(stream, by: error, connection)
            return data.count
        }
    }

    /// Collects the message that is arriving. Returns the bytes used.
    private func collect(
        _ data: SlabBytes, _ call: RPCCall, _ stream: HTTP2Stream, limit: Int,
        _ connection: Connection
    ) throws(HTTPProblem) -> Int {
        let before = stream.dataCount
        var frame = try stream.data.flatMap { bytes throws(HTTPProblem) in
            try RPCFrame(bytes.span, call.compression)
        }
        if before == 0 { frame = try RPCFrame(data.span, call.compression) }
        guard let frame else {
            // Of the prefix, whatever follows it.
            let count = min(RPCFrame.prefixBytes - before, data.count)
            try keep(data.extracting(0..<count), stream, connection)
            return count
        }
        let end = RPCFrame.prefixBytes + frame.length
        if stream.messages?.arrival == nil, before <= RPCFrame.prefixBytes,
            end > connection.limits.streamedReceiptBytes, !frame.isCompressed,
            RPCArrival.canStream(call.form)
        {
            stream.messages?.arrival = RPCArrival(
                call.form, bodyBytes: end,
                headLimit: RPCFrame.prefixBytes + connection.limits.headBytes)
        }
        let arrives = stream.messages?.arrival != nil
        guard arrives || frame.length <= limit else {
            throw HTTPBodyPlan.message(call, limit: limit).problem(above: limit)
        }
        let count = min(end - before, data.count)
        try keep(data.extracting(0..<count), stream, connection)
        if arrives, let used = try lookForEvidence(call, stream, from: before, connection) {
            return used
        }
        guard stream.messages?.arrival != nil || frame.length <= limit else {
            throw HTTPBodyPlan.message(call, limit: limit).problem(above: limit)
        }
        guard stream.dataCount == end else { return count }
        if let message = stream.takeData() { take(message, call, stream, connection) }
        return count
    }

    private func keep(
        _ data: SlabBytes, _ stream: HTTP2Stream, _ connection: Connection
    ) throws(HTTPProblem) {
        guard admits(data.count, connection) else {
            throw HTTPProblem(ResponseHead.memoryExhausted(stream.id))
        }
        stream.hold(data, limit: .max, at: connection.now)
        stream.collect()
    }

    /// Begins to verify a receipt as it arrives. Returns the bytes used if the rest of the message
    /// is not collected.
    private func lookForEvidence(
        _ call: RPCCall, _ stream: HTTP2Stream, from before: Int, _ connection: Connection
    ) throws(HTTPProblem) -> Int? {
        guard var arrival = stream.messages?.arrival, let bytes = stream.data else { return nil }
        switch try arrival.next(in: bytes.span) {
        case .needMore:
            stream.messages?.arrival = arrival
            return nil
        case .whole:
            stream.messages?.arrival = nil
            return nil
        case .evidence(let head, let range):
            stream.messages?.arrival = nil
            let id = begin(stream)
            var request = try call.requestHead(
                id, head.span, by: connection.context.codec, &recentHead)
            let item = try call.item(of: head, by: connection.context.codec)
            stream.messages?.name(id >> 32, item)
            request.id = id
            let used = range.lowerBound - before
            switch connection.context.service.begin(
                Request(request, as: self[style: id], began: connection.lastArrival),
                bodyBytes: range.count, size: range.count, from: connection.flow)
            {
            case .refused:
                stream.removeData()
                stream.messages?.skipped = range.count
                return used
            case .receipt(let receipt):
                stream.removeData()
                stream.plan = .receipt(receipt)
                stream.hasSizedReceipt = true
                return used
            case .whole, .resolve:
                // Its number is given again when it is whole.
                stream.messages?.didAnswer(id >> 32)
                return nil
            }
        }
    }

    /// Goes on with the next message, after the receipt of this one.
    ///
    /// - Parameter skipped: bytes of the receipt that were not used.
    func endReceipt(_ stream: HTTP2Stream, skipped: Int) {
        guard let messages = stream.messages else { return }
        stream.plan = .messages(messages.call, limit: messages.limit)
        stream.messages?.skipped = skipped
        stream.hasSizedReceipt = false
    }

    // MARK: Messages

    private func begin(_ stream: HTTP2Stream) -> UInt64 {
        let number = stream.messages?.begin() ?? 0
        return number << 32 | stream.id
    }

    /// Takes a message that has arrived, with its prefix.
    private func take(
        _ message: SlabBytes, _ call: RPCCall, _ stream: HTTP2Stream, _ connection: Connection
    ) {
        connection.inlet.pay(for: .requests(1))
        stream.messages?.hasMessage = true
        switch call.form.method {
        case .verifyStream:
            let id = begin(stream)
            take(call, message, id, connection, began: connection.lastArrival)
            if !isOpen(id) { connection.inlet.pay(for: .refusedMessage) }
        case .watch, .reflection, .reflectionAlpha:
            do throws(HTTPProblem) {
                let answer = try answer(to: message, call, stream, connection)
                append(call.form.body(answer), to: stream, connection)
                connection.context.turns.didAnswerAtOnce(bytes: answer.count)
                connection.inlet.pay(for: .answer(bytes: answer.count))
            } catch {
                end(stream, by: error, connection)
            }
        // Calls with one message.
        case .verify, .resolve, .fetch, .info, .health, .healthList, .signPromotionalOffer,
            .signIntroductoryOffer, .signAdvancedCommerce, .signRetentionAnswer:
            break
        }
    }

    /// The answer to a message of Watch, or of reflection.
    private func answer(
        to message: SlabBytes, _ call: RPCCall, _ stream: HTTP2Stream, _ connection: Connection
    ) throws(HTTPProblem) -> [UInt8] {
        let limits = RPCRequest.Limits(
            headBytes: connection.limits.headBytes, items: 0,
            messageBytes: RPCCall.messageLimit(call.form.method, connection.limits))
        let request = try RPCRequest(message.span, call.form, call.compression, limits)
        guard call.form.method == .watch else {
            guard call.compression == .identity else { throw .otherCompression }
            return try RPCReflection.answer(message.span.extracting(RPCFrame.prefixBytes...))
        }
        guard stream.messages?.watched == nil else {
            throw HTTPProblem(400, .unimplemented, "Watch has one request")
        }
        let state = state(of: request.service, connection)
        stream.messages?.watched = (request.service, state)
        return call.form.message(health: state)
    }

    private func state(of service: String, _ connection: Connection) -> RPCHealth {
        guard RPCMethod.services.contains(where: { $0.equalsByBytes(service) }) else {
            return .unknownService
        }
        return connection.context.service.isServing ? .serving : .notServing
    }

    /// Notifies the clients that watch the state.
    func notifyWatchers(_ connection: Connection) {
        let isServing = connection.context.service.isServing
        guard wasServing != isServing else { return }
        wasServing = isServing
        for stream in streams.values {
            guard let (service, former) = stream.messages?.watched,
                case let state = state(of: service, connection), state != former,
                let call = stream.messages?.call
            else { continue }
            stream.messages?.watched = (service, state)
            append(call.form.body(call.form.message(health: state)), to: stream, connection)
        }
    }

    // MARK: Answers

    /// Appends a message to the answer of a stream.
    func append(_ bytes: [UInt8], to stream: HTTP2Stream, _ connection: Connection) {
        guard canMakeAnswers(connection) else {
            connection.telemetry.logFault("the peer does not read its answers")
            engine.reset(stream.number, .calm)
            return touch(connection, answers: 0)
        }
        engine.append(bytes, to: stream.number)
        touch(connection, answers: 1)
    }

    /// Ends the answer of a stream if everything is answered.
    func endIfAnswered(_ stream: HTTP2Stream, _ connection: Connection) {
        guard stream.hasLastPart, let messages = stream.messages, messages.isEmpty,
            messages.watched == nil
        else { return }
        end(stream, .ok, connection)
    }

    /// Records that no message follows.
    func endMessages(_ stream: HTTP2Stream, _ connection: Connection) {
        stream.hasLastPart = true
        let isWithin = stream.dataCount > 0 || (stream.messages?.skipped ?? 0) > 0
        let isMissing =
            stream.messages?.hasMessage == false && stream.messages?.call.form.method == .watch
        guard !isWithin, !isMissing else {
            let problem =
                isWithin
                ? HTTPProblem(400, .invalidArgument, "the stream ended inside a message")
                    .grpc(.internal)
                : HTTPProblem(400, .unimplemented, "the request has no message")
            return end(stream, by: problem, connection)
        }
        endIfAnswered(stream, connection)
    }

    /// Ends the answer of a stream with the reason. What is in flight is dropped.
    func end(_ stream: HTTP2Stream, by problem: HTTPProblem, _ connection: Connection) {
        end(stream, RPCStatus(problem.naming(stream.style.trace)), connection)
    }

    /// Ends the answer of a stream. What is in flight is dropped.
    private func end(_ stream: HTTP2Stream, _ status: RPCStatus, _ connection: Connection) {
        dropReceipt(of: stream, connection)
        let (form, open) = (stream.messages?.call.form, stream.openIds)
        stream.plan = .skip
        stream.messages = nil
        stream.removeData()
        connection.context.service.cancel(open, of: connection.flow)
        if let form, form.framing == .connectStream {
            engine.append(form.body(status), to: stream.number)
            engine.finish(stream.number)
        } else {
            engine.finish(stream.number, trailers: HTTP2Fields(status.fields))
        }
        touch(connection, answers: 1)
    }

    /// Ends streams of messages on which nothing is in flight: their clients go on elsewhere.
    func endStreams(_ connection: Connection) {
        let problem = HTTPProblem(ResponseHead.unavailable(0))
        for stream in streams.values {
            guard let messages = stream.messages, messages.isEmpty, stream.receipt == nil else {
                continue
            }
            end(stream, by: problem, connection)
        }
    }
}
