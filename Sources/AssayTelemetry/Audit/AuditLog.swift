import AssayIO
import Synchronization

/// Lines that wait to be written: a bounded queue. Workers put lines into it, and one thread takes
/// them. Nobody waits: lines above the bound are lost and counted.
package final class AuditLog: Sendable {
    /// Whole lines, each with its newline.
    package struct Chunk: Sendable {
        package let bytes: [UInt8]
        package let lines: Int
    }

    /// How many lines there were.
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
    private let evidence = Atomic(false)
    private let hurry = Locked<@Sendable () -> Void>({})

    /// - Parameter limit: bytes of lines that can wait.
    package init(limit: Int = AuditLimits.waitingBytes) { self.limit = limit }

    /// Whether lines have the evidence itself.
    package var includesEvidence: Bool {
        get { evidence.load(ordering: .relaxed) }
        set { evidence.store(newValue, ordering: .relaxed) }
    }

    /// Calls back, once until the next `take`, when so much waits that it should be written now.
    package func whenFull(_ action: @escaping @Sendable () -> Void) {
        hurry.withLock { $0 = action }
    }

    package var counts: Counts { content.withLock { $0.counts } }

    /// Adds lines, or loses them where they exceed the bound.
    func add(_ chunk: Chunk) {
        let isNews = content.withLock { content in
            guard content.bytes + chunk.bytes.count <= limit else {
                content.counts.lost += UInt64(chunk.lines)
                return false
            }
            content.chunks.append(chunk)
            content.bytes += chunk.bytes.count
            guard content.bytes > min(AuditLimits.hurryBytes, limit / 2), !content.isHurried else {
                return false
            }
            content.isHurried = true
            return true
        }
        if isNews { hurry.withLock { $0 }() }
    }

    /// Takes all lines that wait. They count as waiting until they are written.
    package func take() -> [Chunk] {
        content.withLock { content in
            defer { (content.chunks, content.isHurried) = ([], false) }
            return content.chunks
        }
    }

    /// Counts lines that were taken and written.
    package func didWrite(_ chunk: Chunk) {
        content.withLock { content in
            content.bytes -= chunk.bytes.count
            content.counts.written += UInt64(chunk.lines)
        }
    }

    /// Counts lines that were taken and can't be written any more.
    package func didLose(_ chunk: Chunk) {
        content.withLock { content in
            content.bytes -= chunk.bytes.count
            content.counts.lost += UInt64(chunk.lines)
        }
    }
}
