import AssayIO
import AssayWire

/// The timeouts of a connection.
extension Connection {
    /// Checks the timeouts. Called several times a second. After the loop itself was late, reads
    /// and writes are pending, so the peers are not judged.
    func sweep(isLate: Bool) {
        let now = now
        let unwritten = stream.unwrittenCount
        let stalled = writePace.stalled(at: now, unwritten: unwritten, isLate: isLate)
        if stalled > limits.writeStallMilliseconds {
            telemetry.logFault("the peer does not read its answers")
            return stream.close()
        }
        if isIdle { giveBackMemory() }
        arriving?.receipt?.measureRate(at: now)
        if let http, http.isCollecting { http.bodyRate?.measure(arrivedBody(http), at: now) }
        switch state {
        case .open:
            if isIdle, now - lastActivity > limits.idleMilliseconds { return end(.idle) }
            if isIdle, context.server.phase.isDraining,
                now - lastActivity > limits.drainQuietMilliseconds
            {
                return end(nil)
            }
            refuseOverdue(now)
            if !isLate, isSlow(now) {
                telemetry.logFault("a frame arrived too slowly")
                end(.slowFrame)
            }
        case .ending: break
        case .finishing:
            // Until the last answer is written, the write stall above limits the wait.
            if isLate || unwritten > 0 { lastUnwritten = now }
            if now - lastUnwritten > limits.lingerMilliseconds { stream.close() }
        case .closed: break
        }
    }

    /// Rejects an arriving request whose answer would come too late, and discards its remaining
    /// bytes.
    private func refuseOverdue(_ now: UInt64) {
        switch arriving {
        case .receipt(let receipt) where receipt.deadline <= now:
            dropArriving()
            arriving = .skipped(remaining: receipt.remaining)
            answerAtOnce(.verify, .deadlineExceeded(receipt.id))
        case .resolve(let arrival) where arrival.resolve.admitted.deadline <= now:
            dropArriving(.deadlineExceeded(arrival.resolve.id))
            arriving = .skipped(remaining: arrival.remaining)
        case .receipt, .resolve, .whole, .skipped, nil: break
        }
    }

    /// The arrival rate of a receipt, or of a body of HTTP, that is slow through the peer's fault;
    /// nil if there is none.
    var slowRate: Int? {
        guard !isHeld else { return nil }
        if let receipt = arriving?.receipt { return receipt.rate.slow }
        guard let http, http.isCollecting, heldBody > 0 else { return nil }
        return http.bodyRate?.slow
    }

    /// Whether the frame at the front is too slow through the peer's fault.
    private func isSlow(_ now: UInt64) -> Bool {
        guard let pace, !isHeld else { return false }
        return pace.isSlow(at: now, unread: stream.received.unreadCount, limits)
    }
}
