import AssayIO

/// How a bulk verification ended.
enum BulkEnd: Sendable, Equatable {
    case complete
    /// The reader of the output has closed it.
    case outputClosed
    /// The output could not be written, or the server was lost.
    case failed(String)
}

/// The records of one batch.
struct BulkRecords: Sendable {
    var text: [UInt8] = []
    var tally = BulkTally()
    /// The bytes of evidence that the batch held.
    let bytes: Int

    init(_ batch: BulkBatch, _ answers: [BulkAnswer]) {
        bytes = batch.bytes
        // A record has the payload, and not the certificates and signatures of its evidence.
        text.reserveCapacity(bytes / 4)
        for (item, answer) in zip(batch.items, answers) {
            answer.append(to: &text, at: item.source)
            tally.note(answer, bytes: item.bytes)
        }
    }
}

/// Writes records in the order of the input, and counts them. Any thread delivers; one at a time
/// writes.
final class BulkResults: Sendable {
    private struct State {
        var records = ReorderBuffer<BulkRecords>()
        var isWriting = false
        /// The number of batches; nil while the input is read.
        var total: Int?
        var tally = BulkTally()
        var end: BulkEnd?
        var waiter: CheckedContinuation<BulkEnd, Never>?
    }

    private let state = Locked(State())
    private let window: BulkWindow
    private let output: @Sendable ([UInt8]) throws(LoopError) -> Void

    init(_ window: BulkWindow, output: @escaping @Sendable ([UInt8]) throws(LoopError) -> Void) {
        self.window = window
        self.output = output
    }

    var tally: BulkTally { state.withLock { $0.tally } }
    var hasEnded: Bool { state.withLock { $0.end != nil } }

    /// Waits for the end.
    func end() async -> BulkEnd {
        await withCheckedContinuation { waiter in
            let end = state.withLock { state in
                if state.end == nil { state.waiter = waiter }
                return state.end
            }
            if let end { waiter.resume(returning: end) }
        }
    }

    /// Takes the records of a batch, and writes all that are next.
    func deliver(_ records: BulkRecords, of number: Int) {
        let isWriter = state.withLock { state in
            state.records.insert(records, at: number)
            defer { state.isWriting = true }
            return !state.isWriting
        }
        guard isWriter else { return }
        while let next = takeNext() { write(next) }
        finishIfComplete()
    }

    /// The input has ended, and had this number of batches.
    func close(batches: Int) {
        state.withLock { $0.total = batches }
        finishIfComplete()
    }

    /// Ends the run early.
    func finish(_ end: BulkEnd) {
        let waiter = state.withLock { state -> CheckedContinuation<BulkEnd, Never>? in
            guard state.end == nil else { return nil }
            state.end = end
            return state.waiter.take()
        }
        window.close()
        waiter?.resume(returning: end)
    }

    private func takeNext() -> BulkRecords? {
        state.withLock { state in
            if state.end == nil, let next = state.records.popNext() { return next }
            state.isWriting = false
            return nil
        }
    }

    private func write(_ records: BulkRecords) {
        do throws(LoopError) {
            try output(records.text)
        } catch .connectionReset {
            return finish(.outputClosed)
        } catch {
            return finish(.failed("can't write to standard output: \(error)"))
        }
        state.withLock { $0.tally.add(records.tally) }
        window.leave(items: records.tally.items, bytes: records.bytes)
    }

    private func finishIfComplete() {
        let isComplete = state.withLock { state in
            !state.isWriting && state.total == state.records.next
        }
        if isComplete { finish(.complete) }
    }
}
