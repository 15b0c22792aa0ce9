import AssayBytes

/// Finds the data of a body in buffered bytes (RFC 9112, sections 6 and 7). It owns no bytes and
/// does no I/O.
///
/// ```
/// switch try reader.next(in: buffer.span) {
/// case .needMore: read more bytes
/// case .framing(let count): drop this number of bytes
/// case .data(let count): use at most this number of bytes, and pass their number to `didTake`
/// case .end: the next byte is not of this body
/// }
/// ```
package struct HTTPBodyReader: Sendable {
    private enum State: Sendable {
        /// Bytes that are left of a body of known length.
        case length(Int)
        case chunkSize
        /// Bytes that are left of a chunk.
        case chunk(Int)
        case chunkEnd
        case lastEnd
        case ended
    }

    package enum Step: Hashable, Sendable {
        case needMore
        /// Bytes between the data, to be dropped.
        case framing(Int)
        /// Bytes of data at the front; at least one.
        case data(Int)
        case end
    }

    private var state: State

    /// The largest chunk: 4 GB, which the limits of bodies never admit.
    private static let largestChunk = 0xFFFF_FFFF
    /// Bytes of a line with a chunk size: 16 digits, and extensions that proxies add.
    private static let sizeLineBytes = 256

    package init(_ body: HTTPHead.Body) {
        switch body {
        case .length(let length): state = length > 0 ? .length(length) : .ended
        case .chunked: state = .chunkSize
        }
    }

    /// Bytes that the front of the body surely has: of the whole body, or of the current chunk.
    package var announced: Int {
        switch state {
        case .length(let count), .chunk(let count): count
        case .chunkSize, .chunkEnd, .lastEnd, .ended: 0
        }
    }

    /// Examines the bytes at the front.
    package mutating func next(in bytes: Span<UInt8>) throws(HTTPFault) -> Step {
        switch state {
        case .ended: return .end
        case .length(let count), .chunk(let count):
            return bytes.count == 0 ? .needMore : .data(min(count, bytes.count))
        case .chunkSize:
            guard let (size, end) = try Self.size(bytes) else { return .needMore }
            state = size > 0 ? .chunk(size) : .lastEnd
            return .framing(end)
        case .chunkEnd:
            guard try Self.isLineBreak(bytes, .invalidChunkEnd) else { return .needMore }
            state = .chunkSize
            return .framing(2)
        case .lastEnd:
            guard try Self.isLineBreak(bytes, .trailer) else { return .needMore }
            state = .ended
            return .framing(2)
        }
    }

    /// Records that data at the front was used.
    package mutating func didTake(_ count: Int) {
        switch state {
        case .length(let left):
            precondition(count <= left)
            state = count == left ? .ended : .length(left - count)
        case .chunk(let left):
            precondition(count <= left)
            state = count == left ? .chunkEnd : .chunk(left - count)
        case .chunkSize, .chunkEnd, .lastEnd, .ended: precondition(count == 0)
        }
    }

    /// Whether the body has ended.
    package var isEnded: Bool {
        if case .ended = state { true } else { false }
    }

    /// Reads a line with a chunk size. Extensions are ignored, as RFC 9112, section 7.1.1 demands,
    /// within the bound of the line. They end at the line's CR LF, and have no other control
    /// characters: a line break that only one of two parsers sees would divide the body.
    private static func size(
        _ bytes: Span<UInt8>
    ) throws(HTTPFault) -> (size: Int, end: Int)? {
        var (size, index) = (0, 0)
        while index < bytes.count, let digit = bytes[index].hexadecimalDigit {
            size = size << 4 | Int(digit)
            index += 1
            guard index <= sizeLineBytes, size <= largestChunk else { throw .invalidChunkSize }
        }
        guard index < bytes.count else { return nil }
        guard index > 0 else { throw .invalidChunkSize }
        if bytes[index] != .carriageReturn {
            while index < bytes.count, bytes[index].isBlank {
                index += 1
                guard index <= sizeLineBytes else { throw .invalidChunkSize }
            }
            guard index < bytes.count else { return nil }
            guard bytes[index] == UInt8(ascii: ";") else { throw .invalidChunkSize }
            while index < bytes.count, !bytes[index].isControl {
                index += 1
                guard index <= sizeLineBytes else { throw .invalidChunkSize }
            }
            guard index < bytes.count else { return nil }
        }
        guard bytes[index] == .carriageReturn else { throw .invalidChunkSize }
        guard index + 1 < bytes.count else { return nil }
        guard bytes[index + 1] == .lineFeed else { throw .invalidChunkSize }
        return (size, index + 2)
    }

    private static func isLineBreak(
        _ bytes: Span<UInt8>, _ fault: HTTPFault
    ) throws(HTTPFault) -> Bool {
        guard bytes.count > 0 else { return false }
        guard bytes[0] == .carriageReturn else { throw fault }
        guard bytes.count > 1 else { return false }
        guard bytes[1] == .lineFeed else { throw fault }
        return true
    }
}
