import AssayHTTP
import AssayIO
import AssayService
import AssayTelemetry
import AssayWire

/// Frames: turns received bytes into frames, and frames into requests. Answers leave in any order.
final class FrameSession: Session {
    private var decoder: FrameDecoder
    private var recentHead = RecentHead()
    /// Whether the peer has sent a whole frame, and so speaks the protocol.
    private var hasSentFrame = false
    /// The frame at the front, once its head is decoded or rejected.
    var arriving: ArrivingFrame?

    init(_ decoder: FrameDecoder) { self.decoder = decoder }

    /// A client can end its writing and wait for the answers.
    var traits: SessionTraits { SessionTraits() }

    var state: SessionState {
        switch arriving {
        case nil: SessionState()
        case .whole, .skipped: SessionState(isWithinRequest: true)
        case .receipt: SessionState(isWithinRequest: true, isReceipt: true)
        case .resolve(let arrival):
            SessionState(
                isWithinRequest: true, isReceipt: arrival.receipt != nil, isReadToEnd: true)
        }
    }
    var held: SessionBytes { SessionBytes() }
    var activity: SessionActivity { arriving == nil ? .idle : .busy }

    // MARK: Frames

    func takeNext(_ connection: Connection) -> Bool {
        if case .skipped(let remaining) = arriving, !skip(remaining, connection) { return false }
        guard let unread = connection.inlet.bytes else { return false }
        if case .receipt(let receipt) = arriving { return feed(receipt, unread, connection) }
        if case .resolve(let arrival) = arriving { return feed(arrival, unread, connection) }
        if arriving == nil {
            // A reload can change the limits while a frame arrives: the limits at its start apply.
            decoder = connection.context.settings.decoder
            if rejectFrames(unread, connection) { return true }
        }
        switch decoder.next(in: unread.span) {
        case .needMore(let count):
            // Without an id there is no answer.
            if !connection.inlet.needs(count, of: .head, connection.limits) {
                connection.end(.connectionMemoryExhausted)
            }
            return false
        case .head(let frame):
            if stays(frame, unread, connection) { return false }
            return didReceiveHead(frame, unread, connection)
        case .frame(let frame):
            if stays(frame, unread, connection) { return false }
            take(frame, connection)
            didEndFrame(connection)
            return true
        case .fault(let fault):
            refuse(fault, connection)
            return true
        }
    }

    /// Whether the frame at the front stays there: until another request is answered, or until the
    /// connection's turn for a long answer.
    private func stays(
        _ frame: FrameDecoder.Frame, _ unread: SlabBytes, _ connection: Connection
    ) -> Bool {
        guard arriving == nil else { return false }
        let head = unread.extracting(frame.head)
        let context = connection.context
        if connection.isFull, Self.read(head, context.codec)?.mayWait == true {
            return connection.waitsForAnswer()
        }
        guard !context.turns.canAnswerAtLength, Self.read(head, context.codec)?.call == .info else {
            return false
        }
        return connection.waitsForLongAnswer()
    }

    /// Reads a head that possibly asks for what most requests do not, which is visible without
    /// decoding; nil for those, and for an unusable head.
    private static func read(_ head: SlabBytes, _ codec: MessageCodec) -> RequestHead? {
        guard MessageCodec.idOfVerify(head.span) == nil else { return nil }
        return try? codec.decodeRequest(head.span)
    }

    /// Decodes a head. Returns nil for an unusable one, after answering with an error.
    private func decode(_ bytes: SlabBytes, _ connection: Connection) -> RequestHead? {
        do throws(MessageError) {
            return try recentHead.decode(bytes.span, by: connection.context.codec)
        } catch {
            let status: Status = error == .tooLarge ? .resourceExhausted : .invalidArgument
            let refusal = ResponseHead(
                id: MessageCodec.leadingId(of: bytes.span), status: status,
                message: "the head is invalid: \(error)")
            connection.answerAtOnce(.unknown, refusal, of: nil)
            return nil
        }
    }

    private func take(_ frame: FrameDecoder.Frame, _ connection: Connection) {
        let bytes = connection.inlet.take(frame.end, .frame(headBytes: frame.head.count))
        let known = arriving?.head
        arriving = nil
        if let head = known ?? decode(bytes.extracting(frame.head), connection) {
            connection.context.service.take(
                Request(head, as: FrameForm.of(head), began: connection.requestBegan),
                bytes.extracting(frame.body), from: connection.flow)
        }
    }

    func didEndFrame(_ connection: Connection) { didEndFrames(1, connection) }

    private func didEndFrames(_ count: Int, _ connection: Connection) {
        connection.telemetry.didReceive(count)
        hasSentFrame = true
        connection.beginPace(began: connection.lastArrival)
    }

    /// Handles a complete head whose body is incomplete: rejects what can be rejected before the
    /// body arrives, and starts to verify a receipt.
    private func didReceiveHead(
        _ frame: FrameDecoder.Frame, _ unread: SlabBytes, _ connection: Connection
    ) -> Bool {
        if arriving == nil {
            let bytes = unread.extracting(frame.head)
            if rejectHead(bytes, connection) { return beginSkipping(frame, connection) }
            guard let head = decode(bytes, connection) else {
                return beginSkipping(frame, connection)
            }
            switch connection.context.service.begin(
                Request(head, as: FrameForm.of(head), began: connection.requestBegan),
                bodyBytes: frame.body.count, size: frame.body.count, from: connection.flow)
            {
            case .refused: return beginSkipping(frame, connection)
            case .receipt(let receipt):
                connection.inlet.skip(frame.body.lowerBound, .counted)
                arriving = .receipt(receipt)
                return true
            case .resolve(let resolve):
                connection.inlet.skip(frame.body.lowerBound, .counted)
                arriving = .resolve(ArrivingResolve(resolve))
                return true
            case .whole: arriving = .whole(head)
            }
        }
        guard let head = arriving?.head,
            !connection.inlet.needs(frame.end, of: .body, connection.limits)
        else { return false }
        connection.answerAtOnce(.verify, .memoryExhausted(head.id), of: head.requestTrace)
        return beginSkipping(frame, connection)
    }

    // MARK: Rejected frames

    /// Rejects the complete frames at the front of the received bytes, up to this turn's quota, if
    /// the server is overloaded or the connection is full. One decision serves them all: nothing
    /// is accepted or answered in between. Returns false if it took no frame.
    private func rejectFrames(_ unread: SlabBytes, _ connection: Connection) -> Bool {
        let context = connection.context
        guard let refusal = context.service.refusalWithoutDecoding(of: connection.flow) else {
            return false
        }
        let bytes = unread.span
        let left = context.turns.quota(connection.limits) - connection.inlet.reading.taken
        var (end, count) = (0, 0)
        connection.answer { output in
            while count < left,
                case .frame(let frame) = decoder.next(in: bytes.extracting(end...)),
                let id = verifyId(bytes.extracting(end...).extracting(frame.head), connection)
            {
                refusal.answer.append(answering: id, to: &output)
                end += frame.end
                count += 1
            }
            return count
        }
        guard count > 0 else { return false }
        connection.inlet.skip(end, .requests(count))
        connection.telemetry.didAnswerAtOnce(
            .verify, refusal.head, count: count, of: nil, arrived: 0)
        didEndFrames(count, connection)
        return true
    }

    /// The id of a Verify request that can be rejected by its head alone.
    private func verifyId(_ head: Span<UInt8>, _ connection: Connection) -> UInt64? {
        // Nil for a request with `mayWait`: its field comes after the call.
        guard let id = MessageCodec.idOfVerify(head), !connection.flow.contains(id) else {
            return nil
        }
        return id
    }

    /// Rejects a request whose body is incomplete by its head alone, as `rejectFrames` does.
    private func rejectHead(_ head: SlabBytes, _ connection: Connection) -> Bool {
        guard let refusal = connection.context.service.refusalWithoutDecoding(of: connection.flow),
            let id = verifyId(head.span, connection)
        else { return false }
        connection.answer { output in
            refusal.answer.append(answering: id, to: &output)
            return 1
        }
        connection.telemetry.didAnswerAtOnce(.verify, refusal.head, of: nil, arrived: 0)
        return true
    }

    /// Starts to discard the bytes of a rejected frame.
    private func beginSkipping(_ frame: FrameDecoder.Frame, _ connection: Connection) -> Bool {
        connection.inlet.pay(for: .frame(headBytes: frame.head.count))
        arriving = .skipped(remaining: frame.end)
        return true
    }

    /// Discards received bytes of a rejected frame. Returns whether the frame has ended.
    private func skip(_ remaining: Int, _ connection: Connection) -> Bool {
        let count = min(remaining, connection.inlet.count)
        connection.inlet.skip(count, .counted)
        guard count == remaining else {
            arriving = .skipped(remaining: remaining - count)
            return false
        }
        arriving = nil
        didEndFrame(connection)
        return true
    }

    private func refuse(_ fault: FrameFault, _ connection: Connection) {
        let head = ResponseHead.fault(fault)
        connection.telemetry.didRefuse(head)
        guard let skip = fault.skip else {
            guard case .foreign(let other) = fault, !hasSentFrame else {
                connection.telemetry.logFault("invalid frame")
                return connection.end(head)
            }
            connection.telemetry.logFault(other.reason)
            // A client of HTTP gets an answer that it can show.
            guard other == .http1 else { return connection.end(head) }
            connection.answer { output in
                HTTP1Writer.append(
                    HTTPResponseStyle().response(to: HTTPProblem(head)), closes: true,
                    at: connection.context.server.clock().seconds, to: &output)
                return 1
            }
            return connection.end(nil)
        }
        connection.answer(head)
        connection.inlet.pay(for: .requests(1))
        arriving = .skipped(remaining: skip)
    }

    // MARK: Receipts

    /// Passes this turn's quota of a receipt's next bytes to its verification, and drops them.
    /// Returns false if there is no memory for it.
    func feedSlice(
        of unread: SlabBytes, to receipt: ArrivingReceipt, _ connection: Connection
    ) -> Bool {
        let count = min(receipt.remaining, unread.count, connection.context.turns.receiptSlice)
        let fits = connection.feed(receipt, unread.extracting(0..<count))
        connection.inlet.skip(count, .counted)
        return fits
    }

    /// Passes a receipt's next bytes to its verification; they are not kept.
    private func feed(
        _ receipt: ArrivingReceipt, _ unread: SlabBytes, _ connection: Connection
    ) -> Bool {
        let service = connection.context.service
        guard feedSlice(of: unread, to: receipt, connection) else {
            service.refuse(receipt, from: connection.flow)
            connection.inlet.pay(for: .requests(1))
            arriving = receipt.remaining > 0 ? .skipped(remaining: receipt.remaining) : nil
            if arriving == nil { didEndFrame(connection) }
            return true
        }
        let remaining = receipt.remaining
        guard remaining == 0 || receipt.isNamed else {
            return !connection.inlet.isEmpty
        }
        connection.inlet.pay(for: .requests(1))
        arriving = remaining > 0 ? .skipped(remaining: remaining) : nil
        service.complete(receipt, from: connection.flow)
        if remaining == 0 { didEndFrame(connection) }
        return true
    }

    /// Drops what has arrived of a request.
    ///
    /// - Parameter refusal: the answer to a Resolve; nil if the connection takes none.
    private func dropArriving(_ connection: Connection, _ refusal: ResponseHead?) {
        switch arriving {
        case .receipt(let receipt):
            arriving = nil
            connection.context.service.drop(receipt, from: connection.flow)
        case .resolve(let arrival):
            arriving = nil
            arrival.dropReceipt()
            arrival.resolve.refuse(refusal)
        case .whole, .skipped, nil: arriving = nil
        }
    }

    // MARK: Answers

    func answer(_ head: ResponseHead, _ connection: Connection) {
        connection.answer { output in
            connection.context.codec.encodeFrame(head, into: &output)
            return 1
        }
    }

    func answer(
        to id: UInt64, bytes: Int?, _ connection: Connection,
        _ appendResult: (inout [UInt8]) throws(AnswerFault) -> Void
    ) {
        connection.answer { output in
            do throws(AnswerFault) {
                try appendResult(&output)
            } catch {
                connection.context.codec.encodeFrame(.lost(id), into: &output)
            }
            return 1
        }
    }

    func end(_ stage: SessionEnd, _ connection: Connection) {
        switch stage {
        case .announced: answer(.draining, connection)
        case .silent: break
        case .refused(let head): answer(head, connection)
        case .stopped: dropArriving(connection, nil)
        }
    }

    // MARK: Time

    func sweep(_ connection: Connection) {
        arriving?.receipt?.measureRate(at: connection.now)
        switch arriving {
        case .receipt(let receipt) where receipt.deadline <= connection.now:
            dropArriving(connection, nil)
            arriving = .skipped(remaining: receipt.remaining)
            connection.answerAtOnce(
                .verify, .deadlineExceeded(receipt.id), of: receipt.form.trace)
        case .resolve(let arrival) where arrival.resolve.admitted.deadline <= connection.now:
            dropArriving(connection, .deadlineExceeded(arrival.resolve.id))
            arriving = .skipped(remaining: arrival.remaining)
        case .receipt, .resolve, .whole, .skipped, nil: break
        }
    }

    func slowest(_ connection: Connection) -> SlowRequest? {
        guard let rate = arriving?.receipt?.rate.slow else { return nil }
        return SlowRequest(rate: rate) { [self] in refuseForMemory(connection) }
    }

    private func refuseForMemory(_ connection: Connection) {
        switch arriving {
        case .receipt(let receipt):
            dropArriving(connection, nil)
            connection.answerAtOnce(
                .verify, .memoryExhausted(receipt.id), of: receipt.form.trace)
            arriving = .skipped(remaining: receipt.remaining)
        case .resolve(let arrival):
            dropArriving(connection, .memoryExhausted(arrival.resolve.id))
            arriving = .skipped(remaining: arrival.remaining)
        case .whole, .skipped, nil: break
        }
    }
}

extension ForeignProtocol {
    /// The reason in the log and in the metrics.
    fileprivate var reason: StaticString {
        switch self {
        case .http1, .http1Answer: "HTTP on a port of frames"
        case .http2: "HTTP/2 on a port of frames"
        case .tls, .tlsAlert: "TLS on a port without TLS"
        }
    }
}
