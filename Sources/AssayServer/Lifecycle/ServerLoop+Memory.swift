import AssayIO

/// Schedules streamed receipts, and frees memory.
extension ServerLoop {
    /// Whether a receipt can be read further in this turn; queued receipts go first.
    var mayReadReceipt: Bool {
        (receiptTurns.isServing || receiptTurns.isEmpty) && receiptTurns.slice(in: turn) > 0
    }

    /// Requests a turn for queued receipts. Called at the end of a turn.
    func requestReceiptTurns() {
        guard !receiptTurns.isEmpty, !receiptTurns.isRequested else { return }
        receiptTurns.isRequested = true
        let server = LoopBound(self, to: loop)
        loop.post { server.value.serveReceipts() }
    }

    private func serveReceipts() {
        receiptTurns.isRequested = false
        receiptTurns.isServing = true
        while receiptTurns.slice(in: turn) > 0, let connection = receiptTurns.next() {
            connection.takeTurn()
        }
        receiptTurns.isServing = false
    }

    /// Rejects slow receipts, the slowest first, while memory is low. They hold memory for long,
    /// and can be retried.
    func refuseSlowReceipts() {
        guard budget.isLow else { return }
        let slow = connections.values
            .compactMap { connection in connection.slowReceiptRate.map { (connection, $0) } }
            .sorted { $0.1 < $1.1 }
        for (connection, _) in slow {
            guard budget.isLow else { return }
            connection.refuseSlowReceipt()
        }
    }

    /// Returns free memory to the system after a flood, on a worker's thread.
    func returnMemory() {
        guard memoryReturn.isDue(at: now), let resident = ProcessFacts.ownResidentBytes,
            memoryReturn.mayReturn(resident: resident, held: budget.held, at: now)
        else { return }
        let server = LoopBound(self, to: loop)
        let loop = loop
        workers.submit {
            FreeMemory.release()
            let resident = ProcessFacts.ownResidentBytes ?? 0
            loop.post { server.value.memoryReturn.didReturn(resident: resident) }
        }
    }
}
