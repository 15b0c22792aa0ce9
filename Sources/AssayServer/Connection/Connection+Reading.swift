import AssayIO
import AssayWire

/// Turns received bytes into frames, and frames into requests.
extension Connection {
    private var mayTakeFrame: Bool {
        guard case .open = state, !stream.isClosing else { return false }
        if turn != server.turn { (turn, framesThisTurn) = (server.turn, 0) }
        return framesThisTurn < limits.framesPerTurn && hasRoom && mayFeed
    }

    /// Whether received bytes of a receipt can be read in this turn.
    private var mayFeed: Bool {
        guard case .receipt = arriving, stream.received.unreadCount > 0 else { return true }
        return server.mayReadReceipt
    }

    /// Takes the complete frames out of the receive buffer, up to this turn's share.
    func takeFrames() {
        defer { updateBudget() }
        while mayTakeFrame {
            guard takeNext() else {
                if awaitsAnswer { break }
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
        guard isHeld, !awaitsTurn, hasRoom else { return }
        awaitsTurn = true
        if mayFeed { server.enqueueTurn(for: self) } else { server.receiptTurns.enqueue(self) }
    }

    func takeTurn() {
        awaitsTurn = false
        awaitsAnswer = false
        guard case .open = state, isHeld, hasRoom, !stream.isClosing else { return }
        isHeld = false
        pace?.didResume(at: server.now)
        takeFrames()
        stream.compactReceived()
        if case .open = state, !isHeld {
            stream.resumeReading()
            server.hasResumedReading = true
        }
    }

    /// Takes one step. Returns false if it needs more bytes.
    private func takeNext() -> Bool {
        if case .skipped(let remaining) = arriving, !skip(remaining) { return false }
        guard let unread = stream.received.unread else { return false }
        if case .receipt(let receipt) = arriving { return feed(receipt, unread) }
        // A reload can change the limits while a frame arrives: the limits at its start apply.
        if arriving == nil { decoder = server.decoder }
        switch decoder.next(in: unread.span) {
        case .needMore(let count):
            // Without an id there is no answer, and many such connections hold memory.
            if server.budget.isFull, unread.count > limits.unansweredBytes {
                end(.connectionMemoryExhausted)
                return false
            }
            stream.received.expect(count)
            return false
        case .head(let frame):
            if awaitsAnswer(before: frame, unread) { return false }
            return didReceiveHead(frame, unread)
        case .frame(let frame):
            if awaitsAnswer(before: frame, unread) { return false }
            take(frame)
            didEndFrame()
            return true
        case .fault(let fault):
            refuse(fault)
            return true
        }
    }

    /// Whether the frame at the front stays there until another request is answered.
    private func awaitsAnswer(before frame: FrameDecoder.Frame, _ unread: SlabBytes) -> Bool {
        awaitsAnswer =
            arriving == nil && isFull && server.mayWait(unread.extracting(frame.head))
        return awaitsAnswer
    }

    private func take(_ frame: FrameDecoder.Frame) {
        let bytes = stream.received.take(frame.end)
        let head = bytes.extracting(frame.head)
        let known = arriving?.head
        arriving = nil
        framesThisTurn += 1
        if known == nil, server.refusesAtAGlance(head, of: self) { return }
        if let head = known ?? server.decode(head, for: self) {
            take(head, bytes.extracting(frame.body))
        }
    }

    private func didEndFrame() {
        server.metrics.framesReceived += 1
        pace = stream.received.unreadCount > 0 ? FramePace(began: lastReceived) : nil
    }

    /// Handles a complete head whose body is incomplete: rejects what can be rejected before the
    /// body arrives, and starts to verify a receipt.
    private func didReceiveHead(_ frame: FrameDecoder.Frame, _ unread: SlabBytes) -> Bool {
        if arriving == nil {
            let bytes = unread.extracting(frame.head)
            if server.refusesAtAGlance(bytes, of: self) { return beginSkipping(frame) }
            guard let head = server.decode(bytes, for: self) else { return beginSkipping(frame) }
            if let refusal = server.refusal(
                of: head, bodyBytes: frame.body.count, for: self, began: pace?.began)
            {
                answer(refusal)
                return beginSkipping(frame)
            }
            if let receipt = ArrivingReceipt(head, frame, server, began: pace?.began) {
                didAccept(head.id, nil)
                server.budget.give(receipt: receipt.held)
                stream.received.skip(frame.body.lowerBound)
                pace?.didTake(frame.body.lowerBound)
                arriving = .receipt(receipt)
                return true
            }
            arriving = .whole(head)
        } else if let head = arriving?.head, server.budget.isFull {
            refuseForMemory(head.id)
            return beginSkipping(frame)
        }
        stream.received.expect(frame.end)
        return false
    }

    /// Starts to discard the bytes of a rejected frame.
    private func beginSkipping(_ frame: FrameDecoder.Frame) -> Bool {
        framesThisTurn += 1
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
        let slice = server.receiptTurns.slice(in: server.turn)
        let count = min(receipt.remaining, unread.count, slice)
        let began = SystemClock.monotonicNanoseconds
        let fits = receipt.receive(unread.extracting(0..<count), in: &server.budget)
        let spent = SystemClock.monotonicNanoseconds - began
        server.receiptTurns.didRead(count, nanoseconds: spent)
        stream.received.skip(count)
        pace?.didTake(count)
        if !fits { return refuse(receipt) }
        guard receipt.remaining == 0 else { return stream.received.unreadCount > 0 }
        framesThisTurn += 1
        arriving = nil
        server.finish(receipt, of: self)
        didEndFrame()
        return true
    }

    private func refuseForMemory(_ id: UInt64, mayFit: Bool = true) {
        let refusal = ResponseHead.memoryExhausted(id, mayFit: mayFit)
        server.metrics.didAnswerAtOnce(.verify, refusal)
        answer(refusal)
    }

    /// Rejects a receipt whose memory the budget does not admit.
    private func refuse(_ receipt: ArrivingReceipt) -> Bool {
        let mayFit = server.budget.mayFit(receipt: receipt.wanted)
        dropReceipt()
        refuseForMemory(receipt.head.id, mayFit: mayFit)
        framesThisTurn += 1
        if receipt.remaining > 0 {
            arriving = .skipped(remaining: receipt.remaining)
        } else {
            didEndFrame()
        }
        return true
    }

    /// Rejects a receipt that arrives slowly, to free its memory for others.
    func refuseSlowReceipt() {
        guard case .receipt(let receipt) = arriving else { return }
        dropReceipt()
        refuseForMemory(receipt.head.id)
        arriving = .skipped(remaining: receipt.remaining)
    }

    private func refuse(_ fault: FrameFault) {
        let head = ResponseHead.fault(fault)
        server.metrics.didRefuse(head)
        guard let skip = fault.skip else {
            server.logFault("not a frame")
            return end(head)
        }
        answer(head)
        framesThisTurn += 1
        arriving = .skipped(remaining: skip)
    }

    private func take(_ head: RequestHead, _ body: SlabBytes) {
        if let refusal = server.refusal(
            of: head, bodyBytes: body.count, for: self, began: pace?.began)
        {
            return answer(refusal)
        }
        switch head.call {
        case .verify(let call): server.accept(head, call, body, from: self, began: pace?.began)
        case .health, .info, .ping, .unknown: answer(server.answer(to: head))
        }
    }
}
