import AssayIO
import AssayWire

/// Turns received bytes into frames, and frames into requests.
extension Connection {
    private var canTakeFrame: Bool {
        guard case .open = state, !stream.isClosing else { return false }
        return framesThisTurn < frameShare && canReadRequest && canFeed
    }

    /// The number of frames that can be taken in this turn.
    private var frameShare: Int { context.turns.canPipeline ? limits.framesPerTurn : 1 }

    /// Whether received bytes of a receipt can be read in this turn.
    private var canFeed: Bool {
        guard arriving?.receipt != nil, stream.received.unreadCount > 0 else { return true }
        return context.turns.canReadReceipt
    }

    /// Takes the complete frames out of the receive buffer, up to this turn's share.
    func takeFrames() {
        if turn != context.turns.number { (turn, framesThisTurn) = (context.turns.number, 0) }
        let before = framesThisTurn
        defer {
            context.turns.didTake(frames: framesThisTurn - before)
            updateBudget()
        }
        while canTakeFrame {
            guard takeNext() else {
                if awaitsAnswer || awaitsShare { break }
                return
            }
        }
        if case .open = state {
            isHeld = true
            pauseReading()
            askForTurn()
        } else {
            stream.received.skip(stream.received.unreadCount)
        }
    }

    /// Asks for another turn to read the held bytes, if another request fits. If it does not, an
    /// answer or a write asks again.
    func askForTurn() {
        guard isHeld, !awaitsTurn, canReadRequest else { return }
        awaitsTurn = true
        if awaitsShare {
            context.turns.enqueueLongAnswer(of: self)
        } else if canFeed {
            context.turns.enqueue(self)
        } else {
            context.turns.enqueueReceipt(of: self)
        }
    }

    func takeTurn() {
        awaitsTurn = false
        awaitsAnswer = false
        awaitsShare = false
        guard case .open = state, isHeld, canReadRequest, !stream.isClosing else { return }
        isHeld = false
        pace?.didResume(at: now)
        takeFrames()
        stream.compactReceived()
        if case .open = state, !isHeld {
            stream.resumeReading()
            context.turns.didResumeReading()
        }
    }

    /// Takes one step. Returns false if it needs more bytes.
    private func takeNext() -> Bool {
        if let http {
            guard let unread = stream.received.unread else { return false }
            return takeNext(http, unread)
        }
        if case .skipped(let remaining) = arriving, !skip(remaining) { return false }
        guard let unread = stream.received.unread else { return false }
        if case .receipt(let receipt) = arriving { return feed(receipt, unread) }
        if case .resolve(let arrival) = arriving { return feed(arrival, unread) }
        if arriving == nil {
            // A reload can change the limits while a frame arrives: the limits at its start apply.
            decoder = context.server.decoder
            if rejectFrames(unread) { return true }
        }
        switch decoder.next(in: unread.span) {
        case .needMore(let count):
            // Without an id there is no answer, and many such connections hold memory.
            if context.budget.isFull, unread.count > limits.unansweredBytes {
                end(.connectionMemoryExhausted)
                return false
            }
            stream.received.expect(count)
            return false
        case .head(let frame):
            if stays(frame, unread) { return false }
            return didReceiveHead(frame, unread)
        case .frame(let frame):
            if stays(frame, unread) { return false }
            take(frame)
            didEndFrame()
            return true
        case .fault(let fault):
            refuse(fault)
            return true
        }
    }

    /// Whether the frame at the front stays there: until another request is answered, or until the
    /// connection's turn for a long answer.
    private func stays(_ frame: FrameDecoder.Frame, _ unread: SlabBytes) -> Bool {
        guard arriving == nil else { return false }
        let head = unread.extracting(frame.head)
        awaitsAnswer = isFull && context.admission.mayWait(head)
        awaitsShare = !context.turns.canAnswerAtLength && context.admission.isInfo(head)
        return awaitsAnswer || awaitsShare
    }

    /// Rejects the complete frames at the front of the received bytes, up to this turn's share, if
    /// the server is overloaded or the connection is full. One decision serves them all: nothing
    /// is accepted or answered in between. Returns false if it took no frame.
    private func rejectFrames(_ unread: SlabBytes) -> Bool {
        guard let refusal = context.admission.refusalAtAGlance(of: self) else { return false }
        let bytes = unread.span
        let share = frameShare
        var (end, count) = (0, 0)
        answer { output in
            while framesThisTurn + count < share,
                case .frame(let frame) = decoder.next(in: bytes.extracting(end...)),
                let id = verifyId(bytes.extracting(end...).extracting(frame.head))
            {
                refusal.answer.append(answering: id, to: &output)
                end += frame.end
                count += 1
            }
            return count
        }
        guard count > 0 else { return false }
        stream.received.skip(end)
        framesThisTurn += count
        telemetry.metrics.didAnswerAtOnce(.verify, refusal.head, count: count)
        didEndFrames(count)
        return true
    }

    /// The id of a Verify request that can be rejected by its head alone.
    private func verifyId(_ head: Span<UInt8>) -> UInt64? {
        // Nil for a request with `mayWait`: its field comes after the call.
        guard let id = MessageCodec.idOfVerify(head), !isInFlight(id) else { return nil }
        return id
    }

    /// Begins the pace of the next frame, if any of it has arrived.
    func beginPace(began: UInt64) {
        pace = stream.received.unreadCount > 0 ? FramePace(began: began, at: now) : nil
    }

    private func take(_ frame: FrameDecoder.Frame) {
        let bytes = stream.received.take(frame.end)
        let head = bytes.extracting(frame.head)
        let known = arriving?.head
        arriving = nil
        framesThisTurn += ServerLimits.turnShare(ofHead: head.count)
        if let head = known ?? context.admission.decode(head, for: self) {
            take(head, bytes.extracting(frame.body))
        }
    }

    func didEndFrame() { didEndFrames(1) }

    private func didEndFrames(_ count: Int) {
        telemetry.metrics.framesReceived += UInt64(count)
        hasSentFrame = true
        beginPace(began: lastArrival)
    }

    /// Handles a complete head whose body is incomplete: rejects what can be rejected before the
    /// body arrives, and starts to verify a receipt.
    private func didReceiveHead(_ frame: FrameDecoder.Frame, _ unread: SlabBytes) -> Bool {
        if arriving == nil {
            let bytes = unread.extracting(frame.head)
            if rejectHead(bytes) { return beginSkipping(frame) }
            guard let head = context.admission.decode(bytes, for: self) else {
                return beginSkipping(frame)
            }
            switch context.admission.admit(
                head, bodyBytes: frame.body.count, isWhole: false, from: self)
            {
            case .refused(let refusal):
                answerAtOnce(CallLabel(head.call), refusal)
                return beginSkipping(frame)
            case .verify(let admitted):
                if admitted.isStreamed { return beginReceipt(admitted, frame) }
            case .resolve(let admitted):
                beginResolve(admitted, headEnd: frame.body.lowerBound)
                return true
            case .answer: break
            case .fetch: break
            }
            // Decided again when it is whole: the queue and the memory will have changed.
            arriving = .whole(head)
        } else if let head = arriving?.head, context.budget.isFull {
            refuseForMemory(head.id)
            return beginSkipping(frame)
        }
        stream.received.expect(frame.end)
        return false
    }

    /// Rejects a request whose body is incomplete by its head alone, as `rejectFrames` does.
    private func rejectHead(_ head: SlabBytes) -> Bool {
        guard let refusal = context.admission.refusalAtAGlance(of: self),
            let id = verifyId(head.span)
        else { return false }
        answer { output in
            refusal.answer.append(answering: id, to: &output)
            return 1
        }
        telemetry.metrics.didAnswerAtOnce(.verify, refusal.head)
        return true
    }

    /// Starts to verify a receipt as it arrives.
    private func beginReceipt(_ admitted: consuming Admitted, _ frame: FrameDecoder.Frame) -> Bool {
        let receipt = ArrivingReceipt(admitted, size: frame.body.count, at: now)
        didAdmit(receipt.id)
        stream.received.skip(frame.body.lowerBound)
        pace?.didTake(frame.body.lowerBound)
        arriving = .receipt(receipt)
        return true
    }

    /// Starts to discard the bytes of a rejected frame.
    private func beginSkipping(_ frame: FrameDecoder.Frame) -> Bool {
        framesThisTurn += ServerLimits.turnShare(ofHead: frame.head.count)
        arriving = .skipped(remaining: frame.end)
        return true
    }

    /// Discards received bytes of a rejected frame. Returns whether the frame has ended.
    private func skip(_ remaining: Int) -> Bool {
        let count = min(remaining, stream.received.unreadCount)
        stream.received.skip(count)
        pace?.didTake(count)
        guard count == remaining else {
            arriving = .skipped(remaining: remaining - count)
            return false
        }
        arriving = nil
        didEndFrame()
        return true
    }

    /// Passes a receipt's next bytes to its verification; they are not kept.
    private func feed(_ receipt: ArrivingReceipt, _ unread: SlabBytes) -> Bool {
        guard read(receipt, unread) else { return refuse(receipt) }
        guard receipt.remaining == 0 else { return stream.received.unreadCount > 0 }
        framesThisTurn += 1
        arriving = nil
        if !context.scheduler.verify(receipt, from: self) {
            didAnswer(receipt.id)
            refuseForMemory(receipt.id)
        }
        didEndFrame()
        return true
    }

    /// Reads this turn's share of a receipt. Returns false if the budget does not admit its memory.
    func read(_ receipt: ArrivingReceipt, _ unread: SlabBytes) -> Bool {
        let count = min(receipt.remaining, unread.count, context.turns.receiptSlice)
        let began = SystemClock.monotonicNanoseconds
        let fits = receipt.receive(unread.extracting(0..<count))
        let spent = SystemClock.monotonicNanoseconds - began
        context.turns.didReadReceipt(count, nanoseconds: spent)
        stream.received.skip(count)
        pace?.didTake(count)
        return fits
    }

    private func refuseForMemory(_ id: UInt64, canFit: Bool = true) {
        answerAtOnce(.verify, .memoryExhausted(id, canFit: canFit))
    }

    /// Rejects a receipt whose memory the budget does not admit.
    private func refuse(_ receipt: ArrivingReceipt) -> Bool {
        let canFit = context.budget.canFit(receipt: receipt.wanted)
        dropArriving()
        refuseForMemory(receipt.id, canFit: canFit)
        framesThisTurn += 1
        if receipt.remaining > 0 {
            arriving = .skipped(remaining: receipt.remaining)
        } else {
            didEndFrame()
        }
        return true
    }

    /// Rejects a receipt or a body of HTTP that arrives slowly, to free its memory for others.
    func refuseSlow() {
        if let http, http.isCollecting { return refuseBody(http) }
        switch arriving {
        case .receipt(let receipt):
            dropArriving()
            refuseForMemory(receipt.id)
            arriving = .skipped(remaining: receipt.remaining)
        case .resolve(let arrival):
            dropArriving(.memoryExhausted(arrival.resolve.id))
            arriving = .skipped(remaining: arrival.remaining)
        case .whole, .skipped, nil: break
        }
    }

    private func refuse(_ fault: FrameFault) {
        let head = ResponseHead.fault(fault)
        telemetry.metrics.didRefuse(head)
        guard let skip = fault.skip else {
            guard case .foreign(let other) = fault, !hasSentFrame else {
                telemetry.logFault("invalid frame")
                return end(head)
            }
            telemetry.logFault(other.reason)
            // A client of HTTP gets an answer that it can show.
            guard other == .http1 else { return end(head) }
            answer { output in
                HTTPResponse.append(
                    HTTPProblem(head), HTTPFormat(closes: true), at: context.server.fixed.clock(),
                    to: &output)
                return 1
            }
            return end(nil)
        }
        answer(head)
        framesThisTurn += 1
        arriving = .skipped(remaining: skip)
    }

    /// Decides what happens to a request that has arrived whole.
    ///
    /// - Parameter began: when its first byte arrived; nil for that of the frame at the front.
    func take(_ head: RequestHead, _ body: SlabBytes, began: UInt64? = nil) {
        switch context.admission.admit(
            head, bodyBytes: body.count, isWhole: true, from: self, began: began)
        {
        case .refused(let refusal): answerAtOnce(CallLabel(head.call), refusal)
        case .answer(let response): answerAtOnce(CallLabel(head.call), response)
        case .verify(let admitted): context.scheduler.verify(admitted, body, from: self)
        case .resolve(let admitted): take(admitted, body)
        case .fetch(let admitted): context.scheduler.fetches.start(admitted, from: self)
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
