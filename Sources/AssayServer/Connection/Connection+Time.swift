import AssayIO
import AssayWire

/// The timeouts of a connection.
extension Connection {
    /// Checks the timeouts. Called several times a second. After the loop itself was late, reads
    /// and writes are pending, so the peers are not judged.
    func sweep(isLate: Bool) {
        let now = server.now
        let unwritten = stream.unwrittenCount
        let stalled = writePace.stalled(at: now, unwritten: unwritten, isLate: isLate)
        if stalled > limits.writeStallMilliseconds {
            server.logFault("the peer does not read its answers")
            return stream.close()
        }
        if isIdle { giveBackMemory() }
        if case .receipt(let receipt) = arriving { receipt.measureRate(at: now) }
        switch state {
        case .open:
            if isIdle, now - lastActivity > limits.idleMilliseconds { return end(.idle) }
            if server.isDraining, isIdle, now - lastActivity > limits.drainQuietMilliseconds {
                return end(nil)
            }
            if case .receipt(let receipt) = arriving, receipt.deadline <= now {
                // Its answer would come too late: rejects it and discards the remaining bytes.
                dropReceipt()
                arriving = .skipped(remaining: receipt.remaining)
                let refusal = ResponseHead.deadlineExceeded(receipt.head.id)
                server.metrics.didAnswerAtOnce(.verify, refusal)
                answer(refusal)
            }
            if !isLate, isSlow(now) {
                server.logFault("a frame came too slowly")
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

    /// The arrival rate of a receipt that is slow through the peer's fault; nil if there is none.
    var slowReceiptRate: Int? {
        guard case .receipt(let receipt) = arriving, !isHeld, let rate = receipt.bytesPerSecond,
            rate < ServerLimits.slowReceiptBytesPerSecond
        else { return nil }
        return rate
    }

    /// Whether the frame at the front is too slow through the peer's fault.
    private func isSlow(_ now: UInt64) -> Bool {
        guard let pace, !isHeld else { return false }
        return pace.isSlow(at: now, unread: stream.received.unreadCount, limits)
    }
}
