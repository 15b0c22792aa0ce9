import AssayBytes

/// A reader that takes bytes as they arrive. One step reads one unit: an element, a header or a
/// run of octets.
protocol ResumableReader {
    /// Reads one unit from the front of the bytes.
    mutating func step(_ bytes: Span<UInt8>) throws(Refusal) -> ResumableStep
}

enum ResumableStep: Equatable {
    /// The number of bytes read. 0 is progress too: the reader changed state without reading a
    /// byte.
    case consumed(Int)
    /// The least number of bytes that the next unit takes; more than the step received.
    case needs(Int)
    /// The reader is complete; the remaining bytes are not part of its structure.
    case finished
}

/// Feeds a resumable reader from chunks of any size. A unit that lies within one chunk is not
/// copied.
///
/// Only a unit that spans chunks is carried over, so the carry is no larger than the largest unit
/// that the reader asks for. A step never receives more of the carry than it asked for.
struct ChunkFeeder: Sendable {
    private var carry: [UInt8] = []
    private var needed = 0

    /// The number of bytes kept until the rest of their unit arrives.
    var carried: Int { carry.count }
    /// Bytes of memory for the carry.
    var heldBytes: Int { carry.capacity }

    /// Feeds the chunk to the reader until the chunk ends or the reader finishes.
    /// - Returns: the number of the chunk's bytes that were read. It is smaller than the chunk
    ///   when the reader finishes early, and bytes left in the carry are subtracted, including
    ///   those of earlier chunks.
    ///
    /// - Parameter advanced: called after each step with the position in the chunk up to which
    ///   its bytes were read. Returns the position up to which it has read more of them.
    @inline(__always)
    mutating func feed<Reader: ResumableReader>(
        _ chunk: Span<UInt8>, to reader: inout Reader,
        advanced: (inout Reader, Int) -> Int = { $1 }
    ) throws(Refusal) -> Int {
        var position = 0
        while true {
            if carry.isEmpty {
                switch try reader.step(chunk.extracting(position..<chunk.count)) {
                case .consumed(let count):
                    position = advanced(&reader, position + count)
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
                    // The step read only a part of the carry; the next step reads on from there.
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

    /// Returns whether the reader is complete after the last byte.
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
