import Assay
import AssayIO
import AssayModels
import AssayWire

/// Takes the items of a Resolve request out of the received bytes. An item counts like a frame in
/// the connection's share of a turn.
extension Connection {
    /// Starts to take the items of a frame whose body follows.
    func beginResolve(_ admitted: AdmittedResolve, headEnd: Int) {
        arriving = .resolve(ArrivingResolve(context.resolver.begin(admitted, from: self)))
        stream.received.skip(headEnd)
        pace?.didTake(headEnd)
    }

    /// Takes all items of a frame that has arrived whole.
    func take(_ admitted: AdmittedResolve, _ body: SlabBytes) {
        let resolve = context.resolver.begin(admitted, from: self)
        var start = 0
        for (index, item) in admitted.call.items.enumerated() {
            let end = start + Int(item.length)
            guard verify(body.extracting(start..<end), index, of: resolve) else {
                return refuseForMemory(resolve)
            }
            start = end
        }
        // The frame itself was counted.
        framesThisTurn += admitted.call.items.count - 1
    }

    /// Takes the next step of a request whose frame is arriving. Returns false if it needs more
    /// bytes.
    func feed(_ arrival: ArrivingResolve, _ unread: SlabBytes) -> Bool {
        guard !arrival.resolve.isEnded else {
            arrival.dropReceipt()
            arriving = .skipped(remaining: arrival.remaining)
            return true
        }
        if let receipt = arrival.receipt { return feed(arrival, receipt, unread) }
        if arrival.length > limits.streamedReceiptBytes {
            guard unread.count >= 2 else { return false }
            if isReceipt(arrival, unread) {
                arrival.begin(
                    ArrivingReceipt(
                        arrival.resolve.admitted.receipt(of: context.budget),
                        size: arrival.length, at: now))
                return true
            }
        }
        let length = arrival.length
        guard unread.count >= length else {
            if context.budget.isFull {
                refuseForMemory(arrival.resolve)
                return true
            }
            stream.received.expect(length)
            return false
        }
        let bytes = stream.received.take(length)
        didTake(length, of: arrival)
        let fits = verify(bytes, arrival.index, of: arrival.resolve)
        return didEndItem(of: arrival, fits: fits)
    }

    /// Passes a receipt's next bytes to its verification.
    private func feed(
        _ arrival: ArrivingResolve, _ receipt: ArrivingReceipt, _ unread: SlabBytes
    ) -> Bool {
        let before = receipt.remaining
        let fits = read(receipt, unread)
        arrival.didTake(before - receipt.remaining)
        guard fits else {
            refuseForMemory(arrival.resolve)
            return true
        }
        guard receipt.remaining == 0 else { return stream.received.unreadCount > 0 }
        let request = context.resolver.request(for: receipt, arrival.index, of: arrival.resolve)
        if let request { context.scheduler.verify(request) }
        return didEndItem(of: arrival, fits: request != nil)
    }

    /// Whether the next item is an app receipt, by its name or its first bytes.
    private func isReceipt(_ arrival: ArrivingResolve, _ unread: SlabBytes) -> Bool {
        switch arrival.resolve.admitted.call.items[arrival.index].kind {
        case .named(let kind): kind == .appReceipt
        case .detected: Verifier.beginsLikeAppReceipt(unread.span)
        case .unknown: false
        }
    }

    private func didTake(_ count: Int, of arrival: ArrivingResolve) {
        arrival.didTake(count)
        pace?.didTake(count)
    }

    /// Ends an item, and the frame after the last one.
    private func didEndItem(of arrival: ArrivingResolve, fits: Bool) -> Bool {
        framesThisTurn += 1
        arrival.didEndItem()
        if arrival.remaining == 0 {
            arriving = nil
            didEndFrame()
        }
        if !fits { refuseForMemory(arrival.resolve) }
        return true
    }

    /// Queues an item. Returns false if the budget does not admit it.
    private func verify(_ evidence: SlabBytes, _ index: Int, of resolve: AcceptedResolve) -> Bool {
        let evidence = context.scheduler.forQueue(evidence)
        guard let request = context.resolver.request(for: evidence, index, of: resolve) else {
            return false
        }
        context.scheduler.verify(request)
        return true
    }

    private func refuseForMemory(_ resolve: AcceptedResolve) {
        let call = resolve.admitted.call
        let canFit = RequestCost.whole(call).bytes <= limits.evidenceBytes
        context.resolver.refuse(resolve, .memoryExhausted(resolve.id, canFit: canFit))
    }
}
