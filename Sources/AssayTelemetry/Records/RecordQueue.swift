import AssayIO

/// Records that wait to be written: a bounded queue. Workers put records into it, and one thread
/// takes them. Nobody waits: records above the bound are lost and counted.
package class RecordQueue: @unchecked Sendable {
    /// Whole records.
    package struct Chunk: Sendable {
        package let bytes: [UInt8]
        package let records: Int
    }

    /// How many records there were.
    package struct Counts: Equatable, Sendable {
        package var written: UInt64 = 0
        package var lost: UInt64 = 0
    }

    private struct Content: Sendable {
        var chunks: [Chunk] = []
        var bytes = 0
        var counts = Counts()
        var isHurried = false
    }

    private let content = Locked(Content())
    private let limit: Int
    private let hurry = Locked<@Sendable () -> Void>({})

    /// - Parameter limit: bytes of records that can wait.
    package init(limit: Int = RecordLimits.waitingBytes) { self.limit = limit }

    /// Calls back, once until the next `take`, when so much waits that it should be written now.
    package final func whenFull(_ action: @escaping @Sendable () -> Void) {
        hurry.withLock { $0 = action }
    }

    package final var counts: Counts { content.withLock { $0.counts } }

    /// Adds records, or loses them where they exceed the bound.
    final func add(_ chunk: Chunk) {
        let isNews = content.withLock { content in
            guard content.bytes + chunk.bytes.count <= limit else {
                content.counts.lost += UInt64(chunk.records)
                return false
            }
            content.chunks.append(chunk)
            content.bytes += chunk.bytes.count
            guard content.bytes > min(RecordLimits.hurryBytes, limit / 2), !content.isHurried
            else { return false }
            content.isHurried = true
            return true
        }
        if isNews { hurry.withLock { $0 }() }
    }

    /// Takes all records that wait. They count as waiting until they are written.
    package final func take() -> [Chunk] {
        content.withLock { content in
            defer { (content.chunks, content.isHurried) = ([], false) }
            return content.chunks
        }
    }

    /// Counts records that were taken and written.
    package final func didWrite(_ chunk: Chunk) {
        content.withLock { content in
            content.bytes -= chunk.bytes.count
            content.counts.written += UInt64(chunk.records)
        }
    }

    /// Counts records that were taken and can't be written any more.
    package final func didLose(_ chunk: Chunk) {
        content.withLock { content in
            content.bytes -= chunk.bytes.count
            content.counts.lost += UInt64(chunk.records)
        }
    }
}
