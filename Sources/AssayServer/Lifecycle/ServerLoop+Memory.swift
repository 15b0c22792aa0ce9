import AssayIO

/// Receipts that are verified as they arrive, and memory that is returned.
extension ServerLoop {
    /// Whether a receipt that has come further may be read on with: not before those that wait.
    var mayReadReceipt: Bool {
        (receiptTurns.isServing || receiptTurns.isEmpty) && receiptTurns.slice(in: turn) > 0
    }

    /// Called at the end of a turn: what is left of the queue comes in the next one.
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

    /// Where room is short, receipts that arrive slowly are refused, the slowest first, until it is
    /// not. They hold their room for long, and may come again.
    func refuseSlowReceipts() {
        guard budget.isSingleSignature else { return }
        let slow = connections.values
            .compactMap { connection in connection.slowReceiptRate.map { (connection, $0) } }
            .sorted { $0.1 < $1.1 }
        for (connection, _) in slow {
            guard budget.isSingleSignature else { return }
            connection.refuseSlowReceipt()
        }
    }

    /// Returns what a flood has left, on a worker's thread.
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
