/// The records of one worker until it hands them over. Belongs to the loop's thread.
struct RecordBuffer {
    private let queue: RecordQueue
    private var bytes: [UInt8] = []
    private var records = 0

    init(for queue: RecordQueue) { self.queue = queue }

    /// Whether a record would be the first one of its chunk.
    var isEmpty: Bool { records == 0 }

    /// Takes the records out, so that one can be added to them without a check of exclusivity for
    /// each access.
    mutating func begin() -> [UInt8] {
        var text: [UInt8] = []
        swap(&text, &bytes)
        if text.isEmpty { text.reserveCapacity(RecordLimits.gatheredBytes) }
        return text
    }

    /// Puts the records back, with one more. Hands them over if they are many.
    mutating func end(_ text: consuming [UInt8]) {
        bytes = text
        records += 1
        if bytes.count >= RecordLimits.gatheredBytes { flush() }
    }

    /// Hands the records over.
    mutating func flush() {
        guard records > 0 else { return }
        queue.add(RecordQueue.Chunk(bytes: bytes, records: records))
        (bytes, records) = ([], 0)
    }
}
