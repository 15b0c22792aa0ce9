/// A reader that takes bytes as they arrive. One step reads one thing: an element, a header, a run
/// of octets.
protocol ResumableReader {
    /// Reads one thing from the front of the bytes.
    mutating func step(_ bytes: Span<UInt8>) throws(Refusal) -> ResumableStep
}

enum ResumableStep: Equatable {
    /// That many bytes were read. 0 is progress too: something ended where the next thing begins.
    case consumed(Int)
    /// The thing that comes takes at least that many bytes; more than there were.
    case needs(Int)
    /// Everything was read; what remains belongs to somebody else.
    case finished
}

/// Feeds a resumable reader from chunks of any size without copying what lies whole in a chunk.
///
/// Only a thing that a chunk's border cuts is carried over, so the carry is as small as the
/// largest thing that the reader asks for. A step never sees more of the carry than it asked for.
struct ChunkFeeder: Sendable {
    private var carry: [UInt8] = []
    private var needed = 0

    /// Bytes that wait for the rest of what they belong to.
    var carried: Int { carry.count }
    /// Memory of the bytes that wait for the rest of what they belong to.
    var heldBytes: Int { carry.capacity }

    /// Gives the reader all of the chunk, or what it wants of it.
    /// - Returns: how many of the chunk's bytes were taken; fewer than all when it has finished
    ///   (by as many as were carried from chunks before, too).
    ///
    /// - Parameter advanced: called after each step with the position in the chunk up to which its
    ///   bytes were taken.
    @inline(__always)
    mutating func feed<Reader: ResumableReader>(
        _ chunk: Span<UInt8>, to reader: inout Reader, advanced: (Int) -> Void = { _ in }
    ) throws(Refusal) -> Int {
        var position = 0
        while true {
            if carry.isEmpty {
                switch try reader.step(chunk.extracting(position..<chunk.count)) {
                case .consumed(let count):
                    position += count
                    advanced(position)
                case .finished: return position
                case .needs(let count):
                    needed = count
                    chunk.extracting(position..<chunk.count).copy(to: &carry, at: 0)
                    return chunk.count
                }
            } else {
                let missing = min(needed - carry.count, chunk.count - position)
                chunk.extracting(position..<position + missing).copy(to: &carry, at: carry.count)
                position += missing
                guard carry.count == needed else { return position }
                switch try reader.step(carry.span) {
                case .consumed(let count):
                    // Less than all where what comes was only looked at; the next step has it.
                    if count == carry.count {
                        carry.removeAll(keepingCapacity: true)
                    } else {
                        carry.removeFirst(count)
                    }
                    needed = carry.count
                    if carry.isEmpty, carry.capacity > Limits.keptCarryBytes { carry = [] }
                case .finished:
                    return position - carry.count
                case .needs(let count):
                    precondition(count > carry.count)
                    needed = count
                }
            }
        }
    }

    /// Whether the reader has read everything, now that no more bytes come.
    mutating func finish<Reader: ResumableReader>(_ reader: inout Reader) throws(Refusal) -> Bool {
        guard carry.isEmpty else { return false }
        while true {
            let nothing: [UInt8] = []
            switch try reader.step(nothing.span) {
            case .consumed: continue
            case .finished: return true
            case .needs: return false
            }
        }
    }
}
