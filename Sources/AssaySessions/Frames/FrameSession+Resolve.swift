import Assay
import AssayIO
import AssayModels
import AssayService
import AssayTelemetry
import AssayWire

/// Takes the items of a Resolve request out of the received bytes. An item counts like a frame in
/// the connection's quota of a turn.
extension FrameSession {
    /// Takes the next step of a request whose frame is arriving. Returns false if it needs more
    /// bytes.
    func feed(_ arrival: ArrivingResolve, _ unread: SlabBytes, _ connection: Connection) -> Bool {
        let service = connection.context.service
        guard !arrival.resolve.isEnded else {
            arrival.dropReceipt()
            arriving = .skipped(remaining: arrival.remaining)
            return true
        }
        if let receipt = arrival.receipt { return feed(arrival, receipt, unread, connection) }
        if arrival.length > connection.limits.streamedReceiptBytes {
            guard unread.count >= 2 else { return false }
            if isReceipt(arrival, unread) {
                arrival.begin(service.beginReceipt(size: arrival.length, of: arrival.resolve))
                return true
            }
        }
        let length = arrival.length
        guard unread.count >= length else {
            guard !connection.inlet.needs(length, of: .body, connection.limits) else {
                return false
            }
            service.refuseForMemory(arrival.resolve)
            return true
        }
        let bytes = connection.inlet.take(length, .counted)
        arrival.didTake(length)
        let fits = service.verify(bytes, arrival.index, of: arrival.resolve)
        return didEndItem(of: arrival, fits: fits, connection)
    }

    /// Passes a receipt's next bytes to its verification.
    private func feed(
        _ arrival: ArrivingResolve, _ receipt: ArrivingReceipt, _ unread: SlabBytes,
        _ connection: Connection
    ) -> Bool {
        let service = connection.context.service
        let before = receipt.remaining
        let fits = feedSlice(of: unread, to: receipt, connection)
        arrival.didTake(before - receipt.remaining)
        guard fits else {
            service.refuseForMemory(arrival.resolve)
            return true
        }
        guard receipt.remaining == 0 else { return !connection.inlet.isEmpty }
        let isTaken = service.complete(receipt, arrival.index, of: arrival.resolve)
        return didEndItem(of: arrival, fits: isTaken, connection)
    }

    /// Whether the next item is an app receipt, by its name or its first bytes.
    private func isReceipt(_ arrival: ArrivingResolve, _ unread: SlabBytes) -> Bool {
        switch arrival.resolve.admitted.call.items[arrival.index].kind {
        case .named(let kind): kind == .appReceipt
        case .detected: Verifier.beginsLikeAppReceipt(unread.span)
        case .unknown: false
        }
    }

    /// Ends an item, and the frame after the last one.
    private func didEndItem(
        of arrival: ArrivingResolve, fits: Bool, _ connection: Connection
    ) -> Bool {
        connection.inlet.pay(for: .requests(1))
        arrival.didEndItem()
        if arrival.remaining == 0 {
            arriving = nil
            didEndFrame(connection)
        }
        if !fits { connection.context.service.refuseForMemory(arrival.resolve) }
        return true
    }
}
