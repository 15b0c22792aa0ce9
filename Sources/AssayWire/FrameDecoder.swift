/// Finds frames in buffered bytes. It owns no bytes and does no I/O: the caller passes the
/// buffered bytes, and gets positions in them.
///
/// The result depends only on the bytes, not on how they arrived. An invalid length is reported
/// as soon as the four (or eight) bytes that hold it have arrived.
///
/// ```
/// switch decoder.next(in: buffer.span) {
/// case .needMore(let minimum): read until at least `minimum` bytes are buffered
/// case .head(let frame): the head is complete, the body is not: for bodies used as they arrive
/// case .frame(let frame): use head and body, then drop `frame.end` bytes
/// case .fault(let fault): answer it; if `fault.skip` is set, drop that many bytes, else close
/// }
/// ```
package struct FrameDecoder: Sendable {
    /// Bytes before the head: the two length fields.
    package static let prefixBytes = 8

    /// The size limits of a frame.
    package let limits: FrameLimits
    /// Whether `next` returns `.head` while the body is incomplete. If false, it returns
    /// `.needMore`.
    package var reportsHeads: Bool

    /// - Precondition: `limits.frameBytes` is at most `FrameLimits.largestFrame`.
    package init(limits: FrameLimits = .request, reportsHeads: Bool = false) {
        precondition(
            limits.frameBytes <= FrameLimits.largestFrame, "a frame limit above the largest frame")
        self.limits = limits
        self.reportsHeads = reportsHeads
    }

    /// The position of a frame in the examined bytes.
    package struct Frame: Hashable, Sendable {
        /// The range of the head.
        package let head: Range<Int>
        /// The range of the body.
        package let body: Range<Int>
        /// One past the frame's last byte, where the next frame begins.
        package var end: Int { body.upperBound }
    }

    /// The result of one step.
    package enum Step: Equatable, Sendable {
        /// At least `minimum` bytes, counted from the first, are needed for another result.
        case needMore(minimum: Int)
        /// A whole frame.
        case frame(Frame)
        /// The head of a frame whose body is incomplete (`reportsHeads`). `body` reaches beyond
        /// the examined bytes.
        case head(Frame)
        /// The bytes are not a valid frame.
        case fault(FrameFault)
    }

    /// Examines the bytes, the first of which begins a frame.
    package func next(in bytes: Span<UInt8>) -> Step {
        guard bytes.count >= 4 else {
            // Detected from a few bytes, since such a peer can be waiting for an answer.
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

/// Why bytes are not a valid frame.
package enum FrameFault: Error, Hashable, Sendable {
    /// The length field exceeds the limit.
    case frameTooLarge(length: Int, limit: Int)
    /// The length field does not cover the head length field.
    case frameTooShort(length: Int)
    /// The head would extend beyond its frame.
    case headBeyondFrame(head: Int, length: Int)
    /// The head exceeds its limit, but the frame does not. The frame can be skipped: it is the
    /// next `skip` bytes, which possibly have not all arrived.
    case headTooLarge(head: Int, limit: Int, skip: Int)
    /// Bytes of another protocol.
    case foreign(ForeignProtocol)

    /// Bytes to drop, counted from the frame's first, to reach the next frame; nil if the stream
    /// can't continue, because the position of the next frame is unknown.
    package var skip: Int? {
        if case .headTooLarge(_, _, let skip) = self { skip } else { nil }
    }
}

extension FrameFault: CustomStringConvertible {
    package var description: String {
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
