/// Finds frames in buffered bytes. It owns no bytes and does no I/O: whoever reads hands it what
/// is there, and it answers with positions.
///
/// The same bytes always give the same answer, however they arrived. A fault of a length is told
/// as soon as the four (or eight) bytes that have it are there.
///
/// ```
/// switch decoder.next(in: buffer.span) {
/// case .needMore(let minimum): read until at least `minimum` bytes are buffered
/// case .head(let frame): the head is complete, the body is not: for bodies used as they arrive
/// case .frame(let frame): use head and body, then drop `frame.end` bytes
/// case .fault(let fault): answer it; if it can go on, drop `fault.skip` bytes, else close
/// }
/// ```
public struct FrameDecoder: Sendable {
    /// Bytes before the head: the two length fields.
    public static let prefixBytes = 8

    public let limits: FrameLimits
    /// Whether `next` answers `.head` while the body is incomplete. Off: `.needMore`.
    public var reportsHeads: Bool

    /// - Precondition: `limits.frameBytes` is at most `FrameLimits.largestFrame`.
    public init(limits: FrameLimits = .request, reportsHeads: Bool = false) {
        precondition(
            limits.frameBytes <= FrameLimits.largestFrame, "a frame limit above the largest frame")
        self.limits = limits
        self.reportsHeads = reportsHeads
    }

    /// Where a frame is: positions in the bytes that were looked at.
    public struct Frame: Hashable, Sendable {
        public let head: Range<Int>
        public let body: Range<Int>
        /// One past the frame's last byte: where the next one begins.
        public var end: Int { body.upperBound }
    }

    public enum Step: Equatable, Sendable {
        /// At least so many bytes, counted from the first, are needed for another answer.
        case needMore(minimum: Int)
        /// A whole frame.
        case frame(Frame)
        /// The head of a frame whose body is not complete (`reportsHeads`). `body` reaches beyond
        /// the bytes at hand.
        case head(Frame)
        /// No frame.
        case fault(FrameFault)
    }

    /// What the first bytes of `bytes` are. A frame begins at the first.
    public func next(in bytes: Span<UInt8>) -> Step {
        guard bytes.count >= 4 else {
            // Told from a few bytes, since such a peer may wait for our answer.
            if let other = ForeignProtocol(bytes) { return .fault(.foreign(other)) }
            return .needMore(minimum: 4)
        }
        let length = Self.bigEndian(bytes, at: 0)
        guard length <= limits.frameBytes else {
            if let other = ForeignProtocol(bytes) { return .fault(.foreign(other)) }
            return .fault(.frameTooLarge(length: length, limit: limits.frameBytes))
        }
        guard length >= 4 else { return .fault(.frameTooShort(length: length)) }
        guard bytes.count >= Self.prefixBytes else { return .needMore(minimum: Self.prefixBytes) }
        let head = Self.bigEndian(bytes, at: 4)
        guard head <= length - 4 else {
            return .fault(.headBeyondFrame(head: head, length: length))
        }
        guard head <= limits.headBytes else {
            return .fault(.headTooLarge(head: head, limit: limits.headBytes, skip: 4 + length))
        }
        return step(headEnd: Self.prefixBytes + head, end: 4 + length, available: bytes.count)
    }

    private func step(headEnd: Int, end: Int, available: Int) -> Step {
        let frame = Frame(head: Self.prefixBytes..<headEnd, body: headEnd..<end)
        if available >= end { return .frame(frame) }
        guard reportsHeads else { return .needMore(minimum: end) }
        return available >= headEnd ? .head(frame) : .needMore(minimum: headEnd)
    }

    private static func bigEndian(_ bytes: Span<UInt8>, at start: Int) -> Int {
        var value = 0
        for index in start..<start + 4 { value = value << 8 | Int(bytes[index]) }
        return value
    }
}

/// Why bytes are no frame.
public enum FrameFault: Error, Hashable, Sendable {
    /// The length field is above the limit.
    case frameTooLarge(length: Int, limit: Int)
    /// The length field does not even cover the head length field.
    case frameTooShort(length: Int)
    /// The head would end after its frame.
    case headBeyondFrame(head: Int, length: Int)
    /// The head is above its limit; the frame is not, and can be skipped: it is the next `skip`
    /// bytes, of which only some may have arrived.
    case headTooLarge(head: Int, limit: Int, skip: Int)
    /// Bytes of another protocol.
    case foreign(ForeignProtocol)

    /// Bytes to drop, counted from the frame's first, for the stream to go on; nil where it
    /// cannot, as nobody knows where the next frame begins.
    public var skip: Int? {
        if case .headTooLarge(_, _, let skip) = self { skip } else { nil }
    }
}

extension FrameFault: CustomStringConvertible {
    public var description: String {
        switch self {
        case .frameTooLarge(let length, let limit):
            "a frame of \(length) bytes is above the limit of \(limit)"
        case .frameTooShort(let length):
            "a frame of \(length) bytes is too short for its head length"
        case .headBeyondFrame(let head, let length):
            "a head of \(head) bytes does not fit in a frame of \(length)"
        case .headTooLarge(let head, let limit, _):
            "a head of \(head) bytes is above the limit of \(limit)"
        case .foreign(let other): other.description
        }
    }
}
